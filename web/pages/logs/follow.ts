/** New calls as they end, for a list that stays open. */
import { send } from '../../api/client.ts'
import type { Calls, SpendLog } from '../../api/schema.d.ts'
import { serverSentEvents } from '../../lib/server-sent-events.ts'
import { waitFor } from '../../lib/wait.ts'

const retryMs = 500
const retryMsMax = 8000
/** The whole list is read again no more often. */
const reloadMs = 1000

interface CallsFollower {
  readonly query: NonNullable<Calls['GET /spend/logs/events']['query']>
  readonly signal: AbortSignal
  /** New calls, newest first; some may be in the list already. false = they did not get into the list. */
  onCalls(calls: readonly SpendLog[]): boolean
  /** Calls may be missing: the list has to be read. */
  onGap(): void
  /** null = it follows; else why it does not, while it tries again. */
  onState(error: unknown): void
}

/** Follows until it is aborted. Begins again where the connection ends, with a gap. */
export async function followCalls({ query, signal, onCalls, onGap, onState }: CallsFollower): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const gap = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      onGap()
    }, reloadMs)
  }
  signal.addEventListener('abort', () => clearTimeout(timer))
  for (let waitMs = retryMs; !signal.aborted; waitMs = Math.min(2 * waitMs, retryMsMax)) {
    try {
      const { body } = await send('GET /spend/logs/events', { query, signal })
      onState(null)
      for await (const { name, data } of serverSentEvents(body!)) {
        waitMs = retryMs
        if (name === 'reload') gap()
        else if (name === 'rows' && !onCalls((JSON.parse(data) as { data: SpendLog[] }).data)) gap()
      }
    } catch (error) {
      if (!signal.aborted) onState(error)
    }
    await waitFor(waitMs, signal)
  }
}
