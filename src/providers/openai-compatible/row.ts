import type { CallersCredentials } from '../../core/provider.ts'

/** How a host's format differs in all of its dialects; what it refuses of chats is in `rules/hosts.ts`. */
export interface HostQuirks {
  /** Top-level fields this host refuses: removed and reported as dropped. */
  readonly drop?: readonly string[]
  /** Top-level fields under another name here: `{dimensions: 'output_dimension'}`. */
  readonly rename?: Readonly<Record<string, string>>
  /** false = the host refuses `stream_options`; usage is then estimated. */
  readonly streamOptions?: false
  /** true = the host knows no `developer` role: such calls are translated instead of forwarded. */
  readonly noDeveloperRole?: true
}

/** One host with OpenAI's dialect: its properties that differ between hosts. */
export interface CompatibleRow {
  /** Absent = `api_base` has to be configured. */
  readonly baseUrl?: string
  /** Environment variables of the key, the most common first. */
  readonly apiKeyEnv: readonly string[]
  /** As `Provider.ownNames`. */
  readonly ownNames?: RegExp
  /** As `Provider.callersCredentials`. */
  readonly callersCredentials?: CallersCredentials
  /** true = a self-hosted server that needs no key. */
  readonly keyless?: boolean
  /** false = has no chat, only embeddings or reranking. */
  readonly chat?: false
  /** Has `/completions`; otherwise text completions are translated to chat. */
  readonly completions?: boolean
  /**
   * false = has no `/embeddings`; `plain` = refuses `encoding_format` and token ids, so calls are translated, never
   * forwarded.
   */
  readonly embeddings?: boolean | 'plain'
  /** Has `/responses`; otherwise responses are translated to chat. */
  readonly responses?: boolean
  /** Fields of a Response by the model's name, for models that need others there. */
  readonly responsesModels?: Readonly<Record<string, Readonly<Record<string, string>>>>
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
  /** Has `/rerank`, in Jina's format (`top_n`, `results`) or in Voyage's (`top_k`, `data`). */
  readonly rerank?: 'jina' | 'voyage'
  /** Has `/files` and `/batches`, with OpenAI's objects and lines. */
  readonly files?: boolean
  /** The field that limits the output in translated calls; absent = `max_tokens`. */
  readonly maxTokensField?: 'max_completion_tokens'
  /** Supports all of `openaiChatParams`. */
  readonly newestParams?: true
  /** Supports `top_k`. */
  readonly topK?: boolean
  readonly quirks?: HostQuirks
  /** As `Provider.honours`. */
  readonly honours?: readonly string[]
  /** As `Provider.reportsCost`. */
  readonly reportsCost?: true
}
