/** A thread of the lowest priority is raised by those that wait for it, as often and as long as they do. */
import { afterEach, expect, test } from 'bun:test'
import { readlinkSync } from 'node:fs'
import { getPriority } from 'node:os'
import { ownPriority, raised, sharedPriority } from './thread-priority.ts'

const shared = sharedPriority()
const runInBackground = ownPriority(shared)
const mayRaise = shared[0] !== 0
if (!mayRaise) console.log('skipped: priorities of threads (needs Linux, and CAP_SYS_NICE or RLIMIT_NICE)')
const now = () => getPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)))

afterEach(() => runInBackground(false))

test.skipIf(!mayRaise)('what another thread waits for is done with the usual priority, and cannot be put off', () => {
  runInBackground(true)
  expect(now()).toBe(19)
  const [first, second] = [raised(shared), raised(shared)]
  expect(now()).toBe(0)
  first()
  runInBackground(true)
  expect(now()).toBe(0)
  second()
  runInBackground(true)
  expect(now()).toBe(19)
})

test.skipIf(!mayRaise)('a thread that takes the place of another begins with the usual priority', () => {
  runInBackground(true)
  const next = ownPriority(shared)
  expect(now()).toBe(0)
  next(true)
  expect(now()).toBe(19)
})
