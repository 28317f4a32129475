/** What the use of a model costs: the shape that price lists, configurations and costs share. */

/** Prices that are one number each, as integers: nano-dollars for a million of what is counted. */
export interface UnitPrices {
  /** Tokens of text, and of everything below that has no price of its own. */
  readonly input?: bigint
  readonly output?: bigint
  /** Tokens read from the vendor's prompt cache. */
  readonly cacheRead?: bigint
  /** Absent = audio in the cache costs as text does there, if audio has no price of its own outside of it. */
  readonly cacheReadAudio?: bigint
  readonly cacheReadImage?: bigint
  /** Tokens read from a cache that the client made, where these cost other than those of the vendor's own cache. */
  readonly cacheReadExplicit?: bigint
  /** Tokens written to the cache for the vendor's shortest lifetime (five minutes). */
  readonly cacheWrite?: bigint
  /** Tokens written to the cache for an hour. */
  readonly cacheWriteOneHour?: bigint
  /** Tokens written to the cache for twelve hours. */
  readonly cacheWriteTwelveHour?: bigint
  /** A token that an explicit cache holds for an hour. */
  readonly cacheStorageTokenHour?: bigint
  readonly inputAudio?: bigint
  readonly outputAudio?: bigint
  readonly inputImage?: bigint
  readonly outputImage?: bigint
  /** Tokens of video, for models that count video in tokens. */
  readonly inputVideo?: bigint
  readonly outputVideo?: bigint
  readonly reasoning?: bigint
  /** A generated picture. */
  readonly image?: bigint
  /** A character to be spoken. */
  readonly character?: bigint
  /** A second of audio, input or output. */
  readonly audioSecond?: bigint
  /** A second of generated video. */
  readonly videoSecond?: bigint
  /** A page of a document that is read. */
  readonly page?: bigint
  /** A reranker's search unit. */
  readonly searchUnit?: bigint
  /** A call, beside what it uses. */
  readonly request?: bigint
  /**
   * The most that a call costs beside what it uses, by what only the vendor knows: budgets reserve it, and a cost that
   * the vendor does not report is unknown.
   */
  readonly requestAtMost?: bigint
  /** A search of the web by the vendor's tool. */
  readonly webSearch?: bigint
  /** A search of the web by the tool's predecessor (OpenAI `web_search_preview`). */
  readonly webSearchPreview?: bigint
  /** A prompt that was grounded by any number of searches (Gemini 2.x). */
  readonly groundedPrompt?: bigint
  /** A search query of a grounded prompt (Gemini 3 and later). */
  readonly groundingQuery?: bigint
  /** A prompt that was grounded by any number of queries of maps (Gemini 2.x). */
  readonly mapsPrompt?: bigint
  /** A query of maps (Gemini 3 and later). */
  readonly mapsQuery?: bigint
  /** A search of files by the vendor's tool. */
  readonly fileSearch?: bigint
  /** A container, or a call, of the vendor's tool that runs code. */
  readonly codeSession?: bigint
}

/** The name of a price that is one number. */
export type PriceName = keyof UnitPrices

/**
 * Prices of one deployment as integers: nano-dollars for a million of what is counted (tokens, characters, pictures,
 * seconds ...), which is dollars for one times 10^15. A price that is absent is not known.
 *
 * Parts of the input and the output without a price of their own are charged as plain input and output, but for those
 * in `unknown`; a variant, a place, and every unit that is no token without a price make the cost unknown.
 */
export interface Prices extends UnitPrices {
  /** Prices that the vendor has and that are not known: a call that uses one of them has no known cost. */
  readonly unknown?: readonly PriceName[]
  /** These are the fee of a router of the vendor, beside the prices of the model that it chooses for a call. */
  readonly isFee?: true
  /** Shorter audio is billed as this long. */
  readonly audioSecondsMin?: number
  /** Other prices for the whole of a call with more input; ascending. */
  readonly tiers?: readonly PriceTier[]
  /**
   * Other prices for the whole of a call, by what served it: `batch`, `flex`, `priority`, `fast`, `ultrafast`, `scale`
   * ... Each is complete, with tiers of its own; it has no `variants`, `hours` or `later`. A variant that is not here
   * has no known price.
   */
  readonly variants?: Readonly<Record<string, Prices>>
  /**
   * By the region of the inference that the upstream reports (`us`): so many percent of the prices of tokens (110 = a
   * tenth more). A region that is not here, other than `global`, has no known price.
   */
  readonly regionPercent?: Readonly<Record<string, number>>
  /** What replaces the prices above at certain hours of the week. */
  readonly hours?: readonly HourPrices[]
  /** What replaces all of this from a moment on; ascending. */
  readonly later?: readonly LaterPrices[]
}

/**
 * Other prices for calls with at least so much input, cached input included. An integer says both kinds of edges: a
 * vendor's "more than 200,000" is 200,001, its "from 200,000 on" is 200,000.
 */
export interface PriceTier {
  readonly fromInputTokens: number
  readonly prices: Prices
}

/** Prices of certain hours, in UTC. */
export interface HourPrices {
  /** Minutes since midnight, from inclusive, to exclusive; `to` below `from` = past midnight. */
  readonly windows: readonly { readonly fromMinute: number; readonly toMinute: number }[]
  /** Days of the week, 0 = Sunday; absent = every day. */
  readonly days?: readonly number[]
  /** Days without these hours, such as holidays: `2026-10-01`. */
  readonly exceptDays?: readonly string[]
  /** Complete, with variants and tiers of its own. */
  readonly prices: Prices
}

/** Other prices from this moment on (milliseconds since 1970). */
export interface LaterPrices {
  readonly fromMs: number
  readonly prices: Prices
}

/** The source of a model's prices: the built-in catalogue, the operator, or none. */
export type PriceSource = 'catalogue' | 'config' | 'unknown'
