/** The columns of the list of calls. */
import type { SpendLog } from '../../api/schema.d.ts'
import type { Column } from '../../components/table.tsx'
import { Duration } from '../../components/values.tsx'
import { formatCompact, formatCount, formatMoment } from '../../lib/format.ts'
import { t } from '../logs.page.ts'
import type { StringKey } from '../logs.page.ts'
import { CallCost } from './call-cost.tsx'
import { upstreamOf } from './names.ts'
import { OutcomeBadge } from './outcome.tsx'

/** A column that is shown where it was chosen: a text as the ledger has it. */
const chosenText = (id: string, title: StringKey, textOf: (call: SpendLog) => string | null): Column<SpendLog> => ({
  id,
  title: t(title),
  isHidden: true,
  isWideOnly: true,
  cell: call => <span className="truncate text-muted">{textOf(call) ?? '–'}</span>,
})

/** All of them, the usual ones first. */
export const logColumns: readonly Column<SpendLog>[] = [
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
  { id: 'cost', title: t('logs.cost'), align: 'end', isWideOnly: true, cell: call => <CallCost call={call} /> },
  {
    id: 'duration',
    title: t('logs.duration'),
    align: 'end',
    isWideOnly: true,
    cell: call => <Duration milliseconds={call.duration_ms} />,
  },
  {
    id: 'firstByte',
    title: t('logs.firstByte'),
    align: 'end',
    isHidden: true,
    isWideOnly: true,
    cell: call => <Duration milliseconds={call.first_byte_ms} />,
  },
  {
    id: 'attempts',
    title: t('logs.attempts'),
    align: 'end',
    isHidden: true,
    isWideOnly: true,
    cell: call => formatCount(call.attempts),
  },
  chosenText('deployment', 'logs.deployment', upstreamOf),
  chosenText('operation', 'logs.operation', call => call.operation),
  chosenText('user', 'logs.user', call => call.user_email ?? call.user_id),
  chosenText('team', 'logs.team', call => call.team_alias ?? call.team_id),
  chosenText('organization', 'logs.organization', call => call.organization_alias ?? call.organization_id),
  chosenText('error', 'logs.errorKind', call => call.error_kind),
  chosenText('message', 'logs.errorMessage', call => call.error_message),
  chosenText('customer', 'logs.customer', call => call.end_user),
  chosenText('client', 'logs.client', call => call.client_name),
  chosenText('tags', 'logs.tags', call => call.request_tags?.join(', ') ?? null),
  chosenText('session', 'logs.session', call => call.session_id),
  chosenText('cache', 'logs.cache', call => call.cache_hit_kind),
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
