/** What calls consume: counts, and what served them. */

/**
 * What a call consumed, as the upstream reports it (or as it was estimated: `UsageSource`). A count that is absent was
 * not reported. `pricing/token-classes.ts` splits tokens into classes that do not overlap.
 */
export interface Usage extends UsageCounts {
  /** What served the call, as far as a price may depend on it. */
  served?: Served
  /**
   * Of the counts: tokens of other models, which the upstream asked for help (Anthropic `iterations` of an advisor or a
   * fallback). They have the prices of their own models.
   */
  otherModels?: readonly ModelUsage[]
  /** The model that answered where a router of the vendor chose it: its price comes on top of the router's fee. */
  routedModel?: string
  /** What the upstream says that the call cost, in nano-dollars. Some hosts are believed: `Provider.reportsCost`. */
  reportedCostNanoUsd?: bigint
}

/** Tokens of one model within a call. */
export interface ModelUsage {
  /** The upstream's name. */
  readonly model: string
  readonly usage: Usage
}

/** `Served.serviceTier` of a call that its vendor does not bill: Anthropic's refusals before any output. */
export const unbilledTier = 'unbilled'

/** What served a call, in the words of the upstream's answer; absent = it did not say. */
export interface Served {
  /** OpenAI, Anthropic, Groq, Bedrock `service_tier`: `default`, `flex`, `priority`, `standard`, `batch` ... */
  readonly serviceTier?: string
  /** Anthropic `speed`: `standard`, `fast`. */
  readonly speed?: string
  /** Anthropic `inference_geo`: `global`, `us` ... */
  readonly region?: string
}

/** Counts, each of whole units unless it says otherwise. */
export interface UsageCounts {
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
  /** Of `cacheWriteTokens`: written with a lifetime of twelve hours. */
  cacheWriteTwelveHourTokens?: number
  /** Of the output: reasoning. */
  reasoningTokens?: number
  /** Of the input: audio, cached audio included. */
  inputAudioTokens?: number
  outputAudioTokens?: number
  /** Of the input: pictures, cached ones included. */
  inputImageTokens?: number
  /** Of the output: pictures. Absent while `images` is not = every output token counts as a picture's. */
  outputImageTokens?: number
  /** Of the input: video that is counted in tokens. */
  inputVideoTokens?: number
  outputVideoTokens?: number
  /** Of the cached input: audio, and pictures. Absent = the upstream did not say how much of it is of that kind. */
  cachedAudioTokens?: number
  cachedImageTokens?: number
  /** Of the cached input: from a cache that the client made, where the vendor distinguishes it from its own. */
  explicitCachedTokens?: number
  /** Search units of a reranker; may have a fraction. */
  searchUnits?: number
  /** Pictures generated. */
  images?: number
  /** Seconds of audio, input or output; may have a fraction. */
  audioSeconds?: number
  /** Seconds of video generated; may have a fraction. */
  videoSeconds?: number
  /** Characters of text to be spoken. */
  characters?: number
  /** Pages of documents read. */
  pages?: number
  /** Searches of the web by the vendor's tool. */
  webSearches?: number
  /** Searches of the web by the tool's predecessor, which OpenAI bills by another list (`web_search_preview`). */
  webSearchPreviews?: number
  /** 1 = the answer was grounded by the vendor's search. */
  groundedPrompts?: number
  /** Search queries of a grounded answer. */
  groundingQueries?: number
  /** 1 = the answer was grounded by Google's maps. */
  mapsPrompts?: number
  /** Queries of maps of such an answer; at least 1. */
  mapsQueries?: number
  /** Searches of files by the vendor's tool. */
  fileSearches?: number
  /** Containers, or calls, of the vendor's tool that runs code. */
  codeSessions?: number
  /** Uses of the vendor's other tools: what they cost does not follow from a count. */
  otherToolUses?: number
  /** Tokens that an explicit cache holds, times hours; may have a fraction. */
  cacheStorageTokenHours?: number
}

/**
 * Who counted: the upstream; the gateway (a lost or cut answer, or one without a usable report); both (`mixed`: some
 * counts or some of several requests are estimates); or none of them.
 */
export type UsageSource = 'upstream' | 'estimated' | 'mixed' | 'none'
