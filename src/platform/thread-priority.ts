/** How much of a busy processor a thread asks for. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

const usual = 0
/** The lowest that Linux knows: such a thread runs when no other wants to. */
const polite = 19
/** For good, where the system lets a thread step back but never forward again: a quarter of a busy processor. */
const modest = 5

/**
 * Lets the calling thread step back behind the others of a busy machine, and forward again. Linux gives every
 * thread a priority of its own; elsewhere, and where the system refuses, the returned function does nothing.
 */
export function ownPriority(): (isPolite: boolean) => void {
  let thread: number
  try {
    thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, usual + 1)
  } catch {
    return () => {}
  }
  if (!trySetting(thread, usual)) {
    trySetting(thread, modest)
    return () => {}
  }
  let now = false
  return isPolite => {
    if (isPolite !== now && trySetting(thread, isPolite ? polite : usual)) now = isPolite
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
