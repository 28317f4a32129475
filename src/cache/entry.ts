/** A kept answer: of a chat as events of the hub, of all others as the bytes. */
import type { Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { ChatEvent } from '../core/hub/chat.ts'
import type { Dialect } from '../core/provider.ts'

/** The content of a cached answer. */
export type CachedContent =
  | { readonly kind: 'chat'; readonly events: readonly ChatEvent[] }
  | { readonly kind: 'bytes'; readonly dialect: Dialect; readonly contentType: string; readonly body: Uint8Array }
  /** One embedding, as the upstream wrote it, with its part of the tokens that were counted. */
  | { readonly kind: 'vector'; readonly json: string; readonly tokens: number }
  /** Under the key of a list of inputs, so that it can be forgotten by it: the keys of their embeddings. */
  | { readonly kind: 'keys'; readonly keys: readonly string[] }

/** One kept answer. Times are milliseconds since 1970. */
export interface CachedAnswer {
  readonly content: CachedContent
  readonly storedAtMs: number
  readonly endMs: number
  /** What it cost when it was made; null = not known. Nano-dollars. */
  readonly costNanoUsd: bigint | null
  /** An estimate of the memory that it takes. */
  readonly bytes: number
}

/** The answer in the client's dialect, whole or streamed as it asks; undefined = it cannot be given to this call. */
export function replyOf(call: Call, content: CachedContent): Reply | undefined {
  if (content.kind === 'chat')
    return call.reply(
      content.events.map(event => (event.type === 'start' ? { type: 'start', id: call.id, model: call.model } : event)),
    )
  if (content.kind !== 'bytes' || content.dialect !== call.format?.dialect) return undefined
  return { status: 200, contentType: content.contentType, body: content.body }
}

/**
 * Joins what was cut into many pieces. undefined = not to be kept: it has a failure, calls of tools (their ids are for
 * one conversation), thinking that only the account of its upstream can read, was filtered, or has no end.
 */
export function cacheableEvents(events: readonly ChatEvent[]): ChatEvent[] | undefined {
  const kept: ChatEvent[] = []
  let isFinished = false
  for (const event of events) {
    if (event.type === 'reasoning' && event.signature?.startsWith('openai/item/')) return undefined
    if (event.type === 'error' || event.type.startsWith('tool-call')) return undefined
    if (event.type === 'finish') {
      if (event.reason !== 'stop' && event.reason !== 'length') return undefined
      isFinished = true
    }
    const last = kept.at(-1)
    const joined = last && joinedEvents(last, event)
    if (joined) kept[kept.length - 1] = joined
    else kept.push(event)
  }
  return isFinished ? kept : undefined
}

function joinedEvents(last: ChatEvent, next: ChatEvent): ChatEvent | undefined {
  if (last.type === 'text' && next.type === 'text' && last.choice === next.choice)
    return { ...last, text: last.text + next.text }
  const isThought = last.type === 'reasoning' && next.type === 'reasoning' && last.choice === next.choice
  if (!isThought || isClosed(last) || isClosed(next)) return undefined
  return { ...last, text: (last.text ?? '') + (next.text ?? '') }
}

const isClosed = (event: Extract<ChatEvent, { type: 'reasoning' }>): boolean =>
  event.signature !== undefined || event.redacted !== undefined

/** About the bytes that content takes in memory. */
export function sizeOf(content: CachedContent): number {
  if (content.kind === 'bytes') return content.body.length
  if (content.kind === 'vector') return content.json.length
  if (content.kind === 'keys') return content.keys.length * 64
  return content.events.reduce((sum, event) => sum + eventSize(event), 0)
}

const eventOverheadBytes = 64

/** About the bytes that an event takes in memory. */
export function eventSize(event: ChatEvent): number {
  switch (event.type) {
    case 'text':
    case 'refusal':
      return eventOverheadBytes + 2 * event.text.length
    case 'reasoning':
      return eventOverheadBytes + 2 * ((event.text?.length ?? 0) + (event.signature?.length ?? 0))
    case 'tool-call-arguments':
      return eventOverheadBytes + 2 * event.fragment.length
    case 'image':
    case 'audio':
    case 'citation':
    case 'logprobs':
      return eventOverheadBytes + 2 * JSON.stringify(event).length
    default:
      return eventOverheadBytes
  }
}

/** As text for stores outside of this process. */
export function encodeAnswer({ content, storedAtMs, endMs, costNanoUsd }: CachedAnswer): string {
  const cost = costNanoUsd === null ? null : String(costNanoUsd)
  const written =
    content.kind === 'bytes' ? { ...content, body: Buffer.from(content.body).toString('base64') } : content
  return JSON.stringify({ version, content: written, storedAtMs, endMs, cost })
}

/** Another form of text is that of another version of this program. */
const version = 1

/** undefined = written by another version, or damaged. */
export function decodeAnswer(text: string): CachedAnswer | undefined {
  try {
    const read = JSON.parse(text)
    if (read.version !== version) return undefined
    const content: CachedContent =
      read.content.kind === 'bytes'
        ? { ...read.content, body: new Uint8Array(Buffer.from(read.content.body, 'base64')) }
        : read.content
    const costNanoUsd = read.cost === null ? null : BigInt(read.cost)
    return { content, storedAtMs: read.storedAtMs, endMs: read.endMs, costNanoUsd, bytes: sizeOf(content) }
  } catch {
    return undefined
  }
}
