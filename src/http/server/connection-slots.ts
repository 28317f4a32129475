/** Limits the number of open connections: when all slots are taken, one that does not need its slot is evicted. */
import type { OwnedConnection } from './connection-owner.ts'

/** All connections are scanned for evictable ones at most this often. */
const scanIntervalMs = 100
/** Candidates for eviction that one scan remembers. */
const candidatesMax = 1000

/** `idle` scans every connection; `reserve` does so at most ten times a second, when all slots are taken. */
export class ConnectionSlots {
  /** Maintained by the server. */
  readonly connections = new Set<OwnedConnection>()
  readonly #max: number
  /** Found evictable by the last scan; the first to go is the last element. */
  #candidates: OwnedConnection[] = []
  #scannedMs = -Infinity
  #evicted = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Connections that were closed to free their slots. */
  get evicted(): number {
    return this.#evicted
  }

  get idle(): number {
    let idle = 0
    for (const connection of this.connections) if (connection.idle) idle++
    return idle
  }

  /** Whether there is a slot for one more connection; evicts another one where that is needed and possible. */
  reserve(nowMs: number): boolean {
    if (this.connections.size < this.#max) return true
    const found = this.#takeCandidate() ?? this.#scan(nowMs)
    if (!found) return false
    this.#evicted++
    found.evict()
    return true
  }

  /** Passes over those that were used since the scan. */
  #takeCandidate(): OwnedConnection | undefined {
    for (;;) {
      const connection = this.#candidates.pop()
      if (!connection || connection.evictableFromMs <= this.#scannedMs) return connection
    }
  }

  #scan(nowMs: number): OwnedConnection | undefined {
    if (nowMs - this.#scannedMs < scanIntervalMs) return undefined
    this.#scannedMs = nowMs
    const found: OwnedConnection[] = []
    for (const connection of this.connections) if (connection.evictableFromMs <= nowMs) found.push(connection)
    found.sort((one, other) => one.evictionRank - other.evictionRank || one.evictableFromMs - other.evictableFromMs)
    this.#candidates = found.slice(0, candidatesMax).reverse()
    return this.#takeCandidate()
  }
}
