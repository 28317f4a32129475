/** So many connections have place at once; when there is none left, the one that was idle the longest goes. */
import type { ClientConnection } from './connection.ts'

/** Idle for less than this, a connection stays: its client has just come, or its next request is on the way. */
const freshMs = 1000
/** All connections are looked through at most so often, however many want in. */
const lookAgainMs = 100
/** And so many idle ones are remembered. */
const rememberedMax = 1000

/**
 * The server keeps `connections` as they are. `idle` looks at every one of them; `hasPlace` does so ten times a second
 * at most, when all places are taken.
 */
export class Room {
  readonly connections = new Set<ClientConnection>()
  readonly #max: number
  /** Idle for long when all were looked through; the least recently used is the last. */
  #longIdle: ClientConnection[] = []
  #lookedMs = -Infinity
  #closedIdle = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Connections that were closed to make place for others. */
  get closedIdle(): number {
    return this.#closedIdle
  }

  get idle(): number {
    let idle = 0
    for (const connection of this.connections) if (connection.idleSinceMs < Infinity) idle++
    return idle
  }

  /** Whether one more may come in; makes place for it where that is possible. */
  hasPlace(nowMs: number): boolean {
    if (this.connections.size < this.#max) return true
    const idle = this.#leastRecentlyUsed(nowMs)
    if (!idle) return false
    this.#closedIdle++
    idle.endWhenIdle()
    return true
  }

  #leastRecentlyUsed(nowMs: number): ClientConnection | undefined {
    const found = this.#remembered()
    if (found || nowMs - this.#lookedMs < lookAgainMs) return found
    this.#lookThrough(nowMs)
    return this.#remembered()
  }

  /** Whoever was used since the look is not the least recently used any more. */
  #remembered(): ClientConnection | undefined {
    for (;;) {
      const connection = this.#longIdle.pop()
      if (!connection || connection.idleSinceMs <= this.#lookedMs - freshMs) return connection
    }
  }

  #lookThrough(nowMs: number): void {
    this.#lookedMs = nowMs
    const idle: ClientConnection[] = []
    for (const connection of this.connections) if (connection.idleSinceMs <= nowMs - freshMs) idle.push(connection)
    idle.sort((one, other) => one.idleSinceMs - other.idleSinceMs)
    this.#longIdle = idle.slice(0, rememberedMax).reverse()
  }
}
