/**
 * A cache of keys, so that calls do not ask the database. A poll of the revision drops the keys that other processes
 * changed. The result of a load that was running when its key changed is not cached: it could bring a revoked key back.
 */
import { LRUCache } from 'lru-cache'
import type { VirtualKey } from '../../core/caller.ts'
import type { KeyDirectory, KeyStore } from '../../core/ports.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KeySnapshot } from './start-snapshot.ts'
import { DatabaseMoved } from '../../platform/sqlite-file-guard.ts'

const knownMax = 50_000
const unknownMax = 10_000
const snapshotMax = 5000
const unknownMs = 1000
const pollMs = 500
/** How long cached keys are valid while the database does not answer. */
const staleMsMax = 15 * 60 * 1000

interface KeyDirectoryOptions {
  readonly store: Pick<KeyStore, 'find'>
  readonly clock: Clock
  hashKey(keyText: string): string
  /** Hashes changed since a revision, the oldest change first; see `keyChangesSince`. */
  changesSince(revision: number): Promise<{ hashes: string[]; revision: number }>
  /** The database stopped or began to answer; `reason` says why it stopped, for the log. */
  reportReachable(reachable: boolean, reason?: string): void
  /** Called after each poll that the database answered. */
  polled?(): void
  /** What was known `ageMs` ago, for a start while the database is away. */
  readonly restored?: { readonly snapshot: KeySnapshot; readonly ageMs: number } | undefined
}

/**
 * Deleted keys are not found; blocked and expired ones are, and the caller refuses them. `start` comes before the first
 * call and `stop` after the last. A `lookup` that has to ask the store rejects as the store does (`overloaded`).
 */
export class KeyCache implements KeyDirectory {
  readonly #options: KeyDirectoryOptions
  readonly #known = new LRUCache<string, VirtualKey>({ max: knownMax })
  readonly #unknown: LRUCache<string, true>
  readonly #loading = new Map<string, Promise<VirtualKey | undefined>>()
  #revision = 0
  /** Hash of the key that brought `#revision`. */
  #newest: string | undefined
  #generation = 0
  #loaded = 0
  #timer: ReturnType<typeof setInterval> | undefined
  #polling: Promise<void> | undefined
  #polledMs: number
  #reachable = true
  /** The SQLite file that keys were read from was moved: the next one may be a backup. */
  #moved = false

  constructor(options: KeyDirectoryOptions) {
    this.#options = options
    this.#unknown = new LRUCache<string, true>({ max: unknownMax, ttl: unknownMs })
    this.#polledMs = options.clock.monotonicMs()
    if (options.restored) this.#restore(options.restored)
  }

  #restore({ snapshot, ageMs }: NonNullable<KeyDirectoryOptions['restored']>): void {
    this.#polledMs -= ageMs
    this.#revision = snapshot.revision
    this.#newest = snapshot.newest
    for (const [hash, key] of snapshot.keys.toReversed()) this.#known.set(hash, key)
  }

  /** The keys used last, at most 5000. */
  snapshot(): KeySnapshot {
    const keys = [...this.#known.entries()].slice(0, snapshotMax)
    return { revision: this.#revision, newest: this.#newest, keys }
  }

  /** Changes when a key becomes known, and when one is dropped because it changed. */
  get versions(): { readonly loaded: number; readonly dropped: number } {
    return { loaded: this.#loaded, dropped: this.#generation }
  }

  lookup(keyText: string): VirtualKey | undefined | Promise<VirtualKey | undefined> {
    const hash = this.#options.hashKey(keyText)
    const known = this.#known.get(hash)
    if (known) return known
    if (this.#unknown.has(hash)) return undefined
    return this.#loading.get(hash) ?? this.#load(hash)
  }

  /** This process changed a key: the next call loads it again. */
  changed(hash: string): void {
    this.#generation++
    this.#known.delete(hash)
    this.#unknown.delete(hash)
    this.#loading.delete(hash)
  }

  /** Starts to follow the changes of other processes. */
  async start(): Promise<void> {
    await this.poll()
    this.#timer = setInterval(() => void this.poll(), pollMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#polling
  }

  /** Asks for changes now, once at a time. Never rejects. */
  poll(): Promise<void> {
    return (this.#polling ??= this.#poll().finally(() => (this.#polling = undefined)))
  }

  async #poll(): Promise<void> {
    const { clock, reportReachable } = this.#options
    try {
      await this.#follow()
      this.#polledMs = clock.monotonicMs()
      if (!this.#reachable) reportReachable((this.#reachable = true))
      this.#options.polled?.()
    } catch (error) {
      if (error instanceof DatabaseMoved) this.#moved = true
      if (this.#reachable) reportReachable((this.#reachable = false), String(error))
      if (clock.monotonicMs() - this.#polledMs > staleMsMax) this.#known.clear()
    }
  }

  /**
   * Asks from one revision earlier: the newest key is then among the answers, unchanged or changed again, unless the
   * database was replaced by a backup. Its revisions count differently, so that everything cached is dropped. (A moved
   * SQLite file is noticed by itself, also when no poll has seen the last change.)
   */
  async #follow(): Promise<void> {
    const before = this.#revision
    const { hashes, revision } = await this.#options.changesSince(Math.max(before - 1, 0))
    if (this.#moved || (this.#newest !== undefined && !hashes.includes(this.#newest))) {
      const anew = await this.#options.changesSince(0)
      // After the answer: keys that were loaded before it may have changed since.
      this.#forgetAll()
      this.#revision = anew.hashes.length > 0 ? anew.revision : 0
      this.#newest = anew.hashes.at(-1)
      this.#moved = false
      return
    }
    // Nothing but the newest key, unchanged.
    if (revision === before) return
    for (const hash of hashes) this.changed(hash)
    if (hashes.length === 0) return
    this.#revision = revision
    this.#newest = hashes.at(-1)
  }

  #forgetAll(): void {
    this.#generation++
    this.#known.clear()
    this.#unknown.clear()
    this.#loading.clear()
  }

  async #load(hash: string): Promise<VirtualKey | undefined> {
    const generation = this.#generation
    const loading = this.#options.store.find({ hash })
    this.#loading.set(hash, loading)
    try {
      const record = await loading
      // A key changed meanwhile: the answer is for this call only.
      if (generation === this.#generation) {
        if (record) {
          this.#known.set(hash, record)
          this.#loaded++
        } else this.#unknown.set(hash, true)
      }
      return record
    } finally {
      if (this.#loading.get(hash) === loading) this.#loading.delete(hash)
    }
  }
}
