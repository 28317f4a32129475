/** Models of one team: nobody else sees or calls them, by whatever way a model is named. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string, model: string, info: string) =>
  `  - model_name: ${name}
    proxy_params: { model: custom_openai/${model}, api_base: "{simulator}/v1", api_key: k }
    model_info: { ${info} }
`
const config = standardConfig.replace(
  'router_settings: { num_retries: 0 }',
  `${entry('of-red', 'sim-chat', 'id: red-chat, team_id: red')}${entry(
    'chat-model',
    'sim-chat',
    'id: red-instead, team_id: red',
  )}${entry('internal-1', 'sim-embedding', 'id: red-vectors, mode: embedding, team_id: red, team_public_model_name: vectors')}
router_settings: { num_retries: 0, model_group_alias: { nickname: of-red }, fallbacks: [{ nobody: [of-red] }] }`,
)

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    const keys: Record<string, string> = {}
    beforeAll(async () => {
      gateway = await startGateway({
        backend,
        config,
        environment: { MODELGATE_ENCRYPTION_KEY: 'a key for tests of more than 32 characters' },
      })
      for (const team_id of ['red', 'blue']) {
        await gateway.admin('/team/new', { team_id, team_alias: team_id })
        keys[team_id] = await gateway.key({ team_id })
      }
      keys.alone = await gateway.key()
      keys.aliased = await gateway.key({ aliases: { mine: 'of-red' } })
      keys.listed = await gateway.key({ models: ['of-red', 'red-chat'] })
    })
    afterAll(() => gateway?.stop())

    const send = async (key: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const response = await fetch(`${gateway.url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${key}`, ...headers },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: response.status, id: response.headers.get('x-proxy-model-id'), text: await response.text() }
    }
    const chat = (key: string, model: string, more: object = {}) =>
      send(key, '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'say: hi' }], ...more })
    const outsiders = () => Object.entries(keys).filter(([name]) => name !== 'red')

    test('the keys of the team call it by name, alias, id and public name; in the place of a shared one', async () => {
      for (const [model, id] of [
        ['of-red', 'red-chat'],
        ['nickname', 'red-chat'],
        ['red-chat', 'red-chat'],
        ['chat-model', 'red-instead'],
      ])
        expect(await chat(keys.red!, model!)).toMatchObject({ status: 200, id })
      expect(await send(keys.red!, '/v1/embeddings', { model: 'vectors', input: 'x' })).toMatchObject({ status: 200 })
      expect((await chat(keys.red!, 'internal-1')).status).toBe(404)
      expect(await chat(keys.blue!, 'chat-model')).toMatchObject({ status: 200, id: 'chat-deployment' })
      expect(await chat(masterKey, 'red-chat')).toMatchObject({ status: 200, id: 'red-chat' })
      expect(await chat(masterKey, 'chat-model')).toMatchObject({ status: 200, id: 'chat-deployment' })
    })

    test('nobody else does, on any route, and a fallback does not lead there', async () => {
      for (const [name, key] of outsiders()) {
        for (const model of ['of-red', 'nickname', 'red-chat', 'red-instead', 'vectors', 'red-vectors', 'mine'])
          expect(await chat(key, model)).toMatchObject({ status: 404, id: null })
        const message = { role: 'user', content: 'x' }
        for (const [path, body] of [
          ['/v1/messages', { messages: [message], max_tokens: 9 }],
          ['/v1/messages/count_tokens', { messages: [message] }],
          ['/v1/responses', { input: 'x' }],
          ['/v1/completions', { prompt: 'x' }],
          ['/v1/embeddings', { input: 'x' }],
        ] as const)
          expect([path, (await send(key, path, { model: 'of-red', ...body })).status]).toEqual([path, 404])
        const gemini = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
        expect((await send(key, '/v1beta/models/of-red:generateContent', gemini)).status).toBe(404)
        if (name === 'listed') continue
        expect((await chat(key, 'nobody', { fallbacks: ['of-red'] })).status).toBe(404)
        expect((await chat(key, 'nobody')).status).toBeGreaterThanOrEqual(500)
      }
      expect(await chat(keys.red!, 'nobody')).toMatchObject({ status: 200, id: 'red-chat' })
    })

    test('nobody else reads of it: lists, details, suggestions', async () => {
      for (const [, key] of outsiders()) {
        for (const path of ['/v1/models', '/model/info', '/v2/model/info', '/model_group/info', '/v1beta/models'])
          expect([path, (await send(key, path)).text]).toEqual([
            path,
            expect.not.stringMatching(/of-red|red-|vectors|nickname/),
          ])
        for (const path of ['/v1/models/of-red', '/v1/models/red-chat', '/v1beta/models/of-red'])
          expect((await send(key, path)).status).toBe(404)
        expect((await chat(key, 'of-rad')).text).not.toContain('of-red')
      }
      const { text } = await send(keys.red!, '/v1/models')
      const listed = (JSON.parse(text) as { data: { id: string }[] }).data.map(one => one.id)
      expect(listed).toEqual(expect.arrayContaining(['of-red', 'vectors', 'chat-model', 'nickname']))
      expect(listed).not.toContain('internal-1')
      expect((await send(masterKey, '/model/info')).text).toContain('red-vectors')
    })

    test('by API: of a team that exists, at once and for it alone', async () => {
      const made = (model_info: object) =>
        send(masterKey, '/model/new', {
          model_name: `made-${crypto.randomUUID()}`,
          litellm_params: {
            model: 'custom_openai/sim-chat',
            api_base: `${gateway.simulator.url.replace(/\/$/, '')}/v1`,
            api_key: 'k',
          },
          model_info,
        })
      const refused = await made({ team_id: 'nowhere' })
      expect(refused.status).toBe(422)
      expect(refused.text).toContain('model_info.team_id')
      const { status, text } = await made({ team_id: 'blue', team_public_model_name: 'blue-fast' })
      expect([status, text]).toEqual([200, expect.stringContaining('blue-fast')])
      expect((await chat(keys.blue!, 'blue-fast')).status).toBe(200)
      for (const key of [keys.red!, keys.alone!]) expect((await chat(key, 'blue-fast')).status).toBe(404)
    })
  })
