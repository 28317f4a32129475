import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Tag } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { EditForm } from '../../components/forms/edit-form.tsx'
import type { Stored } from '../../components/forms/edit-form.tsx'
import { valuesOf } from '../../components/forms/object-forms.ts'
import { budgetInWords, Changed } from '../../components/gateway/limits.tsx'
import { DeleteButton } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Money } from '../../components/values.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../tags.page.ts'

const infoQuery = (name: string) => ({
  queryKey: ['tags', 'one', name],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await ask('POST /tag/info', { body: { names: [name] }, signal }))[name] ?? null,
})

const storedOf = (tag: Tag): Stored<'tag'> => ({ version: tag.version, values: valuesOf('tag', tag) })

/** One tag: spending, budget, limits, models. */
export function TagDrawer({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const client = useQueryClient()
  const [isEditing, setEditing] = useState(false)
  const info = useQuery(infoQuery(name))
  const tag = info.data
  return (
    <Drawer open onClose={onClose} title={name}>
      {info.isPending && <SkeletonRows />}
      {info.isError && <ErrorState error={info.error} onRetry={() => void info.refetch()} />}
      {tag === null && <EmptyState title={t('error.notFound')} />}
      {tag && !isEditing && <TagFacts tag={tag} onEdit={() => setEditing(true)} onDeleted={onClose} />}
      {tag && isEditing && (
        <EditForm
          object="tag"
          stored={storedOf(tag)}
          save={(changes, version) => ask('POST /tag/update', { body: { ...changes, name, version } })}
          reload={async () => storedOf((await client.fetchQuery({ ...infoQuery(name), staleTime: 0 })) ?? tag)}
          onDone={() => {
            toast(t('tags.changed.toast', { name }))
            void client.invalidateQueries({ queryKey: ['tags'] })
            setEditing(false)
          }}
          onCancel={() => setEditing(false)}
        />
      )}
    </Drawer>
  )
}

interface TagFactsProps {
  readonly tag: Tag
  readonly onEdit: () => void
  readonly onDeleted: () => void
}

function TagFacts({ tag, onEdit, onDeleted }: TagFactsProps) {
  const session = useSession().data
  const client = useQueryClient()
  const { name } = tag
  return (
    <div className="flex flex-col gap-6">
      {session && isAdministrator(session) && (
        <div className="flex flex-wrap gap-2">
          <Button onClick={onEdit}>{t('edit.action')}</Button>
          <DeleteButton
            title={t('tags.delete')}
            description={t('tags.deleteHelp', { name })}
            typed={name}
            remove={() => ask('POST /tag/delete', { body: { name } })}
            onDone={() => {
              toast(t('tags.deleted.toast', { name }))
              onDeleted()
              void client.invalidateQueries({ queryKey: ['tags'] })
            }}
          />
        </div>
      )}
      <Facts
        facts={[
          { name: t('tags.description'), value: tag.description ?? '–' },
          { name: t('tags.models'), value: tag.models.join(', ') || '–' },
          { name: t('all.spentEver'), value: <Money usd={tag.spend} /> },
          { name: t('limits.budget'), value: budgetInWords(tag) },
          { name: t('all.changed'), value: <Changed at={tag.updated_at} by={tag.updated_by} /> },
        ]}
      />
      <div>
        <Link to="/logs" search={{ q: `tag:${/\s/.test(name) ? `"${name}"` : name}` }} className={buttonClass()}>
          {t('tags.calls')}
        </Link>
      </div>
    </div>
  )
}
