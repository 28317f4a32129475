/** Signing in and out, and who is signed in. The pages ask once, and again when a session has ended. */
import { useQuery } from '@tanstack/react-query'
import { apiUrl } from '../lib/places.ts'
import { sendTo } from './client.ts'
import { developmentHeaders } from './development-key.ts'

/** A place in a team or an organisation. */
export interface TeamPlace {
  readonly team_id: string
  readonly team_alias: string | null
  readonly role: string
}

export interface Session {
  /** null = by a key, in development. */
  readonly session_id: string | null
  /** null = the master key. */
  readonly user_id: string | null
  readonly user_email: string | null
  readonly user_role: string
  readonly teams: readonly TeamPlace[]
}

/** One way to sign in; `sso` leads to `url`, below the gateway. */
export type SignInMethod =
  | { readonly kind: 'sso'; readonly name: string; readonly url: string }
  | { readonly kind: 'password' | 'master-key' }

async function read<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return (await (await sendTo(apiUrl(path), { method: 'GET', signal })).json()) as Answer
}

/** What a development key is, before signing in by sessions is possible. */
const developer: Session = { session_id: null, user_id: null, user_email: null, user_role: 'proxy_admin', teams: [] }

export const sessionQuery = {
  queryKey: ['session'],
  queryFn: ({ signal }: { signal: AbortSignal }): Promise<Session> =>
    developmentHeaders().authorization ? Promise.resolve(developer) : read('/sign-in/session', signal),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
} as const

export function useSession() {
  return useQuery(sessionQuery)
}

export const methodsQuery = {
  queryKey: ['sign-in-methods'],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await read<{ methods: readonly SignInMethod[] }>('/sign-in/methods', signal)).methods,
} as const

/** Sets the cookie of a session. Rejects with 401 where the words are wrong, 429 where there were too many tries. */
export async function signIn(words: { username: string; password: string } | { key: string }): Promise<void> {
  await sendTo(apiUrl('/login'), { method: 'POST', body: JSON.stringify(words) })
}

export async function signOut(): Promise<void> {
  await sendTo(apiUrl('/sign-in/logout'), { method: 'POST', body: '{}' })
}
