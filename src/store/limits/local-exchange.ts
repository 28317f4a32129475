/**
 * The exchange of `grant-script.ts` where workers of one machine share a keyspace: the same decisions, and the same
 * state in the same fields. `local-exchange.test.ts` runs both side by side over random histories.
 */
import { windowMs } from '../../lib/sliding-window.ts'
import type { Keyspace } from '../redis/keyspace.ts'
import type { ScriptResult } from '../redis/redis-connection.ts'
import { counterMark, exchangeTimes as times } from './exchange-terms.ts'
import type { CallReport, CounterReport } from './exchange-terms.ts'

/** What a call is decided as: taken, refused, or later. */
const [taken, refused, later] = [0, 1, 2] as const

/** One exchange, as its parameters say. */
interface Asking {
  readonly nowMs: number
  readonly me: string
  readonly number: number
  readonly standing: string
  readonly reports: readonly CounterReport[]
  readonly calls: readonly CallReport[]
  readonly others: readonly string[]
  readonly answered: number
  readonly seen: number
  readonly told: number
}

/** Another replica, as the keyspace knows it. */
interface Peer {
  heardMs: number
  number: number
  reported: number
}

/** Another replica that lives and may hold some of a counter. */
interface Unsure {
  readonly id: string
  readonly baseMs: number
  readonly kept: number
  readonly isEager: boolean
  isAsked: boolean
}

/** KEYS and ARGV of `exchangeScript`, and its answer. */
export function localExchange(keyspace: Keyspace, keys: readonly string[], values: readonly string[]): ScriptResult {
  const [me = '', number, standing = '', reports = '[]', calls = '[]', others = '[]', answered, seen, told] = values
  const asking: Asking = {
    nowMs: keyspace.nowMs,
    me,
    number: Number(number),
    standing,
    reports: JSON.parse(reports) as CounterReport[],
    calls: JSON.parse(calls) as CallReport[],
    others: JSON.parse(others) as string[],
    answered: Number(answered),
    seen: Number(seen),
    told: Number(told),
  }
  return new LocalExchange(keyspace, keys, asking).run()
}

/**
 * Replicas whose ids begin with `prefix` have ended: their calls are not under way any more. What they had spent of a
 * minute, and reserved of money that may be owed, goes on to count for as long as it does for replicas.
 */
export function forgetCalls(keyspace: Keyspace, prefix: string): void {
  for (const key of [...keyspace.keys]) {
    if (!key.includes(counterMark('parallel_requests'))) continue
    for (const replica of [...keyspace.hash(key).keys()])
      if (replica.startsWith(prefix)) keyspace.hashDelete(key, replica)
  }
}

class LocalExchange {
  readonly #keyspace: Keyspace
  readonly #keys: readonly string[]
  readonly #asking: Asking
  readonly #peers = new Map<string, Peer>()
  #living: string[] = []
  #last: number | undefined
  #generation = 0
  #sinceMs = 0
  #isSettling = false
  #counters: LocalCounter[] = []

  constructor(keyspace: Keyspace, keys: readonly string[], asking: Asking) {
    this.#keyspace = keyspace
    this.#keys = keys
    this.#asking = asking
  }

