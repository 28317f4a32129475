import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import type { AuditEntry } from '../api/schema.d.ts'
import { Drawer } from '../components/overlays/drawer.tsx'
import { Facts } from '../components/facts.tsx'
import { Id } from '../components/id.tsx'
import { Page } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { Select } from '../components/forms/select.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago } from '../components/values.tsx'
import { useOpened, useSearchValue } from '../lib/address.ts'
import { formatMomentOfYear, formatMoney } from '../lib/format.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './audit.page.ts'

const actions = [
  'created',
  'updated',
  'deleted',
  'read',
  'blocked',
  'unblocked',
  'rotated',
  'spend-reset',
  'signed-in',
  'sign-in-refused',
  'signed-out',
] as const
type Action = (typeof actions)[number]

const columns: readonly Column<AuditEntry>[] = [
  { id: 'at', title: t('audit.at'), width: 'minmax(120px, 1fr)', cell: entry => <Ago at={entry.updated_at} /> },
  { id: 'action', title: t('audit.action'), cell: entry => entry.action },
  { id: 'kind', title: t('audit.kind'), cell: entry => entry.table_name },
  { id: 'object', title: t('audit.object'), isWideOnly: true, cell: entry => <Id id={entry.object_id} /> },
  {
    id: 'by',
    title: t('audit.by'),
    isWideOnly: true,
    cell: entry => <span className="truncate">{entry.changed_by}</span>,
  },
]

/** Who changed what, and who signed in. */
export default function AuditPage() {
  const { text, searched, type } = useSearchText('object')
  const [action, setAction] = useSearchValue('action')
  const [openId, , close] = useOpened('entry')
  const entries = useInfiniteQuery({
    queryKey: ['audit', searched, action],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /audit', {
        query: {
          page_size: 50,
          cursor: pageParam,
          object_id: searched.trim(),
          ...(action !== '' && { action: action as Action }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  const filters = (
    <>
      <SearchField label={t('audit.search')} value={text} onChange={type} />
      <Select
        isCompact
        label={t('audit.action')}
        value={action}
        onChange={setAction}
        choices={[
          { value: '', label: t('audit.everyAction') },
          ...actions.map(value => ({ value, label: value.replaceAll('-', ' ') })),
        ]}
      />
    </>
  )
  return (
    <Page title={textOf(page.title)} filters={filters}>
      {entries.isError ? (
        <ErrorState error={entries.error} onRetry={() => void entries.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={entries.data?.pages.flatMap(page => page.audit_logs)}
          rowId={entry => entry.id}
          rowLink={entry => ({ to: '.', search: { entry: entry.id } })}
          openId={openId}
          empty={<EmptyState title={t(searched === '' && action === '' ? 'audit.empty' : 'all.noMatch')} />}
          onMore={entries.hasNextPage ? () => void entries.fetchNextPage() : undefined}
          isLoadingMore={entries.isFetchingNextPage}
        />
      )}
      {openId !== '' && <EntryDrawer id={openId} onClose={close} />}
    </Page>
  )
}

function EntryDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const entry = useQuery({
    queryKey: ['audit', 'one', id],
    queryFn: ({ signal }) => ask('GET /audit/{id}', { path: { id }, signal }),
  })
  const found = entry.data
  return (
    <Drawer open onClose={onClose} title={found ? `${found.table_name} ${found.action}` : textOf(page.title)}>
      {entry.isPending && <SkeletonRows />}
      {entry.isError && <ErrorState error={entry.error} onRetry={() => void entry.refetch()} />}
      {found && (
        <div className="flex flex-col gap-6">
          <Facts
            facts={[
              { name: t('audit.at'), value: formatMomentOfYear(Date.parse(found.updated_at)) },
              { name: t('audit.object'), value: <Id id={found.object_id} /> },
              { name: t('audit.by'), value: found.changed_by },
              { name: t('audit.key'), value: <Id id={found.changed_by_api_key} /> },
            ]}
          />
          <Changes before={found.before_value} after={found.updated_values} />
        </div>
      )}
    </Drawer>
  )
}

type Values = AuditEntry['before_value']

/** A new object lists every field: the empty ones say nothing. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)

const shown = (value: unknown): string =>
  isEmpty(value) ? '–' : typeof value === 'string' ? value : JSON.stringify(value)

const dollarsEnd = '_nano_usd'
const momentEnd = '_at_ms'

/** Amounts are stored as nano-dollars and moments as milliseconds since 1970; all else is shown as it is. */
function shownValue(name: string, value: unknown): string {
  if (isEmpty(value) || Number.isNaN(Number(value))) return shown(value)
  if (name.endsWith(dollarsEnd)) return formatMoney(Number(value) / 1e9)
  return name.endsWith(momentEnd) ? formatMomentOfYear(Number(value)) : shown(value)
}

const fieldName = (name: string): string =>
  [dollarsEnd, momentEnd].reduce((text, end) => text.replace(end, ''), name).replaceAll('_', ' ')

/** Each field that changed, with its values before and after. */
function Changes({ before, after }: { readonly before: Values; readonly after: Values }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
    name => shown(before?.[name]) !== shown(after?.[name]),
  )
  if (names.length === 0) return <p className="text-muted">{t('audit.noFields')}</p>
  return (
    <table className="w-full table-fixed text-left">
      <thead>
        <tr className="border-b border-line-strong text-muted">
          <th className="p-1 font-medium">{t('audit.field')}</th>
          <th className="p-1 font-medium">{t('audit.before')}</th>
          <th className="p-1 font-medium">{t('audit.after')}</th>
        </tr>
      </thead>
      <tbody>
        {names.map(name => (
          <tr key={name} className="border-b border-line align-top">
            <td className="p-1 break-words">{fieldName(name)}</td>
            <td className="p-1 break-words text-muted">{shownValue(name, before?.[name])}</td>
            <td className="p-1 break-words">{shownValue(name, after?.[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
