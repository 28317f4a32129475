/** One lane of a WebSocket: its responses are made one after the other. */
import { toGatewayError } from '../../../core/errors.ts'
import type { GatewayError } from '../../../core/errors.ts'
import type { CreateMessage } from './socket-events.ts'

/** So many requests wait in a lane: a client that sends more without reading is refused. */
export const laneLengthMax = 64

/** Never rejects: what a job fails with is reported. */
export class SocketLane {
  readonly #run: (message: CreateMessage) => Promise<void>
  readonly #told: { failed(error: GatewayError): void; idle(): void }
  #waiting: CreateMessage[] = []
  #isRunning = false

  constructor(
    run: (message: CreateMessage) => Promise<void>,
    told: { failed(error: GatewayError): void; idle(): void },
  ) {
    this.#run = run
    this.#told = told
  }

  get busy(): boolean {
    return this.#isRunning || this.#waiting.length > 0
  }

  get length(): number {
    return this.#waiting.length
  }

  /** Behind those that wait; `first` = before them. */
  add(message: CreateMessage, first = false): void {
    if (first) this.#waiting.unshift(message)
    else this.#waiting.push(message)
    if (!this.#isRunning) void this.#work()
  }

  clear(): void {
    this.#waiting = []
  }

  async #work(): Promise<void> {
    this.#isRunning = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift())
      try {
        await this.#run(next)
      } catch (thrown) {
        this.#told.failed(toGatewayError(thrown))
      }
    this.#isRunning = false
    this.#told.idle()
  }
}
