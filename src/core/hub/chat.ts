/**
 * The hub types of a chat: every format decodes into them and encodes from them, every provider reads and
 * emits them. Formats and providers know nothing else of each other.
 */
import type { GatewayError } from '../errors.ts'
import type { Usage } from '../usage/usage.ts'
import type { EffortWord } from '../../../rules/efforts.ts'

/** A provider-side cache breakpoint after a part (Anthropic `cache_control`). */
export interface CacheControl {
  readonly type: 'ephemeral'
  readonly ttl?: '5m' | '1h'
}

/**
 * Bytes by reference or inline; `data` is base64. `field` = where the client wrote the URL, or bytes of
 * another kind than that of their field, for errors. `mediaType` of a URL = what the client says of it.
 */
export type Source =
  | { readonly url: string; readonly field?: string; readonly mediaType?: string }
  | { readonly data: string; readonly mediaType: string; readonly field?: string }
  | { readonly fileId: string }

/** A part of a message. */
export type Part =
  | { type: 'text'; text: string; cache?: CacheControl }
  | { type: 'image'; source: Source; detail?: 'auto' | 'low' | 'high'; cache?: CacheControl }
  | { type: 'audio'; data: string; format: string; field?: string }
  | { type: 'document'; source: Source; name?: string; cache?: CacheControl }
  /** A model's thinking. `signature` lets its vendor verify it; `redacted` is readable by the vendor alone. */
  | { type: 'reasoning'; text: string; signature?: string; redacted?: string }
  | { type: 'refusal'; text: string }
  /** `arguments` is JSON text exactly as the model wrote it, `signature` Gemini's of the call, for Gemini alone. */
  | { type: 'tool-call'; id: string; name: string; arguments: string; signature?: string; cache?: CacheControl }
  | {
      type: 'tool-result'
      callId: string
      name?: string
      parts: Part[]
      isError?: boolean
      cache?: CacheControl
    }

/** Who a message is from. */
export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

/** A tool message holds exactly one `tool-result` part. */
export interface Message {
  role: Role
  parts: Part[]
  name?: string
}

/** What the text for a tool of free text must be; a grammar can be enforced only where such tools are known. */
export type FreeTextFormat = { type: 'text' } | { type: 'grammar'; syntax: string; definition: string }

/** A function that the model may ask the client to call. */
export interface Tool {
  name: string
  description?: string
  /** JSON Schema of the arguments; absent = no arguments. */
  parameters?: Record<string, unknown>
  strict?: boolean
  cache?: CacheControl
  /**
   * The client's tool takes plain text (OpenAI's `custom`). For upstreams without such tools the tool is a function all
   * the same: `parameters` has one text, `input`, and `description` the grammar; calls are those of that function.
   */
  freeText?: { description?: string; format?: FreeTextFormat }
}

/** Whether the model has to call a tool, or which one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

/** What the text of the answer must be. */
export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json-object' }
  | { type: 'json-schema'; name: string; schema: Record<string, unknown>; strict?: boolean; description?: string }

/** How much the model should think before it answers. */
export type ReasoningEffort = EffortWord

/** A call of a chat model: every dialect is decoded into it, every provider encodes from it. */
export interface ChatRequest {
  /** The name the client requested; providers send `Target.model` instead. */
  model: string
  messages: Message[]
  stream: boolean
  /** The client wants a usage report at the end of the stream (OpenAI `stream_options.include_usage`). */
  includeUsage: boolean
  /** How many choices (OpenAI `n`); absent = 1. */
  choices?: number
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  stop?: string[]
  seed?: number
  frequencyPenalty?: number
  presencePenalty?: number
  logitBias?: Record<string, number>
  logprobs?: boolean
  topLogprobs?: number
  tools?: Tool[]
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  responseFormat?: ResponseFormat
  /** `budgetTokens` and `effort` are two vendors' ways to ask for the same; either may be set. */
  reasoning?: { effort?: ReasoningEffort; budgetTokens?: number; enabled?: boolean }
  user?: string
  metadata?: Record<string, unknown>
  serviceTier?: string
  /** Fields without a hub type, and the format they came in: they are sent only in that format. */
  extra: { format: string; fields: Record<string, unknown> }
  /**
   * Fields that may be dropped without a report: those of `extra` that are fully represented above, and fields that the
   * format added by itself.
   */
  understoodExtra?: readonly string[]
  /**
   * Names in `extra` without which the answer would be to another question: an upstream that does not support one of
   * them is not called, and the call is refused.
   */
  essentialExtra?: readonly string[]
  /** The code of that refusal, where clients of the format go by one. */
  essentialCode?: string
  /**
   * Further conversations, each answered separately with the same settings (text completions with a list of prompts).
   * The choices of all are one list, in order: those of the n-th conversation start at n times `choices`. Never set for
   * providers.
   */
  series?: readonly Message[][] | undefined
  /** Fields that the format left out, by the client's names; reported with those that the provider drops. */
  dropped?: readonly string[]
}

/** A piece of a choice's text, in UTF-16 units from its beginning; `end` = behind its last one. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** Why a choice ended. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter'

/**
 * One step of an answer. A whole answer is the same list of events as a stream. Every answer starts
 * with `start`, has one `finish` per choice, may end with `usage`. An answer without the `finish`
 * of every choice is not complete, even if the transport ended normally.
 */
export type ChatEvent =
  /** `usage` = what the upstream reports before its answer: the input, and little of the output. */
  | { type: 'start'; id: string; model: string; createdS?: number; usage?: Usage }
  | { type: 'text'; choice: number; text: string }
  /** Deltas of thinking. A `signature` closes the block that the texts before it built. */
  | { type: 'reasoning'; choice: number; text?: string; signature?: string; redacted?: string }
  | { type: 'refusal'; choice: number; text: string }
  /** `index` numbers the calls of a choice from 0 in order of their start. `signature` as in a part. */
  | { type: 'tool-call-start'; choice: number; index: number; id: string; name: string; signature?: string }
  | { type: 'tool-call-arguments'; choice: number; index: number; fragment: string }
  | { type: 'tool-call-end'; choice: number; index: number }
  | { type: 'image'; choice: number; source: Source }
  | { type: 'audio'; choice: number; id?: string; data?: string; transcript?: string; expiresAtS?: number }
  /** In the vendor's words. `span` = the text that it is about, where these do not say it in OpenAI's way. */
  | { type: 'citation'; choice: number; citation: Record<string, unknown>; span?: TextSpan }
  /** OpenAI's token objects (`{token, logprob, bytes, top_logprobs}`), untouched. */
  | { type: 'logprobs'; choice: number; content?: unknown[]; refusal?: unknown[] }
  /** `stopSequence` null = one of them, and the upstream does not say which. */
  | { type: 'finish'; choice: number; reason: FinishReason; stopSequence?: string | null }
  /** The last one counts; each replaces the one before. */
  | { type: 'usage'; usage: Usage }
  /**
   * The upstream reported a failure inside the answer. Nothing follows but, with `awaitsUsage`, the report of what the
   * answer used, in the next event or none.
   */
  | { type: 'error'; error: GatewayError; awaitsUsage?: true }
