/** Conversations that the gateway keeps: asked, followed, stopped, searched and deleted, by their owner alone. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Browser } from './browser.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let key: string
    beforeAll(async () => {
      const MODELGATE_ENCRYPTION_KEY = 'an encryption key of more than 32 characters'
      gateway = await startGateway({ backend, environment: { MODELGATE_ENCRYPTION_KEY } })
      key = await gateway.key()
    })
    afterAll(() => gateway?.stop())

    const send = (method: string, path: string, body?: object, asker = key) =>
      fetch(`${gateway.url}/chat${path}`, {
        method,
        headers: { authorization: `Bearer ${asker}` },
        ...(body && { body: JSON.stringify(body) }),
      })
    const ask = async (method: string, path: string, body?: object, asker = key): Promise<Json> => {
      const response = await send(method, path, body, asker)
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return JSON.parse(text)
    }
    const begin = async (text: string, model = 'chat-model', parent_id: string | null = null) => {
      const { id } = await ask('POST', '/conversations', {})
      const made = await ask('POST', `/conversations/${id}/messages`, { text, models: [model], parent_id })
      return { id: String(id), question: made.message as Json, answer: made.answers[0] as Json }
    }
    /** Waits for the end of the answer, as a page does. */
    const end = async (id: string, answer: Json): Promise<Json> => {
      const text = await (await send('GET', `/conversations/${id}/messages/${answer.id}/events`)).text()
      const messages = text.split('\n\n').filter(event => event.startsWith('event: message'))
      return JSON.parse(messages.at(-1)!.split('data: ')[1]!)
    }

    test('an answer is made without a waiting client, is an ordinary call, and knows its cost', async () => {
      const { id, answer } = await begin('say: the quick brown fox')
      const ended = await end(id, answer)
      expect(ended.status).toBe('completed')
      expect(ended.content.text).toBe('the quick brown fox')
      const [row] = await gateway.rows(`&request_id=${ended.content.call_id}`)
      expect(Number(row!.cost_nano_usd) / 1e9).toBe(ended.content.cost)
      expect(ended.content.cost).toBeGreaterThan(0)
      const whole = await ask('GET', `/conversations/${id}`)
      expect(whole.messages.map((one: Json) => one.role)).toEqual(['user', 'assistant'])
      expect(whole.title).toBe('say: the quick brown fox')
    })

    test('a reload in the middle finds the rest of the answer', async () => {
      const { id, answer } = await begin('tokens: 30', 'fault/sim#token-ms;ms=40')
      const first = await send('GET', `/conversations/${id}/messages/${answer.id}/events`)
      const reader = first.body!.getReader()
      await reader.read()
      await reader.cancel()
      expect((await ask('GET', `/conversations/${id}`)).messages[1].status).toBe('running')
      expect((await end(id, answer)).status).toBe('completed')
    })

    test('a stopped answer keeps what has come', async () => {
      const { id, answer } = await begin('tokens: 2000', 'fault/sim#token-ms;ms=20')
      await ask('POST', `/conversations/${id}/messages/${answer.id}/stop`)
      expect((await end(id, answer)).status).toBe('stopped')
    })

    test('a question is answered again beside the first answer, and a refusal stands in its answer', async () => {
      const { id, question, answer } = await begin('say: one')
      await end(id, answer)
      const again = await ask('POST', `/conversations/${id}/messages/${question.id}/answers`, { models: ['nobody'] })
      const failed = await end(id, again.answers[0])
      expect([failed.status, failed.parent_id]).toEqual(['failed', question.id])
      expect(failed.content.error.message).not.toBe('')
      const unknown = await send('POST', `/conversations/${id}/messages/${question.id}/answers`, { models: ['x'] })
      expect(unknown.status).toBe(404)
    })

    test('titles and messages are found by their words, renamed and exported; no file of the database has them', async () => {
      const { id, answer } = await begin('say: a canary sings')
      await end(id, answer)
      await ask('PATCH', `/conversations/${id}`, { title: 'Birds' })
      const { data } = await ask('GET', '/conversations?search=canary%20SINGS')
      expect(data.map((one: Json) => [one.id, one.title])).toEqual([[id, 'Birds']])
      const { markdown } = await ask('GET', `/conversations/${id}/export?format=markdown`)
      expect(markdown).toContain('# Birds')
      expect(markdown).toContain('a canary sings')
      for (const file of readdirSync(gateway.dataDirectory, { recursive: true, withFileTypes: true }))
        if (file.isFile()) expect(readFileSync(join(file.parentPath, file.name)).includes('a canary sings')).toBe(false)
    })

    test('what a deleted user has kept goes with the user', async () => {
      await gateway.admin('/user/new', { user_id: 'iris', auto_create_key: false })
      await gateway.admin('/sign-in/password', { user_id: 'iris', new_password: 'a long enough one' })
      const signIn = async () => {
        const browser = new Browser(gateway.url)
        await browser.signIn('iris', 'a long enough one')
        return browser
      }
      const before = await signIn()
      const made = await before.json('POST', '/chat/conversations', { title: 'Mine' })
      expect((await before.json('GET', '/chat/conversations')).data).toMatchObject([{ id: made.id, title: 'Mine' }])
      await gateway.admin('/user/delete', { user_ids: ['iris'] })
      await gateway.admin('/user/new', { user_id: 'iris', auto_create_key: false })
      await gateway.admin('/sign-in/password', { user_id: 'iris', new_password: 'a long enough one' })
      expect((await (await signIn()).json('GET', '/chat/conversations')).data).toEqual([])
    })

    test('nobody else reads, counts or guesses a conversation, the operator included', async () => {
      const { id, answer } = await begin('say: secret')
      await end(id, answer)
      for (const other of [masterKey, await gateway.key()]) {
        expect((await ask('GET', '/conversations?search=secret', undefined, other)).data).toEqual([])
        const paths = ['', '/export', `/messages/${answer.id}/events`]
        for (const path of paths) {
          const foreign = await send('GET', `/conversations/${id}${path}`, undefined, other)
          const ghost = await send('GET', `/conversations/conv_0${path}`, undefined, other)
          expect([foreign.status, await foreign.text()]).toEqual([404, await ghost.text()])
        }
        expect((await send('DELETE', `/conversations/${id}`, undefined, other)).status).toBe(404)
        expect((await ask('DELETE', '/conversations', undefined, other)).deleted).toBe(0)
      }
      expect((await ask('GET', `/conversations/${id}`)).id).toBe(id)
    })
  })
