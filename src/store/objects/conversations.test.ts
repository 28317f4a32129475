/** Conversations in the database: how long they are kept, what goes with them, and how an answer may end. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { ConversationMessage } from '../../core/objects/conversations.ts'
import { KeyRing } from '../../lib/encryption.ts'
import { Secret } from '../../lib/secret.ts'
import { guardOf, testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase, toNumber } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { rotateConversations } from './conversation-rotation.ts'
import { createConversationStore } from './conversations.ts'
import type { RunningConversationStore } from './conversations.ts'
import { dayMs } from '../../lib/clock.ts'

const ringOf = (...texts: string[]) => {
  const ring = new KeyRing(texts.map(text => new Secret(text.repeat(40))))
  return { open: (sealed: string, place: string) => ring.open(sealed, place), ringToEncrypt: () => ring }
}

for (const server of testServers('conversations'))
  describe(server.name, () => {
    let place: TestDatabase
    let database: Database
    let store: RunningConversationStore
    let nowMs = 0
    let mostMs: number | null = null
    beforeEach(async () => {
      nowMs = 100 * dayMs
      mostMs = null
      place = await server.createMigrated()
      database = await openDatabase(place.url)
      store = makeStore('a')
    })
    afterEach(async () => {
      store.stop()
      await database.close()
      await place.remove()
    })

    const makeStore = (...keys: string[]) =>
      createConversationStore({
        database,
        clock: { epochMs: () => nowMs, monotonicMs: () => nowMs } as never,
        guard: guardOf(database),
        keys: ringOf(...keys),
        retentionMsMax: () => mostMs,
        report: problem => expect(problem).toBe(''),
      })
    const create = (id: string, keyId = 'key') =>
      store.create({
        id,
        keyId,
        title: id,
        settings: {},
        currentMessageId: null,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      })
    const message = (id: string, fields: Partial<ConversationMessage> = {}): ConversationMessage => ({
      id,
      conversationId: 'one',
      keyId: 'key',
      parentId: null,
      role: 'assistant',
      status: 'running',
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      content: { text: '' },
      ...fields,
    })
    const add = (...messages: ConversationMessage[]) =>
      store.add(
        { keyId: 'key', id: 'one' },
        {
          messages,
          attachments: [{ id: 'att', mediaType: 'text/plain', content: Buffer.from('a file') }],
          currentMessageId: messages[0]!.id,
          updatedAtMs: nowMs,
        },
      )
    const listed = async (keyId = 'key') =>
      (await store.list({ keyId, limit: 10, words: [] })).found.map(one => one.conversation.id)
    const count = async (table: string) =>
      toNumber(((await database.sql.unsafe(`select count(*) as n from ${table}`)) as { n: unknown }[])[0]!.n)
    const failed = (code: string, text = '') => ({ text, error: { code, message: code } })

    test('what a person no longer wants to keep is gone at once, and its rows, files and room with the next deletion', async () => {
      await create('one')
      await create('two', 'other')
      await add(message('m', { status: 'completed' }))
      await store.setRetentionDays('key', 7)
      nowMs += 6 * dayMs
      expect(await listed()).toEqual(['one'])
      nowMs += dayMs + 1
      expect(await listed()).toEqual([])
      expect(await store.find({ keyId: 'key', id: 'one' })).toBeUndefined()
      expect(await store.deleteExpired()).toBe(1)
      for (const table of ['conversation_messages', 'conversation_attachments']) expect(await count(table)).toBe(0)
      const [left] = (await database.sql`select objects, bytes from stored_totals where key_id = 'key'`) as object[]
      expect(Object.values(left!).map(toNumber)).toEqual([0, 0])
      expect(await listed('other')).toEqual(['two'])
    })

    test('the operator bounds how long all are kept, from the last message on', async () => {
      await create('one')
      await add(message('m'))
      mostMs = 3 * dayMs
      nowMs += 2 * dayMs
      expect((await store.finish(message('m', { status: 'completed', updatedAtMs: nowMs })))?.status).toBe('completed')
      nowMs += 2 * dayMs
      expect(await listed()).toEqual(['one'])
      nowMs += dayMs
      expect(await listed()).toEqual([])
      expect(await store.deleteExpired()).toBe(1)
    })

    test('an answer ends once; only one that counts as interrupted takes the end of its process', async () => {
      await create('one')
      await add(message('away'), message('done'), message('refused'))
      const end = (id: string, fields: Partial<ConversationMessage>) => store.finish(message(id, fields))
      expect((await end('away', { status: 'failed', content: failed('interrupted') }))?.status).toBe('failed')
      // A second look at it, and then the process that was away.
      expect(await end('away', { status: 'failed', content: failed('interrupted') })).toBeUndefined()
      expect((await end('away', { status: 'completed', content: { text: 'whole' } }))?.content.text).toBe('whole')
      await end('done', { status: 'completed', content: { text: 'first' } })
      expect(await end('done', { status: 'completed', content: { text: 'second' } })).toBeUndefined()
      await end('refused', { status: 'failed', content: failed('rate_limit_exceeded') })
      expect(await end('refused', { status: 'completed', content: { text: 'late' } })).toBeUndefined()
      const texts = (await store.messages({ keyId: 'key', id: 'one' })).map(one => one.content.text)
      expect(texts).toEqual(['whole', 'first', ''])
    })

    test('files are encrypted anew with the texts, and are read with the new key alone', async () => {
      await create('one')
      await add(message('m', { content: { text: 'hello' } }))
      expect(await rotateConversations(database, ringOf('b', 'a'))).toBe(4)
      store.stop()
      store = makeStore('b')
      const file = await store.attachment({ keyId: 'key', id: 'one' }, 'att')
      expect([file?.mediaType, file?.content.toString()]).toEqual(['text/plain', 'a file'])
      expect((await store.messages({ keyId: 'key', id: 'one' }))[0]!.content.text).toBe('hello')
      expect(await store.attachment({ keyId: 'other', id: 'one' }, 'att')).toBeUndefined()
    })
  })
