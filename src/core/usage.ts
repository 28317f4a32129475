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
  /** Of the input: pictures. */
  inputImageTokens?: number
  /** Of the output: pictures. Absent while `images` is not = every output token counts as a picture's. */
  outputImageTokens?: number
  /** What is billed by other units than tokens, where a vendor reports it. */
  searchUnits?: number
  /** Pictures generated. */
  images?: number
  /** Seconds of audio, input or output. */
  audioSeconds?: number
  /** Characters of text to be spoken. */
  characters?: number
}

/**
 * Who counted: the upstream; the gateway (a lost or cut answer, or one without a usable report); both (`mixed`: some
 * counts or some of several requests are estimates); or none of them.
 */
export type UsageSource = 'upstream' | 'estimated' | 'mixed' | 'none'

/**
 * Prices of one deployment as integers: nano-dollars for a million of what is counted (tokens, characters, pictures,
 * seconds ...), which is dollars for one times 10^15. A price that is absent is not known. Parts of the input and the
 * output that have no price of their own are charged like plain input and output.
 */
export interface Prices {
  readonly input?: bigint
  readonly output?: bigint
  readonly cacheRead?: bigint
  readonly cacheWrite?: bigint
  readonly cacheWriteOneHour?: bigint
  readonly inputAudio?: bigint
  readonly outputAudio?: bigint
  readonly inputImage?: bigint
  readonly outputImage?: bigint
  readonly reasoning?: bigint
  /** A generated picture. */
  readonly image?: bigint
  /** A character to be spoken. */
  readonly character?: bigint
  /** A second of audio, input or output. */
  readonly audioSecond?: bigint
  /** A reranker's search unit. */
  readonly searchUnit?: bigint
  /** A call, beside what it uses. */
  readonly request?: bigint
  /** Shorter audio is billed as this long. */
  readonly audioSecondsMin?: number
  /** Other prices for the whole of a call with more input; ascending. */
  readonly tiers?: readonly PriceTier[]
  /** Of a call in a vendor's batch. */
  readonly batch?: Prices
  /** What replaces all of this from a moment on; ascending. */
  readonly later?: readonly LaterPrices[]
}

/** Other prices for calls with more input than this. */
export interface PriceTier {
  readonly aboveInputTokens: number
  readonly prices: Prices
}

/** Other prices from this moment on (milliseconds since 1970). */
export interface LaterPrices {
  readonly fromMs: number
  readonly prices: Prices
}

/** The source of a model's prices: the built-in catalogue, the operator, or none. */
export type PriceSource = 'catalogue' | 'config' | 'unknown'
