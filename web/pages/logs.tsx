import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ask } from '../api/client.ts'
import type { SpendLog } from '../api/schema.d.ts'
import { FilterBar } from '../components/filter-bar.tsx'
import { Histogram } from '../components/histogram.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState, Skeleton } from '../components/states.tsx'
import { Switch } from '../components/switch.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { TimeRange } from '../components/time-range.tsx'
import { Duration, Money } from '../components/values.tsx'
import { useSearchValue } from '../lib/address.ts'
import { formatCompact, formatCount, formatMoment } from '../lib/format.ts'
import { rangeOf, spanOf } from '../lib/time-range.ts'
import type { Span } from '../lib/time-range.ts'
import { t } from '../strings/index.ts'
import { barsOf } from './logs/bars.ts'
import { CallDrawer } from './logs/call-drawer.tsx'
import { OutcomeBadge } from './logs/outcome.tsx'
import { logFields, readLogFilter } from './logs/query.ts'

const pageSize = 200
const liveMs = 3000

const columns: readonly Column<SpendLog>[] = [
  {
    id: 'at',
    title: t('logs.at'),
    width: 'minmax(184px, 1fr)',
    cell: call => (
      <time className="numbers whitespace-nowrap" dateTime={call.started_at} title={call.started_at}>
        {formatMoment(call.started_at_ms)}
      </time>
    ),
  },
  { id: 'outcome', title: t('logs.outcome'), width: 'minmax(112px, 1fr)', cell: call => <OutcomeBadge call={call} /> },
  {
    id: 'model',
    title: t('logs.model'),
    width: 'minmax(80px, 2fr)',
    cell: call => <span className="truncate">{call.model}</span>,
  },
  {
    id: 'upstream',
    title: t('logs.upstream'),
    isWideOnly: true,
    width: 'minmax(0, 2fr)',
    cell: call => <span className="truncate text-muted">{call.provider ?? '–'}</span>,
  },
  {
    id: 'key',
    title: t('logs.key'),
    isWideOnly: true,
    cell: call => <span className="truncate">{call.key_alias ?? call.key_id}</span>,
  },
  { id: 'tokens', title: t('logs.tokens'), align: 'end', isWideOnly: true, cell: call => <TokenPair call={call} /> },
  { id: 'cost', title: t('logs.cost'), align: 'end', isWideOnly: true, cell: call => <Money usd={call.spend} /> },
  {
    id: 'duration',
    title: t('logs.duration'),
    align: 'end',
    isWideOnly: true,
    cell: call => <Duration milliseconds={call.duration_ms} />,
  },
]

/** Input and output tokens: "1.2K / 340". */
function TokenPair({ call }: { readonly call: SpendLog }) {
  const { input_tokens: input, output_tokens: output } = call
  if (input === null && output === null) return <span className="text-muted">–</span>
  const exact = t('logs.tokensExact', { input: formatCount(input ?? 0), output: formatCount(output ?? 0) })
  return (
    <span className="numbers whitespace-nowrap" title={exact}>
      {formatCompact(input ?? 0)} / {formatCompact(output ?? 0)}
    </span>
  )
}

const filterFields = Object.entries(logFields).map(([name, field]) => ({
  name,
  about: t(field.about),
  ...(field.values && { values: field.values }),
}))

