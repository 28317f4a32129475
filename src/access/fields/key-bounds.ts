/** The record of a new key: what it gets without some fields, and the most that it may have (the file's `settings`). */
import { unprocessable } from '../../core/errors.ts'
import type { Problem } from '../../core/errors.ts'
import type { KeyBounds, NewKeySettings } from '../../core/settings.ts'
import { keyFields } from '../../core/tenancy/field-tables.ts'
import type { KeyChanges } from '../../core/tenancy/keys.ts'
import type { NewKey } from '../../core/tenancy/tenancy-store.ts'
import { keyHint, readDuration } from '../key.ts'
import { dollarsOf } from './money.ts'
import { bareKey } from '../../core/caller.ts'
import { keyChanges } from './key-fields.ts'
import type { KeyFields } from './key-fields.ts'

type MadeKey = Omit<NewKey, 'hash'>

/** What the operator may bound. */
const boundedFields = [
  'maxBudgetNanoUsd',
  'budgetDuration',
  'requestsPerMinute',
  'tokensPerMinute',
  'parallelRequests',
] as const
/** What the operator may set a default of. */
const defaultFields = [...boundedFields, 'models', 'metadata', 'teamId', 'userId'] as const

/** The parts of a new key. `keyText` is the secret; only its hint is stored. */
interface NewKeyParts {
  readonly id: string
  readonly keyText: string
  readonly fields: KeyFields
  readonly nowMs: number
  readonly settings: NewKeySettings
}

/**
 * The record of a new key without its hash, which needs the installation's secret (`store/keys`). What its fields leave
 * out is the default, or the bound where that is less or alone. Throws 422 for a field above its bound.
 */
export function newKey({ id, keyText, fields, nowMs, settings }: NewKeyParts): MadeKey {
  const { defaults, bounds } = settings
  const filled: Record<string, unknown> = {}
  for (const name of defaultFields) {
    const value = lesser(defaults[name], bounds[name as keyof KeyBounds])
    if (fields[keyFields[name].name] == null && value !== undefined) filled[name] = value
  }
  const lifetimes = [defaults.lifetimeMs, bounds.lifetimeMs].filter(one => one !== undefined)
  const lifetimeMs = lifetimes.length === 0 ? undefined : Math.min(...lifetimes)
  if (fields.duration == null && lifetimeMs !== undefined) filled.expiresAtMs = nowMs + lifetimeMs
  const made = { ...bareKey, id, hint: keyHint(keyText), ...keyChanges(fields, nowMs), ...(filled as Partial<MadeKey>) }
  checkKeyBounds({ before: made, changes: made, bounds, nowMs })
  return made
}

interface KeyChange {
  readonly before: Pick<NewKey, (typeof budgetNames)[number]>
  readonly changes: KeyChanges
  readonly bounds: KeyBounds
  readonly nowMs: number
}

/**
 * Throws 422 for each field that is changed to more than its bound, or to no limit where it has one, and for a raise
 * that takes the budget beyond its bound.
 */
export function checkKeyBounds({ before, changes, bounds, nowMs }: KeyChange): void {
  const problems = boundedFields.flatMap((name): Problem[] => {
    const [value, bound] = [changes[name], bounds[name]]
    if (value === undefined || bound === undefined || isWithin(value, bound)) return []
    return [problem(keyFields[name].name, typeof bound === 'bigint' ? dollarsOf(bound)! : bound)]
  })
  const { expiresAtMs: endMs } = changes
  const { lifetimeMs, maxBudgetNanoUsd: most } = bounds
  if (endMs !== undefined && lifetimeMs !== undefined && (endMs === null || endMs > nowMs + lifetimeMs))
    problems.push(problem('duration', `${lifetimeMs / 1000}s`))
  const after = { ...before, ...changes }
  const isBudgetChanged = budgetNames.some(name => changes[name] !== undefined)
  if (problems.length === 0 && most !== undefined && isBudgetChanged && raisedBudget(after, nowMs) > most)
    problems.push(problem('temp_budget_increase', `${dollarsOf(most)} together with max_budget`))
  if (problems.length > 0) throw unprocessable(problems)
}

const budgetNames = ['maxBudgetNanoUsd', 'budgetIncreaseNanoUsd', 'budgetIncreaseUntilMs'] as const

/** With a raise that has not ended; 0 = there is no raise. */
function raisedBudget(key: KeyChange['before'], nowMs: number): bigint {
  const { maxBudgetNanoUsd: max, budgetIncreaseNanoUsd: raise, budgetIncreaseUntilMs: untilMs } = key
  return raise === null || untilMs === null || untilMs <= nowMs ? 0n : (max ?? 0n) + raise
}

type Bounded = bigint | number | string

/** Of a default and a bound; a default that has no bound stays. */
function lesser(usual: unknown, bound: Bounded | undefined): unknown {
  if (usual === undefined || bound === undefined) return usual ?? bound
  return isWithin(usual as Bounded, bound) ? usual : bound
}

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
