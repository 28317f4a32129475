/**
 * The priority of a single thread (Linux): calls go first, and what can wait takes the processor time that they leave.
 *
 * Gain for the ledger's writer, whose rows are safe in the journal, measured with `npm run bench -- --only calls` with
 * this function and with one that does nothing, on one core: 33,000 instead of 21,600 requests/s, 30 instead of 43 us
 * of CPU per request, p99 6.4 instead of 14.4 ms. Cost: the rows of the load are in the database 15 s after it instead
 * of 0.5 s.
 */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

const usual = 0
/** The lowest of Linux: such a thread runs when no other is ready. */
const lowest = 19
/** Kept where the system lets a thread lower its priority but not raise it: a quarter of a busy processor. */
const modest = 5

/**
 * What a program is started through that gets only the time that nothing else wants (SCHED_IDLE, Linux): the kernel
 * takes the processor from it as soon as another thread is ready, while one of nice 19 first runs out its slice of some
 * 3 ms. Empty where there is no `chrt` (util-linux, busybox). The system may still refuse it: the program ends at once.
 *
 * Gain for passwords of strangers: docs/decisions/0058.
 */
export function idleCommand(): readonly string[] {
  const chrt = process.platform === 'linux' ? Bun.which('chrt') : null
  return chrt === null ? [] : [chrt, '-i', '0']
}

/** Gives the calling thread the lowest priority for good, which every system allows that has one per thread (Linux). */
export function lowestPriority(): void {
  try {
    setPriority(ownThread(), lowest)
  } catch {
    // It goes on with the usual one.
  }
}

/**
 * Gives the calling thread only the time that nothing else wants, for good, see `idleCommand`; where the system has no
 * such policy or refuses it, the lowest priority.
 *
 * Gain for reads of the ledger: docs/decisions/0073.
 */
export function idlePriority(): void {
  lowestPriority()
  const command = idleCommand()
  try {
    if (command.length > 0) Bun.spawnSync([...command.slice(0, 2), '-p', '0', String(ownThread())])
  } catch {
    // It keeps the lowest priority.
  }
}

/** Of this thread at the system. Throws where there is none (no /proc). */
const ownThread = (): number => Number(readlinkSync('/proc/thread-self').split('/').at(-1))

/** What two threads share of the priority of one: see `ownPriority`. */
export type SharedPriority = Int32Array<SharedArrayBuffer>

/** Places in `SharedPriority`: the thread at the system (0 = none yet, or it cannot be raised), its state, waiting. */
const [threadAt, stateAt, waitingAt] = [0, 1, 2]
const [atUsual, atLowest] = [0, 1]

/** `usual` is that of calls, `lowest` gets the time that they leave. */
type OwnPriority = 'usual' | 'lowest'

/** For a worker that is to be raised from outside; its threads come and go. */
export function sharedPriority(): SharedPriority {
  return new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT))
}

/**
 * Until the returned function is called, once, the thread has the usual priority. Called by those that wait for it: a
 * thread of the lowest priority may not get to its messages for seconds while the processors are busy.
 */
export function raised(shared: SharedPriority): () => void {
  Atomics.add(shared, waitingAt, 1)
  const thread = Atomics.load(shared, threadAt)
  if (thread !== 0 && trySetting(thread, usual)) Atomics.store(shared, stateAt, atUsual)
  return () => Atomics.sub(shared, waitingAt, 1)
}

/**
 * Lets the calling thread lower its priority while the others are busy, unless one of them waits for it (`raised`), and
 * raise it again. Linux has a priority per thread; elsewhere, and where the system refuses, the returned function does
 * nothing.
 */
export function ownPriority(shared: SharedPriority): (priority: OwnPriority) => void {
  Atomics.store(shared, threadAt, 0)
  Atomics.store(shared, stateAt, atUsual)
  let thread: number
  try {
    thread = ownThread()
    setPriority(thread, usual + 1)
  } catch {
    return () => {}
  }
  if (!trySetting(thread, usual)) {
    trySetting(thread, modest)
    return () => {}
  }
  Atomics.store(shared, threadAt, thread)
  const isAwaited = () => Atomics.load(shared, waitingAt) > 0
  const set = (state: number) => {
    if (state === Atomics.load(shared, stateAt)) return
    if (trySetting(thread, state === atLowest ? lowest : usual)) Atomics.store(shared, stateAt, state)
  }
  return priority => {
    set(priority === 'lowest' && !isAwaited() ? atLowest : atUsual)
    // Another thread may have begun to wait in between.
    if (priority === 'lowest' && isAwaited()) set(atUsual)
  }
}

/** Raising a priority takes CAP_SYS_NICE or RLIMIT_NICE. */
function trySetting(thread: number, priority: number): boolean {
  try {
    setPriority(thread, priority)
    return true
  } catch {
    return false
  }
}
