/**
 * A provider is a set of pure translators: no fetch, no clock, no store. An operation it does not
 * offer is a key it does not have.
 */
import type { Framing } from '../lib/frame-splitter.ts'
import type { Frame } from '../lib/frame.ts'
import type { Secret } from '../lib/secret.ts'
import type { CloudCredential, CloudIdentity } from './cloud-identity.ts'
import type { ChatEvent, ChatRequest } from './hub/chat.ts'
import type { EmbeddingsRequest, EmbeddingsResult } from './hub/embeddings.ts'
import type { FaultKind } from './errors.ts'
import type { FieldRules } from './dialects/field-rules.ts'
import type { ImagesRequest, ImagesResult } from './hub/images.ts'
import type { ModerationsRequest, ModerationsResult } from './hub/moderations.ts'
import type { RerankRequest, RerankResult } from './hub/rerank.ts'
import type { SpeechRequest, SpeechResult } from './hub/speech.ts'
import type { AnswerHead, CallHead, UpstreamRequest } from './transport.ts'
import type { Usage } from './usage/usage.ts'
import type { ExactNames } from '../lib/json/exact-json.ts'

/** The wire formats. A provider that speaks the client's own gets its bytes forwarded. */
export type Dialect =
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-embeddings'
  | 'openai-responses'
  | 'openai-input-tokens'
  | 'cursor-chat'
  | 'openai-moderations'
  | 'openai-images'
  | 'openai-image-edits'
  | 'openai-image-variations'
  | 'openai-speech'
  | 'openai-transcriptions'
  | 'openai-translations'
  | 'anthropic-messages'
  | 'anthropic-count-tokens'
  | 'gemini-generate'
  | 'gemini-count-tokens'
  | 'gemini-embeddings'
  /** Gemini's bodies that name the model inside: no upstream gets these bytes, they are always translated. */
  | 'gemini-named-inside'
  /** What `/utils/token_counter` is sent: no upstream gets these bytes. */
  | 'token-counter'
  | 'cohere-rerank'
  | 'jina-rerank'

/** A translated call: the body is JSON-serialisable. */
export interface TranslatedCall {
  readonly head: CallHead
  readonly body: unknown
  /** Client fields that this upstream does not support, by their path in the client's dialect; dropped and reported. */
  readonly dropped: readonly string[]
}

/** Where a call goes: provider, address, model and credentials. */
export interface Target {
  readonly provider: Provider
  /** The model's name at the upstream. */
  readonly model: string
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: Secret | undefined
  /** Who the gateway is to the provider's cloud; absent = key and headers suffice. */
  readonly identity?: CloudIdentity | undefined
  /** Extra headers of the operator, lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** `organization`, `api_version` and other settings a provider may read. */
  readonly options: Readonly<Record<string, unknown>>
  /** In tokens, by the catalogue or as declared; absent = unknown. */
  readonly limits?: TokenLimits
}

/** What a model takes and writes at most. */
export interface TokenLimits {
  readonly output?: number
  /** Input and output together; of some models the input alone is known. */
  readonly context?: number
}

/** Where a dialect is spoken; `stream` matters to vendors that put it into the path. */
export type MakeHead = (target: Target, stream: boolean) => CallHead

/** How a provider is asked for chats or text completions, and how its answers are read. */
export interface ChatAdapter {
  /** How the bytes of a stream are cut into frames; absent = server-sent events. */
  readonly framing?: Framing
  request(request: ChatRequest, target: Target): TranslatedCall
  /**
   * The names under which its whole answers hold arguments of calls as JSON of their own, which keep their digits
   * (`parseExact`); absent = they are always a text.
   */
  readonly argumentNames?: ExactNames
  /** A whole JSON answer as events. Throws on a shape it does not know. */
  result(body: unknown): ChatEvent[]
  /** A fresh reader per stream, because frames carry state. It throws on a frame that is not the protocol's. */
  reader(): (frame: Frame) => readonly ChatEvent[]
  /**
   * The frame with which the dialect says that a stream is over (`[DONE]`, `message_stop`): nothing after it counts.
   * Absent = the dialect has none, and a stream is over when its bytes are.
   */
  isLast?(frame: Frame): boolean
  /** Beside `isLast`: some of its models' streams have no such frame all the same (Gemini beside Claude). */
  readonly endsSilently?: true
}

