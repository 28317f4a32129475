/** Models made by API: beside those of the file, checked as they are, in use at once, on other replicas soon. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

const environment = {
  MODELGATE_ENCRYPTION_KEY: 'a key for tests of more than 32 characters',
  OPENAI_API_KEY: 'sk-from-env',
}
const secret = 'sk-planted-secret-of-a-model'

async function seen(answer: Promise<Response>): Promise<{ status: number; body: Json & { data: Json[] } }> {
  const response = await answer
  return { status: response.status, body: (await response.json()) as Json & { data: Json[] } }
}

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    beforeAll(async () => {
      gateway = await startGateway({ backend, environment })
    })
    afterAll(() => gateway?.stop())

    const post = (path: string, body: object) => seen(gateway.admin(path, body))
    const chat = (model: string) =>
      gateway.admin('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'say: hi' }] })
    const upstream = () => gateway.simulator.url.replace(/\/$/, '')
    const params = (more: object = {}) => ({
      model: 'custom_openai/sim-chat',
      api_base: `${upstream()}/v1`,
      api_key: secret,
      ...more,
    })
    const make = (name: string, more: object = {}) =>
      post('/model/new', { model_name: name, litellm_params: params(), ...more })

    test('a model is in use as soon as it is made, and gone as soon as it is deleted', async () => {
      expect((await chat('by-api')).status).toBe(404)
      const made = await make('by-api', { model_info: { mode: 'chat', access_groups: ['beta'] } })
      expect(made.status).toBe(200)
      const { model_id: id } = made.body
      expect(made.body).toMatchObject({
        model_name: 'by-api',
        litellm_params: { model: 'custom_openai/sim-chat', api_key: '********' },
        model_info: { id, db_model: true, mode: 'chat' },
        created_by: 'master',
        version: 1,
      })
      const answer = await chat('by-api')
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-proxy-model-id')).toBe(String(id))
      const info = await seen(gateway.admin(`/model/info?proxy_model_id=${id}`))
      expect(info.body.data).toMatchObject([
        { model_name: 'by-api', model_info: { id, db_model: true, source: 'api' } },
      ])
      const key = await gateway.key({ models: ['beta'] })
      const listed = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
      expect(((await listed.json()) as { data: Json[] }).data.map(one => one.id)).toEqual(['by-api'])
      expect(await post('/model/delete', { id })).toMatchObject({
        status: 200,
        body: { message: `Model: ${id} deleted successfully` },
      })
      expect((await chat('by-api')).status).toBe(404)
    })

    test('a change keeps what it does not name, takes out what is null, and is refused for another version', async () => {
      const { model_id: id } = (await make('changing', { model_info: { description: 'first', mode: 'chat' } })).body
      const update = (body: object) => post('/model/update', { model_info: { id }, ...body })
      const changed = await update({ litellm_params: { timeout: 5, api_key: '********' } })
      expect(changed.body).toMatchObject({ version: 2, litellm_params: { timeout: 5, api_key: '********' } })
      expect((await chat('changing')).status).toBe(200)
      const reported = await update({ model_info: { id, description: null }, model_name: 'renamed', version: 2 })
      expect(reported.body).toMatchObject({ version: 3, model_name: 'renamed', model_info: { id, mode: 'chat' } })
      expect(reported.body.model_info).not.toHaveProperty('description')
      expect((await chat('renamed')).status).toBe(200)
      expect((await chat('changing')).status).toBe(404)
      const late = await update({ model_name: 'late', version: 2 })
      expect(late).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringContaining('somebody changed this model') } },
      })
      const patched = await fetch(`${gateway.url}/model/${id}/update`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify({ litellm_params: { api_key: null } }),
      })
      expect(((await patched.json()) as Json).litellm_params).not.toHaveProperty('api_key')
    })

    test('mistakes are told by their fields, as of the configuration file, and nothing is made', async () => {
      const before = (await seen(gateway.admin('/model/info'))).body.data.length
      const mistakes: readonly (readonly [body: object, field: string, words: string])[] = [
        [{ litellm_params: { model: 'nowhere/x' } }, 'litellm_params.model', 'unknown provider'],
        [{ litellm_params: params({ timeout: -1 }) }, 'litellm_params.timeout', 'number'],
        [{ proxy_params: params({ tiemout: 1 }) }, 'proxy_params.tiemout', 'did you mean `timeout`'],
        [{ litellm_params: params({ api_base: 'ftp://x' }) }, 'litellm_params.api_base', 'http'],
        [{ litellm_params: params(), model_info: { mode: 'dance' } }, 'model_info.mode', 'one of'],
        [{ litellm_params: params({ api_key: 'os.environ/AZURE_API_KEY' }) }, 'litellm_params.api_key', 'is not set'],
        [
          { litellm_params: params({ api_key: 'os.environ/MODELGATE_ENCRYPTION_KEY' }) },
          'litellm_params.api_key',
          'allowed_environment_references',
        ],
        [{ litellm_params: params({ api_key: 'command/cat /etc/passwd' }) }, 'litellm_params.api_key', 'commands'],
        [
          { litellm_params: params({ api_key: 'file/etc/passwd' }) },
          'litellm_params.api_key',
          'secret_file_directories',
        ],
        [
          { litellm_params: params({ vertex_credentials: '/etc/passwd' }) },
          'litellm_params.vertex_credentials',
          'by API',
        ],
        [{ litellm_params: params({ api_key: '********' }) }, 'litellm_params.api_key', 'in the place of a secret'],
        [{ litellm_params: params(), rpm_limits: 1 }, 'rpm_limits', 'not a known field'],
        [{}, 'proxy_params', 'missing'],
      ]
      for (const [body, field, words] of mistakes) {
        const { status, body: answer } = await post('/model/new', { model_name: 'wrong', ...body })
        const error = answer.error as { param: string; message: string } | undefined
        expect({ status, param: error?.param }).toEqual({ status: 422, param: field })
        expect(error!.message).toContain(words)
        expect(JSON.stringify(answer)).not.toContain(secret)
      }
      expect((await seen(gateway.admin('/model/info'))).body.data.length).toBe(before)
    })

    test('models of the file are read-only, and the refusal says where they stand', async () => {
      const id = 'chat-deployment'
      for (const answer of [
        await post('/model/update', { model_name: 'x', model_info: { id } }),
        await post('/model/delete', { id }),
      ]) {
        expect(answer.status).toBe(400)
        expect(JSON.stringify(answer.body)).toMatch(/config\.yaml:3; change it there/)
      }
      expect((await make('twice', { model_info: { id } })).status).toBe(409)
      expect(await post('/model/delete', { id: 'unknown' })).toMatchObject({ status: 400 })
    })

    test('one made by API is blocked by a change too, and its id is free of it once it is deleted', async () => {
      const id = 'to-be-blocked'
      await make('by-turns', { model_info: { id } })
      const patch = async (body: object) => {
        const headers = { authorization: `Bearer ${masterKey}` }
        const path = `${gateway.url}/model/${id}/update`
        return seen(fetch(path, { method: 'PATCH', headers, body: JSON.stringify(body) }))
      }
      expect((await patch({ blocked: true })).body).toMatchObject({ blocked: true, version: 1 })
      expect((await chat('by-turns')).status).toBe(403)
      expect((await patch({ blocked: false, model_name: 'renamed' })).body).toMatchObject({
        blocked: false,
        version: 2,
      })
      expect((await chat('renamed')).status).toBe(200)
      await post('/model/block', { model_id: id })
      await post('/model/delete', { id })
      await make('by-turns', { model_info: { id } })
      expect((await chat('by-turns')).status).toBe(200)
      await post('/model/delete', { id })
    })

    test('a key of the environment and warnings of the file, and keys without rights make nothing', async () => {
      const made = await make('with-variable', {
        litellm_params: params({ api_key: 'os.environ/OPENAI_API_KEY', rpm: 5 }),
      })
      expect(made.body).toMatchObject({ litellm_params: { api_key: 'os.environ/OPENAI_API_KEY' } })
      expect(JSON.stringify(made.body.warnings)).toContain('litellm_params.rpm')
      expect(JSON.stringify(made.body.warnings)).toContain('no price is known')
      await chat('with-variable')
      const key = await gateway.key()
      for (const path of ['/model/new', '/model/update', '/model/delete']) {
        const refused = await fetch(gateway.url + path, { method: 'POST', headers: { authorization: `Bearer ${key}` } })
        expect(refused.status).toBe(403)
      }
    })
  })
