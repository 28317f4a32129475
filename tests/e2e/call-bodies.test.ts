/**
 * Requests and answers of calls that are stored: where that is switched on, encrypted, for those whose calls they are.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const guardrails = `
guardrails:
  - guardrail_name: mail
    litellm_params: { guardrail: personal_data, mode: [pre_call, post_call], kinds: [email] }
`
const general = (text: string) => `${standardConfig}${guardrails}general_settings: { ${text} }\n`

/** What a client may plant in what it sends. */
const planted = 'sk-planted-9fK2mQ7xW4vB8nL1'
const MODELGATE_ENCRYPTION_KEY = 'an encryption key of more than 32 characters'

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let databaseUrl: string | undefined
    let key: string
    beforeAll(async () => {
      const kept = {
        name: backend.name,
        async open() {
          const opened = await backend.open()
          databaseUrl = opened.databaseUrl
          return opened
        },
      }
      const config = general('store_prompts_in_spend_logs: true, max_stored_body_kb: 16, max_waiting_bodies_mb: 1')
      gateway = await startGateway({ backend: kept, config, environment: { MODELGATE_ENCRYPTION_KEY } })
      key = await gateway.key()
    })
    afterAll(() => gateway?.stop())

    const call = async (body: object, { asker = key, path = '/v1/chat/completions', headers = {} } = {}) => {
      const answer = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${asker}`, ...headers },
        body: JSON.stringify(body),
      })
      return { id: answer.headers.get('x-proxy-call-id')!, status: answer.status, text: await answer.text() }
    }
    const say = (text: string, more: object = {}, options = {}) =>
      call({ model: 'chat-model', messages: [{ role: 'user', content: text }], ...more }, options)
    const ask = async (method: string, path: string, asker = key) => {
      const answer = await fetch(`${gateway.url}/spend/logs/${path}`, {
        method,
        headers: { authorization: `Bearer ${asker}` },
      })
      return { status: answer.status, body: (await answer.json()) as Json }
    }
    const bodies = async (id: string, asker = key): Promise<Json> => {
      const { status, body } = await ask('GET', `${id}/bodies`, asker)
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
      return body
    }
    const statusOf = async (id: string, asker = key) => (await ask('GET', `${id}/bodies`, asker)).status
    const audited = async (id: string) => {
      const { audit_logs: rows } = (await (await gateway.admin(`/audit?object_id=${id}`)).json()) as Json
      return rows.map(({ action, table_name }: Json) => `${action} ${table_name}`)
    }
    const newUser = async (id: string, fields: object = {}) => {
      const made = await gateway.admin('/user/new', { user_id: id, ...fields })
      return ((await made.json()) as { key: string }).key
    }

    test('request and answer of a call are read by its key, with headers that hold no secret', async () => {
      const { id, text } = await say('say: hello', {}, { headers: { cookie: `a=${planted}`, 'openai-beta': 'x=1' } })
      const found = await bodies(id)
      expect(JSON.parse(found.request.text).messages).toEqual([{ role: 'user', content: 'say: hello' }])
      expect(JSON.parse(found.response.text)).toEqual(JSON.parse(text))
      expect(found.response).toMatchObject({ status: 200, streamed: false, cut: false, omitted: null })
      expect(found.request).toMatchObject({ cut: false, changed_by_policies: false })
      const { authorization, 'openai-beta': beta, cookie } = found.request.headers
      expect([authorization, beta, cookie]).toEqual(['[redacted]', 'x=1', '[redacted]'])
      expect(await audited(id)).toEqual([])
    })

    test("a row's detail has what was said under LiteLLM's names, and is audited where it is another's", async () => {
      const { id, text } = await say('say: in detail')
      const asker = await newUser('detail-admin', { user_role: 'proxy_admin' })
      for (const reader of [key, asker]) {
        const { status, body } = await ask('GET', `ui/${id}?start_date=2026-01-01 00:00:00`, reader)
        expect(status).toBe(200)
        expect(body).toMatchObject({
          request_id: id,
          status: 'success',
          messages: [{ role: 'user', content: 'say: in detail' }],
          response: JSON.parse(text),
          proxy_server_request: { body: { model: 'chat-model' }, headers: { authorization: '[redacted]' } },
        })
      }
      expect(await audited(id)).toHaveLength(1)
      const stranger = await gateway.key({})
      expect((await ask('GET', `ui/${id}`, stranger)).status).toBe(404)
      expect((await ask('GET', `ui/${id}?end_date=2020-01-01`)).status).toBe(404)
    })

    test.each([
      ['/v1/chat/completions', { model: 'chat-model' }, (one: Json) => one.choices[0].message.content],
      ['/v1/messages', { model: 'claude-model', max_tokens: 50 }, (one: Json) => one.content[0].text],
      ['/v1/messages', { model: 'chat-model', max_tokens: 50 }, (one: Json) => one.content[0].text],
    ])('a stream of %s is stored as the whole answer that it was', async (path, fields, textOf) => {
      const messages = [{ role: 'user', content: 'say: the quick brown fox' }]
      const { id } = await call({ ...fields, messages, stream: true }, { path })
      const { response } = await bodies(id)
      expect(textOf(JSON.parse(response.text))).toBe('the quick brown fox')
      expect(response).toMatchObject({ status: 200, streamed: true, cut: false, content_type: 'application/json' })
    })

    test('a failed call is stored with the error that its client got; one that was never sent is not', async () => {
      const failed = await say('say: x', { model: 'nobody' })
      expect(JSON.parse((await bodies(failed.id)).response.text)).toEqual(JSON.parse(failed.text))
      const refused = await say('say: x', { temperature: 'hot' })
      expect([refused.status, await statusOf(refused.id)]).toEqual([422, 404])
    })

    test('what a guardrail masks is stored masked on both sides, whole and streamed, in every dialect', async () => {
      const secret = 'ada.lovelace@example.com'
      for (const stream of [false, true])
        for (const path of ['/v1/chat/completions', '/v1/messages']) {
          const messages = [{ role: 'user', content: `say: write to ${secret} today` }]
          const fields = { model: 'chat-model', max_tokens: 50, guardrails: ['mail'], stream, messages }
          const { id, text } = await call(fields, { path })
          // The client's own value comes back to it.
          if (!stream) expect(text).toContain(secret)
          const found = await bodies(id)
          expect(JSON.stringify(found)).not.toContain('lovelace')
          expect(found.request).toMatchObject({ changed_by_policies: true })
          for (const one of [found.request.text, found.response.text]) expect(one).toMatch(/write to \[EMAIL_/)
        }
    })

    test('no is heard from the client, the key and the team, in body and header', async () => {
      const { id: team_id } = { id: `quiet-${backend.name}` }
      await gateway.admin('/team/new', { team_id, store_prompts_in_spend_logs: false })
      const ofTeam = await gateway.key({ team_id, store_prompts_in_spend_logs: true })
      const quiet = await gateway.key({ store_prompts_in_spend_logs: false })
      const ids = [
        await say('say: a', { 'no-log': true }),
        await say('say: b', {}, { headers: { 'x-litellm-enable-message-redaction': 'true' } }),
        await say('say: c', {}, { asker: quiet }),
        await say('say: d', {}, { asker: ofTeam }),
      ]
      expect(ids.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      for (const { id } of ids) expect(await statusOf(id, masterKey)).toBe(404)
    })

    test('answers of conversations are kept for their owner alone, and not stored here', async () => {
      const chat = async (path: string, body?: object) =>
        (await (
          await fetch(`${gateway.url}/chat/conversations${path}`, {
            method: body ? 'POST' : 'GET',
            headers: { authorization: `Bearer ${key}` },
            ...(body && { body: JSON.stringify(body) }),
          })
        ).json()) as Json
      const { id } = await chat('', {})
      await chat(`/${id}/messages`, { text: 'say: private', models: ['chat-model'], parent_id: null })
      let answer: Json
      do answer = (await chat(`/${id}`)).messages.at(-1)
      while (answer.status === 'running')
      expect(answer).toMatchObject({ status: 'completed', content: { text: 'private' } })
      expect(await statusOf(answer.content.call_id, masterKey)).toBe(404)
    })

    test('a stranger, a member and a derived key read nothing of others, and cannot tell what exists', async () => {
      const { id } = await say('say: mine')
      const never = '019ab000-0000-7000-8000-000000000000'
      const stranger = await gateway.key()
      const member = await newUser('member-of-none')
      for (const asker of [stranger, member]) {
        expect([await ask('GET', `${id}/bodies`, asker), id]).toEqual([await ask('GET', `${never}/bodies`, asker), id])
        expect((await ask('DELETE', `${id}/bodies`, asker)).status).toBe(404)
      }
      const derived = await fetch(`${gateway.url}/key/derive`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ duration: '1h' }),
      })
      const { key: child } = (await derived.json()) as { key: string }
      expect(await statusOf(id, child)).toBe(403)
      for (const odd of ['x', `${id}'--`, '%00', `${id.slice(0, -1)}%00`])
        expect(await statusOf(odd, stranger)).toBe(404)
      expect(await statusOf(id)).toBe(200)
    })

    test('admins of a team and of the gateway read calls of others, and it is written down', async () => {
      const team_id = `watched-${backend.name}`
      await gateway.admin('/team/new', { team_id, members_with_roles: [] })
      const lead = await newUser(`lead-${team_id}`)
      await gateway.admin('/team/member_add', { team_id, member: { role: 'admin', user_id: `lead-${team_id}` } })
      const ofTeam = await gateway.key({ team_id })
      const { id } = await say('say: team', {}, { asker: ofTeam })
      expect(await statusOf(id, lead)).toBe(200)
      expect(await audited(id)).toEqual(['read call_bodies'])
      expect(await statusOf(id, masterKey)).toBe(200)
      expect(await audited(id)).toHaveLength(2)
    })

    test('bodies of one call, of a key, of a user and of a team are deleted, by those who may, and it is audited', async () => {
      const user_id = `leaver-${backend.name}`
      const own = await newUser(user_id)
      const [first, second] = [await say('say: 1', {}, { asker: own }), await say('say: 2', {}, { asker: own })]
      expect((await ask('DELETE', `${first.id}/bodies`, own)).body).toEqual({ deleted: 1 })
      expect([await statusOf(first.id, own), await statusOf(second.id, own)]).toEqual([404, 200])
      expect(await audited(first.id)).toEqual(['deleted call_bodies'])
      const viewer = await newUser(`eye-${backend.name}`, { user_role: 'proxy_admin_viewer' })
      expect((await ask('DELETE', `bodies?user_id=${user_id}`, viewer)).status).toBe(403)
      // A stranger deletes nothing of it.
      expect((await ask('DELETE', `bodies?user_id=${user_id}`, await gateway.key())).body).toEqual({ deleted: 0 })
      expect((await ask('DELETE', `bodies?user_id=${user_id}`, masterKey)).body).toEqual({ deleted: 1 })
      expect(await statusOf(second.id, own)).toBe(404)
      expect((await ask('DELETE', 'bodies', masterKey)).status).toBe(422)
      expect((await ask('DELETE', 'bodies?user_id=a&key_id=b', masterKey)).status).toBe(422)
      expect((await gateway.rows(`&request_id=${first.id}`)).length).toBe(1)
    })

    test('a long body is cut between characters and says so, and the call is not changed by it', async () => {
      const { id, status } = await say(`say: ok ${'ü'.repeat(20_000)}`)
      const { request } = await bodies(id)
      expect([status, request.cut]).toEqual([200, true])
      expect(request.bytes).toBeGreaterThan(40_000)
      expect(Buffer.byteLength(request.text)).toBeLessThanOrEqual(16 * 1024)
      expect(request.text).not.toContain('\ufffd')
      expect(request.text.endsWith('ü')).toBe(true)
    })

    test('no planted text is found in the database or in any file of the ledger', async () => {
      const text = `say: the key is ${planted}`
      const { id } = await say(text)
      expect((await bodies(id)).request.text).toContain(planted)
      if (databaseUrl) {
        const sql = new SQL(databaseUrl, { max: 1 })
        const rows = (await sql`select * from call_bodies`) as object[]
        expect(rows.length).toBeGreaterThan(0)
        expect(JSON.stringify(rows)).not.toContain(planted)
        await sql.close()
      }
      const files = readdirSync(gateway.dataDirectory, { recursive: true, encoding: 'utf8' })
      for (const name of files) {
        const path = join(gateway.dataDirectory, name)
        if (/sqlite|journal.*\d/.test(name) && !path.endsWith('journal'))
          expect([name, readFileSync(path).includes(planted)]).toEqual([name, false])
      }
    })

    test('what is beyond the memory for bodies is not stored, is counted, and fails no call', async () => {
      const lost = async () =>
        Number(
          /modelgate_lost_bodies_total\{reason="queue_full"\} (\d+)/.exec(
            await (await gateway.admin('/metrics')).text(),
          )?.[1] ?? 0,
        )
      const before = await lost()
      const long = 'x'.repeat(15_000)
      const calls = await Promise.all(
        Array.from({ length: 100 }, () =>
          say(`tokens: 40 ${long}`, { model: 'fault/sim#token-ms;ms=10', stream: true }),
        ),
      )
      expect(calls.every(({ status }) => status === 200)).toBe(true)
      // Metrics are made once a second.
      while ((await lost()) === before) await Bun.sleep(50)
      // Later ones find room when those before are written.
      while ((await statusOf((await say('say: after')).id)) !== 200) await Bun.sleep(50)
    })
  })

test('nothing is stored unless it is switched on; then by key or team, and by users for nobody else', async () => {
  const gateway = await startGateway({ config: general('stored_bodies_readers: proxy_admins') })
  try {
    const made = (await (await gateway.admin('/user/new', { user_id: 'ann' })).json()) as { key: string }
    const on = await gateway.key({ store_prompts_in_spend_logs: true })
    const ids = []
    for (const asker of [await gateway.key(), on]) {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${asker}` },
        body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'say: x' }] }),
      })
      await answer.text()
      ids.push(answer.headers.get('x-proxy-call-id'))
    }
    const read = async (id: unknown, asker: string) =>
      (await fetch(`${gateway.url}/spend/logs/${id}/bodies`, { headers: { authorization: `Bearer ${asker}` } })).status
    expect([await read(ids[0], masterKey), await read(ids[1], masterKey)]).toEqual([404, 200])
    expect(await read(ids[1], on)).toBe(403)
    const refused = await fetch(`${gateway.url}/key/generate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.key}` },
      body: JSON.stringify({ store_prompts_in_spend_logs: true }),
    })
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('store_prompts_in_spend_logs'),
    ])
  } finally {
    await gateway.stop()
  }
})
