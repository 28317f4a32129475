/** The shape of what a host says when it refuses or fails. */
import type { Source } from './source.ts'

/**
 * What an upstream's error means. `bad-input`: the request itself cannot be served, such as a picture for a model that
 * reads none; `refused`: a wrong request of which no more is known; `bad-gateway`: what stands before the host failed.
 */
export type RefusalKind =
  | 'too-long'
  | 'content-policy'
  | 'bad-input'
  | 'refused'
  | 'too-large'
  | 'unknown-model'
  | 'bad-key'
  | 'no-credit'
  | 'rate'
  | 'overloaded'
  | 'timeout'
  | 'bad-gateway'
  | 'failed'

/** An answer as the host writes it. */
export interface RefusalExample {
  readonly status: number
  /** JSON, or text that is none. */
  readonly body: object | string
}

/** One way in which a host says one thing. */
export interface Refusal {
  readonly kind: RefusalKind
  readonly source: Source
  /**
   * Types, codes and reasons in lower case that mean this, also beside other words; one that ends with `*` stands for
   * all that begin so. Numbers count at this host alone.
   */
  readonly codes?: readonly string[]
  /** Its sentences: so exact that they mean this at any host, also beside the status of a failure. */
  readonly words?: RegExp
  /** Statuses that mean this at this host, unless a code or a word says more. */
  readonly statuses?: readonly number[]
  readonly example?: RefusalExample
}

/** The rows of one host, all read in one place. */
export const saidBy = (url: string, readOn: string, rows: readonly Omit<Refusal, 'source'>[]): readonly Refusal[] =>
  rows.map(row => ({ ...row, source: { url, readOn } }))

/** An error in OpenAI's shape. */
export const openaiError = (
  message: string,
  type: string,
  code: string | null = null,
  param: string | null = null,
): object => ({ error: { message, type, param, code } })

/** What OpenAI, and many after it, say of a conversation of too many tokens. */
export const contextOf = (tokens: number): string =>
  `This model's maximum context length is ${tokens} tokens. ` +
  `However, your messages resulted in ${tokens + 900} tokens. ` +
  'Please reduce the length of the messages.'
