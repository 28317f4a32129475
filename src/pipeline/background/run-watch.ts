/**
 * Runs are renewed while they are worked on, all of a process with one statement a second. A run that is not renewed
 * any more has lost its process, and is ended when it is read, so that its thread is free within seconds of a crash.
 */
import type { AssistantStore, HeldRun, RunWatch } from '../../core/objects/assistants.ts'
import { abandonedAfterMs } from '../../core/objects/detached-runs.ts'
import type { Clock } from '../../lib/clock.ts'

const renewalMs = 1000
/** Without a renewal for so long, as this process has watched it: clocks of replicas may differ by more. */
const unrenewedMsMax = 3000
/** What two looks at a run add to that at most: in a longer time the database may have been away for both processes. */
const lookMsMax = 1500
/** Of a database that is back, by every process. */
const renewedWithinMs = 10_000
/** Runs of other processes that are remembered between two looks. */
const watchedMax = 1000

interface RunWatchOptions {
  /** Where the runs are stored. */
  readonly store: Pick<AssistantStore, 'renew'>
  readonly clock: Clock
  /** true = no other process works on runs of this database. */
  readonly isAlone: () => boolean
  /** Since when the database answers without a break, monotonic; undefined = it does not, or takes no rows. */
  readonly answersSinceMs: () => number | undefined
}

interface Look {
  readonly updatedAtMs: number
  readonly atMs: number
  readonly unrenewedMs: number
}

type Renewal = Parameters<HeldRun['renew']>[0]

interface Held {
  renewal?: Renewal
  /** Monotonic: the clock may jump meanwhile. */
  endsMs: number
}

/** One per process. */
export function watchRuns({ store, clock, isAlone, answersSinceMs }: RunWatchOptions): RunWatch {
  const held = new Map<string, Held>()
  const looks = new Map<string, Look>()
  let timer: ReturnType<typeof setInterval> | undefined
  let isRenewing = false
  /** When the database was last seen not to take rows. */
  let awayMs = -Infinity
  const renewAll = async () => {
    const nowMs = clock.epochMs()
    for (const one of held.values())
      if (one.renewal && clock.monotonicMs() >= one.endsMs) {
        one.renewal.ended(true)
        delete one.renewal
      }
    const ids = [...held].filter(([, { renewal }]) => renewal !== undefined).map(([id]) => id)
    if (ids.length === 0) return
    const statuses = await store.renew(ids, nowMs)
    for (const id of ids) {
      const status = statuses.get(id)
      if (status === undefined || status === 'cancelling') held.get(id)?.renewal?.ended(false)
    }
  }
  const tick = () => {
    if (isRenewing) return
    isRenewing = true
    const rest = () => void (isRenewing = false)
    // While the database is unreachable the runs continue.
    void renewAll().then(rest, rest)
  }
  return {
    hold(runId) {
      const one: Held = { endsMs: Infinity }
      held.set(runId, one)
      timer ??= setInterval(tick, renewalMs)
      return {
        renew(renewal) {
          one.renewal = renewal
          one.endsMs = clock.monotonicMs() + renewal.expiresAtMs - clock.epochMs()
        },
        release() {
          if (held.get(runId) === one) held.delete(runId)
          if (held.size > 0) return
          clearInterval(timer)
          timer = undefined
        },
      }
    },
    isAbandoned({ id, updatedAtMs }) {
      if (held.has(id)) return false
      if (isAlone()) return true
      const atMs = clock.monotonicMs()
      const sinceMs = answersSinceMs()
      // Neither can the process that works on it renew it.
      if (sinceMs === undefined) {
        awayMs = atMs
        return false
      }
      const fromMs = Math.max(sinceMs, awayMs)
      if (atMs - fromMs >= renewedWithinMs && clock.epochMs() - updatedAtMs >= abandonedAfterMs) return true
      const last = looks.get(id)
      const before = last && last.atMs >= fromMs ? last : undefined
      looks.delete(id)
      const isSame = before?.updatedAtMs === updatedAtMs
      const unrenewedMs = isSame ? before.unrenewedMs + Math.min(atMs - before.atMs, lookMsMax) : 0
      looks.set(id, { updatedAtMs, atMs, unrenewedMs })
      if (looks.size > watchedMax) looks.delete(looks.keys().next().value!)
      return unrenewedMs >= unrenewedMsMax
    },
  }
}
