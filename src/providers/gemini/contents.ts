/** Messages as Gemini's `contents` and `systemInstruction` (ai.google.dev/api/caching, "Content"). */
import type { Message, Part } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { argumentsObject } from '../../core/hub/tool-arguments.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { joinTexts } from '../openai-compatible/texts.ts'
import { lostInMessages } from '../common/lost-messages.ts'
import { mediaPart } from './media.ts'
import type { MediaHost } from './media.ts'
import type { GeminiModel } from './model.ts'
import { readSignature, skipSignatureCheck } from './signature.ts'
import { exactObject, ExactNumber } from '../../lib/json/exact-json.ts'

interface Conversation {
  readonly systemInstruction: Json | undefined
  readonly contents: readonly Json[]
  /** Json of messages that Gemini lacks, by OpenAI's names. */
  readonly dropped: readonly string[]
}

interface ConversationOptions extends MediaHost {
  readonly model: GeminiModel
  /** The host takes `id` on calls and their results. */
  readonly callIds: boolean
}

interface Turn {
  readonly role: 'user' | 'model'
  parts: Json[]
  /** Tool results, to be sorted by the order of their calls: they come first in their turn. */
  results: { order: number; part: Json }[]
}

type Result = Extract<Part, { type: 'tool-result' }>

/**
 * Leading system messages become `systemInstruction`; later ones become user text. Throws `invalid-request` for other
 * parts than text in a system message, tool results without a call, and addresses that Google cannot read.
 */
export function conversation(messages: readonly Message[], options: ConversationOptions): Conversation {
  const system: Json[] = []
  const turns: Turn[] = []
  const calls = new Calls()
  for (const message of messages) {
    const isSystem = message.role === 'system' || message.role === 'developer'
    if (isSystem && turns.length === 0) system.push(...systemParts(message))
    else if (message.role === 'assistant') turnOf(turns, 'model').parts.push(...modelParts(message, calls, options))
    else addUserParts(turnOf(turns, 'user'), message, { calls, options })
  }
  const filled = turns.filter(turn => turn.parts.length > 0 || turn.results.length > 0)
  // The API refuses contents that do not begin with a user turn.
  if (filled[0]?.role !== 'user') filled.unshift({ role: 'user', parts: [{ text: '.' }], results: [] })
  if (!options.model.systemInstruction) filled[0]!.parts.unshift(...system.splice(0))
  return {
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents: filled.map(({ role, parts, results }) => ({
      role,
      parts: [...results.sort((a, b) => a.order - b.order).map(({ part }) => part), ...parts],
    })),
    dropped: lostInMessages(messages, {
      names: false,
      imageDetail: false,
      fileName: () => options.fileNames,
      // Gemini caches implicitly, or by `cachedContent`.
      cacheMarks: false,
      resultErrors: true,
      thinking: part => thoughtParts(part).length > 0,
      blank: ({ parts }) => parts.some(part => 'text' in part && part.text !== ''),
    }),
  }
}

/** The turn to add to: adjacent messages of one role share a turn; empty turns between them are removed. */
function turnOf(turns: Turn[], role: Turn['role']): Turn {
  while (turns.length > 1 && turns.at(-1)!.parts.length === 0 && turns.at(-1)!.results.length === 0) turns.pop()
  const last = turns.at(-1)
  if (last?.role === role) return last
  const turn: Turn = { role, parts: [], results: [] }
  turns.push(turn)
  return turn
}

function systemParts(message: Message): Json[] {
  return message.parts.flatMap(part => {
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }]
    throw new GatewayError(
      'invalid-request',
      `a ${message.role} message can only hold text with this model; move the ${part.type} into a user message`,
      {
        param: 'messages',
      },
    )
  })
}

/** Tool calls by id: Gemini matches results by the function's name, the hub and other dialects by the call's id. */
class Calls {
  readonly #known = new Map<string, { name: string; order: number }>()
  #next = 0

  add(id: string, name: string): void {
    this.#known.set(id, { name, order: this.#next++ })
  }

