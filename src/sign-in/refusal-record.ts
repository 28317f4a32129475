/**
 * Refused sign-ins in the audit log: each a row of its own, as long as they are few. A flood must not fill the log, and
 * must not cost a write each: further ones of a minute are one row for each user and reason, with their number.
 */
import type { PasswordStore, RefusedSignIn } from '../core/sign-in/sign-in.ts'
import { TimerEntry } from '../lib/timer-wheel.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'

const windowMs = 60_000
/** Rows of their own in a minute: for one account, as it was typed, and for all of them together. */
const ownRowsMax = 10
const allOwnRowsMax = 100
/** Further rows of a minute; what is beyond them is recorded for unknown users. */
const furtherRowsMax = 1000
const addressesMax = 10
/** Of one commit, which takes the event loop some milliseconds. */
const rowsOfCommitMax = 50

interface RepeatedRefusal {
  readonly refusal: RefusedSignIn
  count: number
  readonly addresses: Set<string>
}

/** One for the process. `flush` before the store closes. */
export class RefusalRecord extends TimerEntry {
  readonly #timers: TimerWheel
  readonly #passwords: Pick<PasswordStore, 'recordRefusals'>
  #isOpen = false
  #ownRows = 0
  readonly #ownRowsOf = new Map<string, number>()
  readonly #further = new Map<string, RepeatedRefusal>()

  constructor(timers: TimerWheel, passwords: Pick<PasswordStore, 'recordRefusals'>) {
    super()
    this.#timers = timers
    this.#passwords = passwords
  }

  /**
   * Resolves when its row, if it has one, is committed. `account` = as it was typed, which is not written: it may be a
   * password. Whether there is such a user changes nothing of the work. Throws `overloaded` when the database is
   * unreachable.
   */
  async add(account: string, refusal: RefusedSignIn): Promise<void> {
    if (!this.#isOpen) this.#begin()
    const rows = this.#ownRowsOf.get(account) ?? 0
    if (this.#ownRows >= allOwnRowsMax || rows >= ownRowsMax) return this.#count(refusal)
    this.#ownRows++
    this.#ownRowsOf.set(account, rows + 1)
    await this.#passwords.recordRefusals([refusal])
  }

  override expired(): void {
    void this.flush().catch(() => {})
  }

  /** Writes what was only counted. */
  async flush(): Promise<void> {
    this.#isOpen = false
    this.#timers.cancel(this)
    const further = [...this.#further.values()].map(({ refusal, count, addresses }) => ({
      ...refusal,
      further: { count, addresses: [...addresses] },
    }))
    this.#further.clear()
    for (let at = 0; at < further.length; at += rowsOfCommitMax) {
      await this.#passwords.recordRefusals(further.slice(at, at + rowsOfCommitMax))
      await Bun.sleep(0)
    }
  }

  #begin(): void {
    this.#isOpen = true
    this.#ownRows = 0
    this.#ownRowsOf.clear()
    this.#timers.touch(this, this.#timers.nowMs() + windowMs)
  }

  #count(refusal: RefusedSignIn): void {
    const { userId, reason, clientAddress } = refusal
    const name = `${reason} ${userId ?? ''}`
    let further = this.#further.get(name)
    if (!further && this.#further.size >= furtherRowsMax && userId !== null)
      return this.#count({ ...refusal, userId: null })
    if (!further) this.#further.set(name, (further = { refusal, count: 0, addresses: new Set() }))
    further.count++
    if (further.addresses.size < addressesMax) further.addresses.add(clientAddress)
  }
}
