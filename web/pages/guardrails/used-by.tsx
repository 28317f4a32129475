import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask } from '../../api/client.ts'
import { Badge } from '../../components/badge.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { t } from '../guardrails.page.ts'

/** Whom a guardrail holds for: all calls, or the keys, teams and models that name it. */
export function UsedBy({ id }: { readonly id: string }) {
  const users = useQuery({
    queryKey: ['guardrails', 'users', id],
    queryFn: ({ signal }) => ask('GET /guardrails/{guardrail_id}/used_by', { path: { guardrail_id: id }, signal }),
  })
  return (
    <section className="flex flex-col gap-2" aria-label={t('guardrails.usedBy')}>
      <h3 className="font-semibold">{t('guardrails.usedBy')}</h3>
      {users.isError ? (
        <ErrorState error={users.error} onRetry={() => void users.refetch()} />
      ) : users.data ? (
        <Users users={users.data} />
      ) : (
        <SkeletonRows />
      )}
    </section>
  )
}

type Found = Awaited<ReturnType<typeof ask<'GET /guardrails/{guardrail_id}/used_by'>>>

function Users({ users: { default_on: isAlways, models, keys, teams, has_more: hasMore } }: { readonly users: Found }) {
  const isUnused = !isAlways && models.length + keys.length + teams.length === 0
  return (
    <>
      {isAlways && <Badge tone="good">{t('guardrails.usedAlways')}</Badge>}
      {isUnused && <p className="text-muted">{t('guardrails.usedByNone')}</p>}
      <Group title={t('all.models')}>
        {models.map(name => (
          <Link key={name} to="/models" search={{ model: name }} className="target underline">
            {name}
          </Link>
        ))}
      </Group>
      <Group title={t('all.teams')}>
        {teams.map(one => (
          <Link key={one.team_id} to="/teams" search={{ team: one.team_id }} className="target underline">
            {one.team_alias ?? one.team_id}
          </Link>
        ))}
      </Group>
      <Group title={t('all.keys')}>
        {keys.map(one => (
          <Link key={one.key_id} to="/keys" search={{ key: one.key_id }} className="target underline">
            {one.key_alias ?? one.key_id}
          </Link>
        ))}
      </Group>
      {hasMore && <p className="text-muted">{t('guardrails.usedByMore')}</p>}
    </>
  )
}

function Group({ title, children }: { readonly title: string; readonly children: readonly ReactNode[] }) {
  if (children.length === 0) return null
  return (
    <div className="flex flex-wrap gap-x-3 gap-y-1">
      <span className="text-muted">{title}</span>
      {children}
    </div>
  )
}
