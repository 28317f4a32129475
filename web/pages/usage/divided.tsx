/** Sums by two things together: a team and a model, a key and a provider. */
import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { ask } from '../../api/client.ts'
import type { SpendSummary } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { Table } from '../../components/table.tsx'
import type { Column } from '../../components/table.tsx'
import { Money, Tokens } from '../../components/values.tsx'
import { csvText, download } from '../../lib/csv.ts'
import { nanoText } from '../../lib/dollars.ts'
import { formatCount, formatPercent } from '../../lib/format.ts'
import { metricsOf } from '../../lib/usage-sums.ts'
import type { DimensionName, Metrics } from '../../lib/usage-sums.ts'
import { logsLink, spanOfDays } from '../logs/link.ts'
import { t } from '../usage.page.ts'
import type { SecondDimension } from './dividable.ts'

interface Line {
  readonly id: string
  readonly by: string
  readonly and: string
  /** What the log is asked by; undefined = it is no line of its own. */
  readonly terms: Readonly<Record<string, string>> | undefined
  readonly sums: Metrics
  /** Of all that was spent. */
  readonly share: number
}

interface DividedTableProps {
  readonly by: DimensionName
  readonly and: SecondDimension
  readonly days: readonly string[]
}

export function DividedTable({ by, and, days }: DividedTableProps) {
  const [first, last] = [days[0]!, days.at(-1)!]
  const summary = useQuery({
    queryKey: ['usage', 'summary', by, and, first, last],
    queryFn: ({ signal }) =>
      ask('GET /spend/summary', {
        query: { by: by as SecondDimension, and, start_date: first, end_date: last },
        signal,
      }),
  })
  if (summary.isError) return <ErrorState error={summary.error} onRetry={() => void summary.refetch()} />
  const lines = summary.data && linesOf(summary.data, by, and)
  const title = t('usage.dividedTable', { by: t(`usage.by.${by}`), and: t(`usage.by.${and}`) })
  return (
    <>
      <div className="flex justify-end">
        <Button
          icon={<Download size={16} aria-hidden />}
          disabled={!lines?.length}
          onClick={() => download(`usage-by-${by}-and-${and}-${first}-${last}.csv`, csvOf(lines ?? [], by, and))}
        >
          {t('usage.csv')}
        </Button>
      </div>
      <Table
        label={title}
        columns={columnsOf(by, and)}
        rows={lines}
        rowId={line => line.id}
        rowLink={line => line.terms && logsLink(spanOfDays(first, last), line.terms)}
        empty={<EmptyState title={t('usage.empty')}>{t('usage.emptyHelp')}</EmptyState>}
      />
      {summary.data?.is_complete === false && <p className="text-muted">{t('usage.dividedIncomplete')}</p>}
    </>
  )
}

function linesOf({ results, total, others, is_complete: isComplete }: SpendSummary, by: string, and: string): Line[] {
  const all = total.spend
  const shareOf = (sums: Metrics) => (all > 0 ? sums.spend / all : 0)
  const lines = results.map(one => {
    const sums = metricsOf(one.metrics)
    return {
      id: `${one.by.id}\n${one.and!.id}`,
      by: one.by.name ?? one.by.id,
      and: one.and!.name ?? one.and!.id,
      terms: { [by]: one.by.id, [and]: one.and!.id },
      sums,
      share: shareOf(sums),
    }
  })
  if (others === null) return lines
  const sums = metricsOf(others)
  const name = t(isComplete ? 'usage.unassigned' : 'usage.others')
  return [...lines, { id: '', by: name, and: '', terms: undefined, sums, share: shareOf(sums) }]
}

const columnsOf = (by: DimensionName, and: SecondDimension): readonly Column<Line>[] => [
  { id: 'by', title: t(`usage.by.${by}`), width: 'minmax(80px, 2fr)', cell: line => <Name text={line.by} /> },
  { id: 'and', title: t(`usage.by.${and}`), width: 'minmax(80px, 2fr)', cell: line => <Name text={line.and} /> },
  { id: 'spend', title: t('usage.spend'), align: 'end', cell: line => <Money usd={line.sums.spend} /> },
  { id: 'share', title: t('usage.share'), align: 'end', isWideOnly: true, cell: line => formatPercent(line.share) },
  { id: 'calls', title: t('usage.calls'), align: 'end', cell: line => formatCount(line.sums.api_requests) },
  {
    id: 'failed',
    title: t('usage.failed'),
    align: 'end',
    isWideOnly: true,
    cell: line => formatCount(line.sums.failed_requests),
  },
  {
    id: 'tokens',
    title: t('usage.tokens'),
    align: 'end',
    isWideOnly: true,
    cell: line => <Tokens count={line.sums.total_tokens} />,
  },
]

function Name({ text }: { readonly text: string }) {
  return (
    <span className="truncate" dir="auto" title={text}>
      {text}
    </span>
  )
}

const csvOf = (lines: readonly Line[], by: string, and: string): string =>
  csvText([
    [by, and, 'spend_usd', 'calls', 'failed', 'input_tokens', 'output_tokens'],
    ...lines.map(line => [
      line.by,
      line.and,
      { number: nanoText(line.sums.nanoUsd) },
      line.sums.api_requests,
      line.sums.failed_requests,
      line.sums.prompt_tokens,
      line.sums.completion_tokens,
    ]),
  ])
