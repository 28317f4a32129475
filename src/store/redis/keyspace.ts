/**
 * The values that scripts work on where this program itself stands in for Redis: the workers of one machine share it.
 * Its operations have the names and the meaning of Redis' commands, for the types that the scripts use.
 */

/** A text; a hash; a list; a sorted set with its scores; a stream. */
type Value = string | Map<string, string> | string[] | SortedSet | Stream

/** Members with their scores. */
class SortedSet extends Map<string, number> {}

/** An entry of a stream: its fields are names and values in turn. */
type StreamEntry = readonly [id: string, fields: readonly string[]]

/** Entries, and the number of the last id. */
class Stream {
  readonly entries: StreamEntry[] = []
  last: readonly [ms: number, count: number] = [0, 0]
}

interface Entry {
  readonly value: Value
  /** Infinity = it stays. */
  untilMs: number
  /** Approximately, of a text alone: others are small. */
  readonly bytes: number
}

/** Values that are over are looked for so often. */
const sweepMs = 10_000

/** Everything that is kept, by its key. A key that holds another type than is asked for throws, as Redis does. */
export class Keyspace {
  readonly #entries = new Map<string, Entry>()
  readonly #textBytesMax: number
  #textBytes = 0
  #sweptMs = 0

  /** Texts that come when all together have `textBytesMax` push out those that were written first. */
  constructor({ textBytesMax = Infinity }: { readonly textBytesMax?: number } = {}) {
    this.#textBytesMax = textBytesMax
  }

  /** Milliseconds since 1970, on a clock that is never set back. */
  get nowMs(): number {
    return Math.floor(performance.timeOrigin + performance.now())
  }

  get keys(): IterableIterator<string> {
    return this.#entries.keys()
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): string | undefined {
    const value = this.#value(key)
    if (value === undefined || typeof value === 'string') return value
    throw wrongType(key)
  }

