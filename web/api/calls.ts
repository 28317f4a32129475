/** One call of the ledger, and what was said in it. */
import { ApiError, ask } from './client.ts'

/** By its id (`x-proxy-call-id`); null = it is not stored, or not one that this person may see. */
export const callQuery = (id: string) => ({
  queryKey: ['logs', 'one', id],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await ask('GET /spend/logs', { query: { request_id: id }, signal })).data[0] ?? null,
})

const sessionCallsMax = 200

/** The newest calls of a session, conversation or trace, newest first. */
export const sessionQuery = (id: string) => ({
  queryKey: ['logs', 'session', id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    ask('GET /spend/logs', { query: { session_id: id, limit: sessionCallsMax }, signal }),
})

/** The stored request and answer of a call; null = nothing is stored, or nothing that this person may read. */
export const bodiesQuery = (id: string) => ({
  queryKey: ['logs', 'bodies', id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    ask('GET /spend/logs/{request_id}/bodies', { path: { request_id: id }, signal }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null
      throw error
    }),
})
