/** One call of the ledger, and what was said in it. */
import { ApiError, ask } from './client.ts'

/** Rows and bodies are stored behind the answer, and perhaps by another replica than the one that is asked. */
const storedWithinMs = 5 * 60_000
const pollMs = 500
const pollsMax = 20

/** When the call began: the first 48 bits of a UUID v7. NaN = the id is none. */
const startOf = (id: string): number => parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** Asks again for what is not there (null) of a call that ended a moment ago. */
function untilStored(id: string, tookMs: number) {
  const endedMs = startOf(id) + tookMs
  return ({ state }: { readonly state: { readonly data: unknown; readonly dataUpdateCount: number } }) => {
    const isMissing = state.data === null && Math.abs(Date.now() - endedMs) < storedWithinMs
    return isMissing && state.dataUpdateCount < pollsMax && pollMs
  }
}

/**
 * By its id (`x-proxy-call-id`); null = it is not stored, or not one that this person may see. `tookMs` = how long it
 * took, where that is known.
 */
export const callQuery = (id: string, tookMs = 0) => ({
  queryKey: ['logs', 'one', id],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await ask('GET /spend/logs', { query: { request_id: id }, signal })).data[0] ?? null,
  refetchInterval: untilStored(id, tookMs),
})

const sessionCallsMax = 200

/** The newest calls of a session, conversation or trace, newest first. */
export const sessionQuery = (id: string) => ({
  queryKey: ['logs', 'session', id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    ask('GET /spend/logs', { query: { session_id: id, limit: sessionCallsMax }, signal }),
})

/** The stored request and answer of a call; null = nothing is stored, or nothing that this person may read. */
export const bodiesQuery = (id: string, tookMs = 0) => ({
  queryKey: ['logs', 'bodies', id],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    ask('GET /spend/logs/{request_id}/bodies', { path: { request_id: id }, signal }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null
      throw error
    }),
  refetchInterval: untilStored(id, tookMs),
})
