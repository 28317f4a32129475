/** What a key may manage is what both its user and its own text allow: a restricted key manages nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { allEndpoints } from '../../src/endpoints/index.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

const endpoints = await allEndpoints()
const managing = endpoints.filter(({ auth }) => auth === 'manager' || auth === 'admin')

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
  await admin('/organization/new', { organization_id: 'acme', organization_alias: 'Acme' })
  await admin('/team/new', { team_id: 'red', organization_id: 'acme' })
  await admin('/budget/new', { budget_id: 'small', max_budget: 1 })
  await admin('/user/new', { user_id: 'boss', user_role: 'proxy_admin', auto_create_key: false })
  await admin('/user/new', { user_id: 'other-boss', user_role: 'proxy_admin', auto_create_key: false })
  for (const user_id of ['lead', 'olga', 'member'])
    await admin('/user/new', { user_id, user_role: 'internal_user', auto_create_key: false })
  await admin('/team/member_add', { team_id: 'red', member: { role: 'admin', user_id: 'lead' } })
  await admin('/team/member_add', { team_id: 'red', member: { role: 'user', user_id: 'member' } })
  await admin('/organization/member_add', { organization_id: 'acme', member: { role: 'org_admin', user_id: 'olga' } })
})
afterAll(() => gateway.stop())

async function ask(key: string, path: string, body?: Json, method = body === undefined ? 'GET' : 'POST') {
  const answer = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const read = (await answer.json()) as Json
  return { status: answer.status, body: read, message: String((read.error as Json | undefined)?.message ?? '') }
}
const admin = async (path: string, body: Json): Promise<Json> => {
  const answer = await gateway.admin(path, body)
  if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
  return (await answer.json()) as Json
}

const restrictions: readonly Json[] = [
  { max_budget: 1 },
  { budget_id: 'small' },
  { models: ['chat-model'] },
  { rpm_limit: 100 },
  { tpm_limit: 100 },
  { max_parallel_requests: 9 },
  { model_rpm_limit: { 'chat-model': 1 } },
  { model_max_budget: { 'chat-model': 1 } },
  { duration: '1h' },
  { tags: ['red'] },
  { enforced_params: ['user'] },
  { max_budget: 1, allowed_routes: ['management_routes', 'llm_api_routes'] },
]

test('a restricted key of an administrator, an org_admin or a team admin manages nothing', async () => {
  const wrong: string[] = []
  for (const user_id of ['boss', 'olga', 'lead'])
    for (const restriction of restrictions) {
      const key = await gateway.key({ user_id, ...restriction })
      // Each operation of the router once, with one of the restrictions.
      const tried = restriction === restrictions[0] ? managing : managing.filter(({ paths }) => isSample.has(paths[0]!))
      for (const { method, paths, auth } of tried) {
        if (auth === 'admin' && user_id !== 'boss') continue
        const path = paths[0]!.replaceAll(/\{\w+\+?\}/g, 'none')
        const { status, message } = await ask(key, path, method === 'GET' ? undefined : {}, method)
        const isRefused = status === 403 && (message.includes('restriction of its own') || path.startsWith('/scim/'))
        if (!isRefused) wrong.push(`${user_id} ${JSON.stringify(restriction)} ${method} ${path}: ${status} ${message}`)
      }
    }
  expect(wrong).toEqual([])
})
const isSample = new Set(['/team/delete', '/team/member_delete', '/key/generate', '/key/delete', '/user/new'])

test('nor does it set passwords, make links, end sessions of others or see what other keys have stored', async () => {
  const theirs = await gateway.key()
  const { body: thread } = await ask(theirs, '/v1/threads', {})
  const full = await gateway.key({ user_id: 'boss' })
  expect((await ask(full, `/v1/threads/${String(thread.id)}`)).status).toBe(200)
  for (const restriction of [...restrictions, { allowed_routes: ['llm_api_routes'] }]) {
    const key = await gateway.key({ user_id: 'boss', ...restriction })
    for (const [path, body] of [
      ['/sign-in/password', { user_id: 'other-boss', new_password: 'a password of a thief' }],
      ['/sign-in/invitations', { user_id: 'other-boss' }],
      ['/sign-in/sessions/revoke-all', { user_id: 'other-boss' }],
    ] as const)
      expect([restriction, path, (await ask(key, path, body)).status]).toEqual([restriction, path, 403])
    expect((await ask(key, `/v1/threads/${String(thread.id)}`)).status).toBe(404)
  }
})

test('it calls models and reads, and the same persons manage with keys that have no restriction', async () => {
  const limited = await gateway.key({ user_id: 'boss', max_budget: 1 })
  expect((await ask(limited, '/user/list')).status).toBe(200)
  const chat = { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }] }
  expect((await ask(limited, '/v1/chat/completions', chat)).status).toBe(200)
  const expected = { boss: 200, olga: 200, lead: 200 }
  for (const [user_id, status] of Object.entries(expected)) {
    const key = await gateway.key({ user_id })
    expect((await ask(key, '/team/update', { team_id: 'red', team_alias: user_id })).status).toBe(status)
  }
})

test('a key with allowed_routes manages what they name, and makes nothing that may do more', async () => {
  const key = await gateway.key({ user_id: 'boss', key_type: 'management', duration: '30d' })
  expect((await ask(key, '/team/new', { team_id: 'blue' })).status).toBe(200)
  const made = await ask(key, '/key/generate', { team_id: 'blue', max_budget: 5 })
  expect(made).toMatchObject({ status: 200, body: { allowed_routes: ['llm_api_routes'], max_budget: 5 } })
  const newUser = await ask(key, '/user/new', { user_id: 'made-by-key' })
  expect(newUser.status).toBe(200)
  expect((await ask(String(newUser.body.key), '/key/generate', {})).status).toBe(403)
  const unlimited = (await admin('/key/generate', { user_id: 'member' })).token as string
  const refused: [path: string, body: Json, message: string][] = [
    ['/key/generate', { allowed_routes: ['management_routes'] }, 'only call models'],
    ['/key/generate', { user_id: 'other-boss' }, 'keys of administrators'],
    ['/key/update', { key, allowed_routes: [] }, 'administrators'],
    ['/key/update', { key, duration: null }, 'does not loosen its own'],
    ['/key/regenerate', { key: unlimited }, 'only call models'],
    ['/user/new', { user_role: 'proxy_admin' }, 'makes and changes no administrators'],
    ['/user/update', { user_id: 'member', user_role: 'proxy_admin' }, 'makes and changes no administrators'],
    ['/user/update', { user_id: 'other-boss', user_email: 'thief@example.com' }, 'changes no administrators'],
    ['/user/bulk_update', { users: [{ user_id: 'member', user_role: 'proxy_admin_viewer' }] }, 'no administrators'],
    ['/sign-in/password', { user_id: 'other-boss', new_password: 'a password of a thief' }, 'no administrators'],
    ['/sign-in/invitations', { user_id: 'other-boss' }, 'no administrators'],
    ['/scim/tokens', {}, 'restriction of its own'],
  ]
  for (const [path, body, message] of refused) {
    const heard = await ask(key, path, body)
    expect([path, body, heard.status, heard.message]).toEqual([path, body, 403, expect.stringContaining(message)])
  }
})

test('a text that another gave the key of a person opens nothing that the person has stored', async () => {
  for (const [user_id, by] of [
    ['member', 'lead'],
    ['member', 'boss'],
    ['lead', 'boss'],
  ] as const) {
    const replacing = await gateway.key({ user_id: by })
    const made = { team_id: 'red', user_id, allowed_routes: ['llm_api_routes'] }
    const { key: text, token_id: id } = await admin('/key/generate', made)
    const own = String(text)
    const { body: thread } = await ask(own, '/v1/threads', {})
    const { body: talk } = await ask(own, '/chat/conversations', { title: 'private' })
    const { body: said } = await ask(own, '/v1/responses', { model: 'chat-model', input: 'hi', store: true })
    const paths = [`/v1/threads/${String(thread.id)}`, `/chat/conversations/${String(talk.id)}`]
    paths.push(`/v1/responses/${String(said.id)}`)
    const statuses = (key: string) => Promise.all(paths.map(async path => (await ask(key, path)).status))
    expect(await statuses(own)).toEqual([200, 200, 200])
    const replaced = await ask(replacing, '/key/regenerate', { key: id as string, grace_period: '1h' })
    const taken = String(replaced.body.key)
    expect(await statuses(taken)).toEqual([404, 404, 404])
    expect((await ask(taken, '/chat/conversations')).body).toMatchObject({ data: [] })
    // The person's own text goes on during the grace, and what the other stores is not mixed with it.
    expect(await statuses(own)).toEqual([200, 200, 200])
    const { body: other } = await ask(taken, '/v1/threads', {})
    expect((await ask(own, `/v1/threads/${String(other.id)}`)).status).toBe(404)
    // With a text that the person makes there is everything again.
    const person = await gateway.key({ user_id })
    await admin('/key/update', { key: id as string, allowed_routes: [] })
    const mine = await ask(person, '/key/regenerate', { key: id as string })
    expect(mine.status).toBe(200)
    expect(await statuses(String(mine.body.key))).toEqual([200, 200, 200])
    // A key that is given to another person opens nothing either.
    await admin('/key/update', { key: id as string, user_id: 'olga' })
    expect(await statuses(String(mine.body.key))).toEqual([404, 404, 404])
  }
})

test('the text before a key was replaced manages until its grace ends', async () => {
  const key = await gateway.key({ user_id: 'boss' })
  await admin('/key/regenerate', { key, grace_period: '1h' })
  expect((await ask(key, '/team/update', { team_id: 'red', team_alias: 'red' })).status).toBe(200)
})
