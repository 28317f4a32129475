/** The order of all budgets: of few, of very many, and while they are read. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { SQL } from 'bun'
import { systemClock } from '../../lib/clock.ts'
import type { BudgetSettings } from '../../core/tenancy/budgets.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { makePlace } from '../ledger/ledger-fixture.ts'
import type { LedgerPlace } from '../ledger/ledger-fixture.ts'
import { createBudgetSurvey } from './budget-survey.ts'

const settings: BudgetSettings = {
  fit: 'refuse',
  unknownPrice: 'refuse',
  unownedLimits: 'refuse',
  reserveNanoUsd: 0,
  timeZone: 'Europe/Berlin',
  webhookUrls: [],
  alertEmails: [],
  all: null,
  endUser: null,
  providers: {},
}
/** More than a question waits for. */
const manyTeams = 3000

describe.each([
  ['SQLite', undefined],
  ...(process.env.TEST_DATABASE_URL ? [['Postgres', process.env.TEST_DATABASE_URL] as const] : []),
] as const)('%s', (_, url) => {
  let place: LedgerPlace
  let database: Database
  beforeAll(async () => {
    place = await makePlace(url)
    database = await openDatabase(place.databaseUrl)
  })
  afterAll(async () => {
    await database.close()
    await place.remove()
  })

  const addTeams = async (from: number, to: number) => {
    // Every column that may not be null.
    const columns = {
      id: (at: number) => `'team-${at}'`,
      created_at_ms: String,
      max_budget_nano_usd: () => '1000',
      budget_duration: () => "'30d'",
      ...Object.fromEntries(['created_by', 'updated_by'].map(name => [name, () => "''"])),
      ...Object.fromEntries(['models', 'member_permissions', 'tags', 'guardrails'].map(name => [name, () => "'[]'"])),
      ...Object.fromEntries(
        ['metadata', 'model_aliases', 'model_max_budget', 'directory_attributes'].map(name => [name, () => "'{}'"]),
      ),
      ...Object.fromEntries(['requests', 'tokens'].map(name => [`model_${name}_per_minute`, () => "'{}'"])),
      ...Object.fromEntries(
        ['blocked', 'blocked_by_directory', 'updated_at_ms', 'revision'].map(name => [name, () => '0']),
      ),
    }
    const values = Array.from({ length: to - from }, (_, at) => {
      const row = Object.values(columns).map(textOf => textOf(from + at))
      return `(${row.join(', ')})`
    })
    await database.sql.unsafe(`insert into teams (${Object.keys(columns).join(', ')}) values ${values.join(', ')}`)
  }
  const spend = async (team: string, nanoUsd: number, monthsAgo = 0) => {
    const now = new Date()
    // Midnight in Berlin, in winter or in summer.
    const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo, 1)
    for (const hours of [1, 2])
      await database.sql`insert into budget_spend (scope, window_start_ms, writer, spent_nano_usd)
        values (${`team:${team}`}, ${month - hours * 3_600_000}, 'one', ${nanoUsd})`
  }

  test('of few budgets each question knows all changes before it', async () => {
    const survey = createBudgetSurvey({ database, clock: systemClock })
    await addTeams(0, 3)
    await spend('team-1', 900)
    await spend('team-0', 5000, 1)
    const first = await survey.all(settings)
    expect(first.isComplete).toBe(true)
    expect(first.budgets.map(one => [one.id, one.share])).toEqual([
      ['team-1', 0.9],
      ['team-0', 0],
      ['team-2', 0],
    ])
    await addTeams(3, 4)
    survey.changed()
    // One survey for both, which began after the change.
    const [one, other] = await Promise.all([survey.all(settings), survey.all(settings)])
    expect(one.budgets.map(({ id }) => id)).toContain('team-3')
    expect(other.budgets.map(({ id }) => id)).toContain('team-3')
  })

  test('of very many the answer has those that were found, then all, and later the ones from before', async () => {
    await addTeams(4, manyTeams)
    const survey = createBudgetSurvey({ database, clock: systemClock })
    const first = await survey.all(settings)
    expect(first.isComplete).toBe(false)
    expect(first.budgets.length).toBeLessThan(manyTeams)
    let found = first
    while (!found.isComplete) {
      await Bun.sleep(1)
      found = await survey.all(settings)
    }
    expect(found.budgets).toHaveLength(manyTeams)
    expect(found.budgets[0]).toMatchObject({ id: 'team-1', share: 0.9 })
    survey.changed()
    expect((await survey.all(settings)).budgets).toBe(found.budgets)
  })

  test('a database that fails is told to those who ask, and asked again by the next', async () => {
    let isAway = true
    const unsafe = (...asked: Parameters<SQL['unsafe']>) =>
      isAway ? Promise.reject(new Error('away')) : database.sql.unsafe(...asked)
    const sql = { unsafe } as unknown as SQL
    const survey = createBudgetSurvey({ database: { ...database, sql }, clock: systemClock })
    expect(survey.all(settings)).rejects.toThrow('cannot be reached')
    await Bun.sleep(1)
    isAway = false
    expect((await survey.all(settings)).budgets.length).toBeGreaterThan(0)
  })
})
