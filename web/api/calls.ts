/** One call of the ledger. */
import { ask } from './client.ts'

/** By its id (`x-proxy-call-id`); null = it is not stored, or not one that this person may see. */
export const callQuery = (id: string) => ({
  queryKey: ['logs', 'one', id],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await ask('GET /spend/logs', { query: { request_id: id }, signal })).data[0] ?? null,
})
