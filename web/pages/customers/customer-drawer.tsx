import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { CustomerInfo } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { StatusBadge } from '../../components/badge.tsx'
import { Button, buttonClass } from '../../components/button.tsx'
import { DeleteButton } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { EditForm } from '../../components/forms/edit-form.tsx'
import type { Stored } from '../../components/forms/edit-form.tsx'
import { valuesOf } from '../../components/forms/object-forms.ts'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { Changed, Limits } from '../../components/gateway/limits.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Money } from '../../components/values.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../customers.page.ts'

const infoQuery = (id: string) => ({
  queryKey: ['customers', 'one', id],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask('GET /customer/info', { query: { end_user_id: id }, signal }),
})

const storedOf = (one: CustomerInfo): Stored<'customer'> => ({
  version: one.version,
  values: valuesOf('customer', one),
})

/** One customer: spending, budget and limits. */
export function CustomerDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const session = useSession().data
  const client = useQueryClient()
  const [isEditing, setEditing] = useState(false)
  const info = useQuery(infoQuery(id))
  const customer = info.data
  return (
    <Drawer open onClose={onClose} title={customer?.alias ?? id}>
      {info.isPending && <SkeletonRows />}
      {info.isError && <ErrorState error={info.error} onRetry={() => void info.refetch()} />}
      {customer && !isEditing && (
        <div className="flex flex-col gap-6">
          {session && isAdministrator(session) && (
            <CustomerActions customer={customer} onEdit={() => setEditing(true)} onDeleted={onClose} />
          )}
          <Facts
            facts={[
              { name: t('customers.id'), value: <Id id={customer.user_id} /> },
              { name: t('all.status'), value: <StatusBadge blocked={customer.blocked} /> },
              { name: t('all.spentEver'), value: <Money usd={customer.spend} /> },
              { name: t('all.changed'), value: <Changed at={customer.updated_at} by={customer.updated_by} /> },
            ]}
          />
          <Limits of={customer} budget={customer.budget} limits={customer.limits} />
          <div>
            <Link to="/logs" search={{ q: `customer:${id}` }} className={buttonClass()}>
              {t('customers.calls')}
            </Link>
          </div>
        </div>
      )}
      {customer && isEditing && (
        <EditForm
          object="customer"
          stored={storedOf(customer)}
          save={(changes, version) => ask('POST /customer/update', { body: { user_id: id, version, ...changes } })}
          reload={async () => storedOf(await client.fetchQuery({ ...infoQuery(id), staleTime: 0 }))}
          onDone={() => {
            toast(t('customers.changed.toast', { name: id }))
            void client.invalidateQueries({ queryKey: ['customers'] })
            setEditing(false)
          }}
          onCancel={() => setEditing(false)}
        />
      )}
    </Drawer>
  )
}

interface CustomerActionsProps {
  readonly customer: CustomerInfo
  readonly onEdit: () => void
  readonly onDeleted: () => void
}

/** Blocking, which can be undone, and deleting, which cannot. */
function CustomerActions({ customer, onEdit, onDeleted }: CustomerActionsProps) {
  const client = useQueryClient()
  const { user_id: id, blocked } = customer
  const changed = () => void client.invalidateQueries({ queryKey: ['customers'] })
  const block = useMutation({
    mutationFn: () => ask(blocked ? 'POST /customer/unblock' : 'POST /customer/block', { body: { user_ids: [id] } }),
    onSuccess: () => {
      toast(t(blocked ? 'customers.unblocked.toast' : 'customers.blocked.toast', { name: id }))
      changed()
    },
  })
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={onEdit}>{t('edit.action')}</Button>
      <Button busy={block.isPending} onClick={() => block.mutate()}>
        {t(blocked ? 'all.unblock' : 'all.block')}
      </Button>
      <DeleteButton
        title={t('customers.delete')}
        description={t('customers.deleteHelp', { name: id })}
        typed={id}
        remove={() => ask('POST /customer/delete', { body: { user_ids: [id] } })}
        onDone={() => {
          toast(t('customers.deleted.toast', { name: id }))
          onDeleted()
          changed()
        }}
      />
      {block.isError && <ErrorState error={block.error} isInline />}
    </div>
  )
}
