/** What a request wants and what the answer says, in words of no vendor. */

/** A tool that a request declares: arguments are made from its schema. */
export interface AskTool {
  readonly name: string
  /** JSON Schema of the arguments; absent = none. */
  readonly schema?: unknown
  /** The tool takes free text in place of JSON. */
  readonly takesText: boolean
}

/** Read by each dialect from its own body; `think` makes a Reply of it. */
export interface Ask {
  /** Without the fault suffix. */
  readonly model: string
  /** Text of the last message of the user. */
  readonly userText: string
  /** Everything that makes two conversations different; with model and seed it decides the answer. */
  readonly key: string
  readonly inputTokens: number
  /** Images in the conversation. */
  readonly images: number
  /** Text of the tool results the conversation ends with. */
  readonly toolResult?: string
  readonly tools: readonly AskTool[]
  readonly toolChoice: 'auto' | 'none' | 'required' | { readonly name: string }
  readonly parallelTools: boolean
  /** The answer has to be JSON, by this schema when there is one. */
  readonly json?: { readonly schema?: unknown }
  readonly maxTokens?: number
  readonly stop: readonly string[]
  readonly choices: number
  /** Tokens of thinking before the answer. */
  readonly reasoningTokens: number
  /** The answer is to hold a picture. */
  readonly paints?: boolean
}

/** A picture of the answer; dialects without a place for one leave it out. */
export interface ReplyImage {
  /** Base64. */
  readonly data: string
  readonly mediaType: string
}

/**
 * A call of a tool. Its pieces joined are the arguments: JSON, unless the tool takes text. A limit may have cut them.
 */
export interface ReplyCall {
  readonly id: string
  readonly name: string
  readonly takesText: boolean
  /** Pieces of the arguments, one token each. */
  readonly pieces: readonly string[]
}

/** One answer. `reasoning` and `text` are pieces of one token each, to be joined without anything between. */
export interface ReplyChoice {
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly calls: readonly ReplyCall[]
  readonly images: readonly ReplyImage[]
  readonly finish: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  /** The stop sequence that ended the text. */
  readonly stopSequence?: string
}

/**
 * Tokens, before a fault falsifies them. What was read from or written to the cache is part of the input, reasoning of
 * the output.
 */
export interface ReplyUsage {
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/**
 * The answer before a dialect writes it. Ask, seed and script decide all of it: the same request gets the same bytes.
 */
export interface Reply {
  /** 24 letters and digits to make identifiers of. */
  readonly id: string
  readonly model: string
  readonly choices: readonly ReplyChoice[]
  readonly usage: ReplyUsage
}

/** One event of a stream; `tokens` counts what its delta is billed for. */
export interface StreamEvent {
  readonly text: string
  readonly tokens: number
  readonly kind: 'start' | 'delta' | 'finish' | 'usage' | 'end' | 'error'
  /** What a binary framing calls it. */
  readonly name?: string
}

/** An answer before any fault. */
export interface Answer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly content: string | Uint8Array | Iterable<StreamEvent>
  /** What a vendor would put on the bill for all of it. */
  readonly billable: Billable
  /** The bytes of an event where they are more than its text. */
  readonly encode?: (payload: Uint8Array, event: StreamEvent) => Uint8Array
  /** What a stream of this kind says when it fails after so many events. */
  readonly failure?: (eventsSent: number) => StreamEvent
}

/** Tokens, all kinds of input and of output together. */
interface Billable {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** For answers that cost nothing: errors, lists, files. */
export const nothingToBill: Billable = { inputTokens: 0, outputTokens: 0 }

/** A whole answer of JSON. */
export function jsonAnswer(value: unknown, billable: Billable = nothingToBill): Answer {
  return { status: 200, headers: [], content: JSON.stringify(value), billable }
}

/** The usage object, or what a fault says in its place. */
export type UsageOf<T = Json | undefined> = (usage: ReplyUsage) => T

/** A request that a vendor would refuse; becomes an error in the dialect of the path. */
export class BadRequest extends Error {
  readonly status: number
  readonly param: string | null
  readonly code: string | null
  constructor(message: string, more: { status?: number; param?: string; code?: string } = {}) {
    super(message)
    this.status = more.status ?? 400
    this.param = more.param ?? null
    this.code = more.code ?? null
  }
}

/** An object of JSON whose fields nobody has checked yet. */
export type Json = Record<string, unknown>

/** An object: neither null nor a list. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; whatever else is there is left out. */
export function objectsOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : []
}
