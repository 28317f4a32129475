/** Teams, users, organizations and customers over the API: what they may do, and that changes hold at the next call. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

/** Of users who are made without them; far above what the tests use. */
const newUsers = 'settings: { default_internal_user_params: { max_budget: 1000, budget_duration: 30d } }\n'

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config: standardConfig + newUsers })
})
afterAll(() => gateway.stop())

interface Heard {
  readonly status: number
  readonly body: Json
  readonly message: string
}

async function ask(
  key: string,
  path: string,
  body?: Json,
  method = body === undefined ? 'GET' : 'POST',
): Promise<Heard> {
  const answer = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const read = (await answer.json()) as Json
  return { status: answer.status, body: read, message: (read.error as { message?: string } | undefined)?.message ?? '' }
}
const admin = async (path: string, body?: Json): Promise<Json> => {
  const answer = await gateway.admin(path, body)
  if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
  return (await answer.json()) as Json
}
const chat = (key: string, more: Json = {}) =>
  ask(key, '/v1/chat/completions', { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }], ...more })
const newUser = async (fields: Json) => (await admin('/user/new', fields)).key as string

test('a team, a user or an organization that is blocked takes its keys along at the next call', async () => {
  await admin('/organization/new', { organization_id: 'o', organization_alias: 'O' })
  await admin('/team/new', { team_id: 't', organization_id: 'o' })
  await admin('/user/new', { user_id: 'u', auto_create_key: false })
  const key = await gateway.key({ team_id: 't', user_id: 'u' })
  expect((await chat(key)).status).toBe(200)
  await admin('/team/block', { team_id: 't' })
  expect((await chat(key)).status).toBe(401)
  await admin('/team/unblock', { team_id: 't' })
  expect((await chat(key)).status).toBe(200)
  await admin('/user/update', { user_id: 'u', blocked: true })
  expect((await chat(key)).status).toBe(401)
  await admin('/user/update', { user_id: 'u', blocked: false })
  expect((await chat(key)).status).toBe(200)
  await admin('/team/delete', { team_ids: ['t'] })
  expect((await chat(key)).status).toBe(401)
})

test('the key that comes with a user belongs to its first team, whose budget binds it', async () => {
  for (const team of ['poor', 'rich']) await admin('/team/new', { team_id: team, max_budget: team === 'poor' ? 0 : 5 })
  const teams = [{ team_id: 'poor', user_role: 'user' }, 'rich']
  const made = await admin('/user/new', { user_id: 'of-teams', teams })
  expect(made).toMatchObject({ team_id: 'poor', teams: ['poor', 'rich'] })
  expect(await chat(made.key as string)).toMatchObject({ status: 429, message: expect.stringContaining('poor') })
  const named = await admin('/user/new', { user_id: 'named', teams, team_id: 'rich' })
  expect([named.team_id, (await chat(named.key as string)).status]).toEqual(['rich', 200])
  const alone = await admin('/user/new', { user_id: 'alone' })
  expect([alone.team_id, (await chat(alone.key as string)).status]).toEqual([null, 200])
  expect(await admin('/user/new', { user_id: 'keyless', teams, auto_create_key: false })).toMatchObject({
    key: '',
    team_id: null,
  })
})

test('a model that the team loses is refused at the next call, and an alias of the team is a model', async () => {
  await admin('/team/new', {
    team_id: 'aliases',
    models: ['chat-model', 'claude-model'],
    model_aliases: { quick: 'chat-model' },
  })
  const key = await gateway.key({ team_id: 'aliases', models: ['all-team-models'] })
  expect((await chat(key, { model: 'quick' })).status).toBe(200)
  expect((await ask(key, '/v1/models')).body).toMatchObject({
    data: [{ id: 'chat-model' }, { id: 'claude-model' }, { id: 'quick' }],
  })
  await admin('/team/model/delete', { team_id: 'aliases', models: ['chat-model'] })
  for (const model of ['chat-model', 'quick']) expect((await chat(key, { model })).status).toBe(403)
  expect((await admin('/team/info?team_id=aliases')).team_info).toMatchObject({ models: ['claude-model'] })
})

