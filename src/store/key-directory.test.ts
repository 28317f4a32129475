/** Known keys cost nothing to find; changed ones are forgotten at once; a slow load never brings one back. */
import { expect, test } from 'bun:test'
import type { KeyRecord } from '../core/ports.ts'
import { systemClock } from '../lib/clock.ts'
import { CachedKeyDirectory } from './key-directory.ts'

const record = { id: 'id-1', hash: 'h:sk-1' } as KeyRecord

function rig() {
  const stored = new Map([[record.hash, record]])
  const changes: { hash: string; revision: number }[] = []
  let finds = 0
  let gate: Promise<void> = Promise.resolve()
  let broken = false
  const directory = new CachedKeyDirectory({
    clock: systemClock,
    hashKey: text => `h:${text}`,
    store: {
      async find(by) {
        finds++
        const found = 'hash' in by ? stored.get(by.hash) : undefined
        await gate
        return found
      },
    },
    async changesSince(revision) {
      if (broken) throw new Error('down')
      const fresh = changes.filter(one => one.revision > revision)
      return { hashes: fresh.map(one => one.hash), revision: fresh.at(-1)?.revision ?? revision }
    },
    reportReachable: () => {},
  })
  return {
    directory, stored, changes,
    finds: () => finds,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    breakDatabase: () => (broken = true),
  }
}

test('the first look asks the database once, later ones nobody', async () => {
  const { directory, finds } = rig()
  const both = await Promise.all([directory.lookup('sk-1'), directory.lookup('sk-1')])
  expect(both).toEqual([record, record])
  expect(directory.lookup('sk-1')).toBe(record)
  expect(finds()).toBe(1)
})

test('strangers are remembered for a moment, not asked for again', async () => {
  const { directory, finds } = rig()
  expect(await directory.lookup('sk-x')).toBeUndefined()
  expect(directory.lookup('sk-x')).toBeUndefined()
  expect(finds()).toBe(1)
})

test('a key that another process deleted is gone after the next poll', async () => {
  const { directory, stored, changes } = rig()
  await directory.lookup('sk-1')
  stored.delete(record.hash)
  changes.push({ hash: record.hash, revision: 1 })
  await directory.poll()
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

test('a load that was under way when its key was revoked does not bring it back', async () => {
  const { directory, stored, hold } = rig()
  const open = hold()
  const loading = directory.lookup('sk-1')
  stored.delete(record.hash)
  directory.changed(record.hash)
  open()
  await loading
  expect(await directory.lookup('sk-1')).toBeUndefined()
})

test('known keys go on while the database is away', async () => {
  const { directory, breakDatabase } = rig()
  await directory.lookup('sk-1')
  breakDatabase()
  await directory.poll()
  expect(directory.lookup('sk-1')).toBe(record)
})
