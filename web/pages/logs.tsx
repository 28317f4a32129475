import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import type { InfiniteData } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { ask } from '../api/client.ts'
import type { SpendLog, SpendLogs } from '../api/schema.d.ts'
import { Button } from '../components/button.tsx'
import { FilterBar } from '../components/filter-bar.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Switch } from '../components/forms/switch.tsx'
import { Table } from '../components/table.tsx'
import { TimeRange } from '../components/time-range.tsx'
import { useChangeSearch, useOpened, useSearchValue } from '../lib/address.ts'
import { formatCount } from '../lib/format.ts'
import { useSavedColumns } from '../lib/saved-columns.ts'
import { rangeOf, readRange, spanOf } from '../lib/time-range.ts'
import type { Span } from '../lib/time-range.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './logs.page.ts'
import { CallDrawer } from './logs/call-drawer.tsx'
import { logColumns } from './logs/columns.tsx'
import { followCalls } from './logs/follow.ts'
import { CallHistogram, histogramQuery } from './logs/histogram.tsx'
import { logFields, readLogFilter, termOf, valuesOf } from './logs/query.ts'

const pageSize = 200
/** Calls that a page of the ledger looks at for a filter that it has no index for (`/spend/logs/v2`). */
const lookedAt = 40_000
/** New calls that are put into the list before it is read again, so that it does not grow without end. */
const addedMax = 1000

function filterFields(calls: readonly SpendLog[] | undefined) {
  const found = valuesOf(calls)
  return Object.entries(logFields).map(([name, field]) => ({
    name,
    about: t(field.about),
    values: field.values ?? found[name] ?? [],
  }))
}

/** The calls of a filter and span, newest first. A span that ends now is open at its end, so that new calls appear. */
function useCalls(filter: string, range: string) {
  const span = useMemo(() => spanOf(range, Date.now()), [range])
  const { query, unread } = useMemo(() => readLogFilter(filter), [filter])
  const logQuery = useMemo(
    () => ({
      ...query,
      start_date: new Date(span.fromMs).toISOString(),
      ...(range.includes('..') && { end_date: new Date(span.toMs).toISOString() }),
    }),
    [query, span, range],
  )
  const queryKey = useMemo(() => ['logs', logQuery], [logQuery])
  const calls = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      ask('GET /spend/logs/v2', {
        query: { ...logQuery, page_size: pageSize, cursor: pageParam },
        signal,
      }),
    initialPageParam: 'first',
    getNextPageParam: page => page.next_cursor,
    enabled: unread.length === 0,
  })
  const queries = useQueryClient()
  const reload = useCallback(() => {
    // A first read that is under way may be older than what the list is read again for, and would not begin again.
    for (const key of [queryKey, histogramQuery(logQuery).queryKey])
      void queries.cancelQueries({ queryKey: key }).then(() => queries.invalidateQueries({ queryKey: key }))
  }, [queries, queryKey, logQuery])
  return { calls, rows: calls.data?.pages.flatMap(page => page.data), unread, logQuery, queryKey, reload }
}

type LoadedCalls = InfiniteData<SpendLogs, string>

/** The calls that are not there already. */
function addedTo(loaded: LoadedCalls, fresh: readonly SpendLog[]): SpendLog[] {
  const known = new Set(loaded.pages.flatMap(page => page.data.map(call => call.request_id)))
  return fresh.filter(call => !known.has(call.request_id))
}

/** New calls go in front of those that are loaded. */
function withCalls(loaded: LoadedCalls, added: readonly SpendLog[]): LoadedCalls {
  const [first, ...others] = loaded.pages
  if (!first || added.length === 0) return loaded
  const data = [...added, ...first.data].toSorted((a, b) => b.started_at_ms - a.started_at_ms)
  return { ...loaded, pages: [{ ...first, data }, ...others] }
}

/** Calls that were told live for a list, newest first. */
interface LiveCalls {
  readonly queryKey: readonly unknown[]
  readonly calls: readonly SpendLog[]
}
const noCalls: readonly SpendLog[] = []

const withNew = (known: LiveCalls, { queryKey, calls }: LiveCalls): LiveCalls => ({
  queryKey,
  calls: [...calls, ...(known.queryKey === queryKey ? known.calls : noCalls)].slice(0, 2 * addedMax),
})

/**
 * Keeps the list of `useCalls` live. `live` = the calls that it was told of; `problem` = why it is not live although it
 * should be, or null.
 */
