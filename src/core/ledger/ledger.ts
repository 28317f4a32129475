/** The ledger as the rest of the program uses it: one row a call. Implemented by `store`. */
import type { CallHistogram } from './call-histogram.ts'
import type { LatencyGroup, LatencyQuery } from './latency.ts'
import type { LedgerIntent, LedgerRow } from './ledger-columns.ts'
import type { TopSpenders, TopSpendersQuery, UsageGroup, UsageQuery, VisibleUsage } from './usage-report.ts'

/** Which rows of the ledger are shown, and their page. */
export interface LedgerQuery {
  /** Absent = everything. */
  readonly visible?: VisibleUsage | undefined
  readonly keyId?: string
  readonly userId?: string
  readonly teamId?: string
  readonly endUser?: string
  readonly model?: string
  readonly requestId?: string
  readonly sessionId?: string
  readonly outcome?: string
  /** Only calls whose outcome is not `success`; without `outcome`. */
  readonly isFailed?: true
  /** Only calls with one of the values in each of these columns; none of an empty list. */
  readonly among?: VisibleUsage
  /** Only calls in which a guardrail found something or was not answered, or that the cache answered. */
  readonly hits?: 'guardrail' | 'cache'
  /**
   * Only calls that took so long, cost so much, went to this deployment, or failed with this HTTP status, and what
   * follows. A page may then have fewer rows than its limit, and a next one.
   */
  readonly minDurationMs?: number
  readonly minCostNanoUsd?: number
  readonly maxCostNanoUsd?: number
  readonly deploymentId?: string
  readonly errorStatus?: number
  /** The HTTP status, from the first to the last. */
  readonly statusRange?: readonly [first: number, last: number]
  readonly errorKind?: string
  /** A part of what the client was told, in any case. */
  readonly errorText?: string
  readonly provider?: string
  readonly tag?: string
  /** The name of the model, in any case, with `*` for what may stand there. */
  readonly modelPattern?: string
  /** Milliseconds since 1970, inclusive / exclusive. */
  readonly fromMs?: number
  readonly toMs?: number
  readonly limit: number
  /** Absent = the newest first. */
  readonly isOldestFirst?: boolean
  /** Opaque, from the page before. */
  readonly cursor?: string
}

/** What calls can be ordered by, beside the time that they began. */
export type CallOrder = 'end' | 'cost' | 'tokens' | 'duration' | 'model' | 'first_byte'

/** Which rows are shown, in a page by its number or by a cursor. */
export interface ShownQuery extends LedgerQuery {
  /**
   * The order, of the newest rows that the query finds, as many as are looked at quickly; without a cursor. What is not
   * known comes last. Absent = by time, of all rows.
   */
  readonly sortBy?: CallOrder
  /** Rows before the page; without a cursor. */
  readonly offset?: number
  /** All rows are counted that the query finds, as far as they are counted quickly. */
  readonly isCounted?: boolean
}

/** A page of rows for the API. */
export interface ShownPage {
  /** Objects of `core/ledger/shown-call.ts`, JSON in UTF-8, with commas between. */
  readonly rows: Uint8Array
  /** null = there are no more rows. */
  readonly nextCursor: string | null
  /** Where they were asked to be counted. `isCapped` = there are more. */
  readonly total?: { readonly rows: number; readonly isCapped: boolean }
  /**
   * Of a list by another field than time: when the oldest of the calls began that were ordered; null = all of them
   * were. Milliseconds since 1970.
   */
  readonly sortedFromMs?: number | null
}

/** Which calls are counted, from when to when, in how many equal parts. Times are milliseconds since 1970. */
export interface HistogramQuery extends Omit<LedgerQuery, 'limit' | 'cursor' | 'isOldestFirst'> {
  readonly fromMs: number
  readonly toMs: number
  /** Parts of the span, 1 at least. Days, where they are counted, are no more than these. */
  readonly bars: number
  /** Sums of the present day are whole up to now. */
  readonly nowMs: number
}

/** Of whom, and since when. */
export interface RecentSpendQuery {
  readonly visible?: VisibleUsage | undefined
  readonly fromMs: number
}

/** The newest calls of the span, as many as are read quickly. */
export interface RecentSpend {
  readonly calls: number
  readonly costNanoUsd: bigint
  /** Calls of upstreams whose cost is not known. */
  readonly unpriced: number
  /** From here on all calls are counted; later than was asked = there are too many. */
  readonly fromMs: number
}

/** Sessions of calls that began in a span. */
export interface SessionQuery {
  readonly visible?: VisibleUsage | undefined
  /** Milliseconds since 1970, inclusive / exclusive. */
  readonly fromMs: number
  readonly toMs: number
  /** Sessions at most. */
  readonly limit: number
}

/** Of the newest calls of the span, as many as are read quickly. */
export interface SessionList {
  /** The one with the newest call first. */
  readonly sessions: readonly ListedSession[]
  /** From here on all calls were looked at; later than was asked = there are too many. */
  readonly fromMs: number
}

/** A session by its calls of a span. */
export interface ListedSession {
  readonly sessionId: string
  readonly calls: number
  readonly failed: number
  /** When its first and its last call began. */
  readonly firstMs: number
  readonly lastMs: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly costNanoUsd: bigint
  /** Calls of upstreams whose cost is not known. */
  readonly unpriced: number
  /** The first by the alphabet. */
  readonly client: string | null
  readonly models: number
  readonly model: string
  readonly deployments: number
}

/** Append-only record of every call. Appending is synchronous and survives kill -9 when it returns. */
export interface Ledger {
  /** Before the call is dispatched. */
  begin(intent: LedgerIntent): void
  settle(row: LedgerRow): void
  /** Newest first. Sees every call that was settled before it was asked. */
  query(query: LedgerQuery): Promise<{ rows: LedgerRow[]; nextCursor: string | null }>
  /** As `query`, written for the API. */
  shown(query: ShownQuery): Promise<ShownPage>
  /** Counts over time of what `query` lists; sees every call that was settled before it was asked. */
  histogram(query: HistogramQuery): Promise<CallHistogram>
  /** What calls have cost that began at `fromMs` or later; sees what is stored, which may be a moment behind. */
  recentSpend(query: RecentSpendQuery): Promise<RecentSpend>
  /** Sessions with their sums; sees every call that was settled before it was asked. */
  sessions(query: SessionQuery): Promise<SessionList>
  /** Sums by day; sees every call that was settled before it was asked. */
  usage(query: UsageQuery): Promise<UsageGroup[]>
  /**
   * Whose sums a report shows for themselves, where there are very many: a choice that may be some minutes old. null =
   * there are few, all of them can be read.
   */
  topSpenders(query: TopSpendersQuery): Promise<TopSpenders | null>
  /** How long calls took; sees what is stored, which may be a moment behind. */
  latency(query: LatencyQuery): Promise<LatencyGroup[]>
  /** true = everything journalled is in the database; false = it is down, or does not take all of it in time. */
  flush(): Promise<boolean>
  /** false = the journal cannot be written (disk full): readiness reports it. */
  readonly healthy: boolean
  close(): Promise<void>
}
