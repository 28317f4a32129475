/** Hits of guardrails and of the cache are read from indexes of their own, newest first. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { testServers } from '../../database/database-fixture.ts'
import type { TestDatabase } from '../../database/database-fixture.ts'
import { openDatabase } from '../../database/open.ts'
import type { Database } from '../../database/open.ts'
import { exampleRow } from '../ledger-fixture.ts'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { ledgerStatement, readLedger } from './ledger-query.ts'
import { decodeRecord, encodeSettlement } from '../journal/ledger-record.ts'

const said = ['pii:mask(EMAIL_ADDRESS=1)', 'pii:pass,words:block', 'words:flag', 'judge:error', 'pii:pass', null]

for (const server of testServers('hits of the ledger'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let ledger: LedgerDatabase
    beforeAll(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      ledger = await openLedgerDatabase(made.url)
      const rows = said.map((guardrails, at) =>
        exampleRow({
          request_id: `r${at}`,
          started_at_ms: at,
          guardrails,
          cache_hit_kind: at % 2 === 0 ? 'exact' : null,
        }),
      )
      await ledger.insert(
        rows.map(row => {
          const record = decodeRecord(encodeSettlement(row))
          if (record?.kind !== 'settlement') throw new Error('no settlement')
          return record.values
        }),
      )
    })
    afterAll(async () => {
      await ledger.close()
      await database.close()
      await made.remove()
    })

    test('what only passed is no hit, and pages go on where they ended', async () => {
      const page = async (hits: 'guardrail' | 'cache', cursor?: string) => {
        const query = ledgerStatement({ hits, limit: 3, ...(cursor !== undefined && { cursor }) })
        const { rows, nextCursor } = await readLedger(ledger, query)
        return { ids: rows.map(row => row.request_id), nextCursor }
      }
      const first = await page('guardrail')
      expect(first.ids).toEqual(['r3', 'r2', 'r1'])
      expect(await page('guardrail', first.nextCursor!)).toEqual({ ids: ['r0'], nextCursor: null })
      expect((await page('cache')).ids).toEqual(['r4', 'r2', 'r0'])
    })

    test.each(['guardrail', 'cache'] as const)('%s: the index has the order, and no other row is read', async hits => {
      const { text, values } = ledgerStatement({ hits, limit: 50 })
      const index = `ledger_${hits}_hits`
      if (database.kind === 'sqlite') {
        const explained = await ledger.select({ text: `explain query plan ${text}`, values })
        expect(explained.map(one => String(one.detail))).toEqual([expect.stringContaining(index)])
        return
      }
      await database.sql.begin(async tx => {
        // An empty table would be read whole: the question is whether an index can answer.
        await tx`set local enable_seqscan = off`
        await tx`set local enable_bitmapscan = off`
        const plan = (await tx.unsafe(`explain ${text.replace('$1', '51')}`)) as Record<string, string>[]
        const steps = plan.map(one => Object.values(one)[0]!).join('\n')
        expect(steps).toContain(index)
        expect(steps).not.toContain('Sort')
      })
    })
  })