/**
 * An operation whose answer is one JSON document. `result` throws on a shape it does not know. `head` is for vendors
 * that report the usage in a header alone.
 */
export interface UnaryAdapter<Request, Result> {
  request(request: Request, target: Target): TranslatedCall
  result(body: unknown, request: Request, head?: AnswerHead): Result
}

/** How a provider is asked for embeddings. */
export interface EmbeddingsAdapter extends UnaryAdapter<EmbeddingsRequest, EmbeddingsResult> {
  /** The most inputs of one request; more are sent in several. Absent = as many as clients may send. */
  inputsMax?(target: Target): number | undefined
}

/** The result of the provider's own counter for a chat request's input. */
export interface TokenCount {
  inputTokens: number
  usage?: Usage
}

/** How a provider is asked for speech. */
export interface SpeechAdapter {
  request(request: SpeechRequest, target: Target): TranslatedCall
  /** Absent = the upstream answers with the audio itself. */
  result?(body: unknown, request: SpeechRequest): SpeechResult
}

/** A call about to be sent, for those that sign every byte. */
export interface SignableCall {
  readonly method: UpstreamRequest['method']
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** In order; signed as if joined. */
  readonly body: readonly Uint8Array[]
}

/** What a call is proven with. */
export interface Proof {
  readonly epochMs: number
  /** Of `Target.identity`; absent = the target has none. */
  readonly credential?: CloudCredential | undefined
}

/** Adds to exactly this call the headers that authenticate it, where a fixed header is not enough. Pure. */
export type Authorize = (call: SignableCall, target: Target, proof: Proof) => Record<string, string>

/** What an upstream's error answer means. */
export interface UpstreamFault {
  readonly kind: FaultKind
  /** The upstream's own message, for the client. */
  readonly message: string
  /** Absent = that of the kind. */
  readonly code?: string
  readonly param?: string
  /** Of a refusal, which keeps its own; absent = that of the kind. */
  readonly status?: number
  /** How long to wait, where the vendor says it in the body (Google's `RetryInfo`). */
  readonly retryAfterMs?: number
}

/** The answer of a provider that is part of this program, in the bytes a real upstream would send. */
export interface InProcessAnswer {
  readonly status: number
  readonly contentType: string
  /** One piece for a whole answer, one per event for a stream. */
  readonly pieces: readonly (string | Uint8Array)[]
}

/** A file of the client's form, as a provider inside this program sees it: name, type and first bytes. */
export interface InProcessFile {
  /** The form field that holds it. */
  readonly field: string
  readonly filename: string
  /** As the client sent it; empty = not sent. */
  readonly contentType: string
  /** Of the whole file. */
  readonly bytes: number
  /** The first 64 KiB. */
  readonly head: Uint8Array
}

/** How a vendor's files and batches are reached, in OpenAI's shapes. */
export interface FilesAdapter {
  /** `path` begins with `/files` or `/batches` and is ready for a URL. The type of a body is the caller's to add. */
  head(target: Target, path: string): CallHead
  /** The model's name in the lines of a batch; absent = `Target.model`. */
  modelName?(target: Target): string
}

/** By what credentials of a vendor are known that callers bring, and what goes with them. */
export interface CallersCredentials {
  /** No other vendor's have this form; absent = they have none that shows. */
  readonly form?: RegExp
  /** The header that only this vendor takes them in; absent = others do as well. */
  readonly header?: string
  /** In calls of these dialects a credential that shows nothing else is this vendor's; absent = in none. */
  readonly dialects?: readonly Dialect[]
  /** Headers of clients about the account or the program, which are sent along; absent = none. */
  readonly besideHeaders?: readonly string[]
  /** Words that the vendor wants in lists of headers beside such a text, by lower-case name of the header. */
  demanded?(text: string): Readonly<Record<string, string>>
}

