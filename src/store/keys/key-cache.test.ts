/** Known keys cost nothing to find; changed ones are forgotten at once; a slow load never brings one back. */
import { expect, test } from 'bun:test'
import type { Caller } from '../../core/caller.ts'
import { systemClock } from '../../lib/clock.ts'
import { versionOf } from '../tenancy/caller-loader.ts'
import { KeyCache } from './key-cache.ts'
import { DatabaseMoved } from '../../platform/sqlite-file-guard.ts'

const hash = 'h:sk-1'
const callerOf = (version: number, teamVersion = 0) =>
  ({ role: 'key', key: { id: 'id-1', teamId: 'red', version }, team: { version: teamVersion } }) as unknown as Caller
const caller = callerOf(0)
const subject = `key:${hash}`

function rig() {
  const stored = new Map([[hash, caller]])
  const changes: { subject: string; revision: number }[] = []
  const hashed: string[] = []
  let finds = 0
  let gate: Promise<void> = Promise.resolve()
  let failure: Error | undefined
  const reports: [boolean, string | undefined][] = []
  const directory = new KeyCache({
    clock: systemClock,
    hashKey: text => {
      hashed.push(text)
      return `h:${text}`
    },
    async load(asked) {
      finds++
      const found = stored.get(asked)
      await gate
      return found
    },
    subjectsOf: (name, { key }) => [`key:${name}`, `team:${key.teamId}`],
    versionOf,
    async changesSince(revision) {
      if (failure) throw failure
      const fresh = changes.filter(one => one.revision > revision)
      const revisions = fresh.map(one => one.revision)
      return { subjects: fresh.map(one => one.subject), revisions, revision: revisions.at(-1) ?? revision }
    },
    reportReachable: (reachable, reason) => void reports.push([reachable, reason]),
  })
  return {
    directory,
    stored,
    changes,
    reports,
    hashed,
    finds: () => finds,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    breakDatabase: (error = new Error('down')) => (failure = error),
    mendDatabase: () => (failure = undefined),
  }
}

test('a valid key is hashed no more once it is known; texts that are no keys are not kept', async () => {
  const { directory, hashed } = rig()
  await directory.lookup('sk-1')
  for (let call = 0; call < 3; call++) expect(directory.lookup('sk-1')).toBe(caller)
  expect(hashed).toEqual(['sk-1', 'sk-1'])
  await directory.lookup('sk-none')
  for (let call = 0; call < 3; call++) expect(directory.lookup('sk-none')).toBeUndefined()
  expect(hashed.filter(text => text === 'sk-none')).toHaveLength(4)
})

test('the first lookup asks the database once, later ones do not', async () => {
  const { directory, finds } = rig()
  const both = await Promise.all([directory.lookup('sk-1'), directory.lookup('sk-1')])
  expect(both).toEqual([caller, caller])
  expect(directory.lookup('sk-1')).toBe(caller)
  expect(finds()).toBe(1)
})

test('unknown keys are cached for a moment', async () => {
  const { directory, finds } = rig()
  expect(await directory.lookup('sk-x')).toBeUndefined()
  expect(directory.lookup('sk-x')).toBeUndefined()
  expect(finds()).toBe(1)
})

