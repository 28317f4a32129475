/**
 * Embeddings of more inputs than the upstream takes in one request: sent in parts, one after the other. The router sees
 * one exchange with one answer.
 */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import type { EmbeddingsAdapter, Target, TranslatedCall } from '../../core/provider.ts'
import { addUsage } from '../../core/usage/usage-sum.ts'
import type { Usage } from '../../core/usage/usage.ts'

/** The position in the inputs, and the vectors of those before it. */
export class EmbeddingSeries {
  readonly #request: EmbeddingsRequest
  readonly #adapter: EmbeddingsAdapter
  readonly #target: Target
  /** Inputs of one request. */
  readonly #most: number
  readonly #vectors: Float32Array[] = []
  #usage: Usage | undefined

  constructor(request: EmbeddingsRequest, adapter: EmbeddingsAdapter, target: Target, most: number) {
    this.#request = request
    this.#adapter = adapter
    this.#target = target
    this.#most = most
  }

  /** The part of the request that is to be answered next. */
  get part(): EmbeddingsRequest {
    const at = this.#vectors.length
    return { ...this.#request, inputs: this.#request.inputs.slice(at, at + this.#most) }
  }

  /** The upstream request for it. */
  call(): TranslatedCall {
    return this.#adapter.request(this.part, this.#target)
  }

  /**
   * Adds the answer to `part`; returns the request for the next one, or undefined after the last. Throws
   * `upstream-broken` unless there is one vector for each input.
   */
  take({ vectors, usage }: EmbeddingsResult): TranslatedCall | undefined {
    const expected = this.part.inputs.length
    if (vectors.length !== expected)
      throw new GatewayError(
        'upstream-broken',
        `the upstream answered ${vectors.length} vectors for ${expected} inputs`,
      ).withUsage(usage)
    this.#vectors.push(...vectors)
    this.#usage = addUsage(this.#usage, usage)
    return this.#vectors.length < this.#request.inputs.length ? this.call() : undefined
  }

  /** All answers as one. */
  get result(): EmbeddingsResult {
    return { vectors: this.#vectors, usage: this.#usage ?? { inputTokens: 0, outputTokens: 0 } }
  }
}
