/** What one exchange carries: calls that no grant covers, and reports of counters. */
import type { GatewayError } from '../../core/errors.ts'
import type { LimitVerdict } from '../../core/tenancy/limits.ts'
import type { CallNeed, Counter, Generation } from './grant-counter.ts'
import type { CallReport, CounterReport } from './exchange-terms.ts'
import type { CallAnswer } from './grant-script.ts'
import { counterRefusal } from './grant-verdict.ts'

/** Redis works on nothing else while a script runs: 12 ms for so many counters with full windows on three replicas. */
const countersMax = 100
const callsMax = 1000

/** A call that waits for Redis. */
export class WaitingCall {
  readonly counters: readonly Counter[]
  readonly need: CallNeed
  readonly sinceMs: number
  /** Rejects with `overloaded`. */
  readonly verdict: Promise<LimitVerdict>
  /** Counters of which its amount is set aside. */
  reserved: readonly Counter[] = []
  /** Redis' time when it was asked first and other replicas held what it needs; 0 = not yet. */
  firstRequestedMs = 0
  attempts = 0
  /** What was short last. */
  short: { readonly counter: Counter; readonly waitMs: number } | undefined = undefined
  isDecided = false
  readonly #resolve: (verdict: LimitVerdict) => void
  readonly #reject: (error: GatewayError) => void

  constructor(counters: readonly Counter[], need: CallNeed, sinceMs: number) {
    this.counters = counters
    this.need = need
    this.sinceMs = sinceMs
    const { promise, resolve, reject } = Promise.withResolvers<LimitVerdict>()
    this.verdict = promise
    this.#resolve = resolve
    this.#reject = reject
    for (const counter of counters) counter.waiting++
  }

  decide(verdict: LimitVerdict): void {
    this.#end()
    this.#resolve(verdict)
  }

  refuse(error: GatewayError): void {
    this.#end()
    this.#reject(error)
  }

  /** After other replicas did not say whether they have room. That Redis does not answer is not decided here. */
  refuseForShortage(): void {
    const { isDecided, short } = this
    if (!isDecided && short) this.decide(counterRefusal(short.counter, short.waitMs, { isReserved: true }))
  }

  #end(): void {
    this.isDecided = true
    for (const counter of this.counters) counter.waiting--
  }

  /** Sets aside what is held of these. */
  reserve(counters: readonly Counter[]): void {
    this.reserved = counters
    for (const counter of counters) {
      counter.unspent -= counter.amount(this.need)
      counter.reserved += counter.amount(this.need)
    }
  }

  /** What was set aside for it is free again. */
  giveBack(): void {
    for (const counter of this.reserved) {
      counter.reserved -= counter.amount(this.need)
      counter.unspent += counter.amount(this.need)
    }
    this.reserved = []
  }
}

/** Filled with calls and counters, then sealed and sent. */
export class Batch {
  readonly counters: Counter[] = []
  readonly wanted: number[] = []
  readonly reports: CounterReport[] = []
  readonly waiting: WaitingCall[] = []
  readonly calls: CallReport[] = []
  /** As it was known when the reports were written. */
  generation = 0

  get isFull(): boolean {
    return this.calls.length >= callsMax || this.counters.length >= countersMax
  }

  /**
   * What the call lacks is requested, and what is left of it given up; the rest is set aside. false = a counter that it
   * lacks is in another exchange.
   */
  add(call: WaitingCall, mayUseHeld: boolean): boolean {
    const { counters, need } = call
    const lacking = counters.filter(one => one.place > 0 || !mayUseHeld || one.unspent < one.amount(need))
    if (lacking.some(one => one.isBusy)) return false
    const report = [call.firstRequestedMs]
    for (const counter of lacking) {
      if (counter.place === 0) {
        counter.drop()
        this.include(counter)
      }
      report.push(counter.place, counter.amount(need))
    }
    call.reserve(counters.filter(one => !lacking.includes(one)))
    this.waiting.push(call)
    this.calls.push(report)
    return true
  }

  /** Adds a counter to be reported. */
  include(counter: Counter): void {
    counter.place = this.counters.push(counter)
  }

  /** Writes the reports, of the state as it is now. */
  seal(nowMs: number, generation: Generation): void {
    this.generation = generation.number
    for (const counter of this.counters) {
      counter.place = 0
      const wanted = counter.wantedAhead(nowMs)
      this.wanted.push(wanted)
      this.reports.push(counter.report(nowMs, wanted, generation))
    }
  }
}

/** One call of an exchange that was answered. */
export interface AnsweredCall {
  readonly batch: Batch
  readonly answer: CallAnswer
  /** When the exchange was sent. */
  readonly sentMs: number
  readonly nowMs: number
}