test('a member who leaves a team loses the keys in it', async () => {
  await admin('/team/new', { team_id: 'leaving', members_with_roles: [{ role: 'user', user_id: 'leaver' }] })
  const [inside, outside] = [
    await gateway.key({ team_id: 'leaving', user_id: 'leaver' }),
    await gateway.key({ user_id: 'leaver' }),
  ]
  await admin('/team/member_delete', { team_id: 'leaving', user_id: 'leaver' })
  expect([(await chat(inside)).status, (await chat(outside)).status]).toEqual([401, 200])
})

test('users make keys for themselves alone, and no key grants more than its maker holds', async () => {
  const ada = await newUser({ user_id: 'ada' })
  const made = await ask(ada, '/key/generate', { key_alias: 'mine' })
  expect(made.body).toMatchObject({ user_id: 'ada', created_by: 'ada' })
  const refusals: [body: Json, words: string][] = [
    [{ user_id: 'bob' }, 'only make keys for yourself'],
    [{ team_id: 'none' }, 'no such team'],
    [{ organization_id: 'o' }, 'only its admins'],
    [{ metadata: { cost_discount: 1 } }, 'only administrators may write `metadata.cost_discount`'],
    [{ key: 'sk-12345678901234567890' }, 'only administrators choose the text'],
    [{ budget_id: 'x' }, 'only administrators assign named budgets'],
  ]
  for (const [body, words] of refusals) {
    const { status, message } = await ask(ada, '/key/generate', body)
    expect([body, status >= 403 && status < 405, message]).toEqual([body, true, expect.stringContaining(words)])
  }
  // A key with a limit of its own could escape it by another one.
  const limited = await gateway.key({ user_id: 'ada', max_budget: 1 })
  expect((await ask(limited, '/key/generate', {})).message).toContain('restriction of its own (maxBudgetNanoUsd)')
})

test('of a key that was made for them users loosen nothing, of their own ones what they like', async () => {
  const eve = await newUser({ user_id: 'eve' })
  const given = await admin('/key/generate', { user_id: 'eve', rpm_limit: 5, models: ['chat-model'], max_budget: 1 })
  const own = (await ask(eve, '/key/generate', { rpm_limit: 5 })).body
  const loosening: Json[] = [
    { rpm_limit: 6 },
    { rpm_limit: null },
    { models: [] },
    { models: ['chat-model', 'claude-model'] },
    { max_budget: 2 },
    { user_id: null },
    { allowed_routes: null, max_budget: null },
  ]
  for (const body of loosening)
    expect([body, (await ask(eve, '/key/update', { key: given.token, ...body })).status]).toEqual([body, 403])
  for (const body of [{ rpm_limit: 4 }, { key_alias: 'x' }, { max_budget: 0.5 }])
    expect([body, (await ask(eve, '/key/update', { key: given.token, ...body })).status]).toEqual([body, 200])
  expect((await ask(eve, '/key/update', { key: own.token, rpm_limit: 100 })).status).toBe(200)
  expect((await ask(eve, '/key/update', { key: own.token, user_id: null })).message).toContain('has to stay yours')
})

