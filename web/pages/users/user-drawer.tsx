import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { User } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { StatusBadge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { DeleteButton } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { EditForm } from '../../components/forms/edit-form.tsx'
import type { Stored } from '../../components/forms/edit-form.tsx'
import { valuesOf } from '../../components/forms/object-forms.ts'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { AllowedModels, Changed, Limits } from '../../components/gateway/limits.tsx'
import { LimitsExplained } from '../../components/gateway/limits-explained.tsx'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../users.page.ts'
import { Invite } from './invite.tsx'
import { roleName, userRoles } from './roles.ts'
import type { UserRole } from './roles.ts'

const infoQuery = (id: string) => ({
  queryKey: ['users', 'one', id],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask('GET /user/info', { query: { user_id: id }, signal }),
})

const storedOf = (one: User): Stored<'user'> => ({ version: one.version, values: valuesOf('user', one) })

/** One user: role, teams, limits. */
export function UserDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const client = useQueryClient()
  const session = useSession().data
  const [isEditing, setEditing] = useState(false)
  const info = useQuery(infoQuery(id))
  const user = info.data?.user_info
  const isChanged = session !== undefined && isAdministrator(session)
  return (
    <Drawer open onClose={onClose} title={user?.user_alias ?? user?.user_email ?? id}>
      {info.isPending && <SkeletonRows />}
      {info.isError && <ErrorState error={info.error} onRetry={() => void info.refetch()} />}
      {user && !isEditing && (
        <div className="flex flex-col gap-6">
          {isChanged && <UserActions user={user} onEdit={() => setEditing(true)} onDeleted={onClose} />}
          <Facts
            facts={[
              { name: t('all.id'), value: <Id id={user.user_id} /> },
              { name: t('users.email'), value: user.user_email ?? t('all.none') },
              ...(isChanged ? [] : [{ name: t('users.role'), value: roleName(user.user_role) }]),
              { name: t('all.status'), value: <StatusBadge blocked={user.blocked} /> },
              {
                name: t('all.teams'),
                value: info.data!.teams.map(team => team.team_alias ?? team.team_id).join(', ') || t('all.none'),
              },
              { name: t('all.keys'), value: info.data!.keys_total },
              { name: t('limits.models'), value: <AllowedModels models={user.models} /> },
              { name: t('all.changed'), value: <Changed at={user.updated_at} by={user.updated_by} /> },
            ]}
          />
          <Limits of={user} budget={info.data!.budget} limits={info.data!.limits} />
          <LimitsExplained of={{ user_id: id }} />
        </div>
      )}
      {user && isEditing && (
        <EditForm
          object="user"
          stored={storedOf(user)}
          save={(changes, version) => ask('POST /user/update', { body: { user_id: id, version, ...changes } })}
          reload={async () => storedOf((await client.fetchQuery({ ...infoQuery(id), staleTime: 0 })).user_info)}
          onDone={() => {
            toast(t('users.changed.toast', { name: user.user_email ?? id }))
            void client.invalidateQueries({ queryKey: ['users'] })
            setEditing(false)
          }}
          onCancel={() => setEditing(false)}
        />
      )}
    </Drawer>
  )
}

interface UserActionsProps {
  readonly user: User
  readonly onEdit: () => void
  readonly onDeleted: () => void
}

/** The role, an invitation, blocking, which can be undone, and deleting, which cannot. */
function UserActions({ user, onEdit, onDeleted }: UserActionsProps) {
  const client = useQueryClient()
  const name = user.user_email ?? user.user_id
  const changed = () => client.invalidateQueries({ queryKey: ['users'] })
  const update = useMutation({
    mutationFn: (change: { user_role?: UserRole; blocked?: boolean }) =>
      ask('POST /user/update', { body: { user_id: user.user_id, version: user.version, ...change } }),
    onSuccess: () => toast(t('users.changed.toast', { name })),
    // Also after a conflict: what is shown is then what is stored. Until it is, a further change would be one of an old
    // version, so that its button stays busy.
    onSettled: changed,
  })
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        <Button onClick={onEdit}>{t('edit.action')}</Button>
        <Invite user={user} />
        <Button busy={update.isPending} onClick={() => update.mutate({ blocked: !user.blocked })}>
          {t(user.blocked ? 'users.unblock' : 'users.block')}
        </Button>
        <DeleteButton
          title={t('users.delete')}
          description={t('users.deleteHelp', { name })}
          typed={name}
          remove={() => ask('POST /user/delete', { body: { user_ids: [user.user_id] } })}
          onDone={() => {
            toast(t('users.deleted.toast', { name }))
            onDeleted()
            void changed()
          }}
        />
      </div>
      <Select
        label={t('users.role')}
        value={user.user_role}
        disabled={update.isPending}
        onChange={role => update.mutate({ user_role: role })}
        choices={userRoles.map(value => ({ value, label: roleName(value) }))}
      />
      {update.isError && <ErrorState error={update.error} isInline />}
    </div>
  )
}