test('a key that another process deleted is gone after the next poll', async () => {
  const { directory, stored, changes } = rig()
  await directory.lookup('sk-1')
  stored.delete(hash)
  changes.push({ subject, revision: 1 })
  await directory.poll()
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

test('a change of what the key belongs to drops its caller, a change of anything else does not', async () => {
  const { directory, changes, finds } = rig()
  await directory.lookup('sk-1')
  changes.push({ subject: 'team:blue', revision: 1 })
  await directory.poll()
  expect(directory.lookup('sk-1')).toBe(caller)
  changes.push({ subject: 'team:red', revision: 2 })
  await directory.poll()
  expect(await directory.lookup('sk-1')).toBe(caller)
  expect(finds()).toBe(2)
})

test('a key that was used right after its own change stays known once a poll has seen it, also in an outage', async () => {
  const { directory, changes, finds, breakDatabase } = rig()
  directory.changed([subject, 'team:red'], 2)
  changes.push({ subject, revision: 1 }, { subject: 'team:red', revision: 2 })
  await directory.lookup('sk-1')
  await directory.poll()
  breakDatabase()
  await directory.poll()
  expect(directory.lookup('sk-1')).toBe(caller)
  expect(finds()).toBe(1)
})

test('a key that was read after its change at another process stays known once a poll has seen it, also in an outage', async () => {
  const { directory, stored, changes, finds, breakDatabase } = rig()
  stored.set(hash, callerOf(3, 4))
  changes.push({ subject, revision: 3 }, { subject: 'team:red', revision: 4 })
  await directory.lookup('sk-1')
  await directory.poll()
  breakDatabase()
  await directory.poll()
  expect(directory.lookup('sk-1')).toBe(stored.get(hash)!)
  expect(finds()).toBe(1)
})

test('a key that was read between two changes of another process is dropped', async () => {
  for (const changed of [subject, 'team:red']) {
    const { directory, stored, changes } = rig()
    stored.set(hash, callerOf(1, 2))
    await directory.lookup('sk-1')
    stored.delete(hash)
    changes.push({ subject: changed, revision: 3 })
    await directory.poll()
    expect(await directory.lookup('sk-1')).toBeUndefined()
  }
})

test('a session that was read after a change of its user, and ended before it, is dropped', async () => {
  const { directory, stored, changes } = rig()
  stored.set(hash, { ...callerOf(1, 2), session: { userId: 'u' } } as Caller)
  await directory.lookup('sk-1')
  stored.delete(hash)
  changes.push({ subject: 'team:red', revision: 2 })
  await directory.poll()
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

for (const isOwn of [true, false])
  test(`a database that comes back without the last ${isOwn ? 'own ' : ''}change: its next change under that revision counts`, async () => {
    const { directory, stored, changes, breakDatabase, mendDatabase } = rig()
    changes.push({ subject: 'key:other', revision: 1 })
    await directory.poll()
    if (isOwn) directory.changed([subject], 2)
    stored.set(hash, callerOf(2))
    await directory.lookup('sk-1')
    breakDatabase()
    await directory.poll()
    mendDatabase()
    await directory.poll()
    stored.set(hash, callerOf(0))
    await directory.lookup('sk-1')
    stored.delete(hash)
    changes.push({ subject, revision: 2 })
    await directory.poll()
    expect(await directory.lookup('sk-1')).toBeUndefined()
  })

test('a change of another process behind an own one of the same key drops it', async () => {
  const { directory, stored, changes } = rig()
  directory.changed([subject], 1)
  await directory.lookup('sk-1')
  stored.delete(hash)
  changes.push({ subject, revision: 2 })
  await directory.poll()
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

test('an own change from before a backup was put back hides no change of the backup', async () => {
  const { directory, stored, changes } = rig()
  changes.push({ subject: 'team:blue', revision: 8 })
  await directory.poll()
  directory.changed([subject], 9)
  changes.splice(0, 1, { subject: 'team:red', revision: 1 })
  await directory.poll()
  await directory.lookup('sk-1')
  stored.delete(hash)
  changes.push({ subject, revision: 2 })
  await directory.poll()
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

test('a load that was running when its key was revoked does not bring it back', async () => {
  const { directory, stored, hold } = rig()
  const open = hold()
  const loading = directory.lookup('sk-1')
  stored.delete(hash)
  directory.changed([subject])
  open()
  await loading
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

test('known keys go on while the database is away', async () => {
  const { directory, breakDatabase } = rig()
  await directory.lookup('sk-1')
  breakDatabase()
  await directory.poll()
  expect(directory.lookup('sk-1')).toBe(caller)
})

test('why the database does not answer is reported once, and that it answers again', async () => {
  const { directory, reports, breakDatabase, mendDatabase } = rig()
  await directory.poll()
  breakDatabase()
  await directory.poll()
  await directory.poll()
  mendDatabase()
  await directory.poll()
  expect(reports).toEqual([
    [false, 'Error: down'],
    [true, undefined],
  ])
})

test('polls that find nothing new forget nothing', async () => {
  const { directory, changes, finds } = rig()
  changes.push({ subject: 'key:other', revision: 6 }, { subject, revision: 7 })
  await directory.poll()
  await directory.lookup('sk-1')
  for (let turn = 0; turn < 3; turn++) await directory.poll()
  expect(directory.lookup('sk-1')).toBe(caller)
  changes.push({ subject: 'key:third', revision: 8 })
  await directory.poll()
  await directory.poll()
  await directory.lookup('sk-1')
  expect(finds()).toBeLessThan(3)
})

test('a file that was moved away may come back as a backup of a moment ago: no known key outlives it', async () => {
  const { directory, stored, breakDatabase, mendDatabase } = rig()
  await directory.poll()
  // Made and used between two polls, and not in the backup.
  expect(await directory.lookup('sk-1')).toBe(caller)
  stored.delete(hash)
  breakDatabase(new DatabaseMoved('gone'))
  await directory.poll()
  expect(directory.lookup('sk-1')).toBe(caller)
  mendDatabase()
  await directory.poll()
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

for (const [what, revisions] of [
  ['fewer', [1, 2]],
  ['other and more', [1, 2, 9, 10]],
  ['no', []],
] as const)
  test(`a restored backup with ${what} changes: no known key outlives it`, async () => {
    const { directory, stored, changes } = rig()
    for (const revision of [1, 2, 3, 4, 5]) changes.push({ subject: `key:${revision}`, revision })
    await directory.poll()
    expect(await directory.lookup('sk-1')).toBe(caller)
    // In the backup the key is not there yet.
    stored.delete(hash)
    changes.splice(0, changes.length, ...revisions.map(revision => ({ subject: `key:backup ${revision}`, revision })))
    await directory.poll()
    expect(await directory.lookup('sk-1')).toBeUndefined()
    // From here on its own revisions count.
    await Bun.sleep(1010)
    stored.set(hash, caller)
    expect(await directory.lookup('sk-1')).toBe(caller)
    stored.delete(hash)
    changes.push({ subject, revision: (revisions.at(-1) ?? 0) + 1 })
    await directory.poll()
    expect(await directory.lookup('sk-1')).toBeUndefined()
  })
