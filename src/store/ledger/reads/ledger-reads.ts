/** What the ledger can be asked, and what answers it, in a thread for reading (`ledger-reader.ts`). */
import type { CallHistogram } from '../../../core/ledger/call-histogram.ts'
import type { LatencyGroup, LatencyQuery } from '../../../core/ledger/latency.ts'
import type {
  HistogramQuery,
  LedgerQuery,
  RecentSpend,
  RecentSpendQuery,
  ShownPage,
  ShownQuery,
} from '../../../core/ledger/ledger.ts'
import type { TopSpenders, TopSpendersQuery, UsageGroup, UsageQuery } from '../../../core/ledger/usage-report.ts'
import { countCalls } from './histogram.ts'
import { latencyStatement, readLatency } from '../sums/latency-query.ts'
import type { LedgerSource, LedgerStatement } from '../ledger-database.ts'
import { ledgerStatement, readLedger, readRecentSpend, readShownLedger } from './ledger-query.ts'
import type { LedgerPage } from './ledger-query.ts'
import { totals } from '../sums/rollup-derived.ts'
import { areTotalsFilled, isFilled } from '../sums/rollup-fill.ts'
import { topSpendersOf, rankingOf } from '../sums/rollup-top.ts'
import type { DayRanking } from '../sums/rollup-top.ts'
import { narrowSums, readUsage, usageStatement } from '../sums/usage-query.ts'

async function sumsOf(source: LedgerSource, query: UsageQuery): Promise<LedgerStatement> {
  const narrow = narrowSums(query)
  const isKept =
    narrow !== undefined && (await (narrow.table === totals.name ? areTotalsFilled(source) : isFilled(source, query)))
  return usageStatement(query, isKept ? narrow : undefined)
}

const usageOf = async (source: LedgerSource, query: UsageQuery): Promise<UsageGroup[]> =>
  readUsage(await source.select(await sumsOf(source, query)))

/** One function a kind of question. They throw what the database throws. */
export const ledgerReads = {
  page: (source: LedgerSource, query: LedgerQuery): Promise<LedgerPage> => readLedger(source, ledgerStatement(query)),
  shown: (source: LedgerSource, query: ShownQuery): Promise<ShownPage> =>
    readShownLedger(source, ledgerStatement(query)),
  histogram: (source: LedgerSource, query: HistogramQuery): Promise<CallHistogram> =>
    countCalls(source, query, usage => sumsOf(source, usage)),
  recentSpend: (source: LedgerSource, query: RecentSpendQuery): Promise<RecentSpend> => readRecentSpend(source, query),
  usage: usageOf,
  topSpenders: (source: LedgerSource, query: TopSpendersQuery): Promise<TopSpenders | null> =>
    topSpendersOf(source, query),
  latency: async (source: LedgerSource, query: LatencyQuery): Promise<LatencyGroup[]> =>
    readLatency(await source.select(latencyStatement(query))),
  /** Of a day, by its number since 1970. */
  ranking: (source: LedgerSource, day: number): Promise<DayRanking> => rankingOf(source, day),
}

type Reads = typeof ledgerReads
/** The name of a question that is asked of the ledger. */
export type ReadKind = keyof Reads
/** What is asked in it. */
export type ReadQuery<Kind extends ReadKind> = Parameters<Reads[Kind]>[1]
/** What answers it; it can be sent from thread to thread. */
export type ReadAnswer<Kind extends ReadKind> = Awaited<ReturnType<Reads[Kind]>>
