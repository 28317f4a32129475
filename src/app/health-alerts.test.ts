import { expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TroubleClaims } from '../core/trouble-claims.ts'
import { migrate } from '../store/database/migrate.ts'
import { openDatabase } from '../store/database/open.ts'
import { createTroubleClaims } from '../store/redis/trouble-claims.ts'
import { look, reportedAfterMs } from './health-alerts.ts'
import type { Trouble } from './health-alerts.ts'
import type { DatabaseState } from './store.ts'
import { diskFullness, troublesOf } from './troubles.ts'

type Parts = Parameters<typeof look>[0]

/** A replica with what it has reported. `claims` undefined = it is alone. */
function replicaOf(claims: TroubleClaims | undefined, clock: { nowMs: number }) {
  let troubles: Trouble[] = []
  let end: string | undefined
  const reported: { event: string; subject: string; event_message: string }[] = []
  const logged: string[] = []
  const log = (text: string) => logged.push(text)
  const parts: Parts = {
    clock: { epochMs: () => clock.nowMs },
    logger: { error: log, info: log, warn: log } as never,
    deliver: ({ event }) => void reported.push(event as never),
    claims,
    troubles: () => troubles,
    endOf: () => end,
    settings: () => ({ webhookUrls: ['https://alerts.example.com'], alertEmails: [] }),
  }
  const lasting: Parameters<typeof look>[1] = new Map()
  return {
    logged,
    /** What it reports when it sees these troubles. */
    async sees(now: Trouble[], ending?: string) {
      troubles = now
      end = ending
      await look(parts, lasting)
      return reported.splice(0).map(({ event, subject }) => `${event} ${subject}`)
    },
  }
}
const [down, slow] = [
  { id: 'deployment:a', message: 'a fails' },
  { id: 'redis', message: 'Redis is away' },
]
const disk: Trouble = { id: 'disk', message: 'the disk is full', isOwn: true }

test('a trouble is reported once when it has lasted for a minute, and its end where it was reported', async () => {
  const clock = { nowMs: 1_000_000 }
  const replica = replicaOf(undefined, clock)
  const after = (ms: number, now: Trouble[], ending?: string) => {
    clock.nowMs += ms
    return replica.sees(now, ending)
  }
  expect(await after(0, [down, slow])).toEqual([])
  expect(await after(reportedAfterMs - 1, [down])).toEqual([])
  expect(await after(1, [down])).toEqual(['trouble_began deployment:a'])
  expect(await after(reportedAfterMs * 10, [down, slow])).toEqual([])
  expect(await after(1, [slow])).toEqual(['trouble_ended deployment:a'])
  expect(await after(1, [])).toEqual([])
  // It begins anew: the time before does not count.
  expect(await after(1, [down])).toEqual([])
  expect(await after(reportedAfterMs, [down])).toEqual(['trouble_began deployment:a'])
  expect(await after(1, [], 'was switched off')).toEqual(['trouble_ended deployment:a'])
  const ends = ['deployment:a is well again', 'a fails', 'deployment:a was switched off']
  expect(replica.logged).toEqual(['a fails', ...ends])
})

/** Two replicas that agree over one database: Redis is away, as nothing listens on port 1. */
async function claimsOfTwo(clock: { readonly nowMs: number }) {
  const database = await openDatabase(`sqlite:${join(mkdtempSync(join(tmpdir(), 'modelgate-alerts-')), 'claims.db')}`)
  await migrate(database)
  const options = {
    redisUrl: 'redis://127.0.0.1:1',
    installation: 'x',
    database,
    clock: { epochMs: () => clock.nowMs },
  }
  return { database, claims: [createTroubleClaims(options), createTroubleClaims(options)] }
}

test('of replicas that see the same one reports its beginning, and the last one its end', async () => {
  const clock = { nowMs: 1_000_000 }
  const { database, claims } = await claimsOfTwo(clock)
  const [one, two] = claims.map(claim => replicaOf(claim, clock)) as [Replica, Replica]
  for (const replica of [one, two]) expect(await replica.sees([slow, down, disk])).toEqual([])
  clock.nowMs += reportedAfterMs
  const own = ['trouble_began deployment:a', 'trouble_began disk']
  expect(await one.sees([slow, down, disk])).toEqual(['trouble_began redis', ...own])
  expect(await two.sees([slow, down, disk])).toEqual(own)
  expect(await one.sees([])).toEqual(['trouble_ended deployment:a', 'trouble_ended disk'])
  expect(await two.sees([])).toEqual(['trouble_ended redis', 'trouble_ended deployment:a', 'trouble_ended disk'])
  for (const claim of claims) claim.close()
  await database.close()
})
type Replica = ReturnType<typeof replicaOf>

test('a replica that has reported a trouble and dies leaves its end to another one, which never had it', async () => {
  const clock = { nowMs: 1_000_000 }
  const { database, claims } = await claimsOfTwo(clock)
  const [dead, living] = claims.map(claim => replicaOf(claim, clock)) as [Replica, Replica]
  expect(await dead.sees([slow])).toEqual([])
  clock.nowMs += reportedAfterMs
  expect(await dead.sees([slow])).toEqual(['trouble_began redis'])
  expect(await living.sees([])).toEqual([])
  clock.nowMs += 60_001
  expect(await living.sees([])).toEqual(['trouble_ended redis'])
  expect(living.logged).toEqual(['redis is seen by no replica any more; the one that reported it has ended'])
  expect(await living.sees([])).toEqual([])
  for (const claim of claims) claim.close()
  await database.close()
})

test('a disk is nearly full below a twentieth of it and ten gigabytes', () => {
  const gigabyte = 1024 ** 3
  const of = (freeBytes: number, totalBytes: number) => diskFullness({ directory: '/data', freeBytes, totalBytes })
  expect(of(6 * gigabyte, 100 * gigabyte)).toBeUndefined()
  expect(of(20 * gigabyte, 1000 * gigabyte)).toBeUndefined()
  expect(of(4 * gigabyte, 100 * gigabyte)).toEqual({
    id: 'disk',
    isOwn: true,
    message: 'the disk of the data directory /data is nearly full: 4096 MiB are left',
  })
})

test('a database that takes no changes is the trouble of the database, not one of the ledger', () => {
  const troubles = (state: DatabaseState, failure: string | null) =>
    troublesOf({
      store: {
        databaseState: () => state,
        redis: undefined,
        ledger: { healthy: true, failure: () => failure } as never,
      },
      dataDirectory: '/nowhere',
      unwell: () => [],
    }).map(({ id, message }) => [id, message.slice(0, 32)])
  expect(troubles('read-only', 'cannot execute INSERT')).toEqual([['database', 'the database takes no changes (r']])
  expect(troubles('disconnected', 'no answer')).toEqual([['database', 'the database cannot be reached: ']])
  expect(troubles('connected', 'disk full')).toEqual([['ledger', 'rows of calls are not stored: di']])
  expect(troubles('connected', null)).toEqual([])
})
