/** The names in lists of models: aliases of all kinds, and what is known of the vendors of patterns. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const config = `
model_list:
  - { model_name: four, proxy_params: { model: openai/gpt-4o, api_key: k } }
  - { model_name: "anthropic/*", proxy_params: { model: "anthropic/*", api_key: k }, model_info: { id: claudes } }
  - { model_name: "fast/*", proxy_params: { model: "together_ai/*", api_key: k } }
  - { model_name: "sorted/*", proxy_params: { model: openai/gpt-4o-mini, api_key: k } }
  - { model_name: "azure/*", proxy_params: { model: "azure/*", api_key: k, api_base: "https://x.openai.azure.com" } }
router_settings: { model_group_alias: { nickname: four, unseen: { model: four, hidden: true } } }
general_settings: { disable_local_models: true }
`

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config })
})
afterAll(() => gateway?.stop())

const get = async (key: string, path: string, headers: Record<string, string> = {}) =>
  (await (
    await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } })
  ).json()) as Record<string, unknown>
const listed = async (key: string, path = '/v1/models') =>
  ((await get(key, path)).data as { id: string }[]).map(one => one.id)

test('the aliases of the configuration, the key and its team are listed in every dialect, with the model they mean', async () => {
  await gateway.admin('/team/new', { team_id: 'writers', model_aliases: { draft: 'four' } })
  const key = await gateway.key({
    models: ['four'],
    team_id: 'writers',
    aliases: { mine: 'four', claude: 'anthropic/claude-haiku-4-5' },
  })
  const names = ['four', 'nickname', 'draft', 'mine']
  expect(await listed(key)).toEqual(names)
  const google = await get(key, '/v1beta/models', { 'x-goog-api-key': key })
  expect((google.models as { name: string }[]).map(one => one.name)).toEqual(names.map(name => `models/${name}`))
  for (const name of names) {
    expect(await get(key, `/v1/models/${name}`)).toMatchObject({ id: name, context_length: 128_000 })
    expect(await get(key, `/v1beta/models/${name}`)).toMatchObject({ inputTokenLimit: 128_000 })
  }
})

test("a vendor's pattern lists what is known of the vendor, as the vendor writes it", async () => {
  const all = await listed(masterKey)
  expect(all).toContain('anthropic/claude-haiku-4-5')
  expect(all).toContain('fast/Qwen/Qwen2.5-72B-Instruct-Turbo')
  // One model behind all names, and deployments that their operator names: nobody knows the names.
  expect(all.filter(name => /^(?:sorted|azure)|[*]|^fast[/]together-ai-/.test(name))).toEqual([])
  expect(new Set(all).size).toBe(all.length)
  expect(all.length).toBeLessThan(200)
  const withPatterns = await listed(masterKey, '/v1/models?return_wildcard_routes=true')
  expect(withPatterns.slice(all.length)).toEqual(['anthropic/*', 'sorted/*', 'azure/*', 'fast/*'])
})

test('only what the key may use is listed, with its own prices', async () => {
  const key = await gateway.key({ models: ['anthropic/claude-haiku-*', 'fast/MiniMaxAI/*'] })
  const names = await listed(key)
  expect(names.length).toBeGreaterThan(2)
  expect(names.every(name => /^(?:anthropic[/]claude-haiku-|fast[/]MiniMaxAI[/])/.test(name))).toBe(true)
  const groups = (await get(key, '/model_group/info')).data as Record<string, unknown>[]
  expect(groups.map(one => one.model_group)).toEqual(names)
  const haiku = 'anthropic/claude-haiku-4-5'
  expect(groups.find(one => one.model_group === haiku)).toMatchObject({
    providers: ['anthropic'],
    input_cost_per_token: 1e-6,
    max_input_tokens: 200_000,
  })
  expect((await get(key, `/model_group/info?model_group=${encodeURIComponent(haiku)}`)).data).toHaveLength(1)
  const infos = (await get(key, '/v1/model/info')).data as { model_name: string; model_info: object }[]
  expect(infos.map(one => one.model_name)).toEqual(names)
  expect(infos.find(one => one.model_name === haiku)!.model_info).toMatchObject({
    id: 'claudes',
    key: 'claude-haiku-4-5',
    input_cost_per_token: 1e-6,
  })
  const every = (await get(masterKey, '/v1/model/info?proxy_model_id=claudes')).data
  expect(every).toMatchObject([{ model_name: 'anthropic/*', model_info: { id: 'claudes' } }])
})
