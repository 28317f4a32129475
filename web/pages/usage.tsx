import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useMemo } from 'react'
import { ask } from '../api/client.ts'
import type { DailyActivity, ModelLatency } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { LineChart } from '../components/charts/line-chart.tsx'
import { Page, Panel } from '../components/page.tsx'
import { PercentilePair } from '../components/charts/percentiles.tsx'
import { Select } from '../components/forms/select.tsx'
import { EmptyState, ErrorState, Skeleton } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Money, Tokens } from '../components/values.tsx'
import { mayReadAll } from '../frame/rights.ts'
import { useSearchValue } from '../lib/address.ts'
import { csvText, download } from '../lib/csv.ts'
import { nanoText } from '../lib/dollars.ts'
import { formatChange, formatCompact, formatCount, formatMoney } from '../lib/format.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './usage.page.ts'
import type { StringKey } from './usage.page.ts'
import { logsLink, spanOfDays } from './logs/link.ts'
import { byDay, dimensions, partsOf, spansOf, total } from '../lib/usage-sums.ts'
import type { Dimension, DimensionName, Metrics, Part, TwoSpans } from '../lib/usage-sums.ts'
import { DividedTable } from './usage/divided.tsx'
import { dividedBy } from './usage/dividable.ts'
import type { SecondDimension } from './usage/dividable.ts'
import { PeriodChoice } from './usage/period-choice.tsx'

/** What the chart shows. */
const measures = {
  spend: { title: 'usage.spend', of: (sums: Metrics) => sums.spend, format: formatMoney },
  calls: { title: 'usage.calls', of: (sums: Metrics) => sums.api_requests, format: formatCount },
  tokens: { title: 'usage.tokens', of: (sums: Metrics) => sums.total_tokens, format: formatCompact },
  failed: { title: 'usage.failed', of: (sums: Metrics) => sums.failed_requests, format: formatCount },
} as const satisfies Readonly<
  Record<string, { title: StringKey; of: (sums: Metrics) => number; format: (value: number) => string }>
>
type Measure = keyof typeof measures
const measureNames = Object.keys(measures) as Measure[]
/** What the filter of the log calls a dimension. */
const loggedBy: Partial<Record<DimensionName, string>> = {
  model: 'model',
  key: 'key',
  user: 'user',
  team: 'team',
  organization: 'organization',
  tag: 'tag',
  provider: 'provider',
  deployment: 'deployment',
  customer: 'customer',
}
const dimensionNames = Object.keys(dimensions) as DimensionName[]

const sumColumns: readonly Column<Part>[] = [
  {
    id: 'name',
    title: t('usage.name'),
    width: 'minmax(120px, 3fr)',
    cell: part => (
      <span className="truncate" title={part.id}>
        {part.name}
      </span>
    ),
  },
  { id: 'spend', title: t('usage.spend'), align: 'end', cell: part => <Money usd={part.now.spend} /> },
  {
    id: 'before',
    title: t('usage.before'),
    align: 'end',
    isWideOnly: true,
    cell: part => <Money usd={part.before.spend} />,
  },
  { id: 'calls', title: t('usage.calls'), align: 'end', cell: part => formatCount(part.now.api_requests) },
  {
    id: 'failed',
    title: t('usage.failed'),
    align: 'end',
    isWideOnly: true,
    cell: part => formatCount(part.now.failed_requests),
  },
  {
    id: 'tokens',
    title: t('usage.tokens'),
    align: 'end',
    isWideOnly: true,
    cell: part => <Tokens count={part.now.total_tokens} />,
  },
  {
    id: 'unpriced',
    title: t('usage.unpriced'),
    align: 'end',
    isWideOnly: true,
    cell: part => formatCount(part.now.unpriced_requests),
  },
]

const timedColumns = (of: ReadonlyMap<string, Latency>): readonly Column<Part>[] => [
  ...sumColumns,
  {
    id: 'took',
    title: t('usage.took'),
    align: 'end',
    isWideOnly: true,
    width: 'minmax(136px, 1fr)',
    cell: part => <PercentilePair of={of.get(part.id)} />,
  },
  {
    id: 'firstByte',
    title: t('usage.firstByte'),
    align: 'end',
    isWideOnly: true,
    width: 'minmax(136px, 1fr)',
    cell: part => <PercentilePair of={of.get(part.id)?.first_byte} />,
  },
]

