import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { OrganizationInfo } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { DeleteButton } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { EditForm } from '../../components/forms/edit-form.tsx'
import type { Stored } from '../../components/forms/edit-form.tsx'
import { valuesOf } from '../../components/forms/object-forms.ts'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { AllowedModels, Changed, Limits } from '../../components/gateway/limits.tsx'
import { Members } from '../../components/gateway/members.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../organizations.page.ts'

const infoQuery = (id: string) => ({
  queryKey: ['organizations', 'one', id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    ask('GET /organization/info', { query: { organization_id: id }, signal }),
})

/** One organization: its limits, models, members and teams. */
export function OrganizationDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const session = useSession().data
  const [isEditing, setEditing] = useState(false)
  const info = useQuery(infoQuery(id))
  const organization = info.data
  const may = organization?.may ?? []
  return (
    <Drawer open onClose={onClose} title={organization?.organization_alias ?? id}>
      {info.isPending && <SkeletonRows />}
      {info.isError && <ErrorState error={info.error} onRetry={() => void info.refetch()} />}
      {organization && session && (
        <div className="flex flex-col gap-6">
          {isEditing ? (
            <EditOrganization
              organization={organization}
              mayLimit={may.includes('update_limits')}
              onDone={() => setEditing(false)}
            />
          ) : (
            <>
              {may.length > 0 && (
                <div className="flex flex-wrap gap-2">
                  {may.includes('update') && <Button onClick={() => setEditing(true)}>{t('edit.action')}</Button>}
                  <OrganizationActions organization={organization} onDeleted={onClose} />
                </div>
              )}
              <Details organization={organization} />
            </>
          )}
          <OrganizationMembers organization={organization} mayChange={may.includes('change_members')} />
          <Teams organization={organization} />
        </div>
      )}
    </Drawer>
  )
}

function Details({ organization }: { organization: OrganizationInfo }) {
  return (
    <>
      <Facts
        facts={[
          { name: t('all.id'), value: <Id id={organization.organization_id} /> },
          { name: t('limits.models'), value: <AllowedModels models={organization.models} /> },
          { name: t('all.changed'), value: <Changed at={organization.updated_at} by={organization.updated_by} /> },
        ]}
      />
      {organization.limits && (
        <Limits
          of={{ ...organization, spend: organization.spend ?? 0 }}
          budget={organization.budget}
          limits={organization.limits}
        />
      )}
    </>
  )
}

interface EditProps {
  readonly organization: OrganizationInfo
  readonly mayLimit: boolean
  readonly onDone: () => void
}

/** Its own admins change the name; models, limits and budget are for administrators. */
function EditOrganization({ organization, mayLimit, onDone }: EditProps) {
  const client = useQueryClient()
  const id = organization.organization_id
  const storedOf = (one: OrganizationInfo): Stored<'organization'> => ({
    version: one.version,
    values: valuesOf('organization', one, { isLed: !mayLimit }),
  })
  return (
    <EditForm
      object="organization"
      stored={storedOf(organization)}
      save={({ organization_alias: name, ...changes }, version) =>
        ask('PATCH /organization/update', {
          body: {
            organization_id: id,
            version,
            ...changes,
            ...(name !== undefined && { organization_alias: name ?? '' }),
          },
        })
      }
      reload={async () => storedOf(await client.fetchQuery({ ...infoQuery(id), staleTime: 0 }))}
      onDone={() => {
        toast(t('organizations.changed.toast'))
        void client.invalidateQueries({ queryKey: ['organizations'] })
        onDone()
      }}
      onCancel={onDone}
    />
  )
}

const roles = ['internal_user', 'internal_user_viewer', 'org_admin'] as const
type Role = (typeof roles)[number]
const roleNames = {
  internal_user: 'organizations.role.user',
  internal_user_viewer: 'organizations.role.viewer',
  org_admin: 'organizations.role.admin',
} as const

function OrganizationMembers({ organization, mayChange }: { organization: OrganizationInfo; mayChange: boolean }) {
  const client = useQueryClient()
  const reference = { organization_id: organization.organization_id }
  return (
    <Members
      members={(organization.members ?? []).map(one => ({
        id: one.user_id,
        name: one.user_alias,
        address: one.user_email,
        role: one.user_role as Role,
      }))}
      roles={roles.map(value => ({ value, label: t(roleNames[value]) }))}
      usualRole="internal_user"
      mayChange={mayChange}
      removeHelp={t('organizations.removeHelp')}
      add={(member, role) =>
        ask('POST /organization/member_add', {
          body: { ...reference, member: { ...member, role }, create_missing_users: false },
        })
      }
      changeRole={(userId, role) =>
        ask('PATCH /organization/member_update', { body: { ...reference, user_id: userId, role } })
      }
      remove={userId => ask('DELETE /organization/member_delete', { body: { ...reference, user_id: userId } })}
      onChanged={() => void client.invalidateQueries({ queryKey: ['organizations'] })}
    />
  )
}

function Teams({ organization }: { readonly organization: OrganizationInfo }) {
  const { teams = [] } = organization
  return (
    <section className="flex flex-col gap-2" aria-label={t('all.teams')}>
      <h2 className="font-semibold">{t('all.teams')}</h2>
      {teams.length === 0 && <p className="text-muted">{t('organizations.noTeams')}</p>}
      <ul>
        {teams.map(team => (
          <li key={team.team_id} className="border-b border-line py-2">
            <Link to="/teams" search={{ team: team.team_id }} className="font-medium hover:underline">
              {team.team_alias ?? team.team_id}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Blocking, which can be undone, and deleting, which cannot. */
function OrganizationActions({ organization, onDeleted }: { organization: OrganizationInfo; onDeleted: () => void }) {
  const client = useQueryClient()
  const { organization_id: id, blocked, version, may } = organization
  const name = organization.organization_alias ?? id
  const changed = () => client.invalidateQueries({ queryKey: ['organizations'] })
  const block = useMutation({
    mutationFn: () => ask('PATCH /organization/update', { body: { organization_id: id, blocked: !blocked, version } }),
    onSuccess: () => {
      toast(t(blocked ? 'organizations.unblocked.toast' : 'organizations.blocked.toast', { name }))
    },
    // After a refusal, too: another may have changed it, and the next press is for what is stored then.
    onSettled: changed,
  })
  return (
    <>
      {may.includes('block') && (
        <Button busy={block.isPending} onClick={() => block.mutate()}>
          {t(blocked ? 'all.unblock' : 'all.block')}
        </Button>
      )}
      {may.includes('delete') && (
        <DeleteButton
          title={t('organizations.delete')}
          description={t('organizations.deleteHelp', { name })}
          typed={name}
          remove={() => ask('DELETE /organization/delete', { body: { organization_ids: [id] } })}
          onDone={() => {
            toast(t('organizations.deleted.toast', { name }))
            onDeleted()
            void changed()
          }}
        />
      )}
      {block.isError && <ErrorState error={block.error} isInline />}
    </>
  )
}
