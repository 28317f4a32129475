/** Customers and tags belong to a team or an organization: no other key spends what they have. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>
interface Asked {
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: Json
}

const batchModel = `
  - model_name: batches
    proxy_params: { model: openai/gpt-4o, api_base: "{simulator}/v1", api_key: k }
`
let gateway: Gateway
const keys: Record<'red' | 'redOther' | 'blue' | 'alone' | 'person' | 'administrator', string> = {} as never

const post = async (path: string, body: object, key?: string): Promise<{ status: number; body: Json }> => {
  const response = await (key === undefined
    ? gateway.admin(path, body)
    : fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      }))
  return { status: response.status, body: (await response.json()) as Json }
}
const made = async (path: string, body: object) => {
  const answer = await post(path, body)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer))
  return answer.body
}
const call = async (key: string, { path = '/v1/chat/completions', headers = {}, body = {} }: Asked, at = gateway) => {
  const messages = [{ role: 'user', content: 'say: hi' }]
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify(
      path.includes('embeddings')
        ? { model: 'embedding-model', input: 'x', ...body }
        : path.includes('responses')
          ? { model: 'chat-model', input: 'say: hi', ...body }
          : { model: 'chat-model', max_tokens: 8, messages, ...body },
    ),
  })
  return { status: response.status, text: await response.text() }
}

beforeAll(async () => {
  gateway = await startGateway({ config: standardConfig.replace('router_settings:', `${batchModel}router_settings:`) })
  await made('/organization/new', { organization_id: 'colours', organization_alias: 'Colours' })
  await made('/team/new', { team_id: 'red', organization_id: 'colours' })
  await made('/team/new', { team_id: 'red-other', organization_id: 'colours' })
  await made('/team/new', { team_id: 'blue' })
  keys.red = await gateway.key({ team_id: 'red' })
  keys.redOther = await gateway.key({ team_id: 'red-other' })
  keys.blue = await gateway.key({ team_id: 'blue' })
  keys.alone = await gateway.key()
  await made('/user/new', { user_id: 'person', auto_create_key: false })
  keys.person = await gateway.key({ user_id: 'person' })
  await made('/user/new', { user_id: 'root', user_role: 'proxy_admin', auto_create_key: false })
  keys.administrator = await gateway.key({ user_id: 'root' })
  await made('/customer/new', { user_id: 'of-red', team_id: 'red', rpm_limit: 1000 })
  await made('/customer/new', { user_id: 'of-colours', organization_id: 'colours', max_budget: 100 })
  await made('/customer/new', { user_id: 'of-nobody', max_budget: 100 })
  await made('/customer/new', {
    user_id: 'named-budget',
    budget_id: (await made('/budget/new', { max_budget: 3 })).budget_id,
  })
  await made('/customer/new', { user_id: 'unlimited', alias: 'a name alone' })
  await made('/tag/new', { name: 'tag-of-red', team_id: 'red' })
  await made('/tag/new', { name: 'tag-of-colours', organization_id: 'colours' })
  await made('/tag/new', { name: 'tag-of-nobody', rpm_limit: 1000 })
  await made('/tag/new', { name: 'unlimited' })
})
afterAll(() => gateway?.stop())

const customerFields: [field: string, asked: (id: string) => Asked][] = [
  ['user', id => ({ body: { user: id } })],
  ['safety_identifier', id => ({ body: { safety_identifier: id } })],
  ['x-litellm-customer-id', id => ({ headers: { 'x-litellm-customer-id': id }, body: { user: 'unlimited' } })],
  ['x-litellm-end-user-id', id => ({ headers: { 'x-litellm-end-user-id': id } })],
  ['metadata.user_id', id => ({ path: '/v1/messages', body: { metadata: { user_id: id } } })],
  ['user', id => ({ path: '/v1/responses', body: { user: id } })],
  ['user', id => ({ path: '/v1/embeddings', body: { user: id } })],
]
const tagFields: [field: string, asked: (name: string) => Asked][] = [
  ['tags', name => ({ body: { tags: ['mine', name] } })],
  ['metadata.tags', name => ({ body: { metadata: { tags: [name] } } })],
  ['x-litellm-tags', name => ({ headers: { 'x-litellm-tags': `mine, ${name}` } })],
  ['x-litellm-tags', name => ({ path: '/v1/messages', headers: { 'x-litellm-tags': name } })],
]

describe('a call with the key of another is refused with the field, and counts nowhere', () => {
  for (const [kind, fields, names] of [
    ['customer', customerFields, { team: 'of-red', organization: 'of-colours', nobody: 'of-nobody' }],
    ['tag', tagFields, { team: 'tag-of-red', organization: 'tag-of-colours', nobody: 'tag-of-nobody' }],
  ] as const)
    for (const [field, asked] of fields)
      test(`${kind} by ${field} of ${asked('x').path ?? 'a chat'}`, async () => {
        const before = gateway.simulator.truth.totals().requests
        const refused = async (key: string, name: string, words: string) => {
          const { status, text } = await call(key, asked(name))
          expect([name, status, text]).toEqual([name, 403, expect.stringContaining(words)])
          expect(text).toContain(`\`${field}\` names a ${kind}`)
        }
        for (const key of [keys.blue, keys.alone, keys.redOther]) await refused(key, names.team, 'belongs to another')
        for (const key of [keys.blue, keys.alone]) await refused(key, names.organization, 'belongs to another')
        for (const key of [keys.blue, keys.person, keys.red]) await refused(key, names.nobody, 'unowned_limits')
        expect(gateway.simulator.truth.totals().requests).toBe(before)
        // The operator's own: of no user, team or organization.
        expect((await call(keys.alone, asked(names.nobody))).status).toBe(200)
        for (const name of Object.values(names)) expect((await call(keys.administrator, asked(name))).status).toBe(200)
        expect((await call(keys.red, asked(names.team))).status).toBe(200)
        expect((await call(keys.redOther, asked(names.organization))).status).toBe(200)
        for (const name of ['unlimited', 'never-made']) expect((await call(keys.alone, asked(name))).status).toBe(200)
      })
})

test('a batch is tagged by no key of another team', async () => {
  const line = {
    custom_id: '1',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'batches', messages: [{ role: 'user', content: 'say: hi' }] },
  }
  const started = async (key: string) => {
    const authorization = `Bearer ${key}`
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('model', 'batches')
    form.set('file', new File([JSON.stringify(line)], 'lines.jsonl'))
    const sent = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers: { authorization }, body: form })
    const { id } = (await sent.json()) as { id: string }
    const body = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' }
    const headers = { authorization, 'x-litellm-tags': 'tag-of-red' }
    const answer = await fetch(`${gateway.url}/v1/batches`, { method: 'POST', headers, body: JSON.stringify(body) })
    return [answer.status, await answer.text()]
  }
  expect(await started(keys.blue)).toEqual([403, expect.stringContaining('`x-litellm-tags` names a tag')])
  expect(await started(keys.red)).toEqual([200, expect.stringContaining('"object":"batch"')])
})

test('a customer whose limits are those of a named budget is no one for all', async () => {
  expect((await call(keys.red, { body: { user: 'named-budget' } })).status).toBe(403)
})

test('the row of a refused call is none of the customer or of the tag that it named', async () => {
  await call(keys.blue, { body: { user: 'of-red', tags: ['kept'] } })
  await call(keys.blue, { body: { user: 'kept', tags: ['tag-of-red'] } })
  const rows = await gateway.rows()
  const ofBlue = rows.filter(row => row.team_id === 'blue' && row.status === 403 && row.operation !== 'files')
  expect(ofBlue.length).toBeGreaterThan(0)
  expect(ofBlue.filter(row => row.end_user === 'of-red' || JSON.stringify(row).includes('tag-of-red'))).toEqual([])
})

test('a key is given a foreign tag by nobody, and one with limits of nobody by administrators alone', async () => {
  const given = await gateway.key({ team_id: 'blue', tags: ['tag-of-nobody'] })
  expect((await call(given, {})).status).toBe(200)
  const foreign = await gateway.key({ team_id: 'blue', metadata: { tags: ['tag-of-red'] } })
  const refused = await call(foreign, {})
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('the key of this call carries a tag')])
  const ida = (await made('/user/new', { user_id: 'ida', teams: [{ team_id: 'red', user_role: 'admin' }] }))
    .key as string
  for (const fields of [
    { tags: ['tag-of-nobody'] },
    { tags: ['tag-of-colours'] },
    { metadata: { tags: ['tag-of-red'] } },
  ]) {
    const answer = await post('/key/generate', fields, ida)
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([403, expect.stringContaining('"param":"tags"')])
  }
  const own = await post('/key/generate', { team_id: 'red', tags: ['tag-of-red', 'tag-of-colours', 'unlimited'] }, ida)
  expect(own.status).toBe(200)
  expect((await call(own.body.key as string, {})).status).toBe(200)
  const changed = await post(
    '/key/update',
    { key: own.body.key, tags: ['tag-of-red', 'tag-of-colours', 'tag-of-nobody'] },
    ida,
  )
  expect(changed.status).toBe(403)
})

test('an owner is shown, changed, one alone, and has to be there', async () => {
  const info = async (id: string) => (await (await gateway.admin(`/customer/info?end_user_id=${id}`)).json()) as Json
  expect(await info('of-red')).toMatchObject({ team_id: 'red', organization_id: null })
  await made('/customer/new', { user_id: 'moved', max_budget: 5, team_id: 'red' })
  expect((await call(keys.blue, { body: { user: 'moved' } })).status).toBe(403)
  await made('/customer/update', { user_id: 'moved', team_id: 'blue' })
  expect((await call(keys.blue, { body: { user: 'moved' } })).status).toBe(200)
  await made('/customer/update', { user_id: 'moved', organization_id: 'colours' })
  expect(await info('moved')).toMatchObject({ team_id: null, organization_id: 'colours' })
  for (const [path, id] of [
    ['/customer/new', { user_id: 'new' }],
    ['/customer/update', { user_id: 'moved' }],
    ['/tag/new', { name: 'new' }],
    ['/tag/update', { name: 'tag-of-red' }],
  ] as const) {
    for (const field of ['team_id', 'organization_id']) {
      const answer = await post(path, { ...id, [field]: 'nowhere' })
      expect([path, answer.status, JSON.stringify(answer.body)]).toEqual([
        path,
        404,
        expect.stringContaining(`"param":"${field}"`),
      ])
    }
    expect((await post(path, { ...id, team_id: 'red', organization_id: 'colours' })).status).toBe(422)
  }
})

describe('the default budget of end users', () => {
  const config = (more: string) => `${standardConfig}settings: { max_end_user_budget: 0.0000001 }\n${more}`
  const spent = async (at: Gateway, key: string) => {
    const asked = { body: { user: 'u1', max_tokens: 1 } }
    return (await call(key, asked, at)).status
  }
  for (const [setting, expected] of [
    ['refuse', [429, 'customer_of_team:green/u1']],
    ['allow', [429, 'customer:u1']],
  ] as const)
    test(`counts by \`unowned_limits: ${setting}\` in ${expected[1]}`, async () => {
      const other = await startGateway({ config: config(`general_settings: { unowned_limits: ${setting} }\n`) })
      try {
        await other.admin('/team/new', { team_id: 'green' })
        const key = await other.key({ team_id: 'green' })
        expect(await spent(other, key)).toBe(429)
        const limits = (await (await other.admin(`/key/limits?key=${key}&customer=u1`)).json()) as {
          scopes: { kind: string; id: string }[]
        }
        expect(limits.scopes.map(one => `${one.kind}:${one.id}`)).toContain(expected[1])
      } finally {
        await other.stop()
      }
    })
})