test('admins of a team manage its members and keys, not its budget; members only what the team permits', async () => {
  const lead = await newUser({ user_id: 'lead' })
  const member = await newUser({ user_id: 'member' })
  await admin('/team/new', {
    team_id: 'crew',
    members_with_roles: [
      { role: 'admin', user_id: 'lead' },
      { role: 'user', user_id: 'member' },
    ],
  })
  expect((await ask(lead, '/team/update', { team_id: 'crew', team_alias: 'Crew' })).status).toBe(200)
  expect((await ask(lead, '/team/update', { team_id: 'crew', max_budget: 5 })).message).toContain(
    'may not change `max_budget`',
  )
  expect((await ask(member, '/team/update', { team_id: 'crew', team_alias: 'x' })).status).toBe(403)
  expect((await ask(member, '/key/generate', { team_id: 'crew' })).message).toContain('team_member_permissions')
  const permissions = { team_id: 'crew', team_member_permissions: ['/key/generate'] }
  expect((await ask(member, '/team/permissions_update', permissions)).status).toBe(403)
  expect((await ask(lead, '/team/permissions_update', permissions)).status).toBe(200)
  expect((await ask(member, '/key/generate', { team_id: 'crew' })).body).toMatchObject({
    user_id: 'member',
    team_id: 'crew',
  })
  expect((await ask(lead, '/key/generate', { team_id: 'crew', user_id: 'member' })).status).toBe(200)
  expect((await ask(lead, '/key/generate', { team_id: 'crew', user_id: 'stranger' })).status).toBe(403)
})

test('an admin of a team never acts as another user: the keys it makes for members only call models', async () => {
  const head = await newUser({ user_id: 'head' })
  const root = await newUser({ user_id: 'root', user_role: 'proxy_admin' })
  const peer = await newUser({ user_id: 'peer' })
  const roles = { head: 'admin', root: 'user', peer: 'user' }
  const members = Object.entries(roles).map(([user_id, role]) => ({ user_id, role }))
  await admin('/team/new', { team_id: 'guild', members_with_roles: members })
  const make = (key: string, body: Json) => ask(key, '/key/generate', { team_id: 'guild', ...body })
  const own = (await make(head, {})).body
  const ofRoot = (await make(root, { user_id: 'root' })).body
  const ofPeer = await admin('/key/generate', { team_id: 'guild', user_id: 'peer' })
  const given = (await make(head, { user_id: 'peer' })).body
  const taking: [path: string, body: Json, words: string][] = [
    ['/key/generate', { team_id: 'guild', user_id: 'root' }, 'keys of administrators'],
    ['/key/generate', { team_id: 'guild', user_id: 'peer', allowed_routes: ['/v1/*'] }, 'only call models'],
    ['/key/generate', { team_id: 'guild', user_id: 'peer', key_type: 'management' }, 'only call models'],
    ['/key/update', { key: own.token, user_id: 'root' }, 'keys of administrators'],
    ['/key/update', { key: own.token, user_id: 'peer' }, 'only call models'],
    ['/key/update', { key: given.token, allowed_routes: [] }, 'only call models'],
    ['/key/regenerate', { key: ofRoot.token }, 'keys of administrators'],
    ['/key/regenerate', { key: ofPeer.token }, 'only call models'],
  ]
  for (const [path, body, words] of taking) {
    const { status, message } = await ask(head, path, body)
    expect([path, body, status, message]).toEqual([path, body, 403, expect.stringContaining(words)])
  }
  expect(given).toMatchObject({ user_id: 'peer', allowed_routes: ['llm_api_routes'] })
  expect((await chat(given.key as string)).status).toBe(200)
  for (const path of ['/user/info', '/key/list', '/spend/logs/v2'])
    expect([path, (await ask(given.key as string, path)).status]).toEqual([path, 403])
  const again = (await ask(head, '/key/regenerate', { key: given.token })).body
  expect((await chat(again.key as string)).status).toBe(200)
  expect((await ask(peer, '/key/regenerate', { key: ofPeer.token })).status).toBe(200)
})

