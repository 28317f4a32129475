/** Work that continues after its request was answered: limited in number, and ended before the program ends. */
import { GatewayError } from '../../core/errors.ts'
import type { DetachedRuns } from '../../core/objects/detached-runs.ts'
import { FairShare } from '../../lib/fair-share.ts'

const runsMax = 1000
const stopMs = 5000

/**
 * At most 1000 runs, one for an id, shared fairly by the keys (`FairShare`). Errors of a run are ignored: it must
 * report them itself.
 */
export class DetachedWork implements DetachedRuns {
  readonly #runs = new Map<string, { controller: AbortController; done: Promise<void> }>()
  readonly #places = new FairShare(runsMax)
  #stopped = false

  start({ id, keyId }: { id: string; keyId: string }, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stopped) throw new GatewayError('overloaded', 'the gateway is stopping; try again at another replica')
    if (this.#runs.has(id)) throw new GatewayError('conflict', 'this goes on in the background already')
    if (!this.#places.take(keyId)) throw this.#refusal(keyId)
    const controller = new AbortController()
    const forget = (): void => {
      this.#runs.delete(id)
      this.#places.release(keyId)
    }
    this.#runs.set(id, { controller, done: work(controller.signal).then(forget, forget) })
  }

  #refusal(keyId: string): GatewayError {
    const held = this.#places.heldBy(keyId)
    if (held === 0)
      return new GatewayError(
        'overloaded',
        `${runsMax} runs and responses go on in the background, which is the most; try again later`,
      )
    return new GatewayError(
      'rate-limited',
      `${held} runs and responses of this key go on in the background, its share of ${runsMax} while ` +
        `${this.#places.taken} are taken; try again when some of them have ended`,
    )
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
