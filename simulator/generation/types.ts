/** What a request wants and what the answer says, in words of no vendor. */
import type { JsonObject } from '../lib/json.ts'

/** A tool that a request declares: arguments are made from its schema. */
export interface ToolDefinition {
  readonly name: string
  /** JSON Schema of the arguments; absent = none. */
  readonly schema?: unknown
  /** The tool takes free text in place of JSON. */
  readonly takesText: boolean
}

/** Read by each dialect from its own body; `think` makes a Reply of it. */
export interface GenerationRequest {
  /** Without the fault suffix. */
  readonly model: string
  /** Text of the last message of the user. */
  readonly userText: string
  /** Everything that makes two conversations different; with model and seed it decides the answer. */
  readonly conversationKey: string
  readonly inputTokens: number
  /** Images in the conversation. */
  readonly images: number
  /** Text of the tool results the conversation ends with. */
  readonly toolResult?: string
  readonly tools: readonly ToolDefinition[]
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
  readonly wantsImage?: boolean
}

/** A picture of the answer; dialects without a place for one leave it out. */
export interface GeneratedImage {
  /** Base64. */
  readonly data: string
  readonly mediaType: string
}

/**
 * A call of a tool. Its pieces joined are the arguments: JSON, unless the tool takes text. A limit may have cut them.
 */
export interface GeneratedToolCall {
  readonly id: string
  readonly name: string
  readonly takesText: boolean
  /** Pieces of the arguments, one token each. */
  readonly pieces: readonly string[]
}

/** One answer. `reasoning` and `text` are pieces of one token each, to be joined without anything between. */
export interface GeneratedChoice {
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly calls: readonly GeneratedToolCall[]
  readonly images: readonly GeneratedImage[]
  readonly finish: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  /** The stop sequence that ended the text. */
  readonly stopSequence?: string
}

/**
 * Tokens, before a fault falsifies them. What was read from or written to the cache is part of the input, reasoning of
 * the output.
 */
export interface TokenUsage {
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/**
 * The answer before a dialect writes it. Ask, seed and script decide all of it: the same request gets the same bytes.
 */
export interface Generation {
  /** 24 letters and digits to make identifiers of. */
  readonly id: string
  readonly model: string
  readonly choices: readonly GeneratedChoice[]
  readonly usage: TokenUsage
}

/** The usage object, or what a fault says in its place. */
export type UsageWriter = (usage: TokenUsage) => JsonObject | undefined