test('users whom an admin of an organization makes call models with keys of its teams alone', async () => {
  const olga = await newUser({ user_id: 'olga' })
  await admin('/organization/new', { organization_id: 'mill', organization_alias: 'Mill', models: ['chat-model'] })
  await admin('/organization/member_add', { organization_id: 'mill', member: { user_id: 'olga', role: 'org_admin' } })
  await admin('/team/new', { team_id: 'wheel', organization_id: 'mill' })
  const wanted = { organizations: ['mill'], teams: ['wheel'] }
  expect((await ask(olga, '/user/new', { ...wanted, models: ['claude-model'] })).message).toContain(
    'give them to a team',
  )
  const { key, user_id: made } = (await ask(olga, '/user/new', wanted)).body
  const calls = [await chat(key as string), await chat(key as string, { model: 'claude-model' })]
  expect(calls.map(one => one.status)).toEqual([200, 403])
  const outside = (await ask(olga, '/user/new', { organizations: ['mill'] })).body.key as string
  expect((await chat(outside)).message).toContain("may not use the model 'chat-model'")
  const own = (await admin('/key/generate', { user_id: made })).key as string
  const further = (await ask(own, '/key/generate', { models: ['all-proxy-models'] })).body
  expect((await chat(further.key as string)).status).toBe(403)
  const ofTeam = (await ask(olga, '/key/generate', { team_id: 'wheel', user_id: made })).body.key as string
  expect((await chat(ofTeam)).status).toBe(200)
  expect((await chat(ofTeam, { model: 'claude-model' })).status).toBe(403)
})

test('an admin of an organization waits with no key for a person who becomes an administrator', async () => {
  const opal = await newUser({ user_id: 'opal' })
  await admin('/organization/new', { organization_id: 'dam', organization_alias: 'Dam' })
  await admin('/organization/member_add', { organization_id: 'dam', member: { user_id: 'opal', role: 'org_admin' } })
  const wanted = { organizations: ['dam'], user_email: 'chief@example.com' }
  expect((await ask(opal, '/user/new', { ...wanted, sso_user_id: 'chief' })).message).toContain('identity provider')
  const { key, user_id: made, allowed_routes: _, ...row } = (await ask(opal, '/user/new', wanted)).body
  expect(row).toMatchObject({ user_email: 'chief@example.com', sso_user_id: null })
  await admin('/user/update', { user_id: made, user_role: 'proxy_admin' })
  const managing: [path: string, body?: Json][] = [
    ['/user/new', { user_id: 'thief', user_role: 'proxy_admin' }],
    ['/key/generate', {}],
    ['/sign-in/invitations', { user_id: made }],
    ['/user/info'],
  ]
  for (const [path, body] of managing)
    expect([path, (await ask(key as string, path, body)).message]).toEqual([
      path,
      expect.stringContaining('`allowed_routes` of this key do not name this path'),
    ])
})

test('a key for calls alone manages nothing under any tag, also where its user is an administrator', async () => {
  await newUser({ user_id: 'mona', user_role: 'proxy_admin' })
  const { key } = await admin('/key/generate', { user_id: 'mona', allowed_routes: ['llm_api_routes'] })
  const managing: [path: string, body?: Json][] = [
    ['/model/new', { model_name: 'sly', proxy_params: { model: 'openai/x', api_key: 'k' } }],
    ['/tag/new', { name: 'sly' }],
    ['/tag/list'],
  ]
  for (const [path, body] of managing)
    expect([path, (await ask(key as string, path, body)).message]).toEqual([
      path,
      expect.stringContaining('`allowed_routes` of this key do not name this path'),
    ])
  expect((await ask(key as string, '/v1/models')).status).toBe(200)
  expect((await chat(key as string)).status).toBe(200)
})

test('a tag in the metadata of a key holds as one in its field does', async () => {
  const tess = await newUser({ user_id: 'tess' })
  await admin('/tag/new', { name: 'night', max_budget: 0 })
  const given = await admin('/key/generate', { user_id: 'tess', metadata: { tags: ['night'], shift: 2 } })
  const update = (body: Json) => ask(tess, '/key/update', { key: given.token, ...body })
  for (const metadata of [{}, null, { tags: [] }, { tags: ['day'] }])
    expect((await update({ metadata })).message).toContain('may loosen its tags')
  expect((await ask(given.key as string, '/key/generate', {})).message).toContain('restriction of its own (tags)')
  // Only so many tags of a call are kept: others do not push it out.
  expect((await update({ tags: Array.from({ length: 30 }, (_, at) => `other-${at}`) })).status).toBe(200)
  expect((await chat(given.key as string)).message).toContain("tag 'night'")
})

