/** Keys that end soon have one reminder for each stage, over all replicas. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { remind } from './key-reminders.ts'
import { bareKey } from '../core/caller.ts'
import type { Mail } from '../core/mail.ts'
import { noDirectory, unlimited } from '../core/tenancy/tenancy.ts'
import type { NewKey } from '../core/tenancy/tenancy-store.ts'
import type { Logger } from '../telemetry/log.ts'
import { testServers } from '../store/database/database-fixture.ts'
import type { TestDatabase } from '../store/database/database-fixture.ts'
import { openDatabase } from '../store/database/open.ts'
import type { Database } from '../store/database/open.ts'
import { createTenancyStore } from '../store/tenancy/store.ts'
import { createKeyReminderStore } from '../store/keys/key-reminders.ts'
import { dayMs } from '../lib/clock.ts'

const actor = { id: 'admin', keyHash: 'hash' }

for (const server of testServers('key reminders'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    const clock = { nowMs: 0, epochMs: () => clock.nowMs }
    const settings = {
      maxAgeMs: null as number | null,
      graceMs: 2 * dayMs,
      reminderStagesMs: [7 * dayMs, dayMs],
      webhookUrls: ['http://127.0.0.1:1/keys'],
      alertEmails: ['ops@example.com'],
    }
    beforeEach(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      clock.nowMs = 1000 * dayMs
      settings.maxAgeMs = null
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })
    const add = (id: string, fields: Partial<NewKey> = {}) =>
      createTenancyStore({ database, clock }).change(actor, tx =>
        tx.insertKey({
          ...bareKey,
          id,
          hash: `h-${id}`,
          hint: 'sk-...abcd',
          formerHash: null,
          formerEndMs: null,
          ...fields,
        }),
      )
    /** What one replica reports when it looks now. */
    const reported = async (): Promise<string[]> => {
      const heard: string[] = []
      const logger = { warn: (message: string, fields: { id: string }) => heard.push(`${message}: ${fields.id}`) }
      await remind({
        store: createKeyReminderStore(database),
        clock,
        logger: logger as unknown as Logger,
        mailer: undefined,
        deliver: () => {},
        settings: () => settings,
      })
      return heard.toSorted()
    }
    const dayOf = (day: number): void => void (clock.nowMs = (1000 + day) * dayMs)

    test('a key that ends has one reminder at each stage, over all replicas', async () => {
      await add('a', { expiresAtMs: 1010 * dayMs })
      await add('never')
      await add('short', { expiresAtMs: 1000.5 * dayMs })
      expect(await reported()).toEqual([])
      dayOf(3)
      const replicas = await Promise.all([reported(), reported(), reported()])
      expect(replicas.flat()).toEqual([`a key ends soon: a:expiry@${1010 * dayMs}-${7 * dayMs}`])
      expect(await reported()).toEqual([])
      dayOf(9.5)
      expect(await reported()).toEqual([`a key ends soon: a:expiry@${1010 * dayMs}-${dayMs}`])
      dayOf(11)
      expect(await reported()).toEqual([])
    })

    test('another end is reported anew, a blocked or deleted key not at all', async () => {
      const tenancy = createTenancyStore({ database, clock })
      for (const id of ['moved', 'blocked', 'deleted', 'of-blocked']) await add(id, { expiresAtMs: 1008 * dayMs })
      await tenancy.change(actor, async tx => {
        await tx.insert('user', {
          ...unlimited,
          ...noDirectory,
          objectPermission: null,
          userName: null,
          id: 'gone',
          alias: null,
          models: [],
          metadata: {},
          blocked: true,
          email: 'gone@example.com',
          role: 'internal_user',
          ssoUserId: null,
        })
        await tx.updateKey('of-blocked', { userId: 'gone' })
        await tx.updateKey('blocked', { blocked: true })
        await tx.deleteKey('deleted')
      })
      dayOf(2)
      expect(await reported()).toHaveLength(1)
      await tenancy.change(actor, tx => tx.updateKey('moved', { expiresAtMs: 1008.5 * dayMs }))
      expect(await reported()).toEqual([`a key ends soon: moved:expiry@${1008.5 * dayMs}-${7 * dayMs}`])
    })

    test('a text is reported before it is due and when it is; a new text begins anew', async () => {
      const { rotateByMs } = await add('r', { rotationInterval: '30d' })
      expect(rotateByMs).toBe(1030 * dayMs)
      dayOf(29.5)
      expect(await reported()).toEqual([
        `the text of a key has to be replaced soon: r:rotation@${1030 * dayMs}-${dayMs}`,
      ])
      dayOf(31)
      expect(await reported()).toEqual([
        `the text of a key is too old and will be refused: r:rotation@${1030 * dayMs}-0`,
      ])
      const tenancy = createTenancyStore({ database, clock })
      const renewed = await tenancy.change(actor, tx => tx.updateKey('r', { hash: 'another' }))
      expect([renewed.textSinceMs, renewed.rotateByMs]).toEqual([1031 * dayMs, 1061 * dayMs])
      expect(await reported()).toEqual([])
      expect((await tenancy.change(actor, tx => tx.updateKey('r', { rotationInterval: null }))).rotateByMs).toBeNull()
    })

    test('the maximum age holds for every key, also for those of a program that did not write it', async () => {
      await add('old')
      await database.sql`update virtual_keys set text_since_ms = null`
      settings.maxAgeMs = 90 * dayMs
      dayOf(85)
      expect(await reported()).toEqual([
        `the text of a key has to be replaced soon: old:age@${1090 * dayMs}-${7 * dayMs}`,
      ])
      dayOf(91)
      expect(await reported()).toEqual([`the text of a key is too old and will be refused: old:age@${1090 * dayMs}-0`])
    })

    test('more keys than one query brings are all reported', async () => {
      for (let at = 0; at < 205; at++) await add(`k${at}`, { expiresAtMs: 1010 * dayMs })
      dayOf(5)
      expect(await reported()).toHaveLength(205)
    })

    test('webhooks and mail get the key, its owner and the moment', async () => {
      await add('m', { expiresAtMs: 1010 * dayMs, alias: 'batch', teamId: 't' })
      dayOf(5)
      const alerts: { event: object; webhookUrls: readonly string[]; mail: Mail | undefined }[] = []
      await remind({
        store: createKeyReminderStore(database),
        clock,
        logger: { warn() {} } as unknown as Logger,
        mailer: undefined,
        deliver: alert => alerts.push(alert),
        settings: () => settings,
      })
      expect(alerts).toMatchObject([
        {
          event: {
            event: 'key_expires',
            key_id: 'm',
            key_alias: 'batch',
            team_id: 't',
            due_at: new Date(1010 * dayMs).toISOString(),
          },
          webhookUrls: settings.webhookUrls,
          mail: { to: ['ops@example.com'], subject: 'Key sk-...abcd (batch): a key ends soon' },
        },
      ])
    })
  })
