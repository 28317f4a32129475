/** A record that is stored without an answer: on both databases. */
import { expect, test } from 'bun:test'
import type { SQL } from 'bun'
import type { IdempotentRequest } from '../../core/objects/idempotency.ts'
import { systemClock as clock } from '../../lib/clock.ts'
import { Secret } from '../../lib/secret.ts'
import { until } from '../../../tests/support/until.ts'
import { guardOf, testServers } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import { createIdempotentRequests } from './idempotent-requests.ts'

const requestOf = (owner: string): IdempotentRequest => ({
  id: 'a',
  keyId: 'key',
  fingerprint: 'f',
  sealingKey: new Secret('0'.repeat(64)),
  owner,
})

for (const server of testServers('idempotent requests'))
  test(`${server.name}: a request that was refused, though its record was stored, is done when it comes again`, async () => {
    const made = await server.createMigrated()
    const database = await openDatabase(made.url)
    let isLost = true
    const { sql } = database
    // Commits, and loses the answer.
    const begin = async (...of: unknown[]) => {
      const done: unknown = await (sql.begin as (...given: unknown[]) => Promise<unknown>).apply(sql, of)
      if (!isLost) return done
      isLost = false
      throw new Error('the connection is closed')
    }
    const lossy = Object.assign((...of: Parameters<SQL>) => sql(...of), { begin, unsafe: sql.unsafe.bind(sql) })
    const store = createIdempotentRequests({
      database: { ...database, sql: lossy as unknown as SQL },
      guard: guardOf(database),
      clock,
      report: problem => expect(problem).toBe(''),
    })
    await expect(store.claim(requestOf('one'))).rejects.toMatchObject({ kind: 'overloaded' })
    await until(async () => (await store.look(requestOf('two'))) === undefined, 'the record is deleted')
    expect(await store.claim(requestOf('two'))).toEqual({ state: 'first' })
    // What the first one does late changes nothing of the second.
    await store.forget(requestOf('one'))
    expect(await store.look(requestOf('three'))).toMatchObject({ state: 'running' })
    store.stop()
    await database.close()
    await made.remove()
  })
