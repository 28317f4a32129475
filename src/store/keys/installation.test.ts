/** The secrets of an installation: made once, kept as hashes, weak ones refused. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { Secret } from '../../lib/secret.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openInstallation, openKeyHash, resetMasterKey } from './installation.ts'
import type { Installation, InstallationOptions } from './installation.ts'
import { isMigrated } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'

const strong = 'sk-Zq3vX8mB6nR1cW7yK2pT5dH0gJ4fL9aE'

/** A whole start: what was shown, and whether the master key was replaced. */
async function start(
  database: Database,
  options: InstallationOptions = {},
): Promise<Installation & { shown?: string; replaced: boolean }> {
  const opened = await openInstallation(database, options)
  let shown: string | undefined
  let times = 0
  const { made, replaced } = await opened.keepMasterKey(key => {
    shown = key
    times++
  })
  expect([made, times]).toEqual([shown, 1])
  return { ...opened, ...(shown !== undefined && { shown }), replaced }
}

for (const server of testServers('the installation'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database

    beforeEach(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })

    test('the first start makes a master key and a pepper; later starts know them and show nothing', async () => {
      const first = await start(database)
      expect(first.shown).toMatch(/^sk-[A-Za-z0-9_-]{43}$/)
      const second = await start(database)
      expect(second.shown).toBeUndefined()
      expect(second.isMasterKey(first.shown!)).toBe(true)
      expect(second.isMasterKey(`${first.shown}x`)).toBe(false)
      expect(second.isMasterKey('')).toBe(false)
      expect(second.hashKey('a')).toBe(first.hashKey('a'))
    })

    test('no secret stands in the database', async () => {
      const { shown } = await start(database)
      const given = await start(database, { masterKey: new Secret(strong), pepper: new Secret('p'.repeat(32)) })
      expect(given.isMasterKey(strong)).toBe(true)
      const rows = JSON.stringify(await database.sql`select name, value from installation`)
      for (const secret of [shown!, strong, 'p'.repeat(32)]) expect(rows).not.toContain(secret)
    })

    test('many replicas that start at once agree on one key, and one of them shows it', async () => {
      // SQLite's lock makes its thread wait; its data directory has one process anyway.
      const count = server.name === 'SQLite' ? 0 : 4
      const others = await Promise.all(Array.from({ length: count }, () => openDatabase(made.url)))
      const opened = await Promise.all([database, ...others].map(one => start(one)))
      const shown = opened.flatMap(one => one.shown ?? [])
      expect(shown).toHaveLength(1)
      for (const one of opened) expect(one.isMasterKey(shown[0]!)).toBe(true)
      expect(new Set(opened.map(one => one.hashKey('k'))).size).toBe(1)
      for (const one of others) await one.close()
    })

    test('a start that fails, or cannot show its key, stores none: the next one shows another', async () => {
      await openInstallation(database, {})
      const unread = await openInstallation(database, {})
      const error = await unread
        .keepMasterKey(() => {
          throw new Error('cannot print')
        })
        .catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ message: 'cannot print' })
      expect(await database.sql`select name from installation where name = 'master_key_hash'`).toHaveLength(0)
      const next = await start(database)
      expect(next.isMasterKey(next.shown!)).toBe(true)
    })

    test('a key that was opened and not kept replaces nothing', async () => {
      const first = await start(database)
      const failed = await openInstallation(database, { masterKey: new Secret(strong) })
      expect([await failed.followMasterKey(), failed.isMasterKey(strong)]).toEqual(['none', true])
      expect((await start(database)).isMasterKey(first.shown!)).toBe(true)
    })

    test('a given master key replaces the one before for good: that one may have leaked', async () => {
      const made = await start(database)
      expect(made.replaced).toBe(false)
      const given = await start(database, { masterKey: new Secret(strong) })
      expect([given.shown, given.replaced]).toEqual([undefined, true])
      expect([given.isMasterKey(strong), given.isMasterKey(made.shown!)]).toEqual([true, false])
      const again = await start(database, { masterKey: new Secret(strong) })
      expect(again.replaced).toBe(false)
      const after = await start(database)
      expect([after.isMasterKey(strong), after.isMasterKey(made.shown!)]).toEqual([true, false])
      expect([after.shown, after.replaced]).toEqual([undefined, false])
      const newest = `${strong}x`
      await start(database, { masterKey: new Secret(newest) })
      const last = await start(database)
      expect([strong, newest].map(last.isMasterKey)).toEqual([false, true])
    })

    test('replicas that run follow the newest start, in both directions', async () => {
      const newest = `${strong}x`
      const one = await start(database, { masterKey: new Secret(strong) })
      expect(await one.followMasterKey()).toBe('none')
      const two = await start(database, { masterKey: new Secret(newest) })
      expect([await one.followMasterKey(), await one.followMasterKey()]).toEqual(['followed', 'none'])
      expect([strong, newest].map(one.isMasterKey)).toEqual([false, true])
      expect(one.masterKeyName()).toBe(two.masterKeyName())
      // One that starts with the old environment wins too.
      expect((await start(database, { masterKey: new Secret(strong) })).replaced).toBe(true)
      expect([await one.followMasterKey(), await two.followMasterKey()]).toEqual(['followed', 'followed'])
      expect([strong, newest].map(two.isMasterKey)).toEqual([true, false])
    })

    test('a restored backup brings no master key back that was replaced', async () => {
      await start(database, { masterKey: new Secret(strong) })
      const backup = (await database.sql`select name, value from installation`) as { name: string; value: string }[]
      const newest = `${strong}x`
      const one = await start(database, { masterKey: new Secret(newest) })
      const two = await start(database)
      for (const { name, value } of backup)
        await database.sql`update installation set value = ${value} where name = ${name}`
      expect([await one.followMasterKey(), await two.followMasterKey(), await one.followMasterKey()]).toEqual([
        'stored-again',
        'none',
        'none',
      ])
      for (const running of [one, two, await start(database)])
        expect([strong, newest].map(running.isMasterKey)).toEqual([false, true])
      // A backup of before there was one at all.
      await database.sql`delete from installation where name like 'master_key%'`
      expect(await two.followMasterKey()).toBe('stored-again')
      expect([strong, newest].map((await start(database)).isMasterKey)).toEqual([false, true])
    })

    test('a reset master key is shown before it is stored, and replicas that run follow', async () => {
      let shown = ''
      const reset = () => resetMasterKey(database, undefined, made => void (shown = made))
      await expect(reset()).rejects.toThrow('there is no master key yet')
      const running = await start(database, { masterKey: new Secret(strong) })
      await expect(
        resetMasterKey(database, undefined, () => {
          throw new Error('not shown')
        }),
      ).rejects.toThrow('not shown')
      expect(await running.followMasterKey()).toBe('none')
      await reset()
      expect(await running.followMasterKey()).toBe('followed')
      expect([strong, shown].map(running.isMasterKey)).toEqual([false, true])
      expect((await start(database)).isMasterKey(shown)).toBe(true)
    })

    test('looking whether a gateway has used a database changes nothing', async () => {
      expect(await isMigrated(database)).toBe(true)
      const empty = await server.create()
      const other = await openDatabase(empty.url)
      expect([await isMigrated(other), await isMigrated(other)]).toEqual([false, false])
      await other.close()
      await empty.remove()
    })

    test('white space around a master key is not part of it', async () => {
      const padded = await start(database, { masterKey: new Secret(` ${strong}\r\n`) })
      expect([padded.isMasterKey(strong), padded.isMasterKey(` ${strong}\r\n`)]).toEqual([true, false])
      expect((await start(database, { masterKey: new Secret(strong) })).replaced).toBe(false)
    })

    test('a master key given at the very first start stays, and none is made', async () => {
      const first = await start(database, { masterKey: new Secret(strong) })
      expect([first.shown, first.replaced]).toEqual([undefined, false])
      const second = await start(database)
      expect([second.shown, second.isMasterKey(strong)]).toEqual([undefined, true])
    })

    test('hashing keys alone neither makes a master key nor touches the one that is kept', async () => {
      const hashKey = await openKeyHash(database, undefined)
      expect(await database.sql`select name from installation where name = 'master_key_hash'`).toHaveLength(0)
      const opened = await start(database)
      expect(opened.hashKey('k')).toBe(hashKey('k'))
      await openKeyHash(database, undefined)
      expect((await start(database)).isMasterKey(opened.shown!)).toBe(true)
    })

    test('keys are hashed by HMAC-SHA256 under the pepper', async () => {
      const pepper = 'a pepper of thirty-two characters'
      const { hashKey } = await openInstallation(database, {
        masterKey: new Secret(strong),
        pepper: new Secret(pepper),
      })
      expect(hashKey('sk-é')).toBe(createHmac('sha256', pepper).update('sk-é').digest('hex'))
    })

    for (const [why, key] of [
      ['shorter than 32', 'sk-short'],
      ['shorter than 32', ''],
      ['too few different characters', `sk-${'ab'.repeat(20)}`],
      ['no client can send it', `${strong.slice(0, 20)} ${strong.slice(20)}`],
      ['no client can send it', `${strong}\u00e9`],
      ['no client can send it', `${strong}\u0000`],
      ['like an example', 'sk-1234qwertzuiopasdfghjklyxcvbnm56'],
      ['like an example', 'sk-test-qwertzuiopasdfghjklyxcvbnm5'],
      ['like an example', 'changeme-qwertzuiopasdfghjklyxcvbnm'],
    ] as const)
      test(`the master key '${key.slice(0, 12)}' is refused: ${why}`, async () => {
        const opening = openInstallation(database, { masterKey: new Secret(key) })
        expect(opening).rejects.toThrow(why)
        const error = await opening.catch((thrown: unknown) => thrown as Error)
        expect((error as Error).message).toContain('openssl rand')
        if (key !== '') expect((error as Error).message).not.toContain(key)
      })

    test('a short pepper is refused, with the remedy', async () => {
      const opening = openInstallation(database, { pepper: new Secret('short') })
      expect(opening).rejects.toThrow('MODELGATE_KEY_PEPPER is shorter than 32')
      await opening.catch(() => {})
    })
  })
