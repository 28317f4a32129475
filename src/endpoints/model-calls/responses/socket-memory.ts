/** The responses of one WebSocket that are stored nowhere else (`store: false`), for what continues them. */
import type { Json } from '../../../lib/json/json-values.ts'
import { portable } from './conversation.ts'

interface Turn {
  /** undefined = it began. */
  readonly previousId: string | undefined
  readonly items: readonly Json[]
  readonly bytes: number
}

/** What a response is continued with. */
export interface RememberedHistory {
  readonly items: readonly Json[]
  /** A stored response that these continue; undefined = there is none. */
  readonly previousId: string | undefined
}

/** More turns than this are not kept: an agent goes on from the last one, or forks near it. */
const turnsMax = 1000

/** Bounded: where there is no room, the oldest turns that the newest does not continue go first. */
export class SocketMemory {
  readonly #bytesMax: number
  readonly #turns = new Map<string, Turn>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  has(id: string): boolean {
    return this.#turns.has(id)
  }

  /** `input` = the items of this turn alone; `output` as the client got it. */
  remember(id: string, previousId: string | undefined, input: readonly Json[], output: readonly Json[]): void {
    const items = [...input.flatMap(portable), ...output.flatMap(portable)]
    const bytes = JSON.stringify(items).length
    this.#turns.set(id, { previousId, items, bytes })
    this.#bytes += bytes
    this.#makeRoom(id)
  }

  /** The conversation up to `id`, which `has`. */
  history(id: string): RememberedHistory {
    const turns: Turn[] = []
    let at: string | undefined = id
    for (let turn = this.#turns.get(id); turn; turn = at === undefined ? undefined : this.#turns.get(at)) {
      turns.push(turn)
      at = turn.previousId
    }
    return { items: turns.reverse().flatMap(turn => turn.items), previousId: at }
  }

  clear(): void {
    this.#turns.clear()
    this.#bytes = 0
  }

  #makeRoom(newest: string): void {
    if (this.#bytes <= this.#bytesMax && this.#turns.size <= turnsMax) return
    const needed = new Set<string>()
    for (let id: string | undefined = newest; id !== undefined && !needed.has(id); id = this.#turns.get(id)?.previousId)
      needed.add(id)
    for (const id of [...this.#turns.keys()].filter(one => !needed.has(one))) {
      if (this.#bytes <= this.#bytesMax && this.#turns.size <= turnsMax) return
      this.#forget(id)
    }
    // The conversation itself is too long to be kept: none of it can be continued from here.
    if (this.#bytes > this.#bytesMax || this.#turns.size > turnsMax) this.clear()
  }

  #forget(id: string): void {
    this.#bytes -= this.#turns.get(id)!.bytes
    this.#turns.delete(id)
  }
}
