/** The usage of a call, read back from its row of the ledger: so that its cost can be made again. */
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import type { ModelUsage, Usage } from '../core/usage/usage.ts'

const known = <Value>(values: Readonly<Record<string, Value | null>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, Value] => entry[1] !== null))

/** What the call used, all requests to upstreams together. */
export function usageOfRow(row: LedgerRow): Usage {
  const counts: Record<string, number | null> = {
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    cacheWriteOneHourTokens: row.cache_write_one_hour_tokens,
    cacheWriteTwelveHourTokens: row.cache_write_twelve_hour_tokens,
    reasoningTokens: row.reasoning_tokens,
    inputAudioTokens: row.input_audio_tokens,
    outputAudioTokens: row.output_audio_tokens,
    inputImageTokens: row.input_image_tokens,
    outputImageTokens: row.output_image_tokens,
    searchUnits: row.search_units,
    images: row.images,
    characters: row.characters,
    audioSeconds: row.audio_microseconds === null ? null : row.audio_microseconds / 1e6,
    videoSeconds: row.video_microseconds === null ? null : row.video_microseconds / 1e6,
    cachedAudioTokens: row.cached_audio_tokens,
    cachedImageTokens: row.cached_image_tokens,
    explicitCachedTokens: row.explicit_cached_tokens,
    inputVideoTokens: row.input_video_tokens,
    outputVideoTokens: row.output_video_tokens,
    pages: row.pages,
    webSearches: row.web_searches,
    webSearchPreviews: row.web_search_previews,
    groundedPrompts: row.grounded_prompts,
    groundingQueries: row.grounding_queries,
    mapsPrompts: row.maps_prompts,
    mapsQueries: row.maps_queries,
    fileSearches: row.file_searches,
    codeSessions: row.code_sessions,
    otherToolUses: row.other_tool_uses,
    cacheStorageTokenHours: row.cache_storage_token_hours,
  }
  const usage = known(counts) as unknown as Usage
  const served = known({ serviceTier: row.service_tier, speed: row.speed, region: row.inference_geo })
  return {
    ...usage,
    ...(Object.keys(served).length > 0 && { served }),
    ...(row.routed_model !== null && { routedModel: row.routed_model }),
    ...(row.other_model_usage !== null && { otherModels: JSON.parse(row.other_model_usage) as ModelUsage[] }),
  }
}
