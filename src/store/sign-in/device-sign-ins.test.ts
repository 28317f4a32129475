/** Refresh tokens under a clock that is set, and what follows from a backup of the database. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { placeSqliteTemplate } from '../database/database-fixture.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { DeviceSignIns } from './device-sign-ins.ts'
import { createSessionStore } from './sessions.ts'
import { dayMs } from '../../lib/clock.ts'

const graceMs = 60_000
const owner = { userId: 'ada', teamId: null }

let folder: string
let nowMs: number
let database: Database
let signIns: DeviceSignIns
let signInId: string
const actor = { id: 'cli', keyHash: 'cli' }

beforeEach(async () => {
  nowMs = 1_800_000_000_000
  const clock = { epochMs: () => nowMs }
  folder = mkdtempSync(join(tmpdir(), 'modelgate-device-'))
  const file = join(folder, 'x.sqlite')
  placeSqliteTemplate(file)
  database = await openDatabase(`sqlite:${file}`)
  await migrate(database)
  const onChange = (subjects: readonly string[]) => signIns.drop(subjects)
  const sessions = createSessionStore({ database, clock, hashKey: text => text, onChange })
  signIns = new DeviceSignIns({ database, clock, revoke: id => sessions.revoke(id, actor) })
  const { session } = await sessions.create({
    userId: 'ada',
    method: 'device',
    credential: null,
    userAgent: 'a program',
    clientAddress: '10.0.0.1',
    idleMs: 14 * dayMs,
    lifetimeMs: 90 * dayMs,
  })
  signInId = session.id
  await signIns.begin(signInId, owner)
})
afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

const refresh = (count: number, reuse: 'end' | 'refuse' = 'end') => signIns.refresh({ signInId, count, graceMs, reuse })

test('the token of before is answered as at first within a minute, and ends the sign-in after it', async () => {
  expect(await refresh(0)).toEqual({ state: 'refreshed', count: 1, ...owner })
  nowMs += graceMs
  expect(await refresh(0)).toEqual({ state: 'refreshed', count: 1, ...owner })
  expect(await signIns.isLive(signInId)).toBe(true)
  nowMs += 1
  expect(await refresh(0)).toEqual({ state: 'reused', userId: 'ada' })
  expect(await signIns.isLive(signInId)).toBe(false)
  expect(await refresh(1)).toEqual({ state: 'ended' })
})

test('an older token ends the sign-in at once, however short ago it was used', async () => {
  await refresh(0)
  await refresh(1)
  expect(await refresh(0)).toMatchObject({ state: 'reused' })
  expect(await refresh(2)).toEqual({ state: 'ended' })
})

test('where reuse is only refused, the newest token goes on', async () => {
  await refresh(0)
  await refresh(1)
  expect(await refresh(0, 'refuse')).toMatchObject({ state: 'reused' })
  expect(await refresh(2, 'refuse')).toMatchObject({ state: 'refreshed', count: 3 })
})

test('a clock that jumps back does not open the grace again', async () => {
  await refresh(0)
  nowMs -= 10 * graceMs
  expect(await refresh(0)).toMatchObject({ state: 'reused' })
})

test('a clock that jumps ahead ends what is idle then, and one that is set right again brings it back', async () => {
  nowMs += 15 * dayMs
  expect(await refresh(0)).toEqual({ state: 'ended' })
  nowMs -= 15 * dayMs
  expect(await refresh(0)).toMatchObject({ state: 'refreshed' })
})

test('a sign-in that is used lives on to its absolute end', async () => {
  for (let count = 0; count < 9; count++) {
    expect(await refresh(count)).toMatchObject({ state: 'refreshed' })
    nowMs += 10 * dayMs
  }
  expect(await refresh(9)).toEqual({ state: 'ended' })
})

test('tokens that were given out after the backup of a restored database go on', async () => {
  expect(await refresh(7)).toMatchObject({ state: 'refreshed', count: 8 })
  expect(await refresh(6)).toMatchObject({ state: 'reused' })
})

test('a code is gone when its time is over, and the codes that wait are bounded: first go those of addresses that have many', async () => {
  const grant = { client: 'a', clientAddress: 'b', createdAtMs: nowMs, endMs: nowMs + 1000 }
  await signIns.ask({ ...grant, deviceCodeHash: 'one', userCode: 'BBBB-BBBB' })
  expect(await signIns.waiting('BBBB-BBBB')).toMatchObject({ client: 'a', userCode: 'BBBB-BBBB' })
  nowMs += 1000
  expect(await signIns.waiting('BBBB-BBBB')).toBeUndefined()
  expect(await signIns.take('one')).toEqual({ state: 'gone' })
  expect(await signIns.decide('BBBB-BBBB', owner, actor)).toBe(false)
  await database.sql.unsafe(`
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 10000)
    insert into device_grants (hash, user_code, client, client_address, created_at_ms, end_ms, state)
    select 'h' || n, 'c' || n, 'a', case when n <= 5000 then 'many' else 'address ' || n end, ${nowMs}, ${nowMs + 1000} + n, 'pending' from numbers`)
  expect(await signIns.decide('c1', owner, actor)).toBe(true)
  const late = { ...grant, createdAtMs: nowMs, endMs: nowMs + 20_000, deviceCodeHash: 'two', userCode: 'CCCC-CCCC' }
  await signIns.ask(late)
  expect(await signIns.waiting('CCCC-CCCC')).toBeDefined()
  expect(await signIns.take('h1')).toMatchObject({ state: 'approved' })
  // The oldest ones of the address that has many.
  for (const gone of ['h2', 'h1001']) expect(await signIns.take(gone)).toEqual({ state: 'gone' })
  for (const left of ['h1002', 'h5000', 'h5001']) expect(await signIns.take(left)).toEqual({ state: 'pending' })
})
