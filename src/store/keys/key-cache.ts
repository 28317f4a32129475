/**
 * A cache of callers by their keys, so that calls do not ask the database. A poll of the revision drops the callers
 * whose key, user, team, organization or budget other processes changed. The result of a load that was running when
 * something changed is not cached: it could bring a revoked key back.
 */
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import type { Caller } from '../../core/caller.ts'
import type { KeyDirectory } from '../../core/tenancy/keys.ts'
import type { Clock } from '../../lib/clock.ts'
import { DependentCache } from '../../lib/dependent-cache.ts'
import { DatabaseMoved } from '../../platform/sqlite-file-guard.ts'
import { isKeyHash, serviceAccountPrincipal, sessionPrincipal, userPrincipal } from '../sign-in/principals.ts'
import type { Changes, Subject } from '../tenancy/changes.ts'
import { RecentHashes } from './recent-hashes.ts'
import type { KeySnapshot } from './start-snapshot.ts'

const knownMax = 50_000
const unknownMax = 10_000
const snapshotMax = 5000
const unknownMs = 1000
const pollMs = 500
/** How long cached keys are valid while the database does not answer. */
const staleMsMax = 15 * 60 * 1000

interface KeyDirectoryOptions {
  readonly clock: Clock
  hashKey(keyText: string): string
  /** That of a key brought from LiteLLM: looked for where there is no key of the first. Absent = there are none. */
  hashImportedKey?(keyText: string): string
  /** Reads the caller of this name: the hash of a key, or as `principals.ts` says; undefined = there is none. */
  load(name: string): Promise<Caller | undefined>
  /** What a caller was read from. */
  subjectsOf(name: string, caller: Caller): readonly Subject[]
  /** The newest change of the subject that the caller was read with; undefined = not known. */
  versionOf(subject: Subject, caller: Caller): number | undefined
  /** Called for everything that changed, here or elsewhere, before callers are dropped; undefined = all may have. */
  dropped?(subjects: readonly Subject[] | undefined): void
  changesSince(revision: number): Promise<Changes>
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
  readonly #known: DependentCache<Caller>
  readonly #unknown: LRUCache<string, true>
  readonly #loading = new Map<string, Promise<Caller | undefined>>()
  readonly #hashes: RecentHashes
  #revision = 0
  /** Changes of this process that no poll has seen yet, with the newest revision of their transaction. */
  readonly #own = new Map<Subject, number>()
  /** What was read since the last poll that the database answered. */
  readonly #unconfirmed = new Set<string>()
  /** What brought `#revision`. */
  #newest: Subject | undefined
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
    this.#known = new DependentCache(knownMax, options.subjectsOf)
    this.#unknown = new LRUCache<string, true>({ ...entryLimit(unknownMax), ttl: unknownMs })
    this.#hashes = new RecentHashes(options.clock)
    this.#polledMs = options.clock.monotonicMs()
    if (options.restored) this.#restore(options.restored)
  }

  #restore({ snapshot, ageMs }: NonNullable<KeyDirectoryOptions['restored']>): void {
    this.#polledMs -= ageMs
    this.#revision = snapshot.revision
    this.#newest = snapshot.newest
    for (const [hash, caller] of snapshot.callers.toReversed()) this.#known.set(hash, caller)
  }

  /** The keys used last, at most 5000. A start without the database serves keys alone. */
  snapshot(): KeySnapshot {
    const callers = this.#known.newest(snapshotMax).filter(([name]) => isKeyHash(name))
    return { revision: this.#revision, newest: this.#newest, callers }
  }

  /** Changes when a key becomes known, and when one is dropped because it changed. */
  get versions(): { readonly loaded: number; readonly dropped: number } {
    return { loaded: this.#loaded, dropped: this.#generation }
  }

  lookup(keyText: string): Caller | undefined | Promise<Caller | undefined> {
    const recent = this.#hashes.get(keyText)
    if (recent !== undefined) return this.#find(recent, keyText)
    const hash = this.#options.hashKey(keyText)
    const caller = this.#find(hash, keyText)
    if (caller && !(caller instanceof Promise)) this.#hashes.set(keyText, hash)
    return caller
  }

  lookupUser(userId: string, teamId?: string): Caller | undefined | Promise<Caller | undefined> {
    return this.lookupHash(userPrincipal(userId, teamId))
  }

  lookupServiceAccount(name: string, teamId: string): Caller | undefined | Promise<Caller | undefined> {
    return this.lookupHash(serviceAccountPrincipal(name, teamId))
  }

  lookupSession(secret: string): Caller | undefined | Promise<Caller | undefined> {
    return this.lookupHash(sessionPrincipal(this.#options.hashKey(secret)))
  }

  /** As `lookup`, by the hash of the key. */
  lookupHash(hash: string): Caller | undefined | Promise<Caller | undefined> {
    return this.#find(hash, '')
  }

  /** `keyText` empty = it is not known. */
  #find(hash: string, keyText: string): Caller | undefined | Promise<Caller | undefined> {
    const known = this.#known.get(hash)
    if (known) return known
    if (this.#unknown.has(hash)) return undefined
    return this.#loading.get(hash) ?? this.#load(hash, keyText)
  }

  /**
   * These have changed: the next call with a key that depends on one loads it again. With the revision of an own
   * change, the poll that sees it does not drop again what was loaded since.
   */
  changed(subjects: readonly Subject[], revision?: number): void {
    if (revision !== undefined) for (const subject of subjects) this.#own.set(subject, revision)
    this.#drop(subjects)
  }

  /** With the revision of each, callers that were read after it stay. */
  #drop(subjects: readonly Subject[], revisions: readonly number[] = []): void {
    this.#generation++
    const { dropped, versionOf } = this.#options
    dropped?.(subjects)
    for (const [at, subject] of subjects.entries()) {
      const revision = revisions[at] ?? Infinity
      this.#known.drop(subject, caller => (versionOf(subject, caller) ?? -1) < revision)
      if (subject.startsWith('key:')) this.#unknown.delete(subject.slice('key:'.length))
      // A user's name here is its subject.
      else this.#unknown.delete(subject)
    }
    // A load may have read the object of before.
    this.#loading.clear()
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
    this.#hashes.forgetOld()
    const loaded = [...this.#unconfirmed]
    try {
      await this.#follow()
      if (!this.#reachable) this.#doubt()
      for (const name of loaded) this.#unconfirmed.delete(name)
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
    const { subjects, revisions, revision } = await this.#options.changesSince(Math.max(before - 1, 0))
    if (this.#moved || (this.#newest !== undefined && !subjects.includes(this.#newest))) {
      const anew = await this.#options.changesSince(0)
      // After the answer: keys that were loaded before it may have changed since.
      this.#forgetAll()
      this.#revision = anew.subjects.length > 0 ? anew.revision : 0
      this.#newest = anew.subjects.at(-1)
      this.#moved = false
      return
    }
    // Nothing but the newest change, which is known.
    if (revision === before || subjects.length === 0) return
    const isNews = (subject: Subject, at: number) => revisions[at]! > Math.max(before, this.#own.get(subject) ?? 0)
    const news = [...subjects.keys()].filter(at => isNews(subjects[at]!, at))
    if (news.length > 0)
      this.#drop(
        news.map(at => subjects[at]!),
        news.map(at => revisions[at]!),
      )
    this.#revision = revision
    this.#newest = subjects.at(-1)
    for (const [subject, own] of this.#own) if (own <= revision) this.#own.delete(subject)
  }

  /**
   * The database was away: another one may have taken its place that lacks the last changes, and give their revisions
   * to others. What no poll has confirmed is read again.
   */
  #doubt(): void {
    const subjects = [...this.#unconfirmed].flatMap(name => {
      const caller = this.#known.get(name)
      return caller ? this.#options.subjectsOf(name, caller) : []
    })
    const doubtful = new Set([...this.#own.keys(), ...subjects])
    this.#own.clear()
    if (doubtful.size > 0) this.#drop([...doubtful])
  }

  #forgetAll(): void {
    this.#generation++
    this.#options.dropped?.(undefined)
    this.#known.clear()
    this.#unknown.clear()
    this.#loading.clear()
    this.#own.clear()
  }

  async #load(hash: string, keyText: string): Promise<Caller | undefined> {
    const generation = this.#generation
    const loading = keyText === '' ? this.#options.load(hash) : this.#loadKey(hash, keyText)
    this.#loading.set(hash, loading)
    try {
      const caller = await loading
      // Something changed meanwhile: the answer is for this call only.
      if (generation === this.#generation) {
        if (caller) {
          this.#known.set(hash, caller)
          this.#unconfirmed.add(hash)
          this.#loaded++
        } else this.#unknown.set(hash, true)
      }
      return caller
    } finally {
      if (this.#loading.get(hash) === loading) this.#loading.delete(hash)
    }
  }

  async #loadKey(hash: string, keyText: string): Promise<Caller | undefined> {
    const options = this.#options
    const found = await options.load(hash)
    return found ?? (options.hashImportedKey && options.load(options.hashImportedKey(keyText)))
  }
}
