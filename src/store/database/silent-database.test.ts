/** A database that is known to be silent is asked nothing by requests; what has to be kept alive insists. */
import { expect, test } from 'bun:test'
import type { SQL } from 'bun'
import { systemClock as clock } from '../../lib/clock.ts'
import { Secret } from '../../lib/secret.ts'
import { countCacheHours } from '../answers/cache-hours.ts'
import { createKeyStore } from '../keys/keys.ts'
import { LedgerReader } from '../ledger/reads/ledger-reader.ts'
import { createBudgetSurvey } from '../limits/budget-survey.ts'
import { openBudgetSpend } from '../limits/budget-table.ts'
import { ConfiguredObjects } from '../objects/configured-objects.ts'
import { createAssistantStore } from '../objects/assistants.ts'
import { createConversationStore } from '../objects/conversations.ts'
import { createFileStore } from '../objects/files.ts'
import { createIdempotentRequests } from '../objects/idempotent-requests.ts'
import { createResponseStore } from '../objects/responses.ts'
import { DeviceSignIns } from '../sign-in/device-sign-ins.ts'
import { createPasswordStore } from '../sign-in/passwords.ts'
import { createSessionStore } from '../sign-in/sessions.ts'
import { createSignInReturns } from '../tenancy/sign-in-returns.ts'
import { createTenancyStore } from '../tenancy/store.ts'
import { guardOf } from './database-fixture.ts'
import type { Database } from './open.ts'

function start() {
  let asked = 0
  const hang = () => {
    asked++
    return new Promise<never>(() => {})
  }
  const sql = Object.assign(hang, { unsafe: hang, begin: hang }) as unknown as SQL
  const database: Database = { sql, kind: 'postgres', isSilent: () => true, close: async () => {} }
  const guard = guardOf(database)
  const report = () => {}
  const ring = () => {
    throw new Error('nothing is sealed here')
  }
  const keys = { ringToEncrypt: ring, ringToDecrypt: ring, open: ring } as never
  const parts = { database, guard, clock, report }
  const files = createFileStore({ ...parts, writer: { name: 'writer' } as never })
  const conversations = createConversationStore({ ...parts, keys, retentionMsMax: () => null })
  const idempotent = createIdempotentRequests(parts)
  const responses = createResponseStore(parts)
  const stop = () => [files, conversations, idempotent, responses].forEach(store => store.stop())
  const assistants = createAssistantStore(database, guard)
  return { database, keys, asked: () => asked, files, conversations, idempotent, responses, assistants, stop }
}

const request = {
  id: 'id',
  keyId: 'key',
  fingerprint: 'print',
  owner: 'owner',
  sealingKey: new Secret('0'.repeat(64)),
}

test('requests for stored objects are refused at once, with a time to come again, and ask nothing', async () => {
  const { files, conversations, idempotent, responses, assistants, stop, asked } = start()
  const refused = [
    () => files.find('file', 'file-1', 'key'),
    () => files.admit('key'),
    () => files.delete('file-1'),
    () => assistants.find('thread', 'thread_1', 'key'),
    () => assistants.insert([]),
    () => assistants.append('thread_1', []),
    () => assistants.delete('thread_1'),
    () => conversations.find({ keyId: 'key', id: 'conv_1' }),
    () => conversations.messages({ keyId: 'key', id: 'conv_1' }),
    () => conversations.delete({ keyId: 'key', id: 'conv_1' }),
    () => idempotent.claim(request),
    () => idempotent.look(request),
    () => responses.find('key', 'resp_1'),
  ]
  await expectRefused(refused)
  expect(asked()).toBe(0)
  stop()
})

async function expectRefused(requests: readonly (() => unknown)[]): Promise<void> {
  for (const ask of requests)
    expect(await (async () => await ask())().catch((error: unknown) => error)).toMatchObject({
      kind: 'overloaded',
      status: 503,
      retryAfterMs: 1000,
    })
}

test('so are requests that need keys, teams, sessions, budgets or the ledger', async () => {
  const { database, keys: encryption, stop, asked } = start()
  const options = { database, clock, hashKey: (text: string) => text, onChange() {}, revoke: async () => false }
  const keys = createKeyStore(database)
  const tenancy = createTenancyStore(options)
  const sessions = createSessionStore(options)
  const passwords = createPasswordStore(options)
  const signIns = new DeviceSignIns(options)
  const returns = createSignInReturns(database, clock)
  const survey = createBudgetSurvey({ database, clock })
  const configured = new ConfiguredObjects({ database, clock, keys: encryption })
  const cacheHours = countCacheHours({
    database,
    clock,
    counts: () => ({ hits: new Map(), misses: 1, savedNanoUsd: 0n }),
  })
  const reader = new LedgerReader({
    settings: () => ({ databaseUrl: '', openedFile: undefined }),
    report() {},
    isSilent: () => true,
  })
  await expectRefused([
    () => keys.find({ id: 'key' }),
    () => keys.list({ limit: 1, offset: 0 } as never),
    () => tenancy.findKeyOfText('hash'),
    () => tenancy.find('customer', 'c'),
    () => tenancy.change({ id: 'admin', keyHash: '' }, async () => {}),
    () => sessions.find('hash'),
    () => sessions.revokeAllOf({ userId: 'u' }, { id: 'u', keyHash: '' }),
    () => passwords.passwordOf('u'),
    () => passwords.claimLink('token', 'hash'),
    () => signIns.take('code'),
    () => signIns.isLive('id'),
    () => returns.take('state', 0),
    () => survey.one('team', 't', { endUser: null } as never),
    () => configured.refresh(),
    () => cacheHours.since(0),
    () => reader.ask('usage', {} as never),
  ])
  expect(asked()).toBe(0)
  const ledger = { flush: async () => true, isReplayed: true }
  const spend = openBudgetSpend({ database, ledger, writer: 'writer' })
  expect(String(await spend.read('key:a', 0, true).catch(String))).toContain('the database does not answer')
  expect(asked()).toBe(0)
  // Sums of the cache are written in the end, where the database answers.
  void cacheHours.stop()
  stop()
})

test('leases ask a silent database all the same', () => {
  const { files, conversations, assistants, stop, asked } = start()
  void files.releaseBatches('owner').catch(() => {})
  void assistants.renew(['run_1'], 0).catch(() => {})
  void conversations.renew(['msg_1'], 0).catch(() => {})
  expect(asked()).toBeGreaterThanOrEqual(3)
  stop()
})

test('an answer does not wait until its record is stored, which is asked for all the same', async () => {
  const { idempotent, stop, asked } = start()
  const answer = { status: 200, headers: {}, body: new Uint8Array(1) }
  const ends = [
    () => idempotent.answered(request, answer),
    () => idempotent.lost(request),
    () => idempotent.forget(request),
  ]
  for (const end of ends) expect(String(await end().catch(String))).toContain('the database does not answer')
  expect(asked()).toBe(ends.length)
  stop()
})
