/** Which refusals have a row of their own in the audit log, and which are counted. */
import { expect, test } from 'bun:test'
import type { RefusedSignIn } from '../core/sign-in/sign-in.ts'
import { TimerWheel } from '../lib/timer-wheel.ts'
import { RefusalRecord } from './refusal-record.ts'

const clock = { nowMs: 0, monotonicMs: () => clock.nowMs, epochMs: () => clock.nowMs }
const timers = new TimerWheel(clock)

function recordInto(rows: RefusedSignIn[], rowsOfCommits: number[] = []) {
  return new RefusalRecord(timers, {
    async recordRefusals(refusals) {
      rows.push(...refusals)
      rowsOfCommits.push(refusals.length)
    },
  })
}

const refusal = (userId: string | null, clientAddress: string): RefusedSignIn => ({
  userId,
  reason: 'wrong-password',
  clientAddress,
})

test('a few refusals of an account have a row each, further ones of a minute one together, with their number', async () => {
  const rows: RefusedSignIn[] = []
  const record = recordInto(rows)
  for (let at = 0; at < 1000; at++) await record.add('ann', refusal('ann-id', `10.0.0.${at % 20}`))
  await record.add('bob', refusal('bob-id', '10.0.0.1'))
  expect(rows.filter(row => row.userId === 'ann-id')).toHaveLength(10)
  expect(rows.filter(row => row.userId === 'bob-id')).toHaveLength(1)
  await record.flush()
  const [last, ...others] = rows.filter(row => row.further)
  expect([others, last!.userId, last!.further!.count, last!.further!.addresses.length]).toEqual([[], 'ann-id', 990, 10])
  expect(JSON.stringify(rows)).not.toContain('"ann"')
  // The next minute begins anew.
  await record.add('ann', refusal('ann-id', '10.0.0.1'))
  expect(rows.at(-1)!.further).toBeUndefined()
})

test('refusals of very many accounts and addresses are a bounded number of rows, and none is lost from their sum', async () => {
  const rows: RefusedSignIn[] = []
  const rowsOfCommits: number[] = []
  const record = recordInto(rows, rowsOfCommits)
  for (let at = 0; at < 20_000; at++)
    await record.add(`name-${at}`, refusal(at % 2 === 0 ? null : `user-${at}`, `10.${at >> 8}.0.${at & 255}`))
  await record.flush()
  expect(rows.length).toBeLessThan(1200)
  expect(rows.reduce((sum, row) => sum + (row.further?.count ?? 1), 0)).toBe(20_000)
  // The last ones together, and not too many at once.
  expect(rowsOfCommits.slice(100)).toEqual(Array<number>(20).fill(50))
})

test('whether there is such a user changes nothing of when a row is written', async () => {
  const written = async (userId: string | null) => {
    const rows: RefusedSignIn[] = []
    const record = recordInto(rows)
    const after: number[] = []
    for (let at = 0; at < 15; at++) {
      await record.add('name', refusal(userId, '10.0.0.1'))
      after.push(rows.length)
    }
    return after
  }
  expect(await written('ann')).toEqual(await written(null))
})
