/** That no key grants more than its maker holds. */
import { isDeepStrictEqual } from 'node:util'
import type { Caller, VirtualKey } from '../core/caller.ts'
import type { SpendingFields } from '../core/tenancy/tenancy.ts'
import { readDuration, tagsOfKey } from './key.ts'

type Limits = Pick<
  VirtualKey,
  | keyof SpendingFields
  | 'models'
  | 'allowedRoutes'
  | 'enforcedParams'
  | 'guardrails'
  | 'expiresAtMs'
  | 'ownEndMs'
  | 'rotationInterval'
  | 'maxBudgetPerSessionNanoUsd'
  | 'tags'
  | 'metadata'
  | 'storesBodies'
  | 'objectPermission'
>

const numbers = [
  'requestsPerMinute',
  'tokensPerMinute',
  'parallelRequests',
  'maxBudgetNanoUsd',
  'maxBudgetPerSessionNanoUsd',
  'expiresAtMs',
] as const
const maps = ['modelRequestsPerMinute', 'modelTokensPerMinute', 'modelMaxBudget'] as const
const lists = ['models', 'allowedRoutes'] as const
/** Lists of which each entry demands something. */
const demands = ['enforcedParams', 'guardrails'] as const

/**
 * What a key restricts beyond its user and team; undefined = nothing. Such a key makes and changes no keys: what it
 * made would not be bound by it.
 */
export function restrictionOf(key: Limits): string | undefined {
  return (
    numbers.find(name => numberOf(key, name) !== null) ??
    maps.find(name => Object.keys(key[name]).length > 0) ??
    [...lists, ...demands].find(name => key[name].length > 0) ??
    (tagsOfKey(key).length === 0 ? undefined : 'tags') ??
    (key.budgetId === null ? undefined : 'budgetId') ??
    (key.objectPermission === null ? undefined : 'objectPermission')
  )
}

/**
 * What of a key keeps it from managing; undefined = nothing does. A key with a budget, a limit or a list of its own is
 * made to call models. One with `allowed_routes` manages what these name, also until its end.
 */
export function managingBar(key: Limits): string | undefined {
  const { allowedRoutes } = key
  if (callsOnly(key)) return 'allowedRoutes'
  return restrictionOf(
    allowedRoutes.length > 0 ? { ...key, allowedRoutes: [], expiresAtMs: null, ownEndMs: null } : key,
  )
}

/** The first field that allows more after a change than before; undefined = none does. */
export function loosenedField(before: Limits & { blocked: boolean }, after: Limits & { blocked: boolean }) {
  return (
    numbers.find(name => isRaised(numberOf(before, name), numberOf(after, name))) ??
    maps.find(name => JSON.stringify(texts(before[name])) !== JSON.stringify(texts(after[name]))) ??
    lists.find(name => before[name].length > 0 && !isPart(after[name], before[name])) ??
    demands.find(name => !before[name].every(one => after[name].includes(one))) ??
    (tagsOfKey(before).every(one => tagsOfKey(after).includes(one)) ? undefined : 'tags') ??
    (['budgetId', 'budgetDuration', 'budgetResetAtMs', 'budgetIncreaseNanoUsd'] as const).find(
      name => before[name] !== after[name],
    ) ??
    (before.storesBodies !== null && before.storesBodies !== after.storesBodies ? 'storesBodies' : undefined) ??
    (before.rotationInterval !== null && before.rotationInterval !== after.rotationInterval
      ? 'rotationInterval'
      : undefined) ??
    (before.objectPermission !== null && !isDeepStrictEqual(before.objectPermission, after.objectPermission)
      ? 'objectPermission'
      : undefined) ??
    (before.blocked && !after.blocked ? 'blocked' : undefined)
  )
}

/** The end of the text before is none of the key: its grace loosens and restricts nothing. */
const numberOf = (key: Limits, name: (typeof numbers)[number]): number | bigint | null =>
  name === 'expiresAtMs' && key.ownEndMs !== undefined ? key.ownEndMs : key[name]

const isRaised = (before: number | bigint | null, after: number | bigint | null): boolean =>
  before !== null && (after === null || after > before)

/** Each entry of the list is in the other. A list without entries allows everything, and is part of none. */
export const isPart = (list: readonly string[], of: readonly string[]): boolean =>
  list.length > 0 && list.every(one => of.includes(one))

const texts = (map: Limits[(typeof maps)[number]]): string[] =>
  Object.entries(map)
    .map(
      ([name, value]) =>
        `${name} ${typeof value === 'number' ? value : `${value.maxBudgetNanoUsd} ${value.budgetDuration}`}`,
    )
    .toSorted()

/** What a key may ask for whose text another than its user knows: calls of models. */
export const callRoutes: readonly string[] = ['llm_api_routes']
const callGroups: ReadonlySet<string> = new Set([...callRoutes, 'openai_routes', 'anthropic_routes'])

/** The key may call models and has no use of the rights of its user: it neither manages nor reads about the user. */
export function callsOnly({ allowedRoutes }: Pick<VirtualKey, 'allowedRoutes'>): boolean {
  return allowedRoutes.length > 0 && allowedRoutes.every(entry => callGroups.has(entry))
}

/** Metadata that decides on money: only administrators write it. */
const reservedNames = /^(cost|price|margin|discount|budget)/i

/** The first name in metadata that only administrators may write; undefined = none. */
export function reservedName(metadata: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(metadata).find(name => reservedNames.test(name))
}

/** The end of a key that a member of the team makes; `requestedEndMs` = milliseconds since 1970, null = never. */
export function memberKeyEnd(
  { team }: Pick<Caller, 'team'>,
  requestedEndMs: number | null,
  nowMs: number,
): number | null {
  const longest = team?.memberKeyDuration ? readDuration(team.memberKeyDuration) : undefined
  if (!longest || 'problem' in longest) return requestedEndMs
  return Math.min(requestedEndMs ?? Number.MAX_SAFE_INTEGER, nowMs + longest.ms)
}
