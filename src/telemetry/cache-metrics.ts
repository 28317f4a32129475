/** Metrics of the cache of answers. */
import type { CacheCounts } from '../core/cache/cache-settings.ts'
import type { Exposition } from './exposition.ts'

/** Nothing is shown while no call has taken part. */
export function exposeCache(out: Exposition, counts: CacheCounts): void {
  const { hits, misses, savedNanoUsd, answers, bytes, followers } = counts
  if (misses === 0 && hits.size === 0) return
  for (const [kind, count] of hits) out.value('modelgate_cache_hits_total', { kind }, count)
  out.value('modelgate_cache_misses_total', {}, misses)
  out.value('modelgate_cache_saved_usd_total', {}, Number(savedNanoUsd) / 1e9)
  out.value('modelgate_cache_answers', {}, answers)
  out.value('modelgate_cache_bytes', {}, bytes)
  out.value('modelgate_cache_followers', {}, followers)
}
