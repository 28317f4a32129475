/**
 * A provider is a set of pure translators: no fetch, no clock, no store. An operation it does not
 * offer is a key it does not have.
 */
import type { Frame } from '../lib/sse.ts'
import type { ChatEvent, ChatRequest } from './chat.ts'
import type { Target } from './deployment.ts'
import type { EmbeddingsRequest, EmbeddingsResult } from './embeddings.ts'
import type { FaultKind } from './errors.ts'

/** The wire formats. A provider that speaks the client's own gets its bytes forwarded. */
export type Dialect = 'openai-chat' | 'openai-completions' | 'openai-embeddings' | 'anthropic-messages'

/** Where and with which headers a call goes; never depends on the body, so it is made once per deployment. */
export interface CallHead {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** A translated call: the body is JSON-serialisable. */
export interface TranslatedCall {
  readonly head: CallHead
  readonly body: unknown
  /** Client fields this upstream cannot take, by their path in the client's words; dropped and reported. */
  readonly dropped: readonly string[]
}

/** How a provider's own format differs from the pure dialect; applied as edits to the forwarded bytes. */
export interface ForwardQuirks {
  /** Top-level fields this host refuses: removed and reported as dropped. */
  readonly drop?: readonly string[]
  /** Top-level fields under another name here: `{max_completion_tokens: 'max_tokens'}`. */
  readonly rename?: Readonly<Record<string, string>>
  /** false = the host refuses `stream_options`; usage is then estimated. */
  readonly streamOptions?: boolean
  /** true = the host knows no `developer` role: such calls are translated instead of forwarded. */
  readonly noDeveloperRole?: boolean
}

export interface ChatAdapter {
  request(request: ChatRequest, target: Target): TranslatedCall
  /** A whole JSON answer as events. Throws on a shape it does not know. */
  result(body: unknown): ChatEvent[]
  /** A fresh reader per stream, because frames carry state. It throws on a frame that is not the protocol's. */
  reader(): (frame: Frame) => readonly ChatEvent[]
}

export interface EmbeddingsAdapter {
  request(request: EmbeddingsRequest, target: Target): TranslatedCall
  result(body: unknown): EmbeddingsResult
}

/** What an upstream's error answer means. */
export interface UpstreamFault {
  readonly kind: FaultKind
  /** The upstream's own words, for the client. */
  readonly message: string
  readonly code?: string | null
  readonly param?: string | null
}

/** The answer of a provider that is part of this program, in the bytes a real upstream would send. */
export interface InProcessAnswer {
  readonly status: number
  readonly contentType: string
  /** One piece for a whole answer, one per event for a stream. */
  readonly pieces: readonly string[]
}

export interface Provider {
  readonly name: string
  /** Absent = the operator must give `api_base`. */
  readonly defaultBaseUrl?: string
  /** Environment variables that hold the key, most usual first. */
  readonly apiKeyEnv: readonly string[]
  /** Works without any key (a local server). */
  readonly keyless?: boolean
  /** Dialects the upstream speaks itself, and where. Same dialect on both sides = bytes forwarded. */
  readonly speaks: Readonly<Partial<Record<Dialect, (target: Target) => CallHead>>>
  readonly quirks?: ForwardQuirks
  readonly chat?: ChatAdapter
  readonly embeddings?: EmbeddingsAdapter
  /** Reads an error body; undefined = the general rule by status applies. `body` is parsed JSON or text. */
  fault?(status: number, body: unknown): UpstreamFault | undefined
  /** The provider answers by itself, without any network. Pure: the same call gives the same answer. */
  answer?(head: CallHead, body: unknown): InProcessAnswer
  /** Request fields this provider understands for chat, in OpenAI's names (`/utils/supported_openai_params`). */
  readonly chatParams: readonly string[]
}
