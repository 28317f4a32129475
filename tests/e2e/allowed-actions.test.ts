/** `may` of an answer is the truth: what it names is done, and what it does not name is refused. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { keyActions, organizationActions, teamActions } from '../../src/core/tenancy/actions.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway?.stop())

const asked = (key: string, path: string, body?: object, method = body ? 'POST' : 'GET') =>
  fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
const made = async <Answer>(key: string, path: string, body: object, method = 'POST'): Promise<Answer> => {
  const answer = await asked(key, path, body, method)
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}
const keyOf = async (body: object, maker = masterKey): Promise<string> =>
  (await made<{ token_id: string }>(maker, '/key/generate', body)).token_id

let house: { callers: Record<string, string>; keys: Record<string, () => Promise<string>> }

/** An organization, a team in it, one without, and a caller of every kind. */
const build = async () => {
  const user = async (user_id: string, user_role = 'internal_user', others = {}) =>
    (await made<{ key: string }>(masterKey, '/user/new', { user_id, user_role, ...others })).key
  await made(masterKey, '/organization/new', { organization_id: 'org', organization_alias: 'Org' })
  const callers: Record<string, string> = { master: masterKey }
  for (const [name, role] of [
    ['root', 'proxy_admin'],
    ['vera', 'proxy_admin_viewer'],
    ['olga', 'internal_user'],
    ['tara', 'internal_user'],
    ['mara', 'internal_user'],
    ['lena', 'internal_user_viewer'],
    ['nobody', 'internal_user'],
  ] as const)
    callers[name] = await user(name, role)
  await made(masterKey, '/organization/member_add', {
    organization_id: 'org',
    member: [
      { user_id: 'olga', role: 'org_admin' },
      { user_id: 'mara', role: 'internal_user' },
      { user_id: 'lena', role: 'org_admin' },
    ],
  })
  for (const [team_id, place] of [
    ['inside', { organization_id: 'org' }],
    ['outside', {}],
  ] as const) {
    await made(masterKey, '/team/new', { team_id, ...place })
    await made(masterKey, '/team/member_add', {
      team_id,
      member: [
        { user_id: 'tara', role: 'admin' },
        { user_id: 'mara', role: 'user' },
        { user_id: 'lena', role: 'admin' },
      ],
    })
  }
  // A key with a limit of its own changes no keys.
  callers.limited = (await made<{ key: string }>(masterKey, '/key/generate', { user_id: 'tara', rpm_limit: 900 })).key
  const keys = {
    'a key of the team': () => keyOf({ team_id: 'inside' }),
    'a key of the team outside': () => keyOf({ team_id: 'outside' }),
    'a key of a member in the team': () => keyOf({ team_id: 'inside', user_id: 'mara' }),
    'a calling key of a member': () =>
      keyOf({ team_id: 'inside', user_id: 'mara', allowed_routes: ['llm_api_routes'] }),
    'an own key': () => keyOf({}, callers.mara),
    'a key that was given': () => keyOf({ user_id: 'mara', max_budget: 3 }),
    'a blocked key that was given': async () => {
      const id = await keyOf({ user_id: 'mara' })
      await made(masterKey, '/key/block', { key: id })
      return id
    },
    'a key of an administrator': () => keyOf({ user_id: 'root' }),
    'a key of nobody': () => keyOf({}),
  }
  return { callers, keys }
}

test('of a key', async () => {
  house ??= await build()
  const wrong: unknown[] = []
  for (const [caller, callerKey] of Object.entries(house.callers))
    for (const [kind, make] of Object.entries(house.keys))
      for (const action of keyActions) {
        const id = await make()
        const answer = await asked(callerKey, `/key/info?key=${id}`)
        const { may = [], info = { blocked: false } } = (answer.ok ? await answer.json() : {}) as {
          may?: string[]
          info?: { blocked: boolean }
        }
        const done = await asked(
          callerKey,
          ...({
            update: ['/key/update', { key: id, key_alias: `named-${id}` }],
            regenerate: ['/key/regenerate', { key: id }],
            block: [info.blocked ? '/key/unblock' : '/key/block', { key: id }],
            delete: ['/key/delete', { keys: [id] }],
            store_bodies: ['/key/update', { key: id, store_prompts_in_spend_logs: true }],
          }[action] as [string, object]),
        )
        if (done.ok !== may.includes(action)) wrong.push([caller, kind, action, may, done.status, await done.text()])
      }
  expect(wrong).toEqual([])
}, 120_000)

