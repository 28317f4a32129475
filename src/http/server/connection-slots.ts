/** Limits the number of open connections; when all slots are taken, the one that was idle longest is evicted. */
import type { OwnedConnection } from './connection-owner.ts'

/** Idle for less than this, a connection is not evicted: its client is new, or its next request is on the way. */
const idleEvictionMinMs = 1000
/** All connections are scanned for idle ones at most this often. */
const scanIntervalMs = 100
/** Candidates for eviction that one scan remembers. */
const candidatesMax = 1000

/** `idle` scans every connection; `reserve` does so at most ten times a second, when all slots are taken. */
export class ConnectionSlots {
  /** Maintained by the server. */
  readonly connections = new Set<OwnedConnection>()
  readonly #max: number
  /** Found idle by the last scan; the least recently used is the last element. */
  #candidates: OwnedConnection[] = []
  #scannedMs = -Infinity
  #evicted = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Connections that were closed to free their slots. */
  get closedIdle(): number {
    return this.#evicted
  }

  get idle(): number {
    let idle = 0
    for (const connection of this.connections) if (connection.idleSinceMs < Infinity) idle++
    return idle
  }

  /** Whether there is a slot for one more connection; evicts an idle one where that is needed. */
  reserve(nowMs: number): boolean {
    if (this.connections.size < this.#max) return true
    const idle = this.#leastRecentlyUsed(nowMs)
    if (!idle) return false
    this.#evicted++
    idle.endWhenIdle()
    return true
  }

  #leastRecentlyUsed(nowMs: number): OwnedConnection | undefined {
    const found = this.#takeCandidate()
    if (found || nowMs - this.#scannedMs < scanIntervalMs) return found
    this.#scan(nowMs)
    return this.#takeCandidate()
  }

  /** Passes over those that were used since the scan. */
  #takeCandidate(): OwnedConnection | undefined {
    for (;;) {
      const connection = this.#candidates.pop()
      if (!connection || connection.idleSinceMs <= this.#scannedMs - idleEvictionMinMs) return connection
    }
  }

  #scan(nowMs: number): void {
    this.#scannedMs = nowMs
    const idle: OwnedConnection[] = []
    for (const connection of this.connections)
      if (connection.idleSinceMs <= nowMs - idleEvictionMinMs) idle.push(connection)
    idle.sort((one, other) => one.idleSinceMs - other.idleSinceMs)
    this.#candidates = idle.slice(0, candidatesMax).reverse()
  }
}
