/** What a call consumed. `null` = not reported; never a guess unless `source` says so. */
export interface Usage {
  /** All input tokens, cached ones included. */
  inputTokens: number
  /** All output tokens, reasoning included. */
  outputTokens: number
  /** Of the input: read from the provider's prompt cache. */
  cachedInputTokens?: number
  /** Of the input: written to the provider's prompt cache (all lifetimes together). */
  cacheWriteTokens?: number
  /** Of `cacheWriteTokens`: written with a lifetime of one hour. */
  cacheWriteOneHourTokens?: number
  /** Of the output: reasoning. */
  reasoningTokens?: number
  inputAudioTokens?: number
  outputAudioTokens?: number
  /** What is billed by other units than tokens, where a vendor reports it. */
  searchUnits?: number
  /** Pictures made. */
  images?: number
  /** Seconds of audio heard or spoken. */
  audioSeconds?: number
  /** Characters of text to be spoken. */
  characters?: number
}

/** Who counted: the upstream, the gateway (a cut or silent stream), or nobody. */
export type UsageSource = 'upstream' | 'estimated' | 'none'

/**
 * Prices of one deployment in nano-dollars per million tokens, as integers.
 * `null` = not known; a component that is absent is charged like plain input or output.
 */
export interface Prices {
  readonly input: bigint
  readonly output: bigint
  readonly cacheRead?: bigint
  readonly cacheWrite?: bigint
  readonly cacheWriteOneHour?: bigint
  readonly inputAudio?: bigint
  readonly outputAudio?: bigint
}
