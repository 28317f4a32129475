/** Lists of keys, users, teams ... read an index: no page and no count goes through all rows of a table. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SQL } from 'bun'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { listAudit } from './audit.ts'
import { usesOfGuardrail } from './guardrail-uses.ts'
import { spentOf } from './spend.ts'
import { Where } from './where.ts'

test('pages of every list, their counts, and what was spent come from an index', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-lists-'))
  const database = await openDatabase(`sqlite:${join(folder, 'lists.sqlite')}`)
  await migrate(database)
  const plans: string[] = []
  const planOf = async (work: (sql: SQL) => Promise<unknown>) => {
    plans.length = 0
    await work(explaining).catch(() => {})
    return plans[0]
  }
  const explaining = {
    unsafe: async (text: string, values: unknown[]) => {
      const plan = (await database.sql.unsafe(`explain query plan ${text}`, values)) as { detail: string }[]
      plans.push(plan.map(one => one.detail).join('; '))
      return [{ total: 0, name: '' }]
    },
  } as unknown as SQL
  const after = { createdAtMs: 5, id: 'a' }
  for (const table of ['virtual_keys', 'users', 'teams', 'organizations', 'customers'])
    for (const page of [{ limit: 50 }, { limit: 50, after }]) {
      const where = new Where()
      if (table === 'virtual_keys') where.raw('deleted_at_ms is null')
      await where.page(explaining, table, page)
    }
  expect(plans).toHaveLength(20)
  for (const [at, plan] of plans.entries())
    if (at % 2 === 0) expect(plan).toMatch(/USING COVERING INDEX/)
    else {
      expect(plan).toMatch(/USING INDEX \w+_(there|created)/)
      expect(plan).not.toContain('TEMP B-TREE')
    }
  for (const kind of ['key', 'user', 'team', 'customer', 'tag'] as const)
    expect(await planOf(sql => spentOf(sql, kind, ['a', 'b']))).toMatch(
      /^SEARCH ledger_totals USING PRIMARY KEY \(scope=\? AND entity=\?\)/,
    )
  plans.length = 0
  await usesOfGuardrail(
    { unsafe: async (...of: [string, unknown[]]) => (await explaining.unsafe(...of), []) } as never,
    'x',
    10,
  )
  expect(plans).toEqual([
    expect.stringMatching(/^SCAN virtual_keys USING INDEX virtual_keys_guarded$/),
    expect.stringMatching(/^SCAN teams USING INDEX teams_guarded$/),
  ])
  // By whom, what, of which object, and of these together.
  for (const [asked, index] of [
    [{}, '(audit_log_time|sqlite_autoindex_audit_log)'],
    [{ fromMs: 1, toMs: 2 }, 'audit_log_time'],
    [{ actorId: 'x' }, 'audit_log_actor_id'],
    [{ action: 'deleted' }, 'audit_log_action'],
    [{ kind: 'key' }, 'audit_log_kind'],
    [{ objectId: 'x' }, 'audit_log_object_id'],
    [{ kind: 'key', objectId: 'x' }, 'audit_log_object'],
    [{ action: 'deleted', objectId: 'x', fromMs: 1 }, 'audit_log_(action|object_id)'],
  ] as const)
    for (const page of [{ limit: 50 }, { limit: 50, after }]) {
      plans.length = 0
      await listAudit(explaining, { ...asked, ...page }).catch(() => {})
      expect(plans).toHaveLength(2)
      for (const plan of plans) {
        expect(plan).toMatch(new RegExp(`INDEX ${index}\\w* ?`))
        expect(plan).not.toContain('TEMP B-TREE')
        if (Object.keys(asked).length > 0) expect(plan).not.toContain('SCAN')
      }
    }
  await database.close()
  rmSync(folder, { recursive: true })
})
