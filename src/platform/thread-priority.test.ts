/** A thread of the lowest priority is raised by those that wait for it, as often and as long as they do. */
import { afterEach, expect, test } from 'bun:test'
import { readlinkSync } from 'node:fs'
import { getPriority } from 'node:os'
import { ownPriority, raised, sharedPriority } from './thread-priority.ts'

const shared = sharedPriority()
const setPriority = ownPriority(shared)
const mayRaise = shared[0] !== 0
if (!mayRaise) console.log('skipped: priorities of threads (needs Linux, and CAP_SYS_NICE or RLIMIT_NICE)')
const now = () => getPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)))

afterEach(() => setPriority('usual'))

test.skipIf(!mayRaise)('what another thread waits for is done with the usual priority, and cannot be put off', () => {
  setPriority('lowest')
  expect(now()).toBe(19)
  const [first, second] = [raised(shared), raised(shared)]
  expect(now()).toBe(0)
  first()
  setPriority('lowest')
  expect(now()).toBe(0)
  second()
  setPriority('lowest')
  expect(now()).toBe(19)
})

test.skipIf(!mayRaise)('a thread that takes the place of another begins with the usual priority', () => {
  setPriority('lowest')
  const next = ownPriority(shared)
  expect(now()).toBe(0)
  next('lowest')
  expect(now()).toBe(19)
})
