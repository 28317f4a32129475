/** What the command palette finds at the gateway: keys, teams, users, models and calls by what is typed. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ask } from '../api/client.ts'
import { useModelNames } from '../api/models.ts'
import { useSession } from '../api/session.ts'
import type { StringKey } from '../strings/index.ts'
import { mayReadAll } from './rights.ts'

/** Typing pauses for so long before the gateway is asked. */
const pauseMs = 200
const lengthMin = 2
const listed = 5

/** A thing, and the place that shows it. */
export interface SearchResult {
  readonly id: string
  readonly kind: StringKey
  readonly name: string
  readonly to: string
  readonly search: Readonly<Record<string, string>>
}

/** Names by a part of them, calls by their id; nothing for a single letter. */
export function useSearchResults(typed: string): readonly SearchResult[] {
  const text = usePaused(typed.trim())
  const session = useSession().data
  const isAsked = text.length >= lengthMin
  const models = useModelNames().data ?? []
  const found = useQuery({
    queryKey: ['palette', text],
    enabled: isAsked && session !== undefined,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => find(text, { signal, findsUsers: session !== undefined && mayReadAll(session) }),
  })
  if (!isAsked) return []
  const part = text.toLowerCase()
  return [
    ...models
      .filter(name => name.toLowerCase().includes(part))
      .slice(0, listed)
      .map(name => result('all.models', name, { id: name, to: '/models', search: { model: name } })),
    ...(found.data ?? []),
    ...(callId.test(text) ? [result('palette.call', text, { id: text, to: '/logs', search: { call: text } })] : []),
  ]
}

/** Ids of calls are UUIDs, and may be those that clients have sent: of some length, without spaces. */
const callId = /^[\w.:/@=+~-]{12,128}$/

const result = (kind: StringKey, name: string, target: Pick<SearchResult, 'id' | 'to' | 'search'>): SearchResult => ({
  ...target,
  id: `${kind} ${target.id}`,
  kind,
  name,
})

interface FindingOptions {
  readonly signal: AbortSignal
  readonly findsUsers: boolean
}

async function find(text: string, { signal, findsUsers }: FindingOptions): Promise<SearchResult[]> {
  const [keys, teams, users] = await Promise.all([
    ask('GET /key/list', { query: { search: text, size: listed, return_full_object: 'true' }, signal }),
    ask('GET /v2/team/list', { query: { team_alias: text, page_size: listed }, signal }),
    findsUsers ? ask('GET /user/list', { query: { search: text, page_size: listed }, signal }) : undefined,
  ])
  return [
    ...keys.keys.flatMap(key =>
      typeof key === 'object'
        ? [
            result('all.keys', key.key_alias ?? key.key_name, {
              id: key.token_id,
              to: '/keys',
              search: { key: key.token_id },
            }),
          ]
        : [],
    ),
    ...teams.teams.map(({ team_id: id, team_alias: alias }) =>
      result('all.teams', alias ?? id, { id, to: '/teams', search: { team: id } }),
    ),
    ...(users?.users ?? []).map(({ user_id: id, user_email: email, user_alias: alias }) =>
      result('all.users', alias ?? email ?? id, { id, to: '/users', search: { user: id } }),
    ),
  ]
}

/** The text, once it has not changed for a moment. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return paused
}