function useLiveCalls(
  { logQuery: query, queryKey, reload }: Pick<ReturnType<typeof useCalls>, 'logQuery' | 'queryKey' | 'reload'>,
  isLive: boolean,
) {
  const queries = useQueryClient()
  const [problem, setProblem] = useState<unknown>(null)
  const [liveCalls, setLiveCalls] = useState<LiveCalls>({ queryKey, calls: [] })
  useEffect(() => {
    if (!isLive) return
    const left = new AbortController()
    void followCalls({
      query,
      signal: left.signal,
      onCalls(fresh) {
        const loaded = queries.getQueryData<LoadedCalls>(queryKey)
        const added = loaded ? addedTo(loaded, fresh) : []
        if (loaded) queries.setQueryData(queryKey, withCalls(loaded, added))
        setLiveCalls(known => withNew(known, { queryKey, calls: fresh }))
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
  }, [queries, query, queryKey, reload, isLive])
  return { problem, live: liveCalls.queryKey === queryKey ? liveCalls.calls : noCalls }
}

/** Every call that this person may see: filtered, by time, with one call open beside the list. */
export default function LogsPage() {
  const [filter] = useSearchValue('q')
  const range = readRange(useSearchValue('range', '24h')[0])
  const [isLive] = useSearchValue('live')
  const [openId, open, close] = useOpened('call')
  const [shown, setShown] = useSavedColumns('logs')
  const change = useChangeSearch()
  const { calls, rows, unread, logQuery, queryKey, reload } = useCalls(filter, range)
  const { problem, live } = useLiveCalls({ logQuery, queryKey, reload }, isLive === 'on' && unread.length === 0)
  const step = (by: 1 | -1) => {
    const at = rows?.findIndex(call => call.request_id === openId) ?? -1
    const next = at < 0 ? undefined : rows?.[at + by]
    if (next) open(next.request_id)
  }
  // The way back is the button of the browser.
  const brush = (chosen: Span) => change({ range: rangeOf(chosen) }, { push: true })
  const isFiltered = filter !== '' || range !== '24h'
  const unknown = (calls.data?.pages[0]?.not_found ?? []).map(parameter => termOf(parameter, logQuery))
  return (
    <Page title={textOf(page.title)} filters={<LogFilters rows={rows} />}>
      {unread.length > 0 ? (
        <EmptyState title={t('logs.unread', { terms: unread.join(' ') })}>
          {t('logs.unreadHelp', { names: Object.keys(logFields).join(', ') })}
        </EmptyState>
      ) : calls.isError && !rows ? (
        <ErrorState error={calls.error} onRetry={() => void calls.refetch()} />
      ) : (
        <>
          {problem !== null && <NotLive problem={problem} onRefresh={reload} />}
          <CallHistogram query={logQuery} rows={rows} live={live} onSelect={brush} />
          <Table
            label={textOf(page.title)}
            columns={logColumns}
            shown={shown}
            onShown={setShown}
            rows={rows}
            rowId={call => call.request_id}
            rowLink={call => ({ to: '.', search: { call: call.request_id } })}
            openId={openId}
            empty={
              calls.hasNextPage ? (
                <EmptyState title={t('logs.notYet', { count: formatCount(lookedAt * calls.data!.pages.length) })}>
                  <Button busy={calls.isFetchingNextPage} onClick={() => void calls.fetchNextPage()}>
                    {t('logs.further')}
                  </Button>
                </EmptyState>
              ) : (
                <NoCalls isFiltered={isFiltered} filter={filter} unknown={unknown} />
              )
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
          onClose={close}
        />
      )}
    </Page>
  )
}

interface NoCallsProps {
  readonly isFiltered: boolean
  readonly filter: string
  /** Terms whose value is the name of nothing. */
  readonly unknown: readonly string[]
}

/** Why the list is empty, with the terms that found nothing. */
function NoCalls({ isFiltered, filter, unknown }: NoCallsProps) {
  if (!isFiltered) return <EmptyState title={t('logs.empty')}>{t('logs.emptyHelp')}</EmptyState>
  if (unknown.length > 0)
    return <EmptyState title={t('logs.unknown', { terms: unknown.join(' ') })}>{t('logs.unknownHelp')}</EmptyState>
  return (
    <EmptyState title={filter === '' ? t('all.noMatch') : t('logs.noMatch', { terms: filter })}>
      {t('logs.noMatchHelp')}
    </EmptyState>
  )
}

/** Filter, time and whether the list is live: all of it in the address. */
function LogFilters({ rows }: { readonly rows: readonly SpendLog[] | undefined }) {
  const [filter, setFilter] = useSearchValue('q')
  const [range, setRange] = useSearchValue('range', '24h')
  const [live, setLive] = useSearchValue('live')
  return (
    <>
      <FilterBar
        label={t('logs.filter')}
        value={filter}
        onChange={setFilter}
        fields={filterFields(rows)}
        example="status:error team:Platform model:gpt*"
      />
      <TimeRange value={readRange(range)} onChange={setRange} />
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
