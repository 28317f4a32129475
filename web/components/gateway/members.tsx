/** Who is in a team or an organization, with the role there. */
import { useMutation } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import { Confirm } from '../overlays/dialog.tsx'
import { TextField } from '../forms/field.tsx'
import { Form } from '../forms/form.tsx'
import { Select } from '../forms/select.tsx'
import type { Choice } from '../forms/select.tsx'
import { ErrorState } from '../states.tsx'

/** A user, as a request names it. */
export type NamedMember = { readonly user_email: string } | { readonly user_id: string }

/** One of a team or an organization. */
export interface Member<Role extends string> {
  readonly id: string
  /** null = none is stored, or it is not for who asks. */
  readonly name: string | null
  readonly address: string | null
  readonly role: Role
}

interface MembersProps<Role extends string> {
  readonly members: readonly Member<Role>[]
  readonly roles: readonly Choice<Role>[]
  /** Of new members, at first. */
  readonly usualRole: Role
  readonly mayChange: boolean
  /** What becomes of a member who is removed. */
  readonly removeHelp: string
  readonly add: (member: NamedMember, role: Role) => Promise<unknown>
  readonly changeRole: (userId: string, role: Role) => Promise<unknown>
  readonly remove: (userId: string) => Promise<unknown>
  /** After each of them. */
  readonly onChanged: () => void
}

/** Those who may, add, remove and give roles. */
export function Members<Role extends string>(props: MembersProps<Role>) {
  const { members, roles, mayChange, changeRole, remove, onChanged } = props
  const [leaving, setLeaving] = useState<Member<Role> | null>(null)
  const change = useMutation({
    mutationFn: ({ id, role }: { id: string; role: Role }) => changeRole(id, role),
    onSuccess: onChanged,
  })
  const removal = useMutation({
    mutationFn: remove,
    onSuccess: () => {
      setLeaving(null)
      onChanged()
    },
  })
  const labelOf = (role: Role) => roles.find(one => one.value === role)?.label ?? role
  return (
    <section className="flex flex-col gap-2" aria-label={t('members.title')}>
      <h2 className="font-semibold">{t('members.title')}</h2>
      {members.length === 0 && <p className="text-muted">{t('members.none')}</p>}
      <ul>
        {members.map(member => (
          <li key={member.id} className="flex min-h-9 items-center gap-2 border-b border-line py-1">
            <span className="flex min-w-0 grow flex-col">
              <span className="truncate">{member.name ?? wordFor(member)}</span>
              {member.name !== null && <span className="truncate text-muted">{wordFor(member)}</span>}
            </span>
            {mayChange ? (
              <>
                <Select
                  isCompact
                  label={t('members.roleOf', { name: wordFor(member) })}
                  value={member.role}
                  choices={roles}
                  disabled={change.isPending}
                  onChange={next => change.mutate({ id: member.id, role: next })}
                />
                <Button
                  kind="quiet"
                  icon={<X size={16} aria-hidden />}
                  aria-label={t('all.remove', { what: wordFor(member) })}
                  onClick={() => {
                    removal.reset()
                    setLeaving(member)
                  }}
                />
              </>
            ) : (
              <span className="text-muted">{labelOf(member.role)}</span>
            )}
          </li>
        ))}
      </ul>
      {change.isError && <ErrorState error={change.error} isInline />}
      {mayChange && <AddMember {...props} />}
      <Confirm
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        title={t('all.remove', { what: leaving ? wordFor(leaving) : '' })}
        description={props.removeHelp}
        action={t('members.remove')}
        typed={leaving ? wordFor(leaving) : ''}
        busy={removal.isPending}
        onConfirm={() => removal.mutate(leaving!.id)}
        problem={removal.isError && <ErrorState error={removal.error} isInline />}
      />
    </section>
  )
}

/** What tells a member from all others, where two have one name. */
const wordFor = ({ id, address }: Pick<Member<string>, 'id' | 'address'>): string => address ?? id

/** By e-mail address or id: what holds an `@` is an address. */
function AddMember<Role extends string>({ add, onChanged, roles, usualRole }: MembersProps<Role>) {
  const [who, setWho] = useState('')
  const [role, setRole] = useState<Role>(usualRole)
  const adding = useMutation({
    mutationFn: () => add(who.includes('@') ? { user_email: who.trim() } : { user_id: who.trim() }, role),
    onSuccess: () => {
      setWho('')
      onChanged()
    },
  })
  const { error } = adding
  // A mistyped address is no new user.
  const isUnknown = error instanceof ApiError && error.status === 404 && error.field?.startsWith('user_') === true
  return (
    <Form
      className="flex flex-col gap-2"
      onSubmit={() => {
        if (who.trim() !== '') adding.mutate()
      }}
    >
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          label={t('members.add')}
          placeholder={t('members.addHelp')}
          value={who}
          onChange={setWho}
          error={isUnknown ? t('members.unknown') : null}
        />
        <Select label={t('members.role')} isCompact value={role} onChange={setRole} choices={roles} />
        <Button type="submit" busy={adding.isPending} disabled={who.trim() === ''}>
          {t('members.add.action')}
        </Button>
      </div>
      {error && !isUnknown && <ErrorState error={error} isInline />}
    </Form>
  )
}
