/** A thread in the background that is never idle, and requests that write to the same file. */
import { afterEach, expect, test } from 'bun:test'
import { workerUrl } from '../../lib/program-files.ts'
import { until } from '../../../tests/support/until.ts'
import { sqliteRig } from './sqlite-fixture.ts'
import { sharedTurns } from './write-turns.ts'
import type { BusyWriter } from './write-turns-child.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

test('requests get the lock between the transactions of a thread that begins the next one at once', async () => {
  const here = await sqliteRig(cleanups)
  await here.database.sql`create table busy (name text not null)`
  const thread = new Worker(workerUrl('write-turns-child', import.meta.url))
  cleanups.push(() => thread.terminate())
  const { promise: writes, resolve } = Promise.withResolvers<void>()
  thread.onmessage = () => resolve()
  const start: BusyWriter = { path: here.path, turns: sharedTurns(), heldMs: 60 }
  thread.postMessage(start)
  await writes
  const rows = async () => {
    const [found] = (await here.database.sql`select count(*) as count from busy`) as { count: number }[]
    return found!.count
  }
  for (let round = 0; round < 12; round++) {
    // The thread has had its turn, and is in the next one.
    const before = await rows()
    await until(async () => (await rows()) > before)
    await Promise.all([here.put(`a${round}`), here.putInTransaction(`b${round}`)])
  }
  expect(await here.names()).toHaveLength(24)
})