  run(): ScriptResult {
    const { nowMs, number } = this.#asking
    this.#readReplicas()
    if (this.#isLost()) this.#beginGeneration()
    if (this.#last !== undefined && this.#last >= number) return [nowMs, -1, 0, [], [], [], []]
    this.#isSettling = this.#settling()
    this.#noteReplica()
    this.#counters = this.#asking.reports.map((report, at) => this.#read(this.#keys[2 + at]!, report))
    const decided = this.#asking.calls.flatMap(call => this.#decide(call))
    const answers = this.#counters.flatMap((counter, at) => this.#grant(counter, at))
    const mail = [...this.#keyspace.list(this.#keys[1]!)]
    this.#keyspace.delete(this.#keys[1]!)
    return [nowMs, this.#isSettling ? 1 : 0, this.#generation, this.#living, answers, decided, mail]
  }

  #readReplicas(): void {
    const { nowMs, me } = this.#asking
    for (const [id, text] of [...this.#keyspace.hash(this.#keys[0]!)]) {
      const [first = 0, second = 0, third = 0] = text.split(' ').map(Number)
      if (id === 'generation') [this.#generation, this.#sinceMs] = [first, second]
      else if (id === me) this.#last = second
      else if (nowMs - first > times.replicaTtlMs) this.#keyspace.hashDelete(this.#keys[0]!, id)
      else {
        this.#peers.set(id, { heardMs: first, number: second, reported: third })
        if (nowMs - first < times.livingMs) this.#living.push(id)
      }
    }
  }

  /** Nothing is there, or it is from before what this replica was answered: another process keeps it. */
  #isLost(): boolean {
    const { nowMs, standing, seen, answered } = this.#asking
    if (this.#generation === 0 || seen > this.#generation) return true
    const isKnown = standing === 'known' || standing === 'overspent'
    if (isKnown && seen === this.#generation && (this.#last === undefined || this.#last < answered)) return true
    return standing === 'overspent' && nowMs > this.#sinceMs + 2 * times.settleMs
  }

  #beginGeneration(): void {
    const { nowMs, seen, others } = this.#asking
    // The process that keeps it has just started its first workers: there is no other one to wait for.
    const isFirst = this.#generation === 0 && seen === 0
    this.#generation = Math.max(nowMs, this.#generation + 1, seen + 1)
    this.#sinceMs = isFirst ? nowMs - times.spendMs : nowMs
    this.#keyspace.hashSet(this.#keys[0]!, 'generation', `${this.#generation} ${this.#sinceMs}`)
    // They lived a moment ago, also where an older state says otherwise.
    this.#living = [...others]
    for (const id of others) {
      const number = this.#peers.get(id)?.number ?? 0
      this.#peers.set(id, { heardMs: nowMs, number, reported: 0 })
      this.#keyspace.hashSet(this.#keys[0]!, id, `${nowMs} ${number} 0`)
    }
  }

  #settling(): boolean {
    const { nowMs, told, standing } = this.#asking
    if (nowMs < this.#sinceMs + times.settleMs) return true
    if (nowMs >= this.#sinceMs + times.spendMs) return false
    if (told !== this.#generation && standing !== 'leaving') return true
    return [...this.#peers.values()].some(
      peer => peer.reported !== this.#generation && nowMs - peer.heardMs < times.spendMs,
    )
  }

  #noteReplica(): void {
    const { nowMs, me, number, told, standing } = this.#asking
    const replicas = this.#keys[0]!
    this.#keyspace.expire(replicas, times.replicaTtlMs)
    if (standing === 'leaving') this.#keyspace.hashDelete(replicas, me)
    else this.#keyspace.hashSet(replicas, me, `${nowMs} ${number} ${told}`)
  }

  #read(key: string, report: CounterReport): LocalCounter {
    const { nowMs, me } = this.#asking
    const counter = new LocalCounter(report, nowMs)
    if (report[0] === 'budget') this.#readMoney(key, report)
    const leaseMs = counter.kind === 'parallel_requests' ? times.slotLeaseMs : times.spendMs + windowMs
    for (const [field, text] of [...this.#keyspace.hash(key)])
      if (field === 'base') counter.hasBase = Number(text) === this.#generation
      else if (field.startsWith('s:')) counter.settled += Number(text)
      else if (field !== me && !field.startsWith('d:')) this.#readPeer({ counter, key, id: field, text }, leaseMs)
    counter.readOwn()
    return counter
  }

  #readPeer(
    { counter, key, id, text }: { counter: LocalCounter; key: string; id: string; text: string },
    leaseMs: number,
  ): void {
    const { nowMs } = this.#asking
    const [of = 0, baseMs = 0, kept = 0, eagerMs = 0] = text.split(' ', 4).map(Number)
    const rest = text.slice(text.lastIndexOf(' ') + 1)
    const peer = this.#peers.get(id)
    const seenMs = Math.max(peer?.heardMs ?? 0, baseMs)
    // What is from before a loss, of a replica that has said since what is true.
    const isOutdated = of !== this.#generation && peer?.reported === this.#generation
    if (isOutdated || nowMs - seenMs >= leaseMs) return void this.#keyspace.hashDelete(key, id)
    const running = counter.addPeer({ baseMs, kept, rest })
    if (nowMs - seenMs < times.livingMs) {
      counter.lives ||= running > 0
      counter.unsure.push({ id, baseMs, kept, isEager: eagerMs > nowMs, isAsked: false })
    } else if (kept + running > 0) counter.endsMs = Math.min(counter.endsMs ?? Infinity, seenMs + leaseMs)
  }

  /** What is told of a database that was replaced is passed over, and what was told of it before is forgotten. */
  #readMoney(key: string, report: CounterReport): void {
    const [, , , , , , process = '', amount = 0, base = 0, baseGeneration = 0, database = ''] = report
    const isStale = database !== '' && this.#followDatabase(key, database)
    if (!isStale) {
      this.#settle(key, process, amount)
      if (base !== 0)
        for (let at = 0; at < base.length; at += 2) this.#settle(key, String(base[at]), Number(base[at + 1]))
    }
    if (baseGeneration === this.#generation) this.#keyspace.hashSet(key, 'base', String(this.#generation))
  }

  /** true = it was replaced a moment ago. */
  #followDatabase(key: string, database: string): boolean {
    const { nowMs } = this.#asking
    const hash = this.#keyspace.hash(key)
    const present = hash.get('d:now')
    if (present !== undefined && present !== database) {
      const leftAt = hash.get(`d:${database}`)
      if (leftAt !== undefined && nowMs - Number(leftAt) < times.spendMs) return true
      for (const field of [...hash.keys()]) if (field.startsWith('s:')) this.#keyspace.hashDelete(key, field)
      this.#keyspace.hashSet(key, `d:${present}`, String(nowMs))
    }
    this.#keyspace.hashSet(key, 'd:now', database)
    return false
  }

  /** Of what a process, or the database, tells about a process the larger amount is true. */
  #settle(key: string, process: string, amount: number): void {
    const field = `s:${process}`
    const known = this.#keyspace.hash(key).get(field)
    if (known !== undefined && Math.abs(amount) <= Math.abs(Number(known))) return
    this.#keyspace.hashSet(key, field, String(Math.trunc(amount)))
  }

  #decide(call: CallReport): number[] {
    const { nowMs } = this.#asking
    const [since = 0, ...needs] = call
    for (let at = 0; at < needs.length; at += 2) {
      const [place, amount] = [needs[at]!, needs[at + 1]!]
      const counter = this.#counters[place - 1]!
      if (this.#isSettling) return [later, place, Math.max(this.#sinceMs + times.settleMs - nowMs, 100), 0]
      if (counter.isMoney && !counter.hasBase) return [later, place, 0, 0]
      if (amount <= 0 || counter.fits(amount)) continue
      counter.isShort = true
      const { ms, isCertain } = counter.wait(amount)
      const isPending = counter.pending(amount, since)
      // Money that is only reserved may come back.
      const comesBack = counter.isMoney ? counter.settled + amount <= counter.limit : isPending
      return comesBack ? [later, place, ms, 0] : [refused, place, ms, isCertain ? 1 : 0]
    }
    for (let at = 0; at < needs.length; at += 2) this.#counters[needs[at]! - 1]!.take(needs[at + 1]!)
    return [taken, 0, 0, 0]
  }

  #grant(counter: LocalCounter, at: number): number[] {
    const key = this.#keys[2 + at]!
    const { nowMs, me, reports, others } = this.#asking
    const [, , , ahead, eagerMs] = reports[at]!
    const mayGrant = ahead > 0 && !this.#isSettling && !counter.isShort && (counter.hasBase || !counter.isMoney)
    const free = counter.limit - counter.spent - counter.held
    const granted = mayGrant ? Math.max(Math.min(ahead, Math.floor(free / (2 * (this.#living.length + 1)))), 0) : 0
    const kept = counter.kept + granted
    const rest = counter.restAfter()
    if (kept === 0 && (rest === '[]' || rest === '0')) this.#keyspace.hashDelete(key, me)
    else {
      const ends = eagerMs > 0 ? nowMs + eagerMs : 0
      const state = [this.#generation, nowMs, kept, ends].map(Math.trunc).join(' ')
      this.#keyspace.hashSet(key, me, `${state} ${rest}`)
      if (!counter.isMoney) this.#keyspace.expire(key, times.counterTtlMs)
    }
    if (counter.isMoney) this.#keyspace.expire(key, times.budgetTtlMs)
    for (const { id, isAsked } of counter.unsure) {
      const place = others.indexOf(id)
      if (isAsked && place >= 0) this.#post(this.#keys[2 + reports.length + place]!, key)
    }
    const needsBase = counter.isMoney && !counter.hasBase && !this.#isSettling
    return [granted, counter.spent, counter.heldByOthers, needsBase ? 1 : 0]
  }

  #post(mail: string, key: string): void {
    if (this.#keyspace.list(mail).length >= times.mailLengthMax) return
    this.#keyspace.push(mail, key)
    this.#keyspace.expire(mail, times.mailTtlMs)
  }
}

/** A counter within one exchange: what all replicas have spent and hold of it. */
class LocalCounter {
  readonly kind: CounterReport[0]
  readonly limit: number
  readonly kept: number
  readonly isMoney: boolean
  readonly #rest: number | string
  readonly #isSlots: boolean
  readonly #nowMs: number
  /** What was spent, and when it leaves the window. */
  #dates: (readonly [endsMs: number, amount: number])[] = []
  #isSorted = false
  #taken = 0
  spent = 0
  held = 0
  heldByOthers = 0
  settled = 0
  lives = false
  endsMs: number | undefined
  hasBase = false
  isShort = false
  readonly unsure: Unsure[] = []

  constructor([kind, limit, kept, , , rest]: CounterReport, nowMs: number) {
    this.kind = kind
    this.limit = limit
    this.kept = kept
    this.isMoney = kind === 'budget'
    this.#isSlots = kind === 'parallel_requests' || this.isMoney
    this.#rest = rest
    this.#nowMs = nowMs
  }

  /** Its running amount, where it has one. */
  addPeer({ baseMs, kept, rest }: { baseMs: number; kept: number; rest: string }): number {
    this.held += kept
    if (!this.#isSlots) {
      this.#spend(baseMs, JSON.parse(rest) as number[])
      return 0
    }
    this.spent += Number(rest)
    return Number(rest)
  }

  /** After all others. */
  readOwn(): void {
    this.heldByOthers = this.held
    this.held += this.kept
    if (this.#isSlots) {
      this.lives ||= Number(this.#rest) > 0
      this.spent += Number(this.#rest) + this.settled
    } else this.#spend(this.#nowMs, JSON.parse(String(this.#rest)) as number[])
  }

  /** Pairs of age and amount. */
  #spend(baseMs: number, pairs: readonly number[]): void {
    for (let at = 0; at < pairs.length; at += 2) {
      const endsMs = baseMs - pairs[at]! + windowMs
      if (endsMs <= this.#nowMs) continue
      this.spent += pairs[at + 1]!
      this.#dates.push([endsMs, pairs[at + 1]!])
    }
    this.#isSorted = false
  }

  fits(amount: number): boolean {
    const total = this.spent + this.held
    return total + amount <= this.limit || (this.kind === 'tokens' && total === 0)
  }

  /** Until there can be room, and whether it is certain that there is none before. */
  wait(amount: number): { readonly ms: number; readonly isCertain: boolean } {
    const untilEndMs = this.endsMs === undefined ? 1000 : this.endsMs - this.#nowMs
    if (this.#isSlots) return { ms: this.lives ? 1000 : untilEndMs, isCertain: false }
    const isFull = this.spent + amount > this.limit && !(this.kind === 'tokens' && this.spent === 0)
    if (!isFull) return { ms: Math.min(untilEndMs, windowMs), isCertain: false }
    if (!this.#isSorted) this.#dates.sort(([one], [other]) => one - other)
    this.#isSorted = true
    const room = Math.max(this.limit - amount, 0)
    let left = this.spent
    for (const [endsMs, spent] of this.#dates) {
      left -= spent
      if (left <= room)
        return {
          ms: Math.max(Math.min(endsMs - this.#nowMs, windowMs), 1),
          isCertain: this.kind === 'requests',
        }
    }
    return { ms: windowMs, isCertain: false }
  }

  /** Whether replicas that live may have room: they hold some, or have not reported since the call asked first. */
  pending(amount: number, since: number): boolean {
    if (this.kind === 'requests' && this.spent + amount > this.limit) return false
    let isFound = false
    for (const other of this.unsure) {
      const isFresh = other.kept === 0 && (other.isEager || (since > 0 && other.baseMs >= since))
      if (isFresh) continue
      isFound = true
      other.isAsked = true
    }
    return isFound
  }

  take(amount: number): void {
    this.spent += amount
    this.#taken += amount
    if (this.#isSlots) this.lives = true
    else {
      this.#dates.push([this.#nowMs + windowMs, amount])
      this.#isSorted = false
    }
  }

  /** What the replica has spent, or runs, with the calls of this exchange. */
  restAfter(): string {
    if (this.#isSlots) return String(Math.trunc(Number(this.#rest) + this.#taken))
    const rest = String(this.#rest)
    if (this.#taken === 0) return rest
    return `${rest.slice(0, -1)}${rest === '[]' ? '' : ','}0,${Math.trunc(this.#taken)}]`
  }
}
