/** A key stores no more than its quota, learns what to do about it, and has room again once it deletes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, startGateway, standardConfig } from './harness.ts'
import type { Gateway } from './harness.ts'

const quota = '\ngeneral_settings: { max_stored_objects_per_key: 5, max_stored_mb_per_key: 0.1 }\n'

for (const backend of backends())
  describe(`storage quota on ${backend.name}`, () => {
    let gateway: Gateway
    beforeAll(async () => {
      gateway = await startGateway({ backend, config: standardConfig + quota })
    })
    afterAll(() => gateway.stop())

    const caller = (key: string) => async (method: string, path: string, body?: object) => {
      const answer = await fetch(`${gateway.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, any> }
    }
    const assistant = { model: 'chat-model' }
    const upstreamCalls = () => gateway.simulator.truth.entries.length

    test('the object after the last allowed one is refused by name and remedy; deleting makes room', async () => {
      const call = caller(await gateway.key())
      const made: string[] = []
      for (let at = 0; at < 5; at++) made.push((await call('POST', '/v1/assistants', assistant)).body.id)
      const refused = await call('POST', '/v1/threads', { messages: [{ role: 'user', content: 'x' }] })
      expect(refused).toMatchObject({
        status: 429,
        body: { error: { type: 'quota_exceeded', code: 'storage_quota_exceeded', name: 'RateLimitError' } },
      })
      expect(refused.body.error.message).toContain('this key may store 5 objects')
      expect(refused.body.error.message).toContain('delete conversations, threads, assistants, responses')
      // Another key has a quota of its own.
      expect((await caller(await gateway.key())('POST', '/v1/assistants', assistant)).status).toBe(200)
      expect((await call('DELETE', `/v1/assistants/${made[0]}`)).status).toBe(200)
      expect((await call('POST', '/v1/threads', {})).status).toBe(200)
    })

    test('a change that does not fit is refused, and what is larger than the whole quota is too large', async () => {
      const call = caller(await gateway.key())
      const { id } = (await call('POST', '/v1/assistants', { ...assistant, instructions: 'x'.repeat(60_000) })).body
      const other = (await call('POST', '/v1/assistants', assistant)).body.id
      const grow = (of: string, bytes: number) =>
        call('POST', `/v1/assistants/${of}`, { instructions: 'y'.repeat(bytes) })
      expect((await grow(other, 60_000)).status).toBe(429)
      expect((await grow(other, 120_000)).status).toBe(413)
      expect((await grow(id, 10)).status).toBe(200)
      expect((await grow(other, 60_000)).status).toBe(200)
    })

    test('an answer is never lost to the quota; what asks to be stored is then refused before it is sent', async () => {
      const call = caller(await gateway.key())
      const ask = (more: object = {}) =>
        call('POST', '/v1/responses', { model: 'chat-model', input: 'say: x', ...more })
      const first = await ask()
      for (let at = 0; at < 4; at++) expect((await ask({ store: true })).body.store).not.toBe(false)
      expect((await ask({ store: true })).body).toMatchObject({ status: 'completed', store: false })
      const before = upstreamCalls()
      for (const more of [{ store: true }, { background: true }])
        expect(await ask(more)).toMatchObject({ status: 429, body: { error: { code: 'storage_quota_exceeded' } } })
      expect(upstreamCalls()).toBe(before)
      expect(await ask()).toMatchObject({ status: 200, body: { store: false } })
      expect((await call('DELETE', `/v1/responses/${first.body.id}`)).status).toBe(200)
      expect((await ask({ store: true })).body.store).not.toBe(false)
    })

    test('what writes objects takes a request of the key, with its calls; reading and deleting are free', async () => {
      const call = caller(await gateway.key({ rpm_limit: 3 }))
      const { id } = (await call('POST', '/v1/assistants', assistant)).body
      expect((await call('POST', `/v1/assistants/${id}`, { name: 'n' })).status).toBe(200)
      expect((await call('POST', '/v1/threads', {})).status).toBe(200)
      const refused = await call('POST', '/v1/assistants', assistant)
      expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limit_exceeded'])
      const chat = { model: 'chat-model', messages: [{ role: 'user', content: 'x' }] }
      expect((await call('POST', '/v1/chat/completions', chat)).status).toBe(429)
      expect((await call('GET', '/v1/assistants')).status).toBe(200)
      expect((await call('DELETE', `/v1/assistants/${id}`)).status).toBe(200)
    })

    test('the master key sets the quota and has none', async () => {
      for (let at = 0; at < 7; at++) expect((await gateway.admin('/v1/threads', {})).status).toBe(200)
    })
  })

test('a page of large objects is no larger than a body may be, and the next page goes on behind it', async () => {
  const settings = '\ngeneral_settings: { max_request_size_mb: 0.1 }\n'
  const gateway = await startGateway({ config: standardConfig + settings })
  try {
    const headers = { authorization: `Bearer ${await gateway.key()}`, 'content-type': 'application/json' }
    const ask = async (path: string, body?: object) => {
      const sent = body && { method: 'POST', body: JSON.stringify(body) }
      return (await (await fetch(`${gateway.url}${path}`, { headers, ...sent })).json()) as Record<string, any>
    }
    const { id } = await ask('/v1/threads', {})
    const sent: string[] = []
    for (let at = 0; at < 5; at++)
      sent.push((await ask(`/v1/threads/${id}/messages`, { role: 'user', content: `${at}`.repeat(40_000) })).id)
    const seen: string[] = []
    const sizes: number[] = []
    for (let more = true; more; ) {
      const after = seen.length > 0 ? `&after=${seen.at(-1)}` : ''
      const page = await ask(`/v1/threads/${id}/messages?limit=100&order=asc${after}`)
      seen.push(...page.data.map((one: { id: string }) => one.id))
      sizes.push(page.data.length)
      more = page.has_more
    }
    expect([seen, sizes]).toEqual([sent, [2, 2, 1]])
  } finally {
    await gateway.stop()
  }
})
