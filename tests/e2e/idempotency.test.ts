/** Requests with an `Idempotency-Key`: one upstream call, also when the client leaves, and its answer again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { SQL } from 'bun'
import { CountingUpstream } from '../support/upstreams/counting-upstream.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

const upstream = new CountingUpstream()
const config = `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k, input_cost_per_token: 0.001, output_cost_per_token: 0.002 }
  - model_name: ear
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: audio_transcription }
router_settings: { num_retries: 0 }
`
afterAll(() => upstream.stop())

for (const backend of backends())
  describe(`on ${backend.name}`, () => {
    let gateway: Gateway
    let key: string
    beforeAll(async () => {
      gateway = await startGateway({ config, backend })
      key = await gateway.key()
    })
    afterAll(() => gateway?.stop())
    beforeEach(() => upstream.clear())

    let names = 0
    const newName = () => `request-${++names}`
    const send = (
      name: string,
      body: Json | FormData,
      more: { path?: string; as?: string; signal?: AbortSignal } = {},
    ) =>
      fetch(`${gateway.url}${more.path ?? '/v1/chat/completions'}`, {
        method: 'POST',
        signal: more.signal,
        headers: {
          authorization: `Bearer ${more.as ?? key}`,
          'idempotency-key': name,
          ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
        },
        body: body instanceof FormData ? body : JSON.stringify(body),
      })
    const chat = (text: string, more: Json = {}): Json => ({
      model: 'chat',
      messages: [{ role: 'user', content: text }],
      ...more,
    })
    const isReplayed = (response: Response) => response.headers.get('idempotent-replayed') === 'true'

    for (const stream of [false, true])
      test(`the same request gets the same answer, ${stream ? 'streamed' : 'whole'}: status, headers, body`, async () => {
        const name = newName()
        const first = await send(name, chat('hello', { stream }))
        const body = await first.text()
        const second = await send(name, chat('hello', { stream }))
        expect([second.status, await second.text()]).toEqual([200, body])
        expect([isReplayed(first), isReplayed(second)]).toEqual([false, true])
        for (const header of ['content-type', 'x-proxy-call-id', 'x-proxy-model-id'])
          expect([header, second.headers.get(header)]).toEqual([header, first.headers.get(header)])
        expect(upstream.count).toBe(1)
      })

    test('another body, or another path, is refused with 409', async () => {
      const name = newName()
      await (await send(name, chat('one'))).text()
      for (const [body, path] of [
        [chat('two'), '/v1/chat/completions'],
        [{ model: 'chat', prompt: 'one' }, '/v1/completions'],
      ] as const) {
        const response = await send(name, body, { path })
        expect([response.status, await response.text()]).toEqual([
          409,
          expect.stringContaining('idempotency_key_reused'),
        ])
      }
      expect(upstream.count).toBe(1)
    })

    test('the keys of two callers have nothing to do with each other', async () => {
      const name = newName()
      await (await send(name, chat('one'))).text()
      const other = await send(name, chat('two'), { as: await gateway.key() })
      expect([other.status, isReplayed(other)]).toEqual([200, false])
      expect(upstream.count).toBe(2)
    })

    test('a derived key, and a key that was narrowed, get no recorded answer that they may not ask for', async () => {
      const own = await gateway.key()
      const hash = ((await (await gateway.admin(`/key/info?key=${own}`)).json()) as { key: string }).key
      const name = newName()
      await (await send(name, chat('mine'), { as: own })).text()
      const derive = await fetch(`${gateway.url}/key/derive`, {
        method: 'POST',
        headers: { authorization: `Bearer ${own}` },
        body: JSON.stringify({ duration: '1h' }),
      })
      const derived = ((await derive.json()) as { key: string }).key
      const other = await send(name, chat('mine'), { as: derived })
      expect([other.status, isReplayed(other)]).toEqual([200, false])
      expect(isReplayed(await send(name, chat('mine'), { as: derived }))).toBe(true)
      expect(isReplayed(await send(name, chat('mine'), { as: own }))).toBe(true)
      expect((await gateway.admin('/key/update', { key: hash, models: ['another'] })).status).toBe(200)
      for (const as of [own, derived]) {
        const refused = await send(name, chat('mine'), { as })
        expect([refused.status, isReplayed(refused)]).toEqual([403, false])
      }
      expect(upstream.count).toBe(2)
    })

    test('requests at the same time wait for the first one', async () => {
      const name = newName()
      upstream.hold()
      const all = Array.from({ length: 20 }, () => send(name, chat('hello')))
      await until(() => upstream.count > 0, 'the first has arrived')
      upstream.release()
      const bodies = await Promise.all(all.map(async one => (await one).text()))
      expect(new Set(bodies).size).toBe(1)
      expect(upstream.count).toBe(1)
    })

    for (const stream of [false, true])
      test(`a client that leaves finds the answer when it comes back, ${stream ? 'streamed' : 'whole'}`, async () => {
        const name = newName()
        upstream.hold()
        const leaving = new AbortController()
        const first = send(name, chat('hello', { stream }), { signal: leaving.signal }).then(one => one.text())
        await until(() => upstream.count === 1, 'it has arrived')
        leaving.abort()
        await first.catch(() => '')
        upstream.release()
        const second = await send(name, chat('hello', { stream }))
        expect([second.status, await second.text()]).toEqual([200, expect.stringMatching(/answer|"1"/)])
        expect([upstream.count, upstream.aborted]).toEqual([1, 0])
      })

    test('a request that was refused, or that failed unbilled, is done when it is sent again', async () => {
      const name = newName()
      const refused = await send(name, { ...chat('hello'), model: 'none' })
      expect(refused.status).toBeGreaterThanOrEqual(400)
      expect((await send(name, chat('hello'))).status).toBe(200)
      const failing = newName()
      expect((await send(failing, chat('fail'))).status).toBe(500)
      expect((await send(failing, chat('fail'))).status).toBe(500)
      expect(upstream.count).toBe(3)
    })

    test('a stream that broke off is billed: it is not asked for again, but given again as it was', async () => {
      const name = newName()
      const first = await (await send(name, chat('cut', { stream: true }))).text()
      expect(first).toContain('without finishing')
      const second = await send(name, chat('cut', { stream: true }))
      expect([isReplayed(second), await second.text()]).toEqual([true, first])
      expect(upstream.count).toBe(1)
    })

    const path = '/v1/audio/transcriptions'
    const form = (content: string, prompt = '') => {
      const made = new FormData()
      made.set('model', 'ear')
      if (prompt !== '') made.set('prompt', prompt)
      made.set('file', new File([content], 'a.wav', { type: 'audio/wav' }))
      return made
    }

    test('a form whose first request was refused, before or while it waits, is done', async () => {
      const name = newName()
      expect((await send(name, form('sound', 'fail'), { path })).status).toBe(500)
      expect((await send(name, form('sound'), { path })).status).toBe(200)
      const other = newName()
      upstream.hold()
      const first = send(other, form('sound', 'fail'), { path })
      await until(() => upstream.count === 3, 'the first has arrived')
      const second = send(other, form('sound'), { path })
      const third = send(other, form('sound'), { path })
      upstream.release()
      expect((await first).status).toBe(500)
      const [one, two] = await Promise.all([second, third])
      expect([one.status, two.status, isReplayed(one) !== isReplayed(two)]).toEqual([200, 200, true])
      expect(upstream.count).toBe(4)
    })

    test('a form of another file is refused after it has waited, too', async () => {
      const name = newName()
      upstream.hold()
      const first = send(name, form('sound'), { path })
      await until(() => upstream.count === 1, 'the first has arrived')
      const second = send(name, form('noise'), { path })
      upstream.release()
      expect([(await first).status, (await second).status, upstream.count]).toEqual([200, 409, 1])
    })

    test('forms are the same with any boundary, and another file is another request', async () => {
      const name = newName()
      const first = await (await send(name, form('sound'), { path })).text()
      const second = await send(name, form('sound'), { path })
      expect([isReplayed(second), await second.text()]).toEqual([true, first])
      expect((await send(name, form('noise'), { path })).status).toBe(409)
      expect(upstream.count).toBe(1)
    })

    test('each request has one row in the ledger, however often it comes again', async () => {
      const name = newName()
      const before = (await gateway.rows()).length
      for (let at = 0; at < 3; at++) await (await send(name, chat('hello'))).text()
      await until(async () => (await gateway.rows()).length > before, 'its row is there')
      expect((await gateway.rows()).length).toBe(before + 1)
    })

    test('a key of a wrong form is refused with its name', async () => {
      const response = await send('two words', chat('hello'))
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('Idempotency-Key')])
    })
  })

test('answers are stored encrypted, and a record that was changed is not given out', async () => {
  const own = await startGateway({ config })
  const sql = new SQL(`sqlite:${join(own.dataDirectory, 'modelgate.sqlite')}`)
  try {
    // The gateway writes to the same file.
    await sql`pragma busy_timeout = 30000`
    const key = await own.key()
    const send = (name: string) =>
      fetch(`${own.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': name },
        body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'hello' }] }),
      })
    upstream.clear()
    expect(await (await send('one')).text()).toContain('answer 1')
    await (await send('two')).text()
    const rows = (await sql`select id, headers, body from idempotent_requests order by created_at_ms`) as Json[]
    expect(rows.length).toBe(2)
    for (const text of rows.flatMap(({ headers, body }) => [headers, body]))
      for (const read of [text, Buffer.from(text, 'base64').toString('latin1')])
        expect(read).not.toMatch(/answer|choices|content-type/)
    await sql`update idempotent_requests set body = ${rows[1]!.body} where id = ${rows[0]!.id}`
    const changed = await send('one')
    expect([changed.status, await changed.text()]).toEqual([409, expect.stringContaining('idempotency_answer_lost')])
    expect([(await send('two')).status, upstream.count]).toEqual([200, 2])
  } finally {
    await sql.close()
    await own.stop()
  }
})

test('records count against what a key may store', async () => {
  const own = await startGateway({ config: `${config}\ngeneral_settings: { max_stored_objects_per_key: 1 }` })
  try {
    const key = await own.key()
    const send = (name: string) =>
      fetch(`${own.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': name },
        body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'hello' }] }),
      })
    upstream.clear()
    expect((await send('a')).status).toBe(200)
    expect([(await send('b')).status, (await send('a')).status, upstream.count]).toEqual([429, 200, 1])
  } finally {
    await own.stop()
  }
})