type Latency = ModelLatency['groups'][number]

/** The columns of the table; of models and deployments also how long calls took, for those who read everything. */
function useColumns(by: DimensionName, days: readonly string[]): readonly Column<Part>[] {
  const session = useSession().data
  const isDeployment = by === 'deployment'
  const isTimed = (by === 'model' || isDeployment) && session !== undefined && mayReadAll(session)
  const [first, last] = [days[0]!, days.at(-1)!]
  const report = useQuery({
    queryKey: ['usage', 'latency', by, first, last],
    queryFn: ({ signal }) =>
      ask('GET /model/latency', {
        query: { group_by: isDeployment ? 'deployment' : 'model', start_date: first, end_date: last },
        signal,
      }),
    enabled: isTimed,
  })
  const groups = isTimed ? report.data?.groups : undefined
  return useMemo(
    () => (groups ? timedColumns(new Map(groups.map(one => [one.model ?? one.model_id ?? '', one]))) : sumColumns),
    [groups],
  )
}

/** Days of one report in both spans: one request. */
function useReport(report: Dimension['report'], spans: TwoSpans) {
  const [first, last] = [spans.before[0] ?? spans.now[0]!, spans.now.at(-1)!]
  return useQuery({
    queryKey: ['usage', report, first, last],
    queryFn: ({ signal }): Promise<DailyActivity> =>
      ask(`GET /${report}/daily/activity`, {
        query: { start_date: first, end_date: last, page_size: spans.before.length + spans.now.length },
        signal,
      }),
  })
}

const dimensionChoice = (value: (typeof dimensionNames)[number]) => ({
  value: value as string,
  label: `${t('usage.by')} ${t(`usage.by.${value}`)}`,
})

const usualPeriod = '30'

/** What was spent, by day and by what caused it, against as many days before. */
export default function UsagePage() {
  const [days] = useSearchValue('days', usualPeriod)
  const [dimensionText] = useSearchValue('by', 'model')
  const [measureText] = useSearchValue('show', 'spend')
  const by = dimensionNames.find(name => name === dimensionText) ?? 'model'
  const measure = measureNames.find(name => name === measureText) ?? 'spend'
  const [andText] = useSearchValue('and', '')
  const period = useMemo(() => (spansOf(days, Date.now()) ? days : usualPeriod), [days])
  const spans = useMemo(() => spansOf(period, Date.now())!, [period])
  const and = dividedBy(by).find(name => name === andText)
  // Calls count once here; a call of several tags counts for each of them in the report of tags.
  const all = useReport('user', spans)
  const { report, part } = dimensions[by]
  const columns = useColumns(by, spans.now)
  const parted = useReport(report, spans)
  const parts = useMemo(() => parted.data && partsOf(parted.data.results, part, spans), [parted.data, part, spans])
  const action = !and && (
    <Button
      data-primary
      icon={<Download size={16} aria-hidden />}
      disabled={!parts?.length}
      onClick={() => download(`usage-by-${by}-${spans.now[0]}-${spans.now.at(-1)}.csv`, csvOf(parts ?? []))}
    >
      {t('usage.csv')}
    </Button>
  )
  return (
    <Page
      title={textOf(page.title)}
      filters={<UsageFilters period={period} measure={measure} by={by} and={and} />}
      action={action}
    >
      {all.isError && <ErrorState error={all.error} onRetry={() => void all.refetch()} />}
      {!all.isError && <Overall results={all.data?.results} spans={spans} measure={measure} />}
      {parted.isError && report !== 'user' && <ErrorState error={parted.error} onRetry={() => void parted.refetch()} />}
      {and && <DividedTable by={by} and={and} days={spans.now} />}
      {!and && !parted.isError && (
        <Table
          label={t('usage.table', { by: t(`usage.by.${by}`) })}
          columns={columns}
          rows={parts}
          rowId={one => one.id}
          rowLink={one => linkOfPart(one, by, spans.now)}
          empty={<EmptyState title={t('usage.empty')}>{t('usage.emptyHelp')}</EmptyState>}
        />
      )}
      {!and && parts?.some(one => one.isRest) && <p className="text-muted">{t('usage.incomplete')}</p>}
    </Page>
  )
}

