/** What the watch does for batches while the database fails. */
import { expect, test } from 'bun:test'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FileStore } from '../core/objects/file-records.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { guardOf, testServers } from '../store/database/database-fixture.ts'
import { migrate } from '../store/database/migrate.ts'
import { openDatabase } from '../store/database/open.ts'
import { createFileStore } from '../store/objects/files.ts'
import { until } from '../../tests/support/until.ts'
import { watchBatches } from './batch-watch.ts'

const away = () => Promise.reject(new GatewayError('overloaded', 'away'))

for (const [what, looksMin, broken] of [
  ['given back', 2, () => ({ releaseBatch: away })],
  ['taken with an answer', 1, (store: FileStore) => ({ leaseOpenBatches: lost(store) })],
] as const)
  test(`a batch that could not be ${what} while the database was away is looked at when it is back`, async () => {
    const made = await testServers('watched batches')[0]!.create()
    const database = await openDatabase(made.url)
    await migrate(database)
    const store = createFileStore({
      database,
      guard: guardOf(database),
      writer: 'w',
      clock,
      report: () => {},
    })
    const id = 'batch_1'
    await store.put({
      ...{ id, kind: 'batch', keyId: 'key', deploymentId: 'gone', upstreamId: 'up', purpose: '', filename: '' },
      ...{ bytes: 0, models: [], createdAtMs: clock.epochMs(), body: { id }, recorded: false, owner: null },
    })
    const files = { ...store, ...broken(store) }
    let looks = 0
    const services = { files, clock, current: { settings: { deployments: [] } } } as unknown as Services
    const watch = watchBatches(services, {
      pollMs: 20,
      report(problem) {
        Object.assign(files, store)
        if (problem.includes(id)) looks++
      },
    })
    await until(() => looks >= looksMin, 'it is looked at')
    await watch.stop()
    await database.close()
    await made.remove()
  })

test('while the database is away open batches are looked for again at once, not at the next interval', async () => {
  const pollMs = 50
  let [intervals, asked, isAnswered] = [0, 0, false]
  const reported: string[] = []
  const files = {
    releaseBatches: async () => {},
    leaseOpenBatches: async () => {
      if (++asked < 10) return away()
      isAnswered = true
      return []
    },
  }
  const watch = watchBatches({ files, clock } as unknown as Services, {
    pollMs,
    retryMs: 1,
    report: problem => reported.push(problem),
  })
  const timer = setInterval(() => intervals++, pollMs)
  await until(() => isAnswered, 'the database answers')
  expect(intervals).toBeLessThan(asked)
  expect(reported).toEqual(['open batches cannot be looked for'])
  clearInterval(timer)
  await watch.stop()
})

/** Does it, and gives no answer. */
function lost(store: FileStore): FileStore['leaseOpenBatches'] {
  return async lease => {
    await store.leaseOpenBatches(lease)
    return away()
  }
}