test('metadata that decides on money is written by administrators alone, on keys, users, teams and organizations', async () => {
  const otto = await newUser({ user_id: 'otto' })
  await admin('/organization/new', { organization_id: 'pit', organization_alias: 'Pit' })
  await admin('/organization/member_add', { organization_id: 'pit', member: { user_id: 'otto', role: 'org_admin' } })
  const metadata = { cost_discount: 1 }
  const writing: [path: string, body: Json, method?: string][] = [
    ['/organization/update', { organization_id: 'pit' }, 'PATCH'],
    ['/key/generate', {}],
    ['/user/new', { organizations: ['pit'] }],
    ['/user/update', { user_id: 'otto' }],
    ['/team/new', { team_id: 'shaft', organization_id: 'pit' }],
    ['/team/update', { team_id: 'shaft' }],
  ]
  for (const [path, body, method] of writing) {
    const refused = await ask(otto, path, { ...body, metadata }, method)
    expect([path, refused.message]).toEqual([path, 'only administrators may write `metadata.cost_discount`'])
    expect([path, (await ask(otto, path, { ...body, metadata: { floor: 1 } }, method)).status]).toEqual([path, 200])
  }
})

test('an admin of an organization gives no user the address of another one, who could not sign in with it then', async () => {
  const ossi = await newUser({ user_id: 'ossi' })
  await admin('/organization/new', { organization_id: 'bay', organization_alias: 'Bay' })
  await admin('/organization/member_add', { organization_id: 'bay', member: { user_id: 'ossi', role: 'org_admin' } })
  await newUser({ user_id: 'chief', user_email: 'chief@example.com' })
  const make = (user_email: string) => ask(ossi, '/user/new', { organizations: ['bay'], user_email })
  expect((await make('Chief@Example.com')).status).toBe(409)
  expect((await make('new@example.com')).status).toBe(200)
})

test('a key with a restriction of its own deletes no keys', async () => {
  const dora = await newUser({ user_id: 'dora' })
  const other = await gateway.key({ user_id: 'dora' })
  const limited = await gateway.key({ user_id: 'dora', max_budget: 1 })
  expect((await ask(limited, '/key/delete', { keys: [other] })).message).toContain('restriction of its own')
  expect((await chat(other)).status).toBe(200)
  expect((await ask(dora, '/key/delete', { keys: [other] })).status).toBe(200)
})

test('an admin of a team reads of its members no teams that are not its own', async () => {
  const hugo = await newUser({ user_id: 'hugo' })
  await admin('/team/new', { team_id: 'mine', members_with_roles: [{ role: 'admin', user_id: 'hugo' }] })
  await admin('/team/new', { team_id: 'foreign', team_alias: 'Foreign' })
  const both = await newUser({ user_id: 'both', teams: ['mine', 'foreign'] })
  for (const path of ['/user/info?user_id=both', '/v2/user/info?user_id=both', '/user/list?team=mine']) {
    const { status, body } = await ask(hugo, path)
    expect([path, status, JSON.stringify(body)]).toEqual([path, 200, expect.stringContaining('"mine"')])
    expect(JSON.stringify(body).toLowerCase()).not.toContain('foreign')
  }
  expect(JSON.stringify((await ask(both, '/user/info')).body)).toContain('"foreign"')
})

test('of two changes made for one version the second is refused, and every change is in the audit log', async () => {
  const { version } = await admin('/team/new', { team_id: 'race' })
  await admin('/team/update', { team_id: 'race', version, team_alias: 'first' })
  const second = await gateway.admin('/team/update', { team_id: 'race', version, team_alias: 'second' })
  expect([second.status, await second.text()]).toEqual([409, expect.stringContaining('read it again')])
  const { audit_logs: log } = (await admin('/audit?object_id=race')) as { audit_logs: Json[] }
  expect(log).toMatchObject([
    { action: 'updated', changed_by: 'master', before_value: { alias: null }, updated_values: { alias: 'first' } },
    { action: 'created', table_name: 'team' },
  ])
})

