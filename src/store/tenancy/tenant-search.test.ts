/** What directories search by is answered by an index, however many users there are. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { conditionOf } from '../../access/directory/search.ts'
import { groupType, userType } from '../../access/directory/schemas.ts'
import { parseFilter } from '../../lib/scim/path.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { searchText } from './tenant-search.ts'
import { Where } from './where.ts'

const filters: readonly [type: 'user' | 'team', filter: string][] = [
  ['user', 'id eq "x"'],
  ['user', 'userName eq "X@example.com"'],
  ['user', 'externalId eq "x"'],
  ['user', 'emails[type eq "work"].value eq "x@example.com"'],
  ['user', 'userName eq "x@example.com" and active eq true'],
  ['team', 'displayName eq "X"'],
  ['team', 'externalId eq "x"'],
  ['team', 'id eq "x" and members eq "y"'],
  ['team', 'members[value eq "y"]'],
]

for (const server of testServers('conditions'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    beforeAll(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
    })
    afterAll(async () => {
      await database.close()
      await made.remove()
    })

    test.each(filters)('%s: %s', async (kind, filter) => {
      const where = new Where()
      const text = searchText(where, kind, conditionOf(kind === 'user' ? userType : groupType, parseFilter(filter)))
      const table = kind === 'user' ? 'users' : 'teams'
      const select = `select id from ${table} where ${text.replaceAll(/\$\d+/g, () => `'1'`)}`
      if (database.kind === 'sqlite') {
        const plan = (await database.sql.unsafe(`explain query plan ${select}`)) as { detail: string }[]
        const steps = plan.map(one => one.detail)
        expect(steps.filter(step => step.startsWith(`SCAN ${table}`))).toEqual([])
        expect(steps.some(step => step.includes('USING INDEX') || step.includes('INDEX'))).toBeTrue()
      } else
        await database.sql.begin(async tx => {
          // An empty table would be read whole: the question is whether an index can answer.
          await tx`set local enable_seqscan = off`
          const plan = (await tx.unsafe(`explain ${select}`)) as Record<string, string>[]
          const steps = plan.map(one => Object.values(one)[0]!)
          expect(steps.filter(step => step.includes(`Seq Scan on ${table}`))).toEqual([])
        })
    })
  })
