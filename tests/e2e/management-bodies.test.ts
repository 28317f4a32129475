/** Bodies of management requests as clients of LiteLLM's send them: what is not known is named, not refused. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({
    environment: { MODELGATE_ENCRYPTION_KEY: 'a key for tests of more than 32 characters' },
  })
})
afterAll(() => gateway?.stop())

async function post(path: string, body: object, method = 'POST'): Promise<{ status: number; body: Json }> {
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' }
  const answer = await fetch(gateway.url + path, { method, headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Json }
}
const get = async (path: string) => (await (await gateway.admin(path)).json()) as Json

/** One body for each kind of object, and the routes that make and change it. */
const objects: [path: string, body: Json, method?: string][] = [
  ['/user/new', { user_id: 'u' }],
  ['/user/update', { user_id: 'u' }],
  ['/user/bulk_update', { users: [{ user_id: 'u' }] }],
  ['/team/new', { team_id: 't' }],
  ['/team/update', { team_id: 't' }],
  ['/team/block', { team_id: 't' }],
  ['/team/unblock', { team_id: 't' }],
  ['/team/member_add', { team_id: 't', member: { user_id: 'u', role: 'user' } }],
  ['/team/member_update', { team_id: 't', user_id: 'u' }],
  ['/team/permissions_update', { team_id: 't', team_member_permissions: ['/key/info'] }],
  ['/team/member_delete', { team_id: 't', user_id: 'u' }],
  ['/organization/new', { organization_id: 'o', organization_alias: 'o' }],
  ['/organization/update', { organization_id: 'o' }, 'PATCH'],
  ['/organization/member_add', { organization_id: 'o', member: { user_id: 'u', role: 'internal_user' } }],
  ['/customer/new', { user_id: 'c' }],
  ['/customer/update', { user_id: 'c' }],
  ['/customer/block', { user_ids: ['c'] }],
  ['/budget/new', { budget_id: 'b' }],
  ['/budget/update', { budget_id: 'b' }],
  ['/tag/new', { name: 'g' }],
  ['/tag/update', { name: 'g' }],
  ['/key/generate', { key_alias: 'k' }],
  ['/credentials', { credential_name: 'x', credential_values: { api_key: 'sk-of-a-vendor-0000' } }],
  ['/credentials/x', { credential_info: { a: 1 } }, 'PATCH'],
  ['/access_group/new', { access_group: 'models', model_names: ['chat-model'] }],
  ['/v1/access_group', { access_group_name: 'more' }],
  [
    '/guardrails',
    {
      guardrail: { guardrail_name: 'r', litellm_params: { guardrail: 'words', mode: 'pre_call', words: ['zanzibar'] } },
    },
  ],
  ['/model/new', { model_name: 'm', litellm_params: { model: 'openai/gpt-4o', api_key: 'sk-of-a-vendor-0000' } }],
  ['/customer/delete', { user_ids: ['c'] }],
  ['/team/delete', { team_ids: ['t'] }],
  ['/user/delete', { user_ids: ['u'] }],
]

test('every route of management takes a field that it does not know, and names it; null and nothing need no word', async () => {
  for (const [path, body, method] of objects) {
    const nothing = { unheard_of: null, left_empty: '', lists_nothing: { inside: [] } }
    const answer = await post(path, { ...body, surprise: 1, ...nothing }, method)
    expect([path, answer.status, answer.body]).toEqual([
      path,
      path === '/v1/access_group' ? 201 : 200,
      expect.objectContaining({ warnings: ['surprise: is not a known field here, and was passed over'] }),
    ])
  }
})

test('an answer that is a list has its warnings in a header', async () => {
  for (const [path, body] of [
    ['/budget/info', { budgets: ['b'], surprise: 1 }],
    ['/tag/info', { names: ['g'], surprise: 1 }],
  ] as const) {
    const answer = await gateway.admin(path, body)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.headers.get('x-warnings')!)).toEqual([
      'surprise: is not a known field here, and was passed over',
    ])
    expect(await answer.json()).not.toHaveProperty('warnings')
  }
})

test('what LiteLLM knows and has no function here is named with what to do instead', async () => {
  const { status, body } = await post('/key/generate', {
    rpm_limit_type: 'guaranteed_throughput',
    router_settings: { num_retries: 3 },
    send_invite_email: true,
  })
  expect(status).toBe(200)
  expect(body.warnings).toEqual([
    expect.stringMatching(/^rpm_limit_type: .*none is set aside for a key$/),
    expect.stringMatching(/^router_settings: .*settings of the gateway$/),
    expect.stringMatching(/^send_invite_email: /),
  ])
})

