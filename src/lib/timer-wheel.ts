/**
 * Many deadlines, one interval. A timer per call costs garbage and p99; an entry of this wheel lives
 * in the object that it guards, and moving its deadline (the usual case: bytes arrived) is one store.
 */
import type { Clock } from './clock.ts'

/** Something with a deadline. An object extends it or holds one for its whole life. */
export abstract class TimerEntry {
  /** `Clock.monotonicMs` at which `expired` is due; Infinity = resting. Owned by the wheel. */
  deadlineMs = Infinity
  /** Where the entry hangs; -1 = in no slot. Owned by the wheel. */
  slot = -1
  /** Neighbours in the slot's ring. Owned by the wheel. */
  next: TimerEntry | undefined
  previous: TimerEntry | undefined

  /** Called once, up to one step late and never early; the entry may be scheduled again from here. */
  abstract expired(nowMs: number): void
}

class SlotHead extends TimerEntry {
  override expired(): void {}
}

const slotCount = 512
const defaultStepMs = 50
/** A tick that comes this late means the process stood still: see `tick`. */
const standstillMs = 1000

/** One shared interval of `stepMs`; it runs only while something is scheduled and never holds the process. */
export class TimerWheel {
  readonly #clock: Clock
  readonly #stepMs: number
  readonly #slots: SlotHead[] = []
  #interval: ReturnType<typeof setInterval> | undefined
  #size = 0
  /** The last step whose slot was looked at. */
  #step = 0
  #tickedMs = 0

  constructor(clock: Clock, stepMs = defaultStepMs) {
    this.#clock = clock
    this.#stepMs = stepMs
    for (let i = 0; i < slotCount; i++) {
      const head = new SlotHead()
      head.next = head
      head.previous = head
      this.#slots.push(head)
    }
  }

  /** Entries with a deadline. */
  get size(): number {
    return this.#size
  }

  /** The clock that deadlines are measured by. */
  nowMs(): number {
    return this.#clock.monotonicMs()
  }

  /**
   * Sets or moves the deadline of `entry`. Later than before: one store, the slot is corrected when
   * its turn comes. Allocates nothing.
   */
  touch(entry: TimerEntry, deadlineMs: number): void {
    if (entry.slot >= 0) {
      const isLater = deadlineMs >= entry.deadlineMs
      entry.deadlineMs = deadlineMs
      if (isLater) return
      unlink(entry)
    } else {
      entry.deadlineMs = deadlineMs
      if (this.#size++ === 0) this.#start()
    }
    this.#link(entry)
  }

  /** Takes the entry out; it can be touched again at any time. */
  cancel(entry: TimerEntry): void {
    if (entry.slot < 0) return
    unlink(entry)
    entry.deadlineMs = Infinity
    this.#size--
    if (this.#size === 0) this.#stop()
  }

  /** What the interval calls: fires all that is due. Public so that a test can drive a clock of its own. */
  tick(): void {
    const nowMs = this.#clock.monotonicMs()
    const stoodStill = nowMs - this.#tickedMs > standstillMs
    this.#tickedMs = nowMs
    // After a standstill (a blocked loop, a suspended machine) bytes may be waiting unread: let the
    // loop deliver them before anything is called too slow.
    if (stoodStill) return
    const last = Math.floor(nowMs / this.#stepMs)
    const first = Math.max(this.#step + 1, last - slotCount + 1)
    for (let step = first; step <= last && this.#size > 0; step++) this.#visit(step % slotCount, nowMs)
    this.#step = Math.max(this.#step, last)
  }

  #visit(slot: number, nowMs: number): void {
    const head = this.#slots[slot]!
    // The ring is moved aside first: an entry that is filed again into this slot waits for its next turn.
    let entry = head.next!
    if (entry === head) return
    const mark = new SlotHead()
    mark.next = head.next
    mark.previous = head.previous
    mark.next!.previous = mark
    mark.previous!.next = mark
    head.next = head
    head.previous = head
    while ((entry = mark.next!) !== mark) {
      unlink(entry)
      if (entry.deadlineMs > nowMs) {
        this.#link(entry)
        continue
      }
      entry.deadlineMs = Infinity
      this.#size--
      entry.expired(nowMs)
    }
    if (this.#size === 0) this.#stop()
  }

  #link(entry: TimerEntry): void {
    const due = Math.ceil(entry.deadlineMs / this.#stepMs)
    // Beyond the horizon (and Infinity): the farthest slot, where it is filed anew until it is due.
    const step = Math.max(this.#step + 1, Math.min(due, this.#step + slotCount - 1))
    entry.slot = step % slotCount
    const head = this.#slots[entry.slot]!
    entry.next = head
    entry.previous = head.previous
    head.previous!.next = entry
    head.previous = entry
  }

  #start(): void {
    this.#tickedMs = this.#clock.monotonicMs()
    this.#step = Math.floor(this.#tickedMs / this.#stepMs)
    if (this.#interval) return
    this.#interval = setInterval(() => this.tick(), this.#stepMs)
    this.#interval.unref()
  }

  #stop(): void {
    clearInterval(this.#interval)
    this.#interval = undefined
  }
}

function unlink(entry: TimerEntry): void {
  entry.previous!.next = entry.next
  entry.next!.previous = entry.previous
  entry.next = undefined
  entry.previous = undefined
  entry.slot = -1
}