  /** `ifAbsent`: false = the key is there already, and stays as it is. */
  set(key: string, text: string, { ttlMs = Infinity, ifAbsent = false } = {}): boolean {
    if (ifAbsent && this.#value(key) !== undefined) return false
    this.#put(key, text, this.nowMs + ttlMs, text.length)
    for (const [oldest, { value, bytes }] of this.#entries) {
      if (this.#textBytes <= this.#textBytesMax || oldest === key) break
      if (typeof value === 'string' && bytes > 0) this.delete(oldest)
    }
    return true
  }

  /** Whether there was one. */
  delete(key: string): boolean {
    const isThere = this.#value(key) !== undefined
    this.#drop(key)
    return isThere
  }

  /** Whether the key is there. */
  expire(key: string, ttlMs: number): boolean {
    if (this.#value(key) === undefined) return false
    this.#entries.get(key)!.untilMs = this.nowMs + ttlMs
    return true
  }

  /** -2 = the key is not there, -1 = it stays. */
  ttlMs(key: string): number {
    if (this.#value(key) === undefined) return -2
    const { untilMs } = this.#entries.get(key)!
    return untilMs === Infinity ? -1 : untilMs - this.nowMs
  }

  /** The fields of a hash, to be read: empty where it is not there. */
  hash(key: string): ReadonlyMap<string, string> {
    return this.#hash(key) ?? new Map<string, string>()
  }

  hashSet(key: string, field: string, text: string): void {
    this.#made(key, this.#hash(key), () => new Map<string, string>()).set(field, text)
  }

  /** Whether there was such a field; a hash without fields is gone. */
  hashDelete(key: string, field: string): boolean {
    const hash = this.#hash(key)
    const isGone = hash?.delete(field) ?? false
    if (hash?.size === 0) this.#drop(key)
    return isGone
  }

  list(key: string): readonly string[] {
    return this.#list(key) ?? []
  }

  /** At its end. */
  push(key: string, text: string): void {
    this.#made(key, this.#list(key), () => [] as string[]).push(text)
  }

  /** Takes the first. */
  shift(key: string): string | undefined {
    const list = this.#list(key)
    const first = list?.shift()
    if (list?.length === 0) this.#drop(key)
    return first
  }

  /** The members of a sorted set with their scores, to be read. */
  scores(key: string): ReadonlyMap<string, number> {
    return this.#sortedSet(key) ?? new Map<string, number>()
  }

  score(key: string, member: string, score: number): void {
    this.#made(key, this.#sortedSet(key), () => new SortedSet()).set(member, score)
  }

  /** Whether it was a member. */
  scoreDelete(key: string, member: string): boolean {
    const members = this.#sortedSet(key)
    const isGone = members?.delete(member) ?? false
    if (members?.size === 0) this.#drop(key)
    return isGone
  }

  /** Removes the members whose score is not above `score`. */
  scoreDeleteUpTo(key: string, score: number): void {
    for (const [member, own] of [...this.scores(key)]) if (own <= score) this.scoreDelete(key, member)
  }

  /** Appends an entry, and removes the first ones beyond `lengthMax`. */
  append(key: string, fields: readonly string[], lengthMax: number): void {
    const stream = this.#made(key, this.#stream(key), () => new Stream())
    const ms = Math.max(this.nowMs, stream.last[0])
    stream.last = [ms, ms === stream.last[0] ? stream.last[1] + 1 : 0]
    stream.entries.push([stream.last.join('-'), fields])
    if (stream.entries.length > lengthMax) stream.entries.splice(0, stream.entries.length - lengthMax)
  }

  /** Removes the entries that were appended before. */
  dropEntriesBefore(key: string, ms: number): void {
    const entries = this.#stream(key)?.entries ?? []
    const kept = entries.findIndex(([id]) => Number.parseInt(id, 10) >= ms)
    entries.splice(0, kept < 0 ? entries.length : kept)
  }

  /** At most `count` entries: from `-` all, from `(ID` those behind it, also where its entry is gone. */
  entriesFrom(key: string, from: string, count: number): readonly StreamEntry[] {
    const entries = this.#stream(key)?.entries ?? []
    const first = from === '-' ? 0 : entries.findIndex(([id]) => isBehind(id, from.slice(1)))
    return first < 0 ? [] : entries.slice(first, first + count)
  }

  #value(key: string): Value | undefined {
    const nowMs = this.nowMs
    if (nowMs - this.#sweptMs > sweepMs) this.#sweep(nowMs)
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.untilMs > nowMs) return entry?.value
    this.#drop(key)
    return undefined
  }

  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs
    for (const [key, { untilMs }] of this.#entries) if (untilMs <= nowMs) this.#drop(key)
  }

  #put(key: string, value: Value, untilMs: number, bytes: number): void {
    this.#drop(key)
    this.#entries.set(key, { value, untilMs, bytes })
    this.#textBytes += bytes
  }

  #drop(key: string): void {
    this.#textBytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }

  #made<T extends Value>(key: string, present: T | undefined, make: () => T): T {
    if (present !== undefined) return present
    const made = make()
    this.#put(key, made, Infinity, 0)
    return made
  }

  #hash(key: string): Map<string, string> | undefined {
    const value = this.#value(key)
    if (value === undefined || (value instanceof Map && !(value instanceof SortedSet)))
      return value as Map<string, string> | undefined
    throw wrongType(key)
  }

  #list(key: string): string[] | undefined {
    const value = this.#value(key)
    if (value === undefined || Array.isArray(value)) return value
    throw wrongType(key)
  }

  #sortedSet(key: string): SortedSet | undefined {
    const value = this.#value(key)
    if (value === undefined || value instanceof SortedSet) return value
    throw wrongType(key)
  }

  #stream(key: string): Stream | undefined {
    const value = this.#value(key)
    if (value === undefined || value instanceof Stream) return value
    throw wrongType(key)
  }
}

function isBehind(id: string, after: string): boolean {
  const [ms = 0, count = 0] = id.split('-').map(Number)
  const [afterMs = 0, afterCount = 0] = after.split('-').map(Number)
  return ms > afterMs || (ms === afterMs && count > afterCount)
}

const wrongType = (key: string): Error =>
  new Error(`WRONGTYPE Operation against a key holding the wrong kind of value: ${key}`)
