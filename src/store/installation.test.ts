/** The secrets of an installation: made once, kept as hashes, weak ones refused. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { Secret } from '../lib/secret.ts'
import { testServers } from './database-fixture.ts'
import type { TestDatabase } from './database-fixture.ts'
import { openInstallation, openKeyHash } from './installation.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import type { Database } from './open.ts'

const strong = 'sk-Zq3vX8mB6nR1cW7yK2pT5dH0gJ4fL9aE'

for (const server of testServers('the installation'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database

    beforeEach(async () => {
      made = await server.create()
      database = await openDatabase(made.url)
      await migrate(database)
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })

    test('the first start makes a master key and a pepper; later starts know them and show nothing', async () => {
      const first = await openInstallation(database, {})
      expect(first.newMasterKey).toMatch(/^sk-[A-Za-z0-9_-]{43}$/)
      const second = await openInstallation(database, {})
      expect(second.newMasterKey).toBeUndefined()
      expect(second.isMasterKey(first.newMasterKey!)).toBe(true)
      expect(second.isMasterKey(`${first.newMasterKey}x`)).toBe(false)
      expect(second.isMasterKey('')).toBe(false)
      expect(second.hashKey('a')).toBe(first.hashKey('a'))
    })

    test('no secret stands in the database', async () => {
      const { newMasterKey } = await openInstallation(database, {})
      const given = await openInstallation(database, { masterKey: new Secret(strong), pepper: new Secret('p'.repeat(32)) })
      expect(given.isMasterKey(strong)).toBe(true)
      const rows = JSON.stringify(await database.sql`select name, value from installation`)
      for (const secret of [newMasterKey!, strong, 'p'.repeat(32)]) expect(rows).not.toContain(secret)
    })

    test('many replicas that start at once agree on one key, and one of them shows it', async () => {
      const others = await Promise.all(Array.from({ length: 4 }, () => openDatabase(made.url)))
      const opened = await Promise.all([database, ...others].map(one => openInstallation(one, {})))
      const shown = opened.flatMap(one => one.newMasterKey ?? [])
      expect(shown).toHaveLength(1)
      for (const one of opened) expect(one.isMasterKey(shown[0]!)).toBe(true)
      expect(new Set(opened.map(one => one.hashKey('k'))).size).toBe(1)
      for (const one of others) await one.close()
    })

    test('a given master key replaces the one before for good: that one may have leaked', async () => {
      const made = await openInstallation(database, {})
      expect(made.replacedMasterKey).toBe(false)
      const given = await openInstallation(database, { masterKey: new Secret(strong) })
      expect([given.newMasterKey, given.replacedMasterKey]).toEqual([undefined, true])
      expect([given.isMasterKey(strong), given.isMasterKey(made.newMasterKey!)]).toEqual([true, false])
      const again = await openInstallation(database, { masterKey: new Secret(strong) })
      expect(again.replacedMasterKey).toBe(false)
      const after = await openInstallation(database, {})
      expect([after.isMasterKey(strong), after.isMasterKey(made.newMasterKey!)]).toEqual([true, false])
      expect([after.newMasterKey, after.replacedMasterKey]).toEqual([undefined, false])
      const newest = `${strong}x`
      await openInstallation(database, { masterKey: new Secret(newest) })
      const last = await openInstallation(database, {})
      expect([strong, newest].map(last.isMasterKey)).toEqual([false, true])
    })

    test('a master key given at the very first start stays, and none is made', async () => {
      const first = await openInstallation(database, { masterKey: new Secret(strong) })
      expect([first.newMasterKey, first.replacedMasterKey]).toEqual([undefined, false])
      const second = await openInstallation(database, {})
      expect([second.newMasterKey, second.isMasterKey(strong)]).toEqual([undefined, true])
    })

    test('hashing keys alone neither makes a master key nor touches the one that is kept', async () => {
      const hashKey = await openKeyHash(database, undefined)
      expect(await database.sql`select name from installation where name = 'master_key_hash'`).toHaveLength(0)
      const opened = await openInstallation(database, {})
      expect(opened.hashKey('k')).toBe(hashKey('k'))
      await openKeyHash(database, undefined)
      expect((await openInstallation(database, {})).isMasterKey(opened.newMasterKey!)).toBe(true)
    })

    test('keys are hashed by HMAC-SHA256 under the pepper', async () => {
      const pepper = 'a pepper of thirty-two characters'
      const { hashKey } = await openInstallation(database, { masterKey: new Secret(strong), pepper: new Secret(pepper) })
      expect(hashKey('sk-é')).toBe(createHmac('sha256', pepper).update('sk-é').digest('hex'))
    })

    for (const [why, key] of [
      ['shorter than 32', 'sk-short'],
      ['shorter than 32', ''],
      ['too few different characters', `sk-${'ab'.repeat(20)}`],
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
