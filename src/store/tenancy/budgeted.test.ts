import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { tenancyStatements } from '../database/baseline/tenancy.ts'
import { Where } from './where.ts'

test('a list of what has a budget reads the partial index, in the order of its pages', async () => {
  const sql = new SQL('sqlite::memory:')
  for (const text of tenancyStatements) await sql.unsafe(text)
  const plans: string[] = []
  const explaining = {
    unsafe: async (text: string, values: unknown[]) => {
      const plan = (await sql.unsafe(`explain query plan ${text}`, values)) as { detail: string }[]
      plans.push(plan.map(one => one.detail).join('; '))
      return [{ total: 0 }]
    },
  }
  const where = new Where()
  where.budgeted()
  await where.page(explaining as unknown as SQL, 'teams', { limit: 50, after: { createdAtMs: 5, id: 'a' } })
  expect(plans).toHaveLength(2)
  for (const plan of plans) expect(plan).toContain('teams_surveyed')
  expect(plans[1]).not.toContain('TEMP B-TREE')
  await sql.close()
})
