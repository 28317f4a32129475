/** Links that set a password, as rows. */
import { describe, expect, test } from 'bun:test'
import { systemClock } from '../../lib/clock.ts'
import { testServers } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import { createPasswordStore } from './passwords.ts'

for (const server of testServers('links for passwords'))
  describe(server.name, () => {
    test('an id that no database can hold is that of no link', async () => {
      const made = await server.createMigrated()
      const database = await openDatabase(made.url)
      const passwords = createPasswordStore({ database, clock: systemClock, hashKey: text => text, onChange() {} })
      const actor = { id: 'admin', keyHash: '' }
      for (const id of ['a\0b', '\ud800', 'x']) expect(await passwords.withdrawLink(id, actor)).toBe(false)
      await database.close()
      await made.remove()
    })
  })
