/**
 * The turns of the threads of one process that write to an SQLite file, which has one writer at a time. Who meets the
 * lock of another one says that it waits; threads in the background begin no transaction then, and the one that holds
 * the lock gets the processor. Without it a thread of the lowest priority, which is never idle under load, keeps a
 * request from the lock for seconds.
 */
import { raised } from '../../platform/thread-priority.ts'
import type { SharedPriority } from '../../platform/thread-priority.ts'

/** How many wait, in memory that the threads share. */
export type WriteTurns = Int32Array<SharedArrayBuffer>

/** A thread in the background gets the lock after so long in any case. */
const yieldMsMax = 500
const lookMs = 20

let turns: WriteTurns = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
const background = new Set<SharedPriority>()

/** For the threads that this one starts, which `adoptTurns`. */
export const sharedTurns = (): WriteTurns => turns

/** In a thread that is started: from now on it is one of those of the thread that started it. */
export function adoptTurns(shared: WriteTurns): void {
  turns = shared
}

/** While a thread waits those in the background are raised, until the returned function is called. */
export function writesInBackground(priority: SharedPriority): () => void {
  background.add(priority)
  return () => void background.delete(priority)
}

/** The calling thread has met the lock. Until the returned function is called, once, others let it write. */
export function waitsToWrite(): () => void {
  Atomics.add(turns, 0, 1)
  const lowered = [...background].map(raised)
  return () => {
    for (const lower of lowered) lower()
    Atomics.sub(turns, 0, 1)
    Atomics.notify(turns, 0)
  }
}

/** In a thread in the background, before a transaction: blocks while others wait, for half a second at most. */
export function letOthersWrite(): void {
  if (Bun.isMainThread) return
  const untilMs = performance.now() + yieldMsMax
  for (let waiting = Atomics.load(turns, 0); waiting > 0; waiting = Atomics.load(turns, 0)) {
    if (performance.now() >= untilMs) return
    Atomics.wait(turns, 0, waiting, lookMs)
  }
}
