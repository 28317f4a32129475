import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Team } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { Tag } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { Drawer } from '../../components/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { AllowedModels, Changed, Limits } from '../../components/limits.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { toast } from '../../components/toast.tsx'
import { administers } from '../../frame/rights.ts'
import { t } from '../../strings/index.ts'
import { Members } from './members.tsx'

/** One team: its limits, models and members. */
export function TeamDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const session = useSession().data
  const info = useQuery({
    queryKey: ['teams', 'one', id],
    queryFn: ({ signal }) => ask('GET /team/info', { query: { team_id: id }, signal }),
  })
  const team = info.data?.team_info
  const mayChange =
    session !== undefined && (administers(session) || session.teams.some(one => one.id === id && one.role === 'admin'))
  return (
    <Drawer open onClose={onClose} title={team?.team_alias ?? id}>
      {info.isPending && <SkeletonRows />}
      {info.isError && <ErrorState error={info.error} onRetry={() => void info.refetch()} />}
      {team && (
        <div className="flex flex-col gap-6">
          <Facts
            facts={[
              { name: t('teams.id'), value: <Id id={team.team_id} /> },
              { name: t('limits.models'), value: <AllowedModels models={team.models} /> },
              ...(team.tags.length > 0 ? [{ name: t('teams.tags'), value: <Tags tags={team.tags} /> }] : []),
              { name: t('teams.keys'), value: info.data?.keys_total },
              { name: t('teams.changed'), value: <Changed at={team.updated_at} by={team.updated_by} /> },
            ]}
          />
          <Limits of={team} budget={info.data!.budget} />
          <Members team={team} mayChange={mayChange} />
          {session && administers(session) && <TeamActions team={team} onDeleted={onClose} />}
        </div>
      )}
    </Drawer>
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

/** Blocking, which can be undone, and deleting, which cannot. */
function TeamActions({ team, onDeleted }: { readonly team: Team; readonly onDeleted: () => void }) {
  const client = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const name = team.team_alias ?? team.team_id
  const changed = () => void client.invalidateQueries({ queryKey: ['teams'] })
  const block = useMutation({
    mutationFn: () =>
      ask(team.blocked ? 'POST /team/unblock' : 'POST /team/block', { body: { team_id: team.team_id } }),
    onSuccess: () => {
      toast(t(team.blocked ? 'teams.unblocked.toast' : 'teams.blocked.toast', { name }))
      changed()
    },
  })
  const remove = useMutation({
    mutationFn: () => ask('POST /team/delete', { body: { team_ids: [team.team_id] } }),
    onSuccess: () => {
      toast(t('teams.deleted.toast', { name }))
      setDeleting(false)
      changed()
      onDeleted()
    },
  })
  return (
    <div className="flex flex-col gap-2">
      {block.isError && <ErrorState error={block.error} isInline />}
      <div className="flex flex-wrap gap-2">
        <Button busy={block.isPending} onClick={() => block.mutate()}>
          {t(team.blocked ? 'teams.unblock' : 'teams.block')}
        </Button>
        <Button kind="danger" onClick={() => setDeleting(true)}>
          {t('teams.delete')}
        </Button>
      </div>
      <Confirm
        open={isDeleting}
        onClose={() => setDeleting(false)}
        title={t('teams.delete')}
        description={t('teams.deleteHelp', { name })}
        action={t('teams.delete')}
        typed={name}
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
        problem={remove.isError && <ErrorState error={remove.error} isInline />}
      />
    </div>
  )
}