  of(result: Result): { name: string; order: number } {
    const call = this.#known.get(result.callId)
    if (call) return call
    if (result.name !== undefined) return { name: result.name, order: this.#next++ }
    throw new GatewayError(
      'invalid-request',
      `the tool result for "${result.callId.slice(0, 100)}" answers no tool call of an earlier assistant message; ` +
        'send that message too',
      { param: 'messages' },
    )
  }
}

/** The parts of an assistant message, each with the thought signature that Gemini returned for it. */
function modelParts(message: Message, calls: Calls, options: ConversationOptions): Json[] {
  const { model, callIds } = options
  const signed = signaturesOf(message)
  let call = 0
  let parts: Json[] = []
  for (const part of message.parts) {
    if (part.type === 'reasoning') parts.push(...thoughtParts(part))
    else if (part.type === 'tool-call') {
      calls.add(part.id, part.name)
      // Gemini 3 requires a signature on the first call of a step; parallel calls after it have none.
      const own = part.signature ?? signed.calls.get(call)
      const signature = own ?? (call === 0 && model.wantsSignatures ? skipSignatureCheck : undefined)
      call++
      const functionCall = { ...(callIds && { id: part.id }), name: part.name, args: argumentsObject(part.arguments) }
      parts.push({ functionCall, ...(signature !== undefined && { thoughtSignature: signature }) })
    } else if (part.type !== 'tool-result') parts.push(...plainPart(part, options))
  }
  if (signed.text !== undefined) parts = withTextSignature(parts, signed.text)
  return parts
}

function signaturesOf(message: Message): { calls: Map<number, string>; text: string | undefined } {
  const calls = new Map<number, string>()
  let text: string | undefined
  for (const part of message.parts) {
    const placed = part.type === 'reasoning' ? readSignature(part.signature) : undefined
    if (placed?.kind === 'call') calls.set(placed.index, placed.signature)
    else if (placed?.kind === 'text') text = placed.signature
  }
  return { calls, text }
}

/** Only thinking with a signature of Gemini is sent back: Gemini cannot verify any other. */
function thoughtParts(part: Extract<Part, { type: 'reasoning' }>): Json[] {
  const placed = readSignature(part.signature)
  if (!placed || (part.text === '' && placed.kind !== 'note')) return []
  return [{ text: part.text, thought: true, ...(placed.kind === 'note' && { thoughtSignature: placed.signature }) }]
}

/** Puts the signature on the last text part, or on an empty text part where there is none. */
function withTextSignature(parts: readonly Json[], signature: string): Json[] {
  const last = parts.findLastIndex(part => part.text !== undefined && part.thought !== true)
  if (last < 0) return [...parts, { text: '', thoughtSignature: signature }]
  return parts.map((part, at) => (at === last ? { ...part, thoughtSignature: signature } : part))
}

function addUserParts(
  turn: Turn,
  message: Message,
  { calls, options }: { calls: Calls; options: ConversationOptions },
): void {
  for (const part of message.parts) {
    if (part.type === 'tool-result') {
      const { name, order } = calls.of(part)
      const functionResponse = { ...(options.callIds && { id: part.callId }), name, response: responseOf(part) }
      turn.results.push({ order, part: { functionResponse } })
      // `functionResponse` holds no media: those of a result follow as parts of the same turn.
      turn.parts.push(...part.parts.flatMap(one => mediaOf(one, options)))
    } else if (part.type !== 'tool-call' && part.type !== 'reasoning') turn.parts.push(...plainPart(part, options))
  }
}

function mediaOf(part: Part, options: ConversationOptions): Json[] {
  return part.type === 'image' || part.type === 'audio' || part.type === 'document' ? [mediaPart(part, options)] : []
}

/**
 * The object for `response`: the result itself where it is a JSON object, else its text under `output` or `error`.
 * Gemini reads `$ref` in it as the name of one of its own parts, and refuses others: data with such names stays text
 * (github.com/router-for-me/CLIProxyAPI/issues/6065, github.com/vercel/ai/issues/14369).
 */
function responseOf(result: Result): Json {
  const text = joinTexts(result.parts.map(part => (part.type === 'text' ? part.text : '')))
  if (result.isError) return { error: text }
  const object = exactObject(text)
  return object && !(mayNameParts.test(text) && namesParts(object)) ? object : { output: text }
}

const mayNameParts = /\$|\\u0024/

/** true = a name in it, at any depth, begins with `$`. */
function namesParts(data: Json): boolean {
  const open: unknown[] = [data]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) for (const one of value) open.push(one ?? null)
    else if (isObject(value) && !(value instanceof ExactNumber))
      for (const [name, one] of Object.entries(value)) {
        if (name.startsWith('$')) return true
        open.push(one ?? null)
      }
  }
  return false
}

/** The part as Gemini's; empty for an empty text, which Gemini refuses. */
function plainPart(
  part: Exclude<Part, { type: 'tool-call' | 'tool-result' | 'reasoning' }>,
  options: ConversationOptions,
): Json[] {
  if (part.type === 'text' || part.type === 'refusal') return part.text === '' ? [] : [{ text: part.text }]
  return [mediaPart(part, options)]
}
