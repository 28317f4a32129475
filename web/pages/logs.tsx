import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import type { InfiniteData } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { ask } from '../api/client.ts'
import type { SpendLog, SpendLogs } from '../api/schema.d.ts'
import { Button } from '../components/button.tsx'
import { FilterBar } from '../components/filter-bar.tsx'
import { Histogram } from '../components/histogram.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState, Skeleton } from '../components/states.tsx'
import { Switch } from '../components/switch.tsx'
import { Table } from '../components/table.tsx'
import { TimeRange } from '../components/time-range.tsx'
import { useChangeSearch, useSearchValue } from '../lib/address.ts'
import { formatCount, formatMoment } from '../lib/format.ts'
import { useKeptColumns } from '../lib/kept-columns.ts'
import { rangeOf, spanOf } from '../lib/time-range.ts'
import type { Span } from '../lib/time-range.ts'
import { t } from '../strings/index.ts'
import { barsOf, latencyNote } from './logs/bars.ts'
import { CallDrawer } from './logs/call-drawer.tsx'
import { logColumns } from './logs/columns.tsx'
import { followCalls } from './logs/follow.ts'
import { logFields, readLogFilter } from './logs/query.ts'

const pageSize = 200
/** New calls that are put into the list before it is read again, so that it does not grow without end. */
const addedMax = 1000

const filterFields = Object.entries(logFields).map(([name, field]) => ({
  name,
  about: t(field.about),
  ...(field.values && { values: field.values }),
}))

/** The calls of a filter and span, newest first. A span that ends now is open at its end, so that new calls appear. */
function useCalls(filter: string, range: string) {
  const span = useMemo(() => spanOf(range, Date.now()), [range])
  const { query, unread } = useMemo(() => readLogFilter(filter), [filter])
  const asked = useMemo(
    () => ({
      ...query,
      start_date: new Date(span.fromMs).toISOString(),
      ...(range.includes('..') && { end_date: new Date(span.toMs).toISOString() }),
    }),
    [query, span, range],
  )
  const queryKey = useMemo(() => ['logs', asked], [asked])
  const calls = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      ask('GET /spend/logs', {
        query: { ...asked, limit: pageSize, cursor: pageParam },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
    enabled: unread.length === 0,
  })
  return { calls, rows: calls.data?.pages.flatMap(page => page.data), unread, span, asked, queryKey }
}

type LoadedCalls = InfiniteData<SpendLogs, string>

/** New calls go in front of those that are loaded; one that is there already is not put in twice. */
function withCalls(loaded: LoadedCalls, fresh: readonly SpendLog[]): LoadedCalls {
  const [first, ...others] = loaded.pages
  const known = new Set(loaded.pages.flatMap(page => page.data.map(call => call.request_id)))
  const added = fresh.filter(call => !known.has(call.request_id))
  if (!first || added.length === 0) return loaded
  const data = [...added, ...first.data].toSorted((a, b) => b.started_at_ms - a.started_at_ms)
  return { ...loaded, pages: [{ ...first, data }, ...others] }
}

/** Keeps the list of `useCalls` live. Returns why it is not live although it should be, or null. */
function useLiveCalls({ asked, queryKey }: Pick<ReturnType<typeof useCalls>, 'asked' | 'queryKey'>, isLive: boolean) {
  const queries = useQueryClient()
  const [problem, setProblem] = useState<unknown>(null)
  useEffect(() => {
    if (!isLive) return
    const left = new AbortController()
    const reload = () => void queries.invalidateQueries({ queryKey })
    void followCalls({
      query: asked,
      signal: left.signal,
      onCalls(fresh) {
        const loaded = queries.getQueryData<LoadedCalls>(queryKey)
        if (loaded) queries.setQueryData(queryKey, withCalls(loaded, fresh))
        // What is being read now may have been asked before these were stored, and replaces the list.
        return (
          loaded !== undefined && queries.isFetching({ queryKey }) === 0 && loaded.pages[0]!.data.length <= addedMax
        )
      },
      onGap: reload,
      onState: setProblem,
    })
    return () => {
      left.abort()
      setProblem(null)
    }
  }, [queries, asked, queryKey, isLive])
  return problem
}

/** Every call that this person may see: filtered, by time, with one call open beside the list. */
export default function LogsPage() {
  const [filter] = useSearchValue('q')
  const [range] = useSearchValue('range', '24h')
  const [live] = useSearchValue('live')
  const [openId, open] = useSearchValue('call')
  const [shown, setShown] = useKeptColumns('logs')
  const change = useChangeSearch()
  const { calls, rows, unread, span, asked, queryKey } = useCalls(filter, range)
  const problem = useLiveCalls({ asked, queryKey }, live === 'on' && unread.length === 0)
  const step = (by: 1 | -1) => {
    const at = rows?.findIndex(call => call.request_id === openId) ?? -1
    const next = at < 0 ? undefined : rows?.[at + by]
    if (next) open(next.request_id)
  }
  // The way back is the button of the browser.
  const brush = (chosen: Span) => change({ range: rangeOf(chosen) }, { push: true })
  const isFiltered = filter !== '' || range !== '24h'
  return (
    <Page title={t('nav.logs')} filters={<LogFilters />}>
      {unread.length > 0 ? (
        <EmptyState title={t('logs.unread', { terms: unread.join(' ') })}>
          {t('logs.unreadHelp', { names: Object.keys(logFields).join(', ') })}
        </EmptyState>
      ) : calls.isError && !rows ? (
        <ErrorState error={calls.error} onRetry={() => void calls.refetch()} />
      ) : (
        <>
          {problem !== null && <NotLive problem={problem} onRefresh={() => void calls.refetch()} />}
          <LoadedHistogram rows={rows} span={span} isPartial={calls.hasNextPage} onSelect={brush} />
          <Table
            label={t('nav.logs')}
            columns={logColumns}
            shown={shown}
            onShown={setShown}
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
          onOpen={open}
          onClose={() => open('')}
        />
      )}
    </Page>
  )
}

/** Filter, time and whether the list is live: all of it in the address. */
function LogFilters() {
  const [filter, setFilter] = useSearchValue('q')
  const [range, setRange] = useSearchValue('range', '24h')
  const [live, setLive] = useSearchValue('live')
  return (
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
}

/** Why the list stands still, and how it is read by hand. */
function NotLive({ problem, onRefresh }: { readonly problem: unknown; readonly onRefresh: () => void }) {
  return (
    <div role="status" className="flex flex-wrap items-center gap-2">
      {t('logs.notLive', { reason: problem instanceof Error ? problem.message : String(problem) })}
      <Button onClick={onRefresh}>{t('logs.refresh')}</Button>
    </div>
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
        <span>
          {t(isPartial ? 'logs.partial' : 'logs.count', { count: formatCount(rows.length) })}
          <span className="numbers ml-3 max-narrow:hidden">{latencyNote(rows)}</span>
        </span>
        <span>{formatMoment(shown.toMs)}</span>
      </figcaption>
    </figure>
  )
}
