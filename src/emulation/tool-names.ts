/**
 * Tool names that an upstream would refuse are sent in another form, and restored in the answer. OpenAI, Bedrock and
 * Mistral take letters, digits, `_` and `-`, at most 64 of them (their API references); Gemini a letter or `_` first.
 */
import { createHash } from 'node:crypto'
import type { ChatEvent, ChatRequest, Message, Part } from '../core/hub/chat.ts'
import type { Emulation } from './decorate.ts'

const fitting = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** Whether every upstream takes a tool of this name. */
export const isFittingToolName = (name: string): boolean => fitting.test(name)
const lengthMax = 64
const hashLength = 8

/**
 * undefined = every name fits. The form of a name depends on the name alone, so that it is the same in each call of a
 * conversation; only where it is taken by another tool it gets another hash.
 */
export function fitToolNames(request: ChatRequest): Emulation | undefined {
  const named = namesOf(request)
  if (named.every(name => fitting.test(name))) return undefined
  const names = new Set(named)
  const sent = new Map<string, string>()
  const restored = new Map<string, string>()
  for (const name of names) {
    if (fitting.test(name)) continue
    const form = formOf(name, one => names.has(one) || restored.has(one))
    sent.set(name, form)
    restored.set(form, name)
  }
  const sentName = (name: string): string => sent.get(name) ?? name
  return {
    request: original => renamed(original, sentName),
    filter: () => event => [restoredEvent(event, restored)],
  }
}

function namesOf({ tools, toolChoice, messages }: ChatRequest): string[] {
  const names = tools ? tools.map(tool => tool.name) : []
  if (typeof toolChoice === 'object') names.push(toolChoice.name)
  for (const { parts } of messages)
    for (const part of parts)
      if ((part.type === 'tool-call' || part.type === 'tool-result') && part.name !== undefined) names.push(part.name)
  return names
}

function formOf(name: string, isTaken: (form: string) => boolean): string {
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '_').replace(/^(?=[^A-Za-z_])/, '_')
  for (let attempt = 0; ; attempt++) {
    const hash = createHash('sha256')
      .update(attempt === 0 ? name : `${attempt}:${name}`)
      .digest('hex')
    const form = `${plain.slice(0, lengthMax - hashLength - 1)}_${hash.slice(0, hashLength)}`
    if (!isTaken(form)) return form
  }
}

function renamed(request: ChatRequest, sentName: (name: string) => string): ChatRequest {
  const { tools, toolChoice, messages } = request
  return {
    ...request,
    ...(tools && { tools: tools.map(tool => ({ ...tool, name: sentName(tool.name) })) }),
    ...(typeof toolChoice === 'object' && { toolChoice: { name: sentName(toolChoice.name) } }),
    messages: messages.map(
      (message): Message => ({ ...message, parts: message.parts.map(part => renamedPart(part, sentName)) }),
    ),
  }
}

function renamedPart(part: Part, sentName: (name: string) => string): Part {
  if (part.type === 'tool-call') return { ...part, name: sentName(part.name) }
  return part.type === 'tool-result' && part.name !== undefined ? { ...part, name: sentName(part.name) } : part
}

function restoredEvent(event: ChatEvent, names: ReadonlyMap<string, string>): ChatEvent {
  if (event.type !== 'tool-call-start') return event
  const name = names.get(event.name)
  return name === undefined ? event : { ...event, name }
}