test('what would narrow or widen rights, limits or spending is refused, also where it is misspelt or deep inside', async () => {
  const wrong: [string, Json, string][] = [
    ['/key/generate', { max_budgt: 5 }, 'max_budgt'],
    ['/key/generate', { max_budgt: 0 }, 'max_budgt'],
    ['/team/new', { allow_everything: false }, 'allow_everything'],
    ['/key/generate', { monthly_budget: 5 }, 'monthly_budget'],
    ['/key/generate', { team: 't' }, 'team'],
    ['/key/generate', { object_permission: { vector_stores: ['v'] } }, 'object_permission.vector_stores'],
    ['/user/new', { permissions: { get_spend_routes: true } }, 'permissions'],
    ['/team/new', { policies: ['strict'] }, 'policies'],
    ['/budget/new', { model_max_budget: { m: { max_budget: 1, rpm_limit: 3 } } }, 'model_max_budget.m.rpm_limit'],
    ['/team/member_add', { team_id: 'x', member: { user_id: 'u', max_budget: 1 } }, 'member.max_budget'],
    ['/customer/new', { user_id: 'eu', allowed_model_region: 'eu' }, 'allowed_model_region'],
  ]
  for (const [path, body, field] of wrong) {
    const answer = await post(path, { ...body, surprise: 1 })
    const { param } = answer.body.error as { param: string }
    expect([path, answer.status, param]).toEqual([path, 422, field])
  }
  expect((await post('/key/generate', { spend: 3, max_budgt: 5, rpm_limit: -1 })).body.detail).toHaveLength(3)
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, 1]))
  expect((await post('/key/generate', many)).status).toBe(422)
})

test('fields that are null count as not sent', async () => {
  const key = await post('/key/generate', { key_alias: 'by-alias' })
  expect(key.status).toBe(200)
  const deleted = await post('/key/delete', { keys: null, key_aliases: ['by-alias'] })
  expect([deleted.status, deleted.body]).toEqual([200, { deleted_keys: ['by-alias'] }])
  const user = await post('/user/new', { user_id: 'nulls', auto_create_key: null, user_role: null, aliases: null })
  expect(user.status).toBe(200)
  expect((await post('/key/delete', { keys: null })).status).toBe(422)
})

test('a new user may name a team, and what its key calls models', async () => {
  await post('/team/new', { team_id: 'crew' })
  const { status, body } = await post('/user/new', { user_id: 'ann', team_id: 'crew', aliases: { mine: 'chat-model' } })
  expect([status, body.teams]).toEqual([200, ['crew']])
  const { info } = (await get(`/key/info?key=${String(body.key)}`)) as { info: Json }
  expect(info).toMatchObject({ user_id: 'ann', team_id: 'crew', aliases: { mine: 'chat-model' } })
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(body.key)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mine', messages: [{ role: 'user', content: 'say: hi' }] }),
  })
  expect(answer.status).toBe(200)
})

test('a user without a key has an empty `key`, and /user/update makes the user that is not there', async () => {
  expect((await post('/user/new', { user_id: 'keyless', auto_create_key: false })).body).toMatchObject({ key: '' })
  const made = await post('/user/update', { user_email: 'new@example.com', max_budget: 3 })
  expect(made).toMatchObject({ status: 200, body: { data: { user_email: 'new@example.com', max_budget: 3 } } })
  const named = await post('/user/update', { user_id: 'by-id', user_alias: 'One' })
  expect(named).toMatchObject({ status: 200, body: { user_id: 'by-id', data: { user_alias: 'One' } } })
  const own = await gateway.key({ user_id: 'keyless' })
  const foreign = await fetch(`${gateway.url}/user/update`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
    body: JSON.stringify({ user_id: 'not-there' }),
  })
  expect(foreign.status).toBe(404)
})

test('what was written is read back: all but secrets of a model, and budgets of models in the form that was sent', async () => {
  const params = {
    model: 'openai/gpt-4o',
    api_base: 'http://127.0.0.1:9/v1',
    max_tokens: 4096,
    temperature: 0.7,
    timeout: 30,
    tags: ['fast'],
    drop_params: true,
    input_cost_per_token: 0.000002,
  }
  const { body: made } = await post('/model/new', {
    model_name: 'read-back',
    litellm_params: { ...params, api_key: 'sk-of-a-vendor-0000', custom_llm_provider: 'openai' },
  })
  const shown = async () =>
    ((await get(`/model/info?litellm_model_id=${String(made.model_id)}`)) as { data: [Json] }).data[0].litellm_params
  expect(await shown()).toEqual({ ...params, custom_llm_provider: 'openai' })
  const patched = await post(
    `/model/${String(made.model_id)}/update`,
    { litellm_params: { temperature: 0.1, timeout: null, api_base: null } },
    'PATCH',
  )
  expect(patched.status).toBe(200)
  const { timeout: _, api_base: __, ...left } = params
  expect(await shown()).toEqual({ ...left, temperature: 0.1, custom_llm_provider: 'openai' })
  const budgets = { a: 500, b: { max_budget: 2, budget_duration: '1d' }, c: { budget_limit: 3, time_period: null } }
  const budget = await post('/budget/new', { budget_id: 'of-models', model_max_budget: budgets })
  expect(budget.body.model_max_budget).toEqual(budgets)
  const wrong = { m: { max_budget: 1, budget_limit: 1 } }
  expect((await post('/budget/new', { budget_id: 'two', model_max_budget: wrong })).status).toBe(422)
})
