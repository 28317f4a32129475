/** What the ledger can be asked, and what answers it, in a thread for reading (`ledger-reader.ts`). */
import type { CallHistogram } from '../../../core/ledger/call-histogram.ts'
import type { LatencyGroup, LatencyQuery } from '../../../core/ledger/latency.ts'
import type {
  HistogramQuery,
  LedgerQuery,
  RecentSpend,
  RecentSpendQuery,
  SessionList,
  SessionQuery,
  ShownPage,
  ShownQuery,
} from '../../../core/ledger/ledger.ts'
import type { TopSpenders, TopSpendersQuery, UsageGroup, UsageQuery } from '../../../core/ledger/usage-report.ts'
import { countCalls } from './histogram.ts'
import { latencyStatement, readLatency } from '../sums/latency-query.ts'
import type { LedgerSource } from '../ledger-database.ts'
import { ledgerStatement, readLedger, readRecentSpend, readShownLedger } from './ledger-query.ts'
import type { LedgerPage } from './ledger-query.ts'
import { readSessions } from './session-list.ts'
import { topSpendersOf, rankingOf } from '../sums/rollup-top.ts'
import type { DayRanking } from '../sums/rollup-top.ts'
import { readUsage, usageStatement } from '../sums/usage-query.ts'

/** One function a kind of question. They throw what the database throws. */
export const ledgerReads = {
  page: (source: LedgerSource, query: LedgerQuery): Promise<LedgerPage> => readLedger(source, ledgerStatement(query)),
  shown: (source: LedgerSource, query: ShownQuery): Promise<ShownPage> =>
    readShownLedger(source, ledgerStatement(query)),
  histogram: (source: LedgerSource, query: HistogramQuery): Promise<CallHistogram> => countCalls(source, query),
  recentSpend: (source: LedgerSource, query: RecentSpendQuery): Promise<RecentSpend> => readRecentSpend(source, query),
  sessions: (source: LedgerSource, query: SessionQuery): Promise<SessionList> => readSessions(source, query),
  usage: async (source: LedgerSource, query: UsageQuery): Promise<UsageGroup[]> =>
    readUsage(await source.select(usageStatement(query))),
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
