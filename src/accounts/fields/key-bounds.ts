/** What keys get that are made without some fields, and the most that they may have (`settings` of the file). */
import { unprocessable } from '../../core/errors.ts'
import type { Problem } from '../../core/errors.ts'
import type { KeyBounds, NewKeySettings } from '../../core/settings.ts'
import type { KeyChanges } from '../../core/tenancy/keys.ts'
import type { NewKey } from '../../core/tenancy/tenancy-store.ts'
import { readDuration } from '../key.ts'
import { dollarsOf } from './money.ts'
import type { KeyFields } from './key-fields.ts'

type MadeKey = Omit<NewKey, 'hash'>

const recordNames = {
  max_budget: 'maxBudgetNanoUsd',
  budget_duration: 'budgetDuration',
  rpm_limit: 'requestsPerMinute',
  tpm_limit: 'tokensPerMinute',
  max_parallel_requests: 'parallelRequests',
} as const
const otherNames = { models: 'models', metadata: 'metadata', team_id: 'teamId', user_id: 'userId' } as const

/**
 * The new key with what its body left out: the default, else the bound. Throws 422 for a field above its bound.
 */
export function withKeySettings(made: MadeKey, sent: KeyFields, settings: NewKeySettings, nowMs: number): MadeKey {
  const { defaults, bounds } = settings
  const filled: Record<string, unknown> = {}
  for (const [field, name] of Object.entries({ ...recordNames, ...otherNames })) {
    const value = defaults[name as keyof typeof defaults] ?? bounds[name as keyof KeyBounds]
    if (sent[field as keyof KeyFields] == null && value !== undefined) filled[name] = value
  }
  const lifetimeMs = defaults.lifetimeMs ?? bounds.lifetimeMs
  if (sent.duration == null && lifetimeMs !== undefined) filled.expiresAtMs = nowMs + lifetimeMs
  const key = { ...made, ...(filled as Partial<MadeKey>) }
  checkKeyBounds(key, bounds, nowMs)
  return key
}

/** Throws 422 for each field that is changed to more than its bound, or to no limit where it has one. */
export function checkKeyBounds(changes: KeyChanges, bounds: KeyBounds, nowMs: number): void {
  const problems = Object.entries(recordNames).flatMap(([field, name]): Problem[] => {
    const [value, bound] = [changes[name], bounds[name]]
    if (value === undefined || bound === undefined || isWithin(value, bound)) return []
    return [problem(field, typeof bound === 'bigint' ? dollarsOf(bound)! : bound)]
  })
  const { expiresAtMs: endMs } = changes
  const { lifetimeMs } = bounds
  if (endMs !== undefined && lifetimeMs !== undefined && (endMs === null || endMs > nowMs + lifetimeMs))
    problems.push(problem('duration', `${lifetimeMs / 1000}s`))
  if (problems.length > 0) throw unprocessable(problems)
}

type Bounded = bigint | number | string

function isWithin(value: Bounded | null, bound: Bounded): boolean {
  if (value === null) return false
  if (typeof value === 'string' || typeof bound === 'string') return lengthMs(value) <= lengthMs(bound)
  return value <= bound
}

/** Of a duration, which was checked when it was written. */
function lengthMs(duration: Bounded): number {
  const read = readDuration(String(duration))
  return 'ms' in read ? read.ms : Number.POSITIVE_INFINITY
}

const problem = (field: string, most: number | string): Problem => ({
  loc: ['body', field],
  msg: `must be at most ${most}: the operator's \`upperbound_key_generate_params\` say so`,
  type: 'out_of_range',
})
