/** A database that is known to be silent is asked nothing by requests; what has to be kept alive insists. */
import { expect, test } from 'bun:test'
import type { SQL } from 'bun'
import { systemClock as clock } from '../../lib/clock.ts'
import { Secret } from '../../lib/secret.ts'
import type { Database } from '../database/open.ts'
import { guardOf } from '../database/database-fixture.ts'
import { createAssistantStore } from './assistants.ts'
import { createConversationStore } from './conversations.ts'
import { createFileStore } from './files.ts'
import { createIdempotentRequests } from './idempotent-requests.ts'
import { createResponseStore } from './responses.ts'

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
  return { files, conversations, idempotent, responses, assistants, stop, asked: () => asked }
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
  for (const ask of refused)
    expect(await (ask() as Promise<unknown>).catch((error: unknown) => error)).toMatchObject({
      kind: 'overloaded',
      status: 503,
      retryAfterMs: 1000,
    })
  expect(asked()).toBe(0)
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
