import { useMutation, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Team } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { t } from '../../strings/index.ts'

const roles = ['user', 'admin'] as const
type Role = (typeof roles)[number]

/** Who is in the team, with the role there; admins of the team add and remove. */
export function Members({ team, mayChange }: { readonly team: Team; readonly mayChange: boolean }) {
  const client = useQueryClient()
  const onSuccess = () => void client.invalidateQueries({ queryKey: ['teams'] })
  const remove = useMutation({
    mutationFn: (userId: string) =>
      ask('POST /team/member_delete', { body: { team_id: team.team_id, user_id: userId } }),
    onSuccess,
  })
  return (
    <section className="flex flex-col gap-2" aria-label={t('teams.members')}>
      <h2 className="font-semibold">{t('teams.members')}</h2>
      {team.members_with_roles.length === 0 && <p className="text-muted">{t('teams.noMembers')}</p>}
      <ul>
        {team.members_with_roles.map(({ user_id: userId, role }) => (
          <li key={userId} className="flex items-center gap-2 border-b border-line py-1">
            <span className="min-w-0 grow truncate">{userId}</span>
            <span className="text-muted">{t(role === 'admin' ? 'teams.role.admin' : 'teams.role.user')}</span>
            {mayChange && (
              <Button
                kind="quiet"
                icon={<X size={16} aria-hidden />}
                aria-label={t('all.remove', { what: userId })}
                onClick={() => remove.mutate(userId)}
              />
            )}
          </li>
        ))}
      </ul>
      {remove.isError && <ErrorState error={remove.error} isInline />}
      {mayChange && <AddMember teamId={team.team_id} onAdded={onSuccess} />}
    </section>
  )
}

/** By e-mail address or id: what holds an `@` is an address. */
function AddMember({ teamId, onAdded }: { readonly teamId: string; readonly onAdded: () => void }) {
  const [who, setWho] = useState('')
  const [role, setRole] = useState<Role>('user')
  const add = useMutation({
    mutationFn: () => {
      const named = who.includes('@') ? { user_email: who.trim() } : { user_id: who.trim() }
      return ask('POST /team/member_add', { body: { team_id: teamId, member: { role, ...named } } })
    },
    onSuccess: () => {
      setWho('')
      onAdded()
    },
  })
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={event => {
        event.preventDefault()
        if (who.trim() !== '') add.mutate()
      }}
    >
      <div className="flex flex-wrap items-end gap-2">
        <TextField label={t('teams.addMember')} placeholder={t('teams.addMemberHelp')} value={who} onChange={setWho} />
        <Select
          label={t('teams.role')}
          isCompact
          value={role}
          onChange={setRole}
          choices={roles.map(value => ({
            value,
            label: t(value === 'admin' ? 'teams.role.admin' : 'teams.role.user'),
          }))}
        />
        <Button type="submit" busy={add.isPending} disabled={who.trim() === ''}>
          {t('teams.add')}
        </Button>
      </div>
      {add.isError && <ErrorState error={add.error} isInline />}
    </form>
  )
}
