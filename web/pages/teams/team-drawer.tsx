import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Team, TeamInfo } from '../../api/schema.d.ts'
import { StatusBadge, Tag } from '../../components/badge.tsx'
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
import { Members } from '../../components/gateway/members.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { StoredBodies } from '../../components/gateway/stored-bodies.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../teams.page.ts'
import { MemberRights } from './member-rights.tsx'

const infoQuery = (id: string) => ({
  queryKey: ['teams', 'one', id],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask('GET /team/info', { query: { team_id: id }, signal }),
})

/** One team: its limits, models, members, and what these may do. */
export function TeamDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const client = useQueryClient()
  const [isEditing, setEditing] = useState(false)
  const info = useQuery(infoQuery(id))
  const team = info.data?.team_info
  const may = info.data?.may ?? []
  return (
    <Drawer open onClose={onClose} title={team?.team_alias ?? id}>
      {info.isPending && <SkeletonRows />}
      {info.isError && <ErrorState error={info.error} onRetry={() => void info.refetch()} />}
      {team && (
        <div className="flex flex-col gap-6">
          {isEditing ? (
            <EditTeam
              team={team}
              // Its own admins change the name; models, limits and budget are for those above it.
              isAbove={may.includes('update_limits')}
              onDone={() => setEditing(false)}
            />
          ) : (
            <>
              {may.length > 0 && <TeamActions of={info.data!} onEdit={() => setEditing(true)} onDeleted={onClose} />}
              <TeamFacts team={team} keys={info.data!.keys_total} />
              <Limits of={team} budget={info.data!.budget} limits={info.data!.limits} />
              <LimitsExplained of={{ team_id: id }} />
            </>
          )}
          <TeamMembers
            info={info.data!}
            mayChange={may.includes('change_members')}
            onChanged={() => void client.invalidateQueries({ queryKey: ['teams'] })}
          />
          <MemberRights team={team} mayChange={may.includes('update')} />
          <StoredBodies
            isStored={team.store_prompts_in_spend_logs}
            mayChange={may.includes('store_bodies')}
            save={store_prompts_in_spend_logs =>
              ask('POST /team/update', { body: { team_id: id, version: team.version, store_prompts_in_spend_logs } })
            }
            onChanged={() => client.invalidateQueries({ queryKey: ['teams'] })}
          />
        </div>
      )}
    </Drawer>
  )
}

function TeamFacts({ team, keys }: { readonly team: Team; readonly keys: number }) {
  const organization = team.organization_id
  return (
    <Facts
      facts={[
        { name: t('all.id'), value: <Id id={team.team_id} /> },
        { name: t('all.status'), value: <StatusBadge blocked={team.blocked} /> },
        ...(organization === null
          ? []
          : [
              {
                name: t('teams.organization'),
                value: (
                  <Link to="/organizations" search={{ organization }} className="hover:underline">
                    {organization}
                  </Link>
                ),
              },
            ]),
        { name: t('limits.models'), value: <AllowedModels models={team.models} /> },
        ...(team.tags.length > 0 ? [{ name: t('teams.tags'), value: <Tags tags={team.tags} /> }] : []),
        {
          name: t('all.keys'),
          value: (
            <Link to="/keys" search={{ team: team.team_id }} className="target underline">
              {keys}
            </Link>
          ),
        },
        { name: t('all.changed'), value: <Changed at={team.updated_at} by={team.updated_by} /> },
      ]}
    />
  )
}

function Tags({ tags }: { readonly tags: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {tags.map(tag => (
        <Tag key={tag}>{tag}</Tag>
      ))}
    </span>
  )
}

function EditTeam({ team, isAbove, onDone }: { team: Team; isAbove: boolean; onDone: () => void }) {
  const client = useQueryClient()
  const id = team.team_id
  const storedOf = (one: Team): Stored<'team'> => ({
    version: one.version,
    values: valuesOf('team', one, { isLed: !isAbove }),
  })
  return (
    <EditForm
      object="team"
      stored={storedOf(team)}
      save={(changes, version) => ask('POST /team/update', { body: { team_id: id, version, ...changes } })}
      reload={async () => storedOf((await client.fetchQuery({ ...infoQuery(id), staleTime: 0 })).team_info)}
      onDone={() => {
        toast(t('teams.changed.toast'))
        void client.invalidateQueries({ queryKey: ['teams'] })
        onDone()
      }}
      onCancel={onDone}
    />
  )
}

const roles = ['user', 'admin'] as const
type Role = (typeof roles)[number]

interface TeamMembersProps {
  readonly info: TeamInfo
  readonly mayChange: boolean
  readonly onChanged: () => void
}

function TeamMembers({ info, mayChange, onChanged }: TeamMembersProps) {
  const reference = { team_id: info.team_id }
  return (
    <Members
      members={info.team_memberships.map(one => ({
        id: one.user_id,
        name: one.user_alias,
        address: one.user_email,
        role: one.role as Role,
      }))}
      roles={roles.map(value => ({
        value,
        label: t(value === 'admin' ? 'teams.role.admin' : 'teams.role.user'),
      }))}
      usualRole="user"
      mayChange={mayChange}
      removeHelp={t('teams.removeHelp')}
      add={(member, role) =>
        ask('POST /team/member_add', {
          body: { ...reference, member: { ...member, role }, create_missing_users: false },
        })
      }
      changeRole={(userId, role) => ask('POST /team/member_update', { body: { ...reference, user_id: userId, role } })}
      remove={userId => ask('POST /team/member_delete', { body: { ...reference, user_id: userId } })}
      onChanged={onChanged}
    />
  )
}

interface TeamActionsProps {
  readonly of: TeamInfo
  readonly onEdit: () => void
  readonly onDeleted: () => void
}

/** Editing; blocking, which can be undone; deleting, which cannot. */
function TeamActions({ of: { team_info: team, may }, onEdit, onDeleted }: TeamActionsProps) {
  const client = useQueryClient()
  const { team_id: id, blocked } = team
  const name = team.team_alias ?? id
  const changed = () => void client.invalidateQueries({ queryKey: ['teams'] })
  const block = useMutation({
    mutationFn: () => ask(blocked ? 'POST /team/unblock' : 'POST /team/block', { body: { team_id: id } }),
    onSuccess: () => {
      toast(t(blocked ? 'teams.unblocked.toast' : 'teams.blocked.toast', { name }))
      changed()
    },
  })
  return (
    <div className="flex flex-wrap gap-2">
      {may.includes('update') && <Button onClick={onEdit}>{t('edit.action')}</Button>}
      {may.includes('block') && (
        <Button busy={block.isPending} onClick={() => block.mutate()}>
          {t(blocked ? 'teams.unblock' : 'teams.block')}
        </Button>
      )}
      {may.includes('delete') && (
        <DeleteButton
          title={t('teams.delete')}
          description={t('teams.deleteHelp', { name })}
          typed={name}
          remove={() => ask('POST /team/delete', { body: { team_ids: [id] } })}
          onDone={() => {
            toast(t('teams.deleted.toast', { name }))
            onDeleted()
            changed()
          }}
        />
      )}
      {block.isError && <ErrorState error={block.error} isInline />}
    </div>
  )
}
