/**
 * The current tick of the event loop: tasks at its end, behind all events that are already queued, and its time. Socket
 * writes belong at the end: a send that wakes its sleeping peer costs twice the others, and of a row of sends only the
 * first does.
 */
import { systemClock } from './clock.ts'
import type { Clock } from './clock.ts'

/** An error that a task throws is rethrown later, so that the other tasks of the tick still run. */
export interface TickTask {
  endOfTick(): void
}

let waiting: TickTask[] = []
let isEndScheduled = false
let tickMs: number | undefined
let tickEpochMs: number | undefined

/** In the order of the calls. A task that is added twice runs twice. */
export function atEndOfTick(task: TickTask): void {
  waiting.push(task)
  scheduleEnd()
}

/**
 * The system's clock, read at most once a tick; a reading costs 35 ns, and a call would need a dozen. For deadlines and
 * windows, to which milliseconds do not matter; what a call takes is measured by `systemClock`.
 */
export const tickClock: Clock = {
  epochMs() {
    if (tickEpochMs === undefined) {
      tickEpochMs = systemClock.epochMs()
      scheduleEnd()
    }
    return tickEpochMs
  },
  monotonicMs() {
    if (tickMs === undefined) {
      tickMs = systemClock.monotonicMs()
      scheduleEnd()
    }
    return tickMs
  },
}

let isTickTaken = false
const waitingForTicks: (() => void)[] = []

/**
 * Runs the tasks that are given to it in as many ticks, in the order of the calls; now if none has run in this tick.
 * For work of a millisecond or more: between two of them, everything else that waits has its turn.
 */
export function inTickOfItsOwn(task: () => void): void {
  if (isTickTaken) return void waitingForTicks.push(task)
  isTickTaken = true
  setImmediate(nextTick)
  task()
}

function nextTick(): void {
  isTickTaken = false
  const task = waitingForTicks.shift()
  if (task) inTickOfItsOwn(task)
}

function scheduleEnd(): void {
  if (isEndScheduled) return
  isEndScheduled = true
  setImmediate(run)
}

function run(): void {
  const tasks = waiting
  waiting = []
  for (const task of tasks)
    try {
      task.endOfTick()
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown
      })
    }
  // Last: what the tasks ask for is still the time of this tick.
  tickMs = undefined
  tickEpochMs = undefined
  isEndScheduled = false
  if (waiting.length > 0) scheduleEnd()
}
