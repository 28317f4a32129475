/** Work that continues after its request was answered: limited in number, and ended before the program ends. */
import type { DetachedRuns } from '../core/ports.ts'

const runsMax = 1000
const stopMs = 5000

/** At most 1000 runs, one for an id. Errors of a run are ignored: it must report them itself. */
export class DetachedWork implements DetachedRuns {
  readonly #runs = new Map<string, { controller: AbortController; done: Promise<void> }>()
  #stopped = false

  start(id: string, work: (signal: AbortSignal) => Promise<void>): boolean {
    if (this.#stopped || this.#runs.size >= runsMax || this.#runs.has(id)) return false
    const controller = new AbortController()
    const forget = () => void this.#runs.delete(id)
    this.#runs.set(id, { controller, done: work(controller.signal).then(forget, forget) })
    return true
  }

  cancel(id: string): void {
    this.#runs.get(id)?.controller.abort()
  }

  /** Aborts all runs and waits for their end, for a few seconds at most. */
  async stop(): Promise<void> {
    this.#stopped = true
    const runs = [...this.#runs.values()]
    for (const { controller } of runs) controller.abort()
    await Promise.race([Promise.all(runs.map(run => run.done)), Bun.sleep(stopMs)])
  }
}