test('a key that is regenerated keeps its id, its limits and what it has spent', async () => {
  const before = await admin('/key/generate', { rpm_limit: 7, max_budget: 2 })
  const after = await admin('/key/regenerate', { key: before.key })
  expect(after).toMatchObject({ token_id: before.token_id, rpm_limit: 7, max_budget: 2 })
  expect([(await chat(before.key as string)).status, (await chat(after.key as string)).status]).toEqual([401, 200])
})

test('calls for a blocked customer are refused, and those without what the key wants in them', async () => {
  const key = await gateway.key({ enforced_params: ['user', 'metadata.job'] })
  const { body } = await chat(key, { metadata: {} })
  expect((body.detail as { loc: string[] }[]).map(one => one.loc)).toEqual([
    ['body', 'user'],
    ['body', 'metadata', 'job'],
  ])
  const whole = { user: 'customer-1', metadata: { job: 'x' } }
  expect((await chat(key, whole)).status).toBe(200)
  await admin('/customer/new', { user_id: 'customer-1' })
  await admin('/customer/block', { user_ids: ['customer-1'] })
  expect((await chat(key, whole)).message).toContain('this end user is blocked')
  await admin('/end_user/unblock', { user_ids: ['customer-1'] })
  expect((await chat(key, whole)).status).toBe(200)
})

test('fields without a meaning here that would restrict are refused by name, unless they ask for nothing', async () => {
  const fields = ['permissions', 'policies', 'prompts', 'project_id']
  expect((await gateway.admin('/key/generate', Object.fromEntries(fields.map(name => [name, null])))).status).toBe(200)
  expect((await gateway.admin('/key/generate', { permissions: {}, auto_rotate: false, spend: 0 })).status).toBe(200)
  for (const name of fields) {
    const answer = await gateway.admin('/key/generate', { [name]: 'x' })
    expect([name, answer.status, await answer.text()]).toEqual([
      name,
      422,
      expect.stringContaining(`${name}: has no meaning here`),
    ])
  }
})

test('a row of the ledger has the organization of the team', async () => {
  await admin('/organization/new', { organization_id: 'paying', organization_alias: 'Paying' })
  await admin('/team/new', { team_id: 'spenders', organization_id: 'paying' })
  const made = await admin('/key/generate', { team_id: 'spenders' })
  await chat(made.key as string)
  const rows = await gateway.rows(`&key_id=${String(made.token_id)}`)
  expect(rows.map(row => [row.team_id, row.organization_id])).toEqual([['spenders', 'paying']])
})

test('a limit of 0 allows nothing, and says so as a limit does', async () => {
  for (const fields of [{ rpm_limit: 0 }, { tpm_limit: 0 }, { max_parallel_requests: 0 }]) {
    const key = await gateway.key(fields)
    const { status, message } = await chat(key)
    expect([fields, status, message]).toEqual([fields, 429, expect.stringContaining('one of its limits is 0')])
    expect(message).not.toContain('try again')
  }
})

test('a user who is made without a budget gets that of the configuration', async () => {
  const budgetOf = async (fields: Json) => {
    const { max_budget, budget_duration } = await admin('/user/new', fields)
    return [max_budget, budget_duration]
  }
  expect(await budgetOf({})).toEqual([1000, '30d'])
  expect(await budgetOf({ max_budget: 5, budget_duration: null })).toEqual([5, null])
  await admin('/team/new', { team_id: 'joined', members_with_roles: [{ role: 'user', user_id: 'joiner' }] })
  expect((await admin('/user/info?user_id=joiner')).user_info).toMatchObject({ max_budget: 1000 })
})
