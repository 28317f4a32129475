/** Answers calls from kept answers, and keeps those of upstreams (docs/cache.md). */
import type { CacheControls } from '../core/cache/cache-settings.ts'
import type { AnswerCache } from '../core/cache/answer-cache.ts'
import type { CallInAdmission } from '../core/call.ts'
import type { Policy } from '../core/policy.ts'

/** Behind all policies that read or change the request, before those that count: a hit takes nothing from budgets. */
export function answerCache(cache: AnswerCache): Policy {
  return {
    name: 'answer-cache',
    stage: 'body',
    dryRun: false,
    admit(call) {
      const { cache: settings } = call.models.settings
      // An answer that one caller pays for at the vendor is for this caller alone.
      if (call.clientCredential !== undefined) return undefined
      if (settings !== null) return cache.admit(call, settings)
      if (call.overrides.cache !== undefined) reportMissing(call, call.overrides.cache)
      return undefined
    },
    settled(settlement) {
      const { watch, cacheHit } = settlement.call
      if (watch !== undefined || cacheHit !== '') cache.settled(settlement)
    },
  }
}

/** A client that asks for the cache is answered that there is none; to be left alone by it costs nothing. */
function reportMissing(call: CallInAdmission, { names, noCache, noStore, use }: CacheControls): void {
  const missing: string[] = []
  if (use === true && !names.includes('use-cache')) missing.push('caching')
  if (names.length > 0 && !noCache && !noStore) missing.push('cache')
  if (missing.length > 0)
    call.overrides = { ...call.overrides, unfulfilled: [...call.overrides.unfulfilled, ...missing] }
}
