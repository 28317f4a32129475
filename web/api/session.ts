/** Signing in and out, and who is signed in. The pages ask once, and again when a session has ended. */
import { useQuery } from '@tanstack/react-query'
import { apiUrl } from '../lib/urls.ts'
import { ApiError, ask, sendTo } from './client.ts'
import type { SignInSession } from './schema.d.ts'

/** `user_id` null = the operator, by the master key. */
export type Session = SignInSession

/** How one may sign in. */
export interface SignInMethods {
  /** Users' passwords, and the master key as that of the operator. */
  readonly password: boolean
  /** Where a link is asked for by mail, below the gateway; null = it sends no mail. */
  readonly forgotten_password_url: string | null
  readonly providers: readonly { readonly name: string; readonly display_name: string; readonly url: string }[]
}

async function request<Answer>(
  method: string,
  path: string,
  { body, signal }: { body?: object; signal?: AbortSignal } = {},
) {
  const response = await sendTo(apiUrl(path), { method, body: body && JSON.stringify(body), signal })
  return (await response.json()) as Answer
}

export const sessionQuery = {
  queryKey: ['session'],
  queryFn: ({ signal }: { signal: AbortSignal }) => ask('GET /sign-in/session', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
  // That there is none stays known while strangers look at a page of theirs.
  retryOnMount: false,
} as const

export function useSession() {
  return useQuery(sessionQuery)
}

/** true = it is known that there is no session. */
export const useIsSignedOut = (): boolean => isNoSession(useSession().error)

/** true = the error says that there is no session. */
export const isNoSession = (error: unknown): boolean => error instanceof ApiError && error.status === 401

export const methodsQuery = {
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }: { signal: AbortSignal }) => request<SignInMethods>('GET', '/sign-in/methods', { signal }),
} as const

export const sessionsQuery = {
  queryKey: ['sessions'],
  queryFn: async ({ signal }: { signal: AbortSignal }) => (await ask('GET /sign-in/sessions', { signal })).sessions,
} as const

/**
 * Sets the cookie of a session; the master key is the password of the operator, who has no user name. Rejects with 401
 * where the words are wrong, 429 after too many tries.
 */
export const signIn = (credentials: { username: string; password: string }) => ask('POST /login', { body: credentials })

export const signOut = () => request('POST', '/sign-in/logout', { body: {} })

/** Ends one session of this person. */
export const endSession = (id: string) => ask('DELETE /sign-in/sessions/{id}', { path: { id } })

/** Ends all sessions of this person, this one too. */
export const endSessions = () => ask('POST /sign-in/sessions/revoke-all', { body: {} })
