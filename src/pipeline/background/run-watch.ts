/**
 * Runs are renewed while they are worked on, all of a process with one statement a second. A run that is not renewed
 * any more has lost its process, and is ended when it is read, so that its thread is free within seconds of a crash. A
 * process that cannot renew its runs in the database says over Redis that it works on them: it may be the only one that
 * has lost the database, and what it works on is paid.
 */
import type { AssistantStore, HeldRun, RunWatch } from '../../core/objects/assistants.ts'
import { abandonedAfterMs } from '../../core/objects/detached-runs.ts'
import type { RunLeases } from '../../core/objects/run-leases.ts'
import type { Clock } from '../../lib/clock.ts'

const renewalMsDefault = 1000
/** Without a renewal for so long, as this process has watched it: clocks of replicas may differ by more. */
const unrenewedMsMax = 3000
/** The same where Redis cannot be reached, too: its process may have lost both, and comes back. */
const unverifiedMsMax = 30_000
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
  /** undefined = there is no other process. */
  readonly leases?: RunLeases | undefined
  /** Of a test that cannot wait as long. */
  readonly renewalMs?: number
}

interface RunObservation {
  readonly updatedAtMs: number
  readonly atMs: number
  readonly unrenewedMs: number
}

type Renewal = Parameters<HeldRun['renew']>[0]

interface HeldRenewal {
  renewal?: Renewal
  /** Monotonic: the clock may jump meanwhile. */
  endsMs: number
}

/** One per process. */
export function watchRuns(options: RunWatchOptions): RunWatch {
  const { clock, isAlone, leases } = options
  const held = new Map<string, HeldRenewal>()
  const renew = renewalOf(options, held)
  const unrenewed = looksOf(options)
  let timer: ReturnType<typeof setInterval> | undefined
  return {
    hold(runId) {
      const one: HeldRenewal = { endsMs: Infinity }
      held.set(runId, one)
      timer ??= setInterval(renew, options.renewalMs ?? renewalMsDefault)
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
    async isAbandoned(run) {
      if (held.has(run.id)) return false
      if (isAlone()) return true
      const unrenewedMs = unrenewed(run)
      if (unrenewedMs < unrenewedMsMax) return false
      try {
        return !(await leases?.isKept(run.id))
      } catch {
        return unrenewedMs >= unverifiedMsMax
      }
    },
  }
}

/** Renews all runs of this process, in the database, or over Redis while that is in doubt. */
function renewalOf({ store, clock, leases }: RunWatchOptions, held: ReadonlyMap<string, HeldRenewal>): () => void {
  let isRenewing = false
  let hasFailed = false
  const keep = () => void leases?.keep([...held.keys()]).catch(() => {})
  const renewAll = async () => {
    const nowMs = clock.epochMs()
    for (const one of held.values())
      if (one.renewal && clock.monotonicMs() >= one.endsMs) {
        one.renewal.ended('expired')
        delete one.renewal
      }
    const ids = [...held].filter(([, { renewal }]) => renewal !== undefined).map(([id]) => id)
    if (ids.length === 0) return
    const statuses = await store.renew(ids, nowMs)
    for (const id of ids) {
      const status = statuses.get(id)
      if (status === undefined || status === 'cancelling') held.get(id)?.renewal?.ended('cancelled')
    }
  }
  return () => {
    // One that waits for its answer for a second may never get it, and the others wait for three.
    if (isRenewing || hasFailed) keep()
    if (isRenewing) return
    isRenewing = true
    // While the database is unreachable the runs continue.
    void renewAll()
      .then(
        () => (hasFailed = false),
        () => {
          if (!hasFailed) keep()
          hasFailed = true
        },
      )
      .finally(() => (isRenewing = false))
  }
}

type Unrenewed = (run: Parameters<RunWatch['isAbandoned']>[0]) => number

/** How long a run of another process was not renewed, as this process has watched it; Infinity = for a day. */
function looksOf({ clock, answersSinceMs }: RunWatchOptions): Unrenewed {
  const looks = new Map<string, RunObservation>()
  /** When the database was last seen not to take rows. */
  let awayMs = -Infinity
  return ({ id, updatedAtMs }) => {
    const atMs = clock.monotonicMs()
    const sinceMs = answersSinceMs()
    // Neither can the process that works on it renew it.
    if (sinceMs === undefined) {
      awayMs = atMs
      return 0
    }
    const fromMs = Math.max(sinceMs, awayMs)
    if (atMs - fromMs >= renewedWithinMs && clock.epochMs() - updatedAtMs >= abandonedAfterMs) return Infinity
    const last = looks.get(id)
    const before = last && last.atMs >= fromMs ? last : undefined
    looks.delete(id)
    const isSame = before?.updatedAtMs === updatedAtMs
    const unrenewedMs = isSame ? before.unrenewedMs + Math.min(atMs - before.atMs, lookMsMax) : 0
    looks.set(id, { updatedAtMs, atMs, unrenewedMs })
    if (looks.size > watchedMax) looks.delete(looks.keys().next().value!)
    return unrenewedMs
  }
}
