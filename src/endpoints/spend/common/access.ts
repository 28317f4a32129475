/** Which usage a caller may read, and what its sums look like. */
import type { Caller } from '../../../core/caller.ts'
import type { Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { KeyRecord } from '../../../core/tenancy/keys.ts'
import type {
  TopSpenders,
  TopSpendersQuery,
  UsageGroup,
  UsageQuery,
  UsageSums,
  VisibleUsage,
} from '../../../core/ledger/usage-report.ts'
import { described, each, integer, nullable, number, shape, text } from '../../openapi/schema.ts'
import type { ValueOf } from '../../openapi/schema.ts'

/** Dollars of the calls whose cost is known. */
export const usd = described('Dollars; without the calls whose cost is not known.', number)
/** Dollars that may not be known. */
export const maybeUsd = nullable(described('The amount is given in dollars.', number))
/** How many calls have no known cost. */
export const unpriced = described('Calls of upstreams whose cost is not known.', integer)
/** A day of a report. */
export const day = described('The day in UTC, which is written as in 2026-11-21.', text)

const metricNames = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'total_tokens',
  'successful_requests',
  'failed_requests',
  'api_requests',
] as const

/** Sums over calls. */
export const metrics = shape({ spend: usd, ...each(metricNames, integer), unpriced_requests: unpriced })

/**
 * Administrators and their viewers see everything (undefined); a user what all of its keys do, and its teams and
 * organizations where it is their admin; a key without a stored user itself.
 */
export function visibleUsage({ role, key, user, memberships = [] }: Caller): VisibleUsage | undefined {
  if (role === 'proxy_admin' || role === 'proxy_admin_viewer') return undefined
  // Of a derived key too, which has the user of its parent.
  if (role === 'key') return { key_id: [key.id] }
  const groupsOf = (kind: 'team' | 'organization', admin: string) =>
    memberships.filter(one => one.kind === kind && one.role === admin).map(one => one.groupId)
  const teams = groupsOf('team', 'admin')
  const organizations = groupsOf('organization', 'org_admin')
  return {
    key_id: [key.id],
    ...(user !== undefined && { user_id: [user.id] }),
    ...(teams.length > 0 && { team_id: teams }),
    ...(organizations.length > 0 && { organization_id: organizations }),
  }
}

/**
 * Throws 403 where a key asks for the calls of another. Others find nothing of what they may not see, as if it were not
 * there.
 */
export function checkRequestedKey({ role, key }: Caller, keyId: string | undefined): void {
  if (role === 'key' && keyId !== undefined && keyId !== key.id)
    throw new GatewayError('forbidden', 'key_id: a key may only read its own calls; leave it out', { param: 'key_id' })
}

/** Sums within what the caller may see: those of the whole installation become those of the caller's part. */
export function usageFor(services: Services, caller: Caller, query: UsageQuery): Promise<UsageGroup[]> {
  const visible = visibleUsage(caller)
  if (visible === undefined) return services.ledger.usage(query)
  for (const keyId of query.where?.key_id ?? []) checkRequestedKey(caller, keyId)
  return services.ledger.usage({ ...query, visible, scope: query.scope === 'total' ? 'key' : query.scope })
}

/** Whose sums a report shows for themselves, for callers who see everything; null = all of them. */
export async function topSpendersFor(
  { ledger }: Services,
  caller: Caller,
  query: TopSpendersQuery,
): Promise<TopSpenders | null> {
  return visibleUsage(caller) === undefined ? ledger.topSpenders(query) : null
}

/** Dollars, exact up to nine million of them. */
export const dollars = (nanoUsd: bigint): number => Number(nanoUsd) / 1e9

/** The sums under LiteLLM's names, with a count of what they do not know. */
export function shownMetrics(sums: UsageSums): ValueOf<typeof metrics> {
  return {
    spend: dollars(sums.costNanoUsd),
    prompt_tokens: sums.inputTokens,
    completion_tokens: sums.outputTokens,
    cache_read_input_tokens: sums.cachedInputTokens,
    cache_creation_input_tokens: sums.cacheWriteTokens,
    total_tokens: sums.inputTokens + sums.outputTokens,
    successful_requests: sums.successfulRequests,
    failed_requests: sums.requests - sums.successfulRequests,
    api_requests: sums.requests,
    unpriced_requests: sums.unpricedRequests,
  }
}

/** Keys that are looked up for one answer; further ones are named by their ids. */
const keysMax = 200

/** The records of these keys, by id. Deleted keys, and the master key, have none. */
export async function keysById(services: Services, ids: Iterable<string>): Promise<ReadonlyMap<string, KeyRecord>> {
  const wanted = [...new Set(ids)].slice(0, keysMax)
  const found = await services.keys.findAll(wanted)
  return new Map(found.map(record => [record.id, record]))
}

/** Teams that are looked up for one answer; further ones are named by their ids alone. */
const teamsMax = 1000

/** The aliases of these teams, by id. Deleted teams, and those without an alias, have none. */
export async function teamAliases({ tenancy }: Services, ids: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].filter(id => id !== '').slice(0, teamsMax)
  const teams = wanted.length === 0 ? [] : await tenancy.findAll('team', wanted)
  return new Map(teams.flatMap(({ id, alias }) => (alias === null ? [] : [[id, alias] as const])))
}

/** The id of a key named by its id, hash or text; undefined = there is no such key now. */
export async function presentKeyId(services: Services, named: string): Promise<string | undefined> {
  const hash = named.startsWith('sk-') ? services.hashKey(named) : named
  return ((await services.keys.find({ hash })) ?? (await services.keys.find({ id: named })))?.id
}

/** As `presentKeyId`; what names no key is taken for the id of a former one. */
export const keyIdOf = async (services: Services, named: string): Promise<string> =>
  (await presentKeyId(services, named)) ?? named

/** Keys that may share an alias; further ones are not looked for. */
const sharersMax = 100

/** The ids of the keys that have this alias, or had it when they were deleted. */
export async function keyIdsOf({ keys }: Services, alias: string): Promise<string[]> {
  const query = { alias, limit: sharersMax, offset: 0 }
  const [present, deleted] = await Promise.all([keys.list(query), keys.list({ ...query, deleted: true })])
  return [...present.keys, ...deleted.keys].map(key => key.id)
}
