/** What operators see of deployments: in pages, by public name, and whether each answers. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

const params = (name: string, more = '') =>
  `{ model: custom_openai/${name}, api_base: "{simulator}/v1", api_key: canary, timeout: 2 ${more} }`
const config = `model_list:
  - { model_name: chat, proxy_params: ${params('sim-chat', ', input_cost_per_token: 0.000003, output_cost_per_token: 0.000001')}, model_info: { id: chat-a, max_input_tokens: 1000, supports_vision: false } }
  - { model_name: chat, proxy_params: ${params('sim-chat', ', input_cost_per_token: 0.000001, output_cost_per_token: 0.000002')}, model_info: { id: chat-b, max_input_tokens: 3000, supports_vision: true } }
  - { model_name: broken, proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1", api_key: canary }, model_info: { id: broken } }
  - { model_name: silent, proxy_params: ${params('x#hang')}, model_info: { id: silent } }
  - { model_name: embed, proxy_params: ${params('sim-embedding')}, model_info: { id: embed, mode: embedding } }
  - { model_name: picture, proxy_params: ${params('sim-image')}, model_info: { id: picture, mode: image_generation } }
  - { model_name: "any/*", proxy_params: ${params('*')}, model_info: { id: any } }
router_settings: { num_retries: 2, fallbacks: [{ broken: [chat] }] }
general_settings: { disable_local_models: true }
`

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config })
})
afterAll(() => gateway?.stop())

const get = async (path: string): Promise<Json & { data: Json[] }> =>
  (await (await gateway.admin(path)).json()) as Json & { data: Json[] }
const idsOf = ({ data }: { data: Json[] }) => data.map(one => (one.model_info as Json).id)

test('deployments come in pages, searched and in order; what is not known comes last', async () => {
  const first = await get('/v2/model/info?size=3&page=1')
  expect(idsOf(first)).toEqual(['chat-a', 'chat-b', 'broken'])
  expect(first).toMatchObject({ total_count: 7, current_page: 1, total_pages: 3, size: 3 })
  expect(idsOf(await get('/v2/model/info?size=3&page=3'))).toEqual(['any'])
  expect(idsOf(await get('/v2/model/info?size=3&page=4'))).toEqual([])
  expect(idsOf(await get('/v2/model/info?search=CHAT-'))).toEqual(['chat-a', 'chat-b'])
  expect(idsOf(await get('/v2/model/info?modelId=embed'))).toEqual(['embed'])
  expect(idsOf(await get('/v2/model/info?sortBy=costs')).slice(0, 2)).toEqual(['chat-b', 'chat-a'])
  expect(idsOf(await get('/v2/model/info?sortBy=costs&sortOrder=desc')).slice(0, 2)).toEqual(['chat-a', 'chat-b'])
  expect(idsOf(await get('/v2/model/info?sortBy=model_name'))[0]).toBe('any')
  expect(idsOf(await get('/v2/model/info?user_models_only=true'))).toEqual([])
  const made = await gateway.admin('/model/new', {
    model_name: 'mine',
    litellm_params: { model: 'groq/x', api_key: 'k' },
  })
  const { model_id: id } = (await made.json()) as Json
  expect(idsOf(await get('/v2/model/info?user_models_only=true'))).toEqual([id])
  expect(idsOf(await get('/v2/model/info?sortBy=created_at'))[0]).toBe(id)
  await gateway.admin('/model/delete', { id })
})

test('a public name shows the most that its deployments take and cost, and null where nothing is known', async () => {
  const { data } = await get('/model_group/info?model_group=chat')
  expect(data).toMatchObject([
    {
      model_group: 'chat',
      providers: ['custom_openai'],
      mode: 'chat',
      max_input_tokens: 3000,
      input_cost_per_token: 0.000003,
      output_cost_per_token: 0.000002,
      supports_vision: true,
      supports_web_search: null,
      rpm: null,
    },
  ])
  expect(data[0]!.supported_openai_params).toContain('temperature')
  expect((await get('/model_group/info')).data.map(one => one.model_group)).toEqual([
    'chat',
    'broken',
    'silent',
    'embed',
    'picture',
    'any/*',
  ])
  expect((await get('/model_group/info?model_group=none')).data).toEqual([])
})

test('a key sees only the models that it may use, without addresses', async () => {
  const key = await gateway.key({ models: ['embed'] })
  const ask = async (path: string) => {
    const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}` } })
    return (await response.json()) as { data: Json[] }
  }
  expect(idsOf(await ask('/v2/model/info'))).toEqual(['embed'])
  expect((await ask('/model_group/info')).data.map(one => one.model_group)).toEqual(['embed'])
  expect((await ask('/model/info')).data[0]!.litellm_params).not.toHaveProperty('api_base')
  expect((await fetch(`${gateway.url}/health`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(403)
})

test('strangers see the models that an administrator makes public, without ids and addresses', async () => {
  const seen = async (headers = {}) => fetch(`${gateway.url}/public/model_hub`, { headers })
  expect(await (await seen()).json()).toEqual([])
  const make = (model_groups: string[]) => gateway.admin('/model_group/make_public', { model_groups })
  expect(await (await make(['chat', 'any/one'])).json()).toMatchObject({ public_model_groups: ['chat', 'any/one'] })
  const answer = await seen()
  const text = await answer.text()
  const [chat, ...others] = JSON.parse(text) as Json[]
  expect(chat).toMatchObject({
    model_group: 'chat',
    prices: { input_cost_per_token: 0.000003, output_cost_per_token: 0.000002 },
    is_public_model_group: true,
    health_status: 'healthy',
  })
  expect(others.map(one => one.model_group)).toEqual(['any/one'])
  for (const secret of ['chat-a', gateway.simulator.url.replace(/^http:\/\//, ''), 'canary', 'embed'])
    expect(text).not.toContain(secret)
  expect((await seen({ 'if-none-match': answer.headers.get('etag')! })).status).toBe(304)
  const listed = (await get('/model_group/info')).data.filter(one => one.is_public_model_group)
  expect(listed.map(one => one.model_group)).toEqual(['chat'])
  for (const unknown of ['none', 'any/*']) expect((await make([unknown])).status).toBe(404)
  expect((await make([])).status).toBe(200)
  expect(await (await seen()).json()).toEqual([])
})

test('what the file lists is public, without prices where it says so, and not changed by API', async () => {
  const listing = `litellm_settings: { public_model_groups: [embed, short], public_model_prices: false }\n`
  const aliases = config.replace('num_retries: 2,', 'num_retries: 2, model_group_alias: { short: chat, brief: embed },')
  const own = await startGateway({ config: aliases + listing })
  try {
    const shown = (await (await fetch(`${own.url}/public/model_hub`)).json()) as Json[]
    expect(shown.map(one => [one.model_group, one.aliases])).toEqual([
      ['embed', []],
      ['short', []],
    ])
    expect(JSON.stringify(shown)).not.toMatch(/cost_per_token|prices/)
    const refused = await own.admin('/model_group/make_public', { model_groups: [] })
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringMatching(/config\.yaml:\d+; change/)])
  } finally {
    await own.stop()
  }
})

test('each deployment is asked once by itself: no retry and no fallback hides that it does not answer', async () => {
  const health = (await get('/health')) as unknown as Record<string, (Json & { error?: string })[]>
  const names = (list: string) => health[list]!.map(one => one.model_id).toSorted()
  expect(names('healthy_endpoints')).toEqual(['chat-a', 'chat-b', 'embed'])
  expect(names('unhealthy_endpoints')).toEqual(['broken', 'silent'])
  expect(names('unchecked_endpoints')).toEqual(['any', 'picture'])
  expect(health.healthy_count as unknown).toBe(3)
  for (const one of health.unhealthy_endpoints!) expect(one.error).toMatch(/./)
  expect(JSON.stringify(health)).not.toContain('canary')
  const rows = await gateway.rows()
  expect(rows.map(row => row.deployment_id).toSorted()).toEqual(['broken', 'chat-a', 'chat-b', 'embed', 'silent'])
  const one = (await get('/health?model_id=chat-b')) as unknown as Json
  expect([one.healthy_count, one.unhealthy_count]).toEqual([1, 0])
})

test('requests for the health of the same models at the same time share one call of each', async () => {
  const before = (await gateway.rows()).length
  // The deployment hangs until its timeout of 2 s, so that all five requests arrive while its call runs.
  await Promise.all(Array.from({ length: 5 }, () => get('/health?model=silent')))
  expect((await gateway.rows()).length - before).toBe(1)
})

test('every path of the document is among the routes', async () => {
  const { routes } = (await (await fetch(`${gateway.url}/routes`)).json()) as { routes: { path: string }[] }
  const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: object }
  const listed = new Set(routes.map(one => one.path))
  expect(Object.keys(paths).filter(path => !listed.has(path))).toEqual([])
})
