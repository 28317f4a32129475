/** Metrics of the cache of answers. */
import type { CacheCounts } from '../core/cache/cache-settings.ts'
import type { Exposition } from './exposition.ts'

/** Nothing is shown while no call has taken part. */
export function exposeCache(out: Exposition, counts: CacheCounts): void {
  const { hits, misses, savedNanoUsd, answers, bytes, followers } = counts
  if (misses === 0 && hits.size === 0) return
  const hit = { name: 'modelgate_cache_hits_total', help: 'Calls that were answered from the cache, by kind.' }
  for (const [kind, count] of hits) out.value({ ...hit, type: 'counter' }, { kind }, count)
  const missed = { name: 'modelgate_cache_misses_total', help: 'Calls that took part and went to an upstream.' }
  out.value({ ...missed, type: 'counter' }, {}, misses)
  const saved = { name: 'modelgate_cache_saved_usd_total', help: 'What the answers of hits cost when they were made.' }
  out.value({ ...saved, type: 'counter' }, {}, Number(savedNanoUsd) / 1e9)
  const gauges = [
    ['modelgate_cache_answers', 'Answers in the memory of this process.', answers],
    ['modelgate_cache_bytes', 'Bytes of them.', bytes],
    ['modelgate_cache_followers', 'Calls that get the answer of an equal call under way.', followers],
  ] as const
  for (const [name, help, value] of gauges) out.value({ name, help, type: 'gauge' }, {}, value)
}