/** A vendor's API as pure translators: no clock, no network, no store. */
export interface Provider {
  readonly name: string
  /** Absent = callers' own are taken for this vendor's where the model that they call leaves no other. */
  readonly callersCredentials?: CallersCredentials
  /** Absent = the operator must give `api_base`. */
  readonly defaultBaseUrl?: string
  /** Environment variables that hold the key, most usual first. */
  readonly apiKeyEnv: readonly string[]
  /** The names that this vendor alone gives to models: a name without a provider that matches is one of its models. */
  readonly ownNames?: RegExp
  /** Works without any key (a local server). */
  readonly keyless?: boolean
  /** Dialects the upstream speaks itself, and where. Same dialect on both sides = bytes forwarded. */
  readonly speaks: Readonly<Partial<Record<Dialect, MakeHead>>>
  /** false = this model of the provider does not speak that dialect, so it is translated; absent = all do. */
  forwards?(target: Target, dialect: Dialect): boolean
  /**
   * false = this model takes no `response_format` beside tools: the gateway asks for it in the prompt, and checks the
   * answer; absent = all take both.
   */
  takesFormatBesideTools?(target: Target): boolean
  /** Dialects of modes that are not assumed of the host, spoken by a deployment that declares such a mode. */
  readonly speaksByMode?: Readonly<Partial<Record<'moderation', Readonly<Partial<Record<Dialect, MakeHead>>>>>>
  /** The name of the maximum of output tokens in its chats; absent = `max_tokens`. */
  readonly maxTokensField?: 'max_completion_tokens'
  /** What its own format of a dialect refuses; absent = nothing. Compiled once for each target. */
  rules?(target: Target, dialect: Dialect): FieldRules
  /** Its usage says what a call cost, as it is billed: `Usage.reportedCostNanoUsd` is believed. */
  readonly reportsCost?: true
  /** It bills nothing for answers with `unbilledTier`; of other platforms with the same dialect it is not known. */
  readonly leavesUnbilled?: true
  /** Steering fields (`routingFields`) whose restricting part it is always sent: it narrows what the operator chose. */
  readonly honours?: readonly string[]
  /** The header of an answer, in lower case, that says which service tier it was served by. */
  readonly tierHeader?: string
  readonly chat?: ChatAdapter
  /** The same by OpenAI's Responses, for models and calls that `chat` cannot serve (`Deployment.responsesOnly`). */
  readonly chatByResponses?: (target: Target) => ChatAdapter
  /** Both know tools that take plain text (`custom`); for other hosts these are functions. */
  readonly textTools?: true
  /** true = the upstream compacts conversations of this dialect by itself; absent = none does. */
  compacts?(target: Target, dialect: Dialect): boolean
  /** Keeps the state of Anthropic's message threads (`thread`). */
  readonly threads?: true
  readonly embeddings?: EmbeddingsAdapter
  /** Takes no token ids for embeddings: it is sent their text. */
  readonly embedsTextOnly?: true
  readonly rerank?: UnaryAdapter<RerankRequest, RerankResult>
  readonly moderations?: UnaryAdapter<ModerationsRequest, ModerationsResult>
  readonly images?: UnaryAdapter<ImagesRequest, ImagesResult>
  readonly speech?: SpeechAdapter
  /** Asks the vendor's own counter. */
  readonly countTokens?: UnaryAdapter<ChatRequest, TokenCount>
  readonly files?: FilesAdapter
  readonly authorize?: Authorize
  /** The provider answers by itself, without any network. Pure: the same call gives the same answer. */
  answer?(head: CallHead, body: unknown, files?: readonly InProcessFile[]): InProcessAnswer
  /**
   * Fields of chat, in OpenAI's names, that it takes beside those of the hub, which its translation is asked for
   * (core/hub/params.ts).
   */
  readonly chatExtras?: readonly string[]
}
