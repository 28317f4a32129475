/** What of a call judges are asked about. */
import type { ChatEvent, ChatRequest, Message } from '../core/hub/chat.ts'
import { changeTexts } from '../core/hub/input.ts'
import type { CallInput, InputTextKind } from '../core/hub/input.ts'
import type { Subject } from './check.ts'

/** The texts of an input, in their order, and what each is. */
export function textsOf(input: CallInput): { readonly text: string; readonly kind: InputTextKind }[] {
  const texts: { text: string; kind: InputTextKind }[] = []
  changeTexts(input, (text, kind) => {
    texts.push({ text, kind })
    return undefined
  })
  return texts
}

type ChatInput = Extract<CallInput, { readonly kind: 'chat' }>

const isOfOthers = ({ role }: Message): boolean => role === 'user' || role === 'tool'

function textsOfMessages({ request, readings }: ChatInput, messages: Message[]): string[] {
  const alone: ChatRequest = {
    model: request.model,
    messages,
    stream: false,
    includeUsage: false,
    extra: { format: '', fields: {} },
  }
  return textsOf({ kind: 'chat', request: alone, ...(readings && { readings }) })
    .filter(isRead)
    .map(one => one.text)
}

/** Bytes of a file that is no text say nothing to who judges words; what is read out of them does. */
const isRead = ({ kind }: { readonly kind: InputTextKind }): boolean =>
  kind === 'text' || kind === 'json' || kind === 'reading'

/**
 * The last messages of the user, with results of tools, up to the answer in words before them. Behind them the client
 * may have begun the answer itself: it is judged with them.
 */
function lastTurn(messages: readonly Message[]): Message[] {
  const isAnswer = ({ role, parts }: Message) =>
    role === 'assistant' && parts.some(part => part.type === 'text' && part.text.trim() !== '')
  const last = messages.findLastIndex(isOfOthers)
  const begin = messages.slice(0, last + 1).findLastIndex(isAnswer) + 1
  return messages.slice(begin).filter((one, at) => isOfOthers(one) || begin + at > last)
}

/** A conversation in which neither a user nor a tool says anything is judged as if all of it were the user's. */
function ofOthersOrAll(messages: readonly Message[]): readonly Message[] {
  return messages.some(isOfOthers) ? messages : messages.map(one => ({ ...one, role: 'user' }))
}

/** The question of a call. */
export function questionOf(input: CallInput): Subject {
  const texts = textsOf(input)
    .filter(one => (input.kind === 'chat' ? isRead(one) : one.kind !== 'name' && one.kind !== 'unreadable'))
    .map(one => one.text)
  if (input.kind !== 'chat') return { stage: 'input', texts, contents: texts, prompt: texts.join('\n') }
  const { request } = input
  const all = [request.messages, ...(request.series ?? [])].map(ofOthersOrAll)
  return {
    stage: 'input',
    texts,
    contents: all.flatMap(messages => textsOfMessages(input, messages.filter(isOfOthers))),
    prompt: all.flatMap(messages => textsOfMessages(input, lastTurn(messages))).join('\n'),
  }
}

/** One text of an answer. */
export interface AnswerText {
  readonly choice: number
  readonly type: 'text' | 'reasoning' | 'refusal' | 'audio' | 'tool-call-arguments'
  /** By which its events are known. */
  readonly key: string
  text: string
}

/** The key and the text of an event of a text; undefined = it has none. */
export function textOfEvent(event: ChatEvent): AnswerText | undefined {
  switch (event.type) {
    case 'text':
    case 'refusal':
      return { choice: event.choice, type: event.type, key: `${event.choice} ${event.type}`, text: event.text }
    case 'reasoning':
      return { choice: event.choice, type: event.type, key: `${event.choice} reasoning`, text: event.text ?? '' }
    case 'audio':
      return event.transcript === undefined
        ? undefined
        : { choice: event.choice, type: event.type, key: `${event.choice} audio`, text: event.transcript }
    case 'tool-call-arguments': {
      const key = `${event.choice} arguments ${event.index}`
      return { choice: event.choice, type: event.type, key, text: event.fragment }
    }
    default:
      return undefined
  }
}

/** All texts of a whole answer, in the order of their beginnings. */
export function textsOfAnswer(events: readonly ChatEvent[]): readonly AnswerText[] {
  const texts = new Map<string, AnswerText>()
  for (const event of events) {
    const one = textOfEvent(event)
    if (!one) continue
    const known = texts.get(one.key)
    if (known) known.text += one.text
    else texts.set(one.key, one)
  }
  return [...texts.values()]
}

/** The events with other texts; of each the first event has all of it. */
export function withTexts(events: readonly ChatEvent[], changed: ReadonlyMap<string, string>): readonly ChatEvent[] {
  const written = new Set<string>()
  return events.flatMap((event): readonly ChatEvent[] => {
    const one = textOfEvent(event)
    const text = one && changed.get(one.key)
    if (!one || text === undefined) return [event]
    const isFirst = !written.has(one.key)
    written.add(one.key)
    if (event.type === 'tool-call-arguments') return isFirst ? [{ ...event, fragment: text }] : []
    if (event.type === 'audio') {
      const { transcript: _, ...sound } = event
      return [isFirst ? { ...event, transcript: text } : sound]
    }
    if (event.type === 'reasoning' && (event.signature !== undefined || event.redacted !== undefined))
      return [isFirst ? { ...event, text } : { ...event, text: '' }]
    return isFirst ? [{ ...event, text } as ChatEvent] : []
  })
}
