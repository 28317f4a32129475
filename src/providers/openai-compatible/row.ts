import type { ForwardQuirks } from '../../core/provider.ts'

/** One host that speaks OpenAI's dialect: everything that tells it from the others. */
export interface CompatibleRow {
  /** Absent = the operator gives `api_base`. */
  readonly baseUrl?: string
  readonly apiKeyEnv: readonly string[]
  /** A server of one's own that asks for no key. */
  readonly keyless?: boolean
  /** Has `/completions` for its models; else text completions are emulated by a chat. */
  readonly completions?: boolean
  /** false = has no `/embeddings`. */
  readonly embeddings?: boolean
  /** The field that bounds the output in translated calls; `max_tokens` unless said. */
  readonly maxTokensField?: 'max_completion_tokens'
  /** Takes `top_k`. */
  readonly topK?: boolean
  readonly quirks?: ForwardQuirks
}
