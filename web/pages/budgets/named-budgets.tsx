import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { ask } from '../../api/client.ts'
import type { Budget } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { DeleteButton } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { EditForm } from '../../components/forms/edit-form.tsx'
import type { Stored } from '../../components/forms/edit-form.tsx'
import { valuesOf } from '../../components/forms/object-forms.ts'
import { Facts } from '../../components/facts.tsx'
import { Changed } from '../../components/gateway/limits.tsx'
import { Page } from '../../components/page.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { Table } from '../../components/table.tsx'
import type { Column } from '../../components/table.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Ago } from '../../components/values.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { useOpened } from '../../lib/address.ts'
import { formatCount, formatMoney } from '../../lib/format.ts'
import { periodLabel } from '../../lib/periods.ts'
import { textOf } from '../../strings/index.ts'
import { page, t } from '../budgets.page.ts'
import { kindName } from './kinds.ts'

const amount = (usd: number | null): string => (usd === null ? t('all.unlimited') : formatMoney(usd))
const count = (limit: number | null): string => (limit === null ? t('all.unlimited') : formatCount(limit))

const columns: readonly Column<Budget>[] = [
  { id: 'name', title: t('all.name'), width: 'minmax(140px, 2fr)', cell: one => one.budget_id },
  { id: 'budget', title: t('limits.budget'), align: 'end', cell: one => amount(one.max_budget) },
  { id: 'period', title: t('limits.period'), cell: one => periodLabel(one.budget_duration) },
  { id: 'rpm', title: t('limits.requests'), align: 'end', isWideOnly: true, cell: one => count(one.rpm_limit) },
  { id: 'created', title: t('all.created'), isWideOnly: true, cell: one => <Ago at={one.created_at} /> },
]

/** Budgets that many keys, users, teams, organizations, customers and tags share the definition of. */
export function NamedBudgets({ action, views }: { readonly action: ReactNode; readonly views: ReactNode }) {
  const [openId, , close] = useOpened('named')
  const list = useInfiniteQuery({
    queryKey: ['budgets', 'named'],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /v2/budget/list', { query: { page_size: 50, cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
  return (
    <Page title={textOf(page.title)} action={action} filters={views}>
      {list.isError ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <Table
          label={t('budgets.view.named')}
          columns={columns}
          rows={list.data?.pages.flatMap(page => page.budgets)}
          rowId={one => one.budget_id}
          rowLink={one => ({ to: '.', search: { named: one.budget_id } })}
          openId={openId}
          empty={<EmptyState title={t('budgets.noNamed')}>{t('budgets.noNamedHelp')}</EmptyState>}
          onMore={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
          isLoadingMore={list.isFetchingNextPage}
        />
      )}
      {openId !== '' && <NamedDrawer key={openId} id={openId} onClose={close} />}
    </Page>
  )
}

const namedQuery = (id: string) => ({
  queryKey: ['budgets', 'named', id],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await ask('POST /budget/info', { body: { budgets: [id] }, signal }))[0] ?? null,
})

const storedOf = (one: Budget): Stored<'budget'> => ({ version: one.version, values: valuesOf('budget', one) })

function NamedDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const client = useQueryClient()
  const session = useSession().data
  const [isEditing, setEditing] = useState(false)
  const found = useQuery(namedQuery(id))
  const budget = found.data
  const changed = () => void client.invalidateQueries({ queryKey: ['budgets'] })
  return (
    <Drawer open onClose={onClose} title={id}>
      {found.isPending && <SkeletonRows />}
      {found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {budget === null && <p className="text-muted">{t('budgets.gone')}</p>}
      {budget && isEditing && (
        <EditForm
          object="budget"
          stored={storedOf(budget)}
          save={(changes, version) => ask('POST /budget/update', { body: { budget_id: id, version, ...changes } })}
          reload={async () => storedOf((await client.fetchQuery({ ...namedQuery(id), staleTime: 0 }))!)}
          onDone={() => {
            toast(t('budgets.changed.toast', { name: id }))
            changed()
            setEditing(false)
          }}
          onCancel={() => setEditing(false)}
        />
      )}
      {budget && !isEditing && (
        <div className="flex flex-col gap-6">
          {session && isAdministrator(session) && (
            <div className="flex flex-wrap gap-2">
              <Button onClick={() => setEditing(true)}>{t('edit.action')}</Button>
              <DeleteButton
                title={t('budgets.delete')}
                description={t('budgets.deleteHelp', { name: id })}
                typed={id}
                remove={() => ask('POST /budget/delete', { body: { id } })}
                onDone={() => {
                  toast(t('budgets.deleted.toast', { name: id }))
                  onClose()
                  changed()
                }}
              />
            </div>
          )}
          <NamedFacts budget={budget} />
          <Users id={id} />
        </div>
      )}
    </Drawer>
  )
}

function NamedFacts({ budget }: { readonly budget: Budget }) {
  return (
    <Facts
      facts={[
        { name: t('limits.budget'), value: amount(budget.max_budget) },
        { name: t('limits.soft'), value: budget.soft_budget === null ? t('all.none') : amount(budget.soft_budget) },
        { name: t('limits.period'), value: periodLabel(budget.budget_duration) },
        { name: t('limits.requests'), value: count(budget.rpm_limit) },
        { name: t('limits.tokens'), value: count(budget.tpm_limit) },
        { name: t('limits.parallel'), value: count(budget.max_parallel_requests) },
        { name: t('all.changed'), value: <Changed at={budget.updated_at} by={budget.updated_by} /> },
      ]}
    />
  )
}

/** Who has it, the nearest to the limit first. */
function Users({ id }: { readonly id: string }) {
  const users = useQuery({
    queryKey: ['budgets', 'usage', 'of', id],
    queryFn: ({ signal }) => ask('GET /budget/usage', { query: { budget_id: id, page_size: 20 }, signal }),
  })
  return (
    <section className="flex flex-col gap-2" aria-label={t('budgets.usedBy')}>
      <h2 className="font-semibold">{t('budgets.usedBy')}</h2>
      {users.isError && <ErrorState error={users.error} isInline />}
      {users.data?.budgets.length === 0 && <p className="text-muted">{t('budgets.unused')}</p>}
      <ul>
        {users.data?.budgets.map(one => (
          <li key={one.scope} className="flex flex-wrap justify-between gap-2 border-b border-line py-2">
            <Link
              to="/budgets"
              search={{ of: one.kind, id: one.id, model: one.model ?? undefined }}
              className="font-medium hover:underline"
            >
              {one.name} <span className="font-normal text-muted">{kindName(one.kind)}</span>
            </Link>
            <span className="numbers">
              {t('meter.of', { used: formatMoney(one.spent), limit: amount(one.max_budget) })}
            </span>
          </li>
        ))}
      </ul>
      {users.data?.next_cursor != null && <p className="text-muted">{t('budgets.more')}</p>}
    </section>
  )
}
