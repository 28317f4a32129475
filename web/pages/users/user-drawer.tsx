import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { User } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { Drawer } from '../../components/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { AllowedModels, Changed, Limits } from '../../components/limits.tsx'
import { Select } from '../../components/select.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { toast } from '../../components/toast.tsx'
import { administers } from '../../frame/rights.ts'
import { t } from '../../strings/index.ts'
import { roleName, userRoles } from './roles.ts'
import type { UserRole } from './roles.ts'

/** One user: role, teams, limits. */
export function UserDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const session = useSession().data
  const info = useQuery({
    queryKey: ['users', 'one', id],
    queryFn: ({ signal }) => ask('GET /user/info', { query: { user_id: id }, signal }),
  })
  const user = info.data?.user_info
  return (
    <Drawer open onClose={onClose} title={user?.user_alias ?? user?.user_email ?? id}>
      {info.isPending && <SkeletonRows />}
      {info.isError && <ErrorState error={info.error} onRetry={() => void info.refetch()} />}
      {user && info.data && (
        <div className="flex flex-col gap-6">
          <Facts
            facts={[
              { name: t('users.id'), value: <Id id={user.user_id} /> },
              { name: t('users.email'), value: user.user_email ?? t('all.none') },
              { name: t('users.role'), value: roleName(user.user_role) },
              {
                name: t('nav.teams'),
                value: info.data.teams.map(team => team.team_alias ?? team.team_id).join(', ') || t('all.none'),
              },
              { name: t('users.keys'), value: info.data.keys_total },
              { name: t('limits.models'), value: <AllowedModels models={user.models} /> },
              { name: t('users.changed'), value: <Changed at={user.updated_at} by={user.updated_by} /> },
            ]}
          />
          <Limits of={user} budget={info.data.budget} />
          {session && administers(session) && <UserActions user={user} onDeleted={onClose} />}
        </div>
      )}
    </Drawer>
  )
}

/** The role, blocking, which can be undone, and deleting, which cannot. */
function UserActions({ user, onDeleted }: { readonly user: User; readonly onDeleted: () => void }) {
  const client = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const name = user.user_email ?? user.user_id
  const changed = () => void client.invalidateQueries({ queryKey: ['users'] })
  const update = useMutation({
    mutationFn: (change: { user_role?: UserRole; blocked?: boolean }) =>
      ask('POST /user/update', { body: { user_id: user.user_id, version: user.version, ...change } }),
    onSuccess: () => {
      toast(t('users.changed.toast', { name }))
      changed()
    },
  })
  const remove = useMutation({
    mutationFn: () => ask('POST /user/delete', { body: { user_ids: [user.user_id] } }),
    onSuccess: () => {
      toast(t('users.deleted.toast', { name }))
      setDeleting(false)
      changed()
      onDeleted()
    },
  })
  return (
    <div className="flex flex-col gap-3">
      <Select
        label={t('users.role')}
        value={user.user_role}
        disabled={update.isPending}
        onChange={role => update.mutate({ user_role: role })}
        choices={userRoles.map(value => ({ value, label: roleName(value) }))}
      />
      {update.isError && <ErrorState error={update.error} isInline />}
      <div className="flex flex-wrap gap-2">
        <Button busy={update.isPending} onClick={() => update.mutate({ blocked: !user.blocked })}>
          {t(user.blocked ? 'users.unblock' : 'users.block')}
        </Button>
        <Button kind="danger" onClick={() => setDeleting(true)}>
          {t('users.delete')}
        </Button>
      </div>
      <Confirm
        open={isDeleting}
        onClose={() => setDeleting(false)}
        title={t('users.delete')}
        description={t('users.deleteHelp', { name })}
        action={t('users.delete')}
        typed={name}
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
        problem={remove.isError && <ErrorState error={remove.error} isInline />}
      />
    </div>
  )
}
