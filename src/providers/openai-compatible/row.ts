import type { ForwardQuirks } from '../../core/provider.ts'

/** One host that speaks OpenAI's dialect: everything that tells it from the others. */
export interface CompatibleRow {
  /** Absent = the operator gives `api_base`. */
  readonly baseUrl?: string
  /** Most usual first, as in `Provider`. */
  readonly apiKeyEnv: readonly string[]
  /** A server of one's own that asks for no key. */
  readonly keyless?: boolean
  /** false = has no chat: a host of embeddings or rerankers. */
  readonly chat?: false
  /** Has `/completions` for its models; else text completions are emulated by a chat. */
  readonly completions?: boolean
  /** false = has no `/embeddings`; `plain` = refuses `encoding_format`, so that calls are translated, never forwarded. */
  readonly embeddings?: boolean | 'plain'
  /** Has `/responses`; else they are emulated by a chat. */
  readonly responses?: boolean
  /** Has `/moderations`. */
  readonly moderations?: boolean
  /** Has `/images/generations`. */
  readonly images?: boolean
  /** Has `/images/edits`. */
  readonly imageEdits?: boolean
  /** Has `/images/variations`. */
  readonly imageVariations?: boolean
  /** Has `/audio/speech`. */
  readonly speech?: boolean
  /** Has `/audio/transcriptions`. */
  readonly transcriptions?: boolean
  /** Has `/audio/translations`. */
  readonly translations?: boolean
  /** Has `/rerank`, in Jina's words (`top_n`, `results`) or in Voyage's (`top_k`, `data`). */
  readonly rerank?: 'jina' | 'voyage'
  /** Has `/files` and `/batches`, with OpenAI's objects and lines. */
  readonly files?: boolean
  /** The field that bounds the output in translated calls; `max_tokens` unless said. */
  readonly maxTokensField?: 'max_completion_tokens'
  /** Takes the newest fields of OpenAI's chat too. */
  readonly newestParams?: true
  /** Takes `top_k`. */
  readonly topK?: boolean
  readonly quirks?: ForwardQuirks
}