/** The calls of a filter and span, newest first. A span that ends now is open at its end, so that new calls appear. */
function useCalls(filter: string, range: string, isLive: boolean) {
  const span = useMemo(() => spanOf(range, Date.now()), [range])
  const { query, unread } = useMemo(() => readLogFilter(filter), [filter])
  const calls = useInfiniteQuery({
    queryKey: ['logs', query, span.fromMs, span.toMs],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /spend/logs', {
        query: {
          ...query,
          limit: pageSize,
          cursor: pageParam,
          start_date: new Date(span.fromMs).toISOString(),
          ...(range.includes('..') && { end_date: new Date(span.toMs).toISOString() }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
    refetchInterval: isLive ? liveMs : false,
    enabled: unread.length === 0,
  })
  return { calls, rows: calls.data?.pages.flatMap(page => page.data), unread, span }
}

/** Every call that this person may see: filtered, by time, with one call open beside the list. */
export default function LogsPage() {
  const [filter, setFilter] = useSearchValue('q')
  const [range, setRange] = useSearchValue('range', '24h')
  const [live, setLive] = useSearchValue('live')
  const [openId, open] = useSearchValue('call')
  const { calls, rows, unread, span } = useCalls(filter, range, live === 'on')
  const step = (by: 1 | -1) => {
    const at = rows?.findIndex(call => call.request_id === openId) ?? -1
    const next = at < 0 ? undefined : rows?.[at + by]
    if (next) open(next.request_id)
  }
  const filters = (
    <>
      <FilterBar
        label={t('logs.filter')}
        value={filter}
        onChange={setFilter}
        fields={filterFields}
        example="outcome:error model:gpt-5"
      />
      <TimeRange value={range} onChange={setRange} />
      <Switch label={t('logs.live')} checked={live === 'on'} onChange={isOn => setLive(isOn ? 'on' : '')} />
    </>
  )
  const isFiltered = filter !== '' || range !== '24h'
  return (
    <Page title={t('nav.logs')} filters={filters}>
      {unread.length > 0 ? (
        <EmptyState title={t('logs.unread', { terms: unread.join(' ') })}>
          {t('logs.unreadHelp', { names: Object.keys(logFields).join(', ') })}
        </EmptyState>
      ) : calls.isError && !rows ? (
        <ErrorState error={calls.error} onRetry={() => void calls.refetch()} />
      ) : (
        <>
          <LoadedHistogram rows={rows} span={span} isPartial={calls.hasNextPage} onSelect={s => setRange(rangeOf(s))} />
          <Table
            label={t('nav.logs')}
            columns={columns}
            rows={rows}
            rowId={call => call.request_id}
            rowLink={call => ({ to: '.', search: { call: call.request_id } })}
            openId={openId}
            empty={
              <EmptyState title={t(isFiltered ? 'all.noMatch' : 'logs.empty')}>
                {t(isFiltered ? 'logs.noMatchHelp' : 'logs.emptyHelp')}
              </EmptyState>
            }
            onMore={calls.hasNextPage ? () => void calls.fetchNextPage() : undefined}
            isLoadingMore={calls.isFetchingNextPage}
          />
        </>
      )}
      {openId !== '' && (
        <CallDrawer
          id={openId}
          listed={rows?.find(call => call.request_id === openId)}
          onStep={step}
          onClose={() => open('')}
        />
      )}
    </Page>
  )
}

interface LoadedHistogramProps {
  readonly rows: readonly SpendLog[] | undefined
  readonly span: Span
  /** There are older calls that were not loaded: the picture begins where the loaded ones do. */
  readonly isPartial: boolean
  readonly onSelect: (span: Span) => void
}

/** The loaded calls over time. It never shows a time as empty of which nothing was asked. */
function LoadedHistogram({ rows, span, isPartial, onSelect }: LoadedHistogramProps) {
  if (!rows) return <Skeleton className="h-18 w-full" />
  if (rows.length === 0) return null
  const shown = {
    fromMs: isPartial ? rows.at(-1)!.started_at_ms : span.fromMs,
    // New calls of an open span are later than the moment at which it was read.
    toMs: Math.max(span.toMs, rows[0]!.started_at_ms + 1),
  }
  return (
    <figure className="flex flex-col gap-1">
      <Histogram bars={barsOf(rows, shown)} onSelect={onSelect} />
      <figcaption className="flex justify-between gap-2 text-muted">
        <span>{formatMoment(shown.fromMs)}</span>
        <span>{t(isPartial ? 'logs.partial' : 'logs.count', { count: formatCount(rows.length) })}</span>
        <span>{formatMoment(shown.toMs)}</span>
      </figcaption>
    </figure>
  )
}