interface UsageFiltersProps {
  readonly period: string
  readonly measure: Measure
  readonly by: DimensionName
  readonly and: SecondDimension | undefined
}

/** Period, chart, and what the table sums by: all of it in the address. */
function UsageFilters({ period, measure, by, and }: UsageFiltersProps) {
  const [, setDays] = useSearchValue('days', usualPeriod)
  const [, setDimension] = useSearchValue('by', 'model')
  const [, setMeasure] = useSearchValue('show', 'spend')
  const [, setAnd] = useSearchValue('and', '')
  return (
    <>
      <PeriodChoice value={period} onChange={setDays} />
      <Select
        isCompact
        label={t('usage.show')}
        value={measure as string}
        onChange={setMeasure}
        choices={measureNames.map(value => ({ value: value as string, label: t(measures[value].title) }))}
      />
      <Select
        isCompact
        label={t('usage.by')}
        value={by as string}
        onChange={setDimension}
        choices={dimensionNames.map(dimensionChoice)}
      />
      {dividedBy(by).length > 0 && (
        <Select
          isCompact
          label={t('usage.and')}
          value={and ?? ''}
          onChange={setAnd}
          choices={[
            { value: '', label: t('usage.andNothing') },
            ...dividedBy(by).map(value => ({
              value: value as string,
              label: `${t('usage.and')} ${t(`usage.by.${value}`)}`,
            })),
          ]}
        />
      )}
    </>
  )
}

interface OverallProps {
  readonly results: DailyActivity['results'] | undefined
  readonly spans: TwoSpans
  readonly measure: Measure
}

/** The calls of a row; the log has no filter for what is not listed for itself. */
function linkOfPart({ id }: Part, by: DimensionName, days: readonly string[]) {
  const name = loggedBy[by]
  return name && id !== '' ? logsLink(spanOfDays(days[0]!, days.at(-1)!), { [name]: id }) : undefined
}

const linkOfDay = (day: string) => logsLink(spanOfDays(day))

/** Four figures, and one of them by day. */
function Overall({ results, spans, measure }: OverallProps) {
  if (!results) return <Skeleton className="h-(--chart) w-full" />
  const [now, before] = [byDay(results, spans.now), byDay(results, spans.before)]
  const { title, of, format } = measures[measure]
  return (
    <>
      <div className="grid grid-cols-2 gap-3 wide:grid-cols-4">
        {measureNames.map(name => (
          <Figure key={name} name={name} now={total(now)} before={total(before)} />
        ))}
      </div>
      <Panel>
        <LineChart
          label={t('usage.byDay', { what: t(title) })}
          days={spans.now}
          series={[
            { label: t('usage.thisSpan'), values: now.map(of), tone: measure === 'failed' ? 'bad' : 'accent' },
            { label: t('usage.before'), values: before.map(of), tone: 'grey' },
          ]}
          format={format}
          linkOf={linkOfDay}
        />
      </Panel>
    </>
  )
}

interface FigureProps {
  readonly name: Measure
  readonly now: Metrics
  readonly before: Metrics
}

function Figure({ name, now, before }: FigureProps) {
  const { title, of, format } = measures[name]
  const [value, old] = [of(now), of(before)]
  return (
    <Panel>
      <div className="flex flex-col gap-1">
        <span className="text-muted">{t(title)}</span>
        <span className="numbers text-title font-semibold">{format(value)}</span>
        <span className="numbers text-muted">
          {old === 0
            ? t('usage.noneBefore')
            : t('usage.change', { percent: formatChange((value - old) / old), before: format(old) })}
        </span>
        {name === 'spend' && now.unpriced_requests > 0 && (
          <span className="text-warn">{t('usage.unpricedHelp', { count: formatCount(now.unpriced_requests) })}</span>
        )}
      </div>
    </Panel>
  )
}

const csvHead = ['id', 'name', 'spend_usd', 'spend_usd_before', 'calls', 'failed', 'input_tokens', 'output_tokens']

const csvOf = (parts: readonly Part[]): string =>
  csvText([
    csvHead,
    ...parts.map(({ id, name, now, before }) => [
      id,
      name,
      { number: nanoText(now.nanoUsd) },
      { number: nanoText(before.nanoUsd) },
      now.api_requests,
      now.failed_requests,
      now.prompt_tokens,
      now.completion_tokens,
    ]),
  ])
