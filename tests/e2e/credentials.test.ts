/** Credentials and access groups made by API, on one gateway and on two over one database. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { backends, masterKey, startGateway, standardConfig } from './harness.ts'
import type { Gateway } from './harness.ts'
import { startKeyUpstream } from './key-upstream.ts'

type Json = Record<string, unknown>

const environment = {
  MODELGATE_ENCRYPTION_KEY: 'a key for tests of more than 32 characters',
  OF_FILE: 'sk-of-the-file-1',
}
const inFile = `  - model_name: in-file
    proxy_params: { model: custom_openai/sim-chat, credential_name: of-file }
router_settings:`
const config = (upstream: string) => `${standardConfig.replace('router_settings:', inFile)}
credential_list:
  - credential_name: of-file
    credential_info: { owner: us }
    credential_values: { api_key: os.environ/OF_FILE, api_base: "${upstream}" }
`

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    const upstream = startKeyUpstream()
    beforeAll(async () => {
      gateway = await startGateway({ backend, environment, config: config(upstream.url) })
    })
    afterAll(async () => {
      await gateway?.stop()
      await upstream.stop()
    })

    const send = async (method: string, path: string, body?: object): Promise<{ status: number; body: Json }> => {
      const response = await fetch(gateway.url + path, {
        method,
        headers: { authorization: `Bearer ${masterKey}` },
        body: body && JSON.stringify(body),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Json) }
    }
    const chat = async (model: string, key = masterKey) => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'say: hi' }] }),
      })
      await response.arrayBuffer()
      return response.status
    }
    /** The key that the upstream was sent last. */
    const sentKey = () => upstream.keys.at(-1)

    test('models use a credential, the new values as soon as it changes, and their own values first', async () => {
      const values = { api_key: 'sk-shared-one', api_base: upstream.url }
      expect(
        (await send('POST', '/credentials', { credential_name: 'shared', credential_values: values })).body,
      ).toEqual({
        success: true,
        message: 'Credential created successfully',
      })
      const params = { model: 'custom_openai/sim-chat', litellm_credential_name: 'shared' }
      const made = await send('POST', '/model/new', { model_name: 'uses-shared', litellm_params: params })
      expect(made.status).toBe(200)
      expect(await chat('uses-shared')).toBe(200)
      expect(sentKey()).toBe('Bearer sk-shared-one')
      const changed = await send('PATCH', '/credentials/shared', { credential_values: { api_key: 'sk-shared-two' } })
      expect(changed.status).toBe(200)
      expect(await chat('uses-shared')).toBe(200)
      expect(sentKey()).toBe('Bearer sk-shared-two')
      const own = { model_info: { id: made.body.model_id }, litellm_params: { api_key: 'sk-of-its-own' } }
      await send('POST', '/model/update', own)
      expect(await chat('uses-shared')).toBe(200)
      expect(sentKey()).toBe('Bearer sk-of-its-own')
      const shown = (await send('GET', '/credentials/by_name/shared')).body
      expect(shown).toMatchObject({ credential_values: { api_key: '********', api_base: upstream.url }, version: 2 })
      expect(await send('DELETE', '/credentials/shared')).toMatchObject({ status: 409 })
      await send('POST', '/model/delete', { id: made.body.model_id })
      expect((await send('DELETE', '/credentials/shared')).body).toMatchObject({ success: true })
      expect(await send('GET', '/credentials/by_name/shared')).toMatchObject({ status: 404 })
    })

    test('credentials of the file serve models of the API, are shown masked, and are read-only', async () => {
      const params = { model: 'custom_openai/sim-chat', litellm_credential_name: 'of-file' }
      expect((await send('POST', '/model/new', { model_name: 'uses-file', litellm_params: params })).status).toBe(200)
      expect(await chat('uses-file')).toBe(200)
      expect(sentKey()).toBe('Bearer sk-of-the-file-1')
      const list = (await send('GET', '/credentials')).body.credentials as Json[]
      expect(list).toMatchObject([
        { credential_name: 'of-file', credential_values: { api_key: '********' }, credential_info: { owner: 'us' } },
      ])
      const { data } = (await send('GET', '/v1/model/info')).body as { data: Json[] }
      const users = data.filter(one => (one.litellm_params as Json).litellm_credential_name === 'of-file')
      expect(users.map(one => one.model_name).sort()).toEqual(['in-file', 'uses-file'])
      for (const answer of [
        await send('PATCH', '/credentials/of-file', { credential_info: {} }),
        await send('DELETE', '/credentials/of-file'),
        await send('POST', '/credentials', { credential_name: 'of-file', credential_values: {} }),
      ]) {
        expect([400, 409]).toContain(answer.status)
        expect(JSON.stringify(answer.body)).toMatch(/stands in .*config\.yaml:\d+/)
      }
    })

    test('wrong values are told by their names and never shown', async () => {
      for (const [body, param] of [
        [{ credential_values: { api_base: 'sk-planted' } }, 'credential_values.api_base'],
        [{ credential_values: { api_kee: 'sk-planted' } }, 'credential_values.api_kee'],
        [{ credential_values: { model: 'sk-planted' } }, 'credential_values.model'],
        [{ credential_values: { api_key: 'command/echo sk-planted' } }, 'credential_values.api_key'],
        [{ credential_values: { api_key: '********' } }, 'credential_values.api_key'],
        [{}, 'credential_values'],
      ] as const) {
        const { status, body: answer } = await send('POST', '/credentials', { credential_name: 'wrong', ...body })
        expect({ status, param: (answer.error as Json).param }).toEqual({ status: 422, param })
        expect(JSON.stringify(answer)).not.toContain('sk-planted')
      }
      const missing = { model: 'openai/x', litellm_credential_name: 'nowhere' }
      const refused = await send('POST', '/model/new', { model_name: 'm', litellm_params: missing })
      expect((refused.body.error as Json).param).toBe('litellm_params.litellm_credential_name')
    })

    test('a key may use the models of its groups, from the moment that a group changes', async () => {
      const key = await gateway.key({ models: ['testers'] })
      expect(await chat('chat-model', key)).toBe(403)
      const made = await send('POST', '/access_group/new', { access_group: 'testers', model_names: ['chat-model'] })
      expect(made.body).toEqual({ access_group: 'testers', model_names: ['chat-model'], models_updated: 1 })
      expect(await chat('chat-model', key)).toBe(200)
      await send('PUT', '/access_group/testers/update', { model_names: ['claude-model'] })
      expect([await chat('chat-model', key), await chat('claude-model', key)]).toEqual([403, 200])
      const wrong = await send('PUT', '/access_group/testers/update', { model_names: ['chat-model', 'none'] })
      expect((wrong.body.error as Json).param).toBe('model_names.1')
      const [group] = (await send('GET', '/v1/access_group')).body as unknown as Json[]
      expect(group).toMatchObject({ access_group_name: 'testers', access_model_names: ['claude-model'] })
      const path = `/v1/access_group/${group!.access_group_id}`
      expect((await send('PUT', path, { description: 'x', version: 1 })).status).toBe(409)
      expect((await send('DELETE', path)).status).toBe(204)
      expect(await chat('claude-model', key)).toBe(403)
      expect((await send('GET', '/access_group/testers/info')).status).toBe(404)
      const assigned = { access_group_name: 'g', assigned_team_ids: ['red'] }
      expect((await send('POST', '/v1/access_group', assigned)).body.error).toMatchObject({
        param: 'assigned_team_ids',
      })
    })
  })

