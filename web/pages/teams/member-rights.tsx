import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Calls, Team } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { NumberField } from '../../components/forms/number-field.tsx'
import { amounts, counts } from '../../lib/number-text.ts'
import { Form } from '../../components/forms/form.tsx'
import { DurationField } from '../../components/forms/duration-field.tsx'
import { useReadVersion } from '../../components/forms/read-version.ts'
import { ErrorState } from '../../components/states.tsx'
import { Switch } from '../../components/forms/switch.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { formatCount, formatMoney } from '../../lib/format.ts'
import { periodLabel } from '../../lib/periods.ts'
import { t } from '../teams.page.ts'

type Permission = NonNullable<NonNullable<Calls['POST /team/update']['body']>['team_member_permissions']>[number]

const permissions = {
  '/key/info': 'teams.may.info',
  '/key/health': 'teams.may.health',
  '/key/generate': 'teams.may.generate',
  '/key/update': 'teams.may.update',
  '/key/regenerate': 'teams.may.regenerate',
  '/key/delete': 'teams.may.delete',
} as const satisfies Readonly<Record<Permission, string>>

/** What each member of a team may do and use, unless it has an own share. */
export function MemberRights({ team, mayChange }: { readonly team: Team; readonly mayChange: boolean }) {
  const client = useQueryClient()
  const update = useMutation({
    mutationFn: (next: Permission[]) =>
      ask('POST /team/update', {
        body: { team_id: team.team_id, version: team.version, team_member_permissions: next },
      }),
    // Also after a conflict: what is shown is then what is stored.
    onSettled: () => client.invalidateQueries({ queryKey: ['teams'] }),
  })
  const given = team.team_member_permissions as Permission[]
  const set = (name: Permission, isGiven: boolean) =>
    update.mutate(isGiven ? [...given, name] : given.filter(one => one !== name))
  return (
    <section className="flex flex-col gap-3" aria-label={t('teams.rights')}>
      <h2 className="font-semibold">{t('teams.rights')}</h2>
      <div className="grid gap-x-4 narrow:grid-cols-2">
        {(Object.keys(permissions) as Permission[]).map(name => (
          <Switch
            key={name}
            label={t(permissions[name])}
            checked={given.includes(name)}
            disabled={!mayChange || update.isPending}
            onChange={isGiven => set(name, isGiven)}
          />
        ))}
      </div>
      {update.isError && <ErrorState error={update.error} isInline />}
      <Share team={team} mayChange={mayChange} />
    </section>
  )
}

function Share({ team, mayChange }: { readonly team: Team; readonly mayChange: boolean }) {
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <EditShare team={team} onDone={() => setEditing(false)} />
  const { team_member_budget: budget, team_member_rpm_limit: rpm, team_member_tpm_limit: tpm } = team
  const counted = (limit: number | null) => (limit === null ? t('all.unlimited') : formatCount(limit))
  const period = periodLabel(team.team_member_budget_duration)
  return (
    <>
      <Facts
        facts={[
          {
            name: t('teams.share.budget'),
            value: budget === null ? t('all.unlimited') : `${formatMoney(budget)} · ${period}`,
          },
          { name: t('limits.requests'), value: counted(rpm) },
          { name: t('limits.tokens'), value: counted(tpm) },
        ]}
      />
      {mayChange && (
        <div>
          <Button onClick={() => setEditing(true)}>{t('teams.share.edit')}</Button>
        </div>
      )}
    </>
  )
}

function EditShare({ team, onDone }: { readonly team: Team; readonly onDone: () => void }) {
  const client = useQueryClient()
  const [share, setShare] = useState({
    team_member_budget: team.team_member_budget,
    team_member_budget_duration: team.team_member_budget_duration,
    team_member_rpm_limit: team.team_member_rpm_limit,
    team_member_tpm_limit: team.team_member_tpm_limit,
  })
  const { version, onError } = useReadVersion(team.version, 'teams')
  const save = useMutation({
    mutationFn: () => ask('POST /team/update', { body: { team_id: team.team_id, version, ...share } }),
    onSuccess: () => {
      toast(t('teams.changed.toast'))
      void client.invalidateQueries({ queryKey: ['teams'] })
      onDone()
    },
    onError,
  })
  const set = (change: Partial<typeof share>) => setShare({ ...share, ...change })
  return (
    <Form className="flex flex-col gap-4" aria-label={t('teams.share.edit')} onSubmit={() => save.mutate()}>
      <div className="grid gap-4 narrow:grid-cols-2">
        <NumberField
          label={t('teams.share.budget')}
          unit={t('unit.usd')}
          range={amounts}
          value={share.team_member_budget}
          onChange={value => set({ team_member_budget: value })}
        />
        <DurationField
          label={t('limits.period')}
          value={share.team_member_budget_duration}
          onChange={value => set({ team_member_budget_duration: value })}
        />
        <NumberField
          label={t('limits.requests')}
          unit={t('unit.requests')}
          range={counts}
          value={share.team_member_rpm_limit}
          onChange={value => set({ team_member_rpm_limit: value })}
        />
        <NumberField
          label={t('limits.tokens')}
          unit={t('unit.tokens')}
          range={counts}
          value={share.team_member_tpm_limit}
          onChange={value => set({ team_member_tpm_limit: value })}
        />
      </div>
      {save.isError && <ErrorState error={save.error} isInline />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onDone}>{t('all.cancel')}</Button>
        <Button kind="primary" type="submit" busy={save.isPending}>
          {t('edit.save')}
        </Button>
      </div>
    </Form>
  )
}
