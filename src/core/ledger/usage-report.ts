/** Sums of the ledger by day, as endpoints ask for them. Implemented by `store/ledger/sums/usage-query.ts`. */

/**
 * What the sums are kept for: `total` and `client` (the product of the user agent) are of the whole installation and
 * know no keys; `key`, `customer` and `tag` do. A call with several tags counts in each of them.
 */
export type UsageScope = 'total' | 'key' | 'customer' | 'client' | 'tag'

/** By what sums can be grouped and chosen. `entity` is that of the scope: the key, customer, client or tag. */
export type UsageField =
  | 'entity'
  | 'key_id'
  | 'user_id'
  | 'team_id'
  | 'organization_id'
  | 'model'
  | 'deployment_id'
  | 'provider'
  | 'upstream_model'
  | 'route'

/**
 * What a caller may see: everything that has one of these values in one of these fields. `ledger` has columns of the
 * same names.
 */
export type VisibleUsage = Readonly<
  Partial<Record<'key_id' | 'user_id' | 'team_id' | 'organization_id', readonly string[]>>
>

/**
 * Days are counted since 1970-01-01 in UTC, both included. Groups by user, team, organization or tag may leave out what
 * has none.
 */
export interface UsageQuery {
  readonly scope: UsageScope
  readonly firstDay: number
  readonly lastDay: number
  /** Each field must have one of its values; none of an empty list. */
  readonly where?: Readonly<Partial<Record<UsageField, readonly string[]>>>
  /** Absent = everything. */
  readonly visible?: VisibleUsage | undefined
  readonly groups: readonly (UsageField | 'day')[]
  /** `day`: newest first. `cost`: the most expensive first. */
  readonly order: 'day' | 'cost'
  /** Groups at most; the caller asks for one more than it shows to learn whether there are more. */
  readonly limit: number
}

/** Asks whose sums to show, where there are too many to read all of them. Days as in `UsageQuery`. */
export interface TopSpendersQuery {
  readonly scope: UsageScope
  readonly field: UsageField
  readonly firstDay: number
  readonly lastDay: number
  /** So many of them, however many sums they have; absent = as many as are read quickly. */
  readonly most?: number
  /** Values of the field: only their keys are chosen. Absent = values of the field are chosen too. */
  readonly entities?: readonly string[]
}

/** Those that spent most, the dearest first. */
export interface TopSpenders {
  /** Values of the field; those that were requested. */
  readonly entities: readonly string[]
  /** Whose sums are shown for themselves; null = those of all keys of the entities. */
  readonly keys: readonly string[] | null
}

/** What calls have used. Tokens that were not counted and costs that are not known are 0 here. */
export interface UsageSums {
  readonly requests: number
  readonly successfulRequests: number
  /** Requests of upstreams whose cost is not known: `costNanoUsd` is too low by theirs. */
  readonly unpricedRequests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly costNanoUsd: bigint
}

/** The sums of one group, with the fields it is grouped by; the others are empty. An empty text = the call had none. */
export interface UsageGroup extends UsageSums {
  readonly day: number
  readonly fields: Readonly<Record<UsageField, string>>
}

/** The sums of nothing. */
export const noUsage: UsageSums = Object.freeze({
  requests: 0,
  successfulRequests: 0,
  unpricedRequests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costNanoUsd: 0n,
})

/** Both together. */
export function addUsageSums(one: UsageSums, other: UsageSums): UsageSums {
  return {
    requests: one.requests + other.requests,
    successfulRequests: one.successfulRequests + other.successfulRequests,
    unpricedRequests: one.unpricedRequests + other.unpricedRequests,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    costNanoUsd: one.costNanoUsd + other.costNanoUsd,
  }
}

/** The first without the second, which is a part of it. */
export function subtractUsageSums(one: UsageSums, part: UsageSums): UsageSums {
  return {
    requests: one.requests - part.requests,
    successfulRequests: one.successfulRequests - part.successfulRequests,
    unpricedRequests: one.unpricedRequests - part.unpricedRequests,
    inputTokens: one.inputTokens - part.inputTokens,
    outputTokens: one.outputTokens - part.outputTokens,
    cachedInputTokens: one.cachedInputTokens - part.cachedInputTokens,
    cacheWriteTokens: one.cacheWriteTokens - part.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens - part.reasoningTokens,
    costNanoUsd: one.costNanoUsd - part.costNanoUsd,
  }
}

/** How long the ledger keeps what, in whole days as milliseconds; null = for ever. */
export interface LedgerRetention {
  readonly rowsMs: number | null
  /** Of the sums by day. */
  readonly sumsMs: number | null
}
