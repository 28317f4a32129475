/** One call of the ledger, and what was said in it. */
import { ApiError, ask } from './client.ts'
import type { SpendLog } from './schema.d.ts'

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
    (await ask('GET /spend/logs/v2', { query: { request_id: id, cursor: 'first' }, signal })).data[0] ?? null,
  refetchInterval: untilStored(id, tookMs),
})

/** Calls of one moment in a session: among so many the next one is looked for. */
const sameMomentMax = 20

/** Where a call stands in its session. */
export interface SessionPlace {
  /** Which it is by time, from 1, and of how many; calls of the same millisecond before it count. */
  readonly place: number
  readonly count: number
  /** The calls before and after it; undefined = there is none. */
  readonly earlier: SpendLog | undefined
  readonly later: SpendLog | undefined
}

/** Where the call stands among all calls of its session, conversation or trace. */
export const sessionQuery = (call: Pick<SpendLog, 'request_id' | 'started_at_ms'>, sessionId: string) => ({
  queryKey: ['logs', 'session', sessionId, call.request_id],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<SessionPlace> => {
    const moment = (ms: number) => new Date(ms).toISOString()
    const [from, to] = [moment(call.started_at_ms), moment(call.started_at_ms + 1)]
    const session = { session_id: sessionId }
    const countOf = async (span: { start_date: string; end_date?: string }) =>
      (await ask('GET /spend/logs/histogram', { query: { ...session, ...span, bars: 4 }, signal })).calls
    const listOf = async (query: { sort_order: 'asc' | 'desc'; start_date?: string; end_date?: string }) =>
      (
        await ask('GET /spend/logs/v2', {
          query: { ...session, ...query, cursor: 'first', page_size: sameMomentMax },
          signal,
        })
      ).data
    const [before, after, down, up] = await Promise.all([
      countOf({ start_date: moment(0), end_date: from }),
      countOf({ start_date: from }),
      listOf({ sort_order: 'desc', end_date: to }),
      listOf({ sort_order: 'asc', start_date: from }),
    ])
    const placeIn = (calls: readonly SpendLog[]) => calls.findIndex(one => one.request_id === call.request_id)
    return {
      place: before + placeIn(up) + 1,
      count: before + after,
      earlier: down[placeIn(down) + 1],
      later: up[placeIn(up) + 1],
    }
  },
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
