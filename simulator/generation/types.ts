/** What a request asks for and what the answer contains, independent of any vendor. */
import type { JsonObject } from '../lib/json.ts'

/** A tool declared by the request; arguments are generated from its schema. */
export interface ToolDefinition {
  readonly name: string
  /** JSON Schema of the arguments; absent = none. */
  readonly schema?: unknown
  /** The tool takes free text instead of JSON. */
  readonly takesText: boolean
}

/** Read by each dialect from its own body; `generate` makes a Generation of it. */
export interface GenerationRequest {
  /** Without the fault suffix. */
  readonly model: string
  /** Text of the last message of the user. */
  readonly userText: string
  /** Distinguishes conversations; with model and seed it decides the answer. */
  readonly conversationKey: string
  readonly inputTokens: number
  /** Number of images in the conversation. */
  readonly images: number
  /** Text of the tool results at the end of the conversation. */
  readonly toolResult?: string
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: 'auto' | 'none' | 'required' | { readonly name: string }
  readonly parallelTools: boolean
  /** The answer has to be JSON, valid against this schema when there is one. */
  readonly json?: { readonly schema?: unknown }
  readonly maxTokens?: number
  readonly stop: readonly string[]
  readonly choices: number
  /** Number of reasoning tokens before the answer. */
  readonly reasoningTokens: number
  /** The answer should contain an image. */
  readonly wantsImage?: boolean
}

/** An image of the answer. Dialects without a field for images leave it out. */
export interface GeneratedImage {
  /** Base64. */
  readonly data: string
  readonly mediaType: string
}

/**
 * A tool call. The pieces joined are the arguments: JSON, unless the tool takes text. A token limit may have cut them.
 */
export interface GeneratedToolCall {
  readonly id: string
  readonly name: string
  readonly takesText: boolean
  /** The arguments in pieces of one token each. */
  readonly pieces: readonly string[]
}

/** One choice. `reasoning` and `text` are in pieces of one token each, joined without a separator. */
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
 * Token counts before a fault changes them. Cache reads and writes are part of the input, reasoning is part of the
 * output.
 */
export interface TokenUsage {
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  /** Those of `cacheWriteTokens` that are kept for an hour. */
  readonly cacheWriteOneHourTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/** The answer before a dialect formats it. Request, seed and script determine all of it. */
export interface Generation {
  /** 24 letters and digits, the base of identifiers. */
  readonly id: string
  readonly model: string
  readonly choices: readonly GeneratedChoice[]
  readonly usage: TokenUsage
}

/** Formats the usage; undefined when a fault removes it. */
export type UsageWriter = (usage: TokenUsage) => JsonObject | undefined