test('of a team', async () => {
  house ??= await build()
  const wrong: unknown[] = []
  const { limited: _, ...callers } = house.callers
  for (const [caller, callerKey] of Object.entries(callers))
    for (const place of [{ organization_id: 'org' }, {}])
      for (const action of teamActions) {
        const id = crypto.randomUUID()
        await made(masterKey, '/team/new', { team_id: id, ...place })
        const member = ['tara', 'lena'].map(user_id => ({ user_id, role: 'admin' }))
        await made(masterKey, '/team/member_add', {
          team_id: id,
          member: [...member, { user_id: 'mara', role: 'user' }],
        })
        const answer = await asked(callerKey, `/team/info?team_id=${id}`)
        const { may = [] } = (answer.ok ? await answer.json() : {}) as { may?: string[] }
        const done = await asked(
          callerKey,
          ...({
            update: ['/team/update', { team_id: id, team_alias: 'renamed', team_member_budget: 1 }],
            update_limits: ['/team/update', { team_id: id, max_budget: 1, models: ['chat-model'] }],
            change_members: ['/team/member_update', { team_id: id, user_id: 'mara', role: 'admin' }],
            block: ['/team/block', { team_id: id }],
            delete: ['/team/delete', { team_ids: [id] }],
            store_bodies: ['/team/update', { team_id: id, store_prompts_in_spend_logs: true }],
          }[action] as [string, object]),
        )
        if (done.ok !== may.includes(action)) wrong.push([caller, place, action, may, done.status, await done.text()])
      }
  expect(wrong).toEqual([])
}, 120_000)

test('of an organization', async () => {
  house ??= await build()
  const wrong: unknown[] = []
  const { limited: _, ...callers } = house.callers
  for (const [caller, callerKey] of Object.entries(callers))
    for (const action of organizationActions) {
      const id = crypto.randomUUID()
      await made(masterKey, '/organization/new', { organization_id: id, organization_alias: id })
      const member = ['olga', 'lena'].map(user_id => ({ user_id, role: 'org_admin' }))
      await made(masterKey, '/organization/member_add', {
        organization_id: id,
        member: [...member, { user_id: 'mara', role: 'internal_user' }],
      })
      const answer = await asked(callerKey, `/organization/info?organization_id=${id}`)
      const { may = [] } = (answer.ok ? await answer.json() : {}) as { may?: string[] }
      const done = await asked(
        callerKey,
        ...({
          update: ['/organization/update', { organization_id: id, organization_alias: 'renamed' }, 'PATCH'],
          update_limits: ['/organization/update', { organization_id: id, max_budget: 1 }, 'PATCH'],
          change_members: [
            '/organization/member_update',
            { organization_id: id, user_id: 'mara', role: 'org_admin' },
            'PATCH',
          ],
          block: ['/organization/update', { organization_id: id, blocked: true }, 'PATCH'],
          delete: ['/organization/delete', { organization_ids: [id] }, 'DELETE'],
        }[action] as [string, object, string]),
      )
      if (done.ok !== may.includes(action)) wrong.push([caller, action, may, done.status, await done.text()])
    }
  expect(wrong).toEqual([])
}, 120_000)

test('of the gateway', async () => {
  house ??= await build()
  const wrong: unknown[] = []
  for (const [caller, callerKey] of Object.entries(house.callers)) {
    const { may, organizations } = (await (await asked(callerKey, '/sign-in/session')).json()) as {
      may: string[]
      organizations: { id: string; role: string }[]
    }
    const led = organizations.find(one => one.role === 'org_admin')?.id ?? null
    const tried = {
      administer: await asked(callerKey, '/budget/new', { budget_id: crypto.randomUUID(), max_budget: 1 }),
      read_all: await asked(callerKey, '/audit'),
      create_keys: await asked(callerKey, '/key/generate', {}),
      create_teams: await asked(callerKey, '/team/new', { team_alias: 'made', organization_id: led }),
    }
    for (const [action, { ok, status }] of Object.entries(tried))
      if (ok !== may.includes(action)) wrong.push([caller, action, may, status])
  }
  expect(wrong).toEqual([])
}, 60_000)