test('each change has its row in the audit log, without secrets', async () => {
  const gateway = await startGateway({ environment })
  try {
    const values = (api_key: string) => ({ credential_name: 'audited', credential_values: { api_key } })
    await gateway.admin('/credentials', values('sk-never-in-the-log'))
    const change = { method: 'PATCH', headers: { authorization: `Bearer ${masterKey}` } }
    await fetch(`${gateway.url}/credentials/audited`, { ...change, body: JSON.stringify(values('sk-never-either')) })
    await fetch(`${gateway.url}/credentials/audited`, { ...change, method: 'DELETE' })
    const sql = new SQL(`sqlite:${gateway.dataDirectory}/modelgate.sqlite`)
    // The gateway writes to the same file.
    await sql`pragma busy_timeout = 10000`
    const rows = (await sql`select * from audit_log where kind = 'credential' order by at_ms, id`) as Json[]
    await sql.close()
    expect(rows.map(one => [one.action, one.actor_key])).toEqual([
      ['created', 'master'],
      ['updated', 'master'],
      ['deleted', 'master'],
    ])
    expect(rows[1]!.after_value).toBe('{"secrets_changed":true}')
    expect(JSON.stringify(rows)).not.toContain('sk-never')
  } finally {
    await gateway.stop()
  }
})
