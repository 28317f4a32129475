/** Every operation on keys, teams, users, organizations, customers, budgets and the audit log, once, in order. */

type Json = Record<string, unknown>
interface Asking {
  readonly in?: Record<string, string>
  readonly query?: string
  readonly body?: object
  readonly key?: string
  readonly headers?: Record<string, string>
  readonly status?: number
}

/** Asks the gateway, checks status and body; by default with the master key, and for status 200. */
export type Ask = (method: string, path: string, asking?: Asking) => Promise<Json>

/** Leaves nothing behind but the audit log. */
export async function manageTenancy(ask: Ask): Promise<void> {
  const post = (path: string, body: object, asking: Asking = {}) => ask('POST', path, { ...asking, body })
  const get = (path: string, query = '') => ask('GET', path, { query })
  await post('/budget/new', { budget_id: 'free', max_budget: 1.5, budget_duration: '30d', model_max_budget: { m: 1 } })
  await post('/budget/update', { budget_id: 'free', soft_budget: 1 })
  await post('/budget/info', { budgets: ['free', 'none'] })
  await get('/budget/settings', 'budget_id=free')
  await get('/budget/list')
  await get('/v2/budget/list', 'page_size=1')
  await get('/budget/usage', 'kind=organization')
  await get('/overview')
  await get('/health/deployments')
  await get('/model/latency', 'hours=24&group_by=deployment')
  await post('/organization/new', { organization_id: 'acme', organization_alias: 'Acme', max_budget: 100 })
  await ask('PATCH', '/organization/update', { body: { organization_id: 'acme', metadata: { a: 1 } } })
  await get('/organization/list')
  await get('/v2/organization/list', 'page_size=1')
  await post('/organization/member_add', { organization_id: 'acme', member: { user_id: 'olga', role: 'org_admin' } })
  const place = { organization_id: 'acme', user_id: 'olga' }
  await ask('PATCH', '/organization/member_update', { body: { ...place, max_budget_in_organization: 5 } })
  await get('/organization/info', 'organization_id=acme')
  await manageTeam(ask)
  await post('/user/new', {
    user_id: 'bob',
    user_email: 'Bob@example.com',
    teams: ['red'],
    max_budget: 3,
    duration: '1d',
  })
  await post('/user/update', { user_email: 'bob@example.com', user_alias: 'Bob' })
  await post('/user/bulk_update', { users: [{ user_id: 'bob', tpm_limit: 9 }] })
  for (const path of ['/user/info', '/v2/user/info']) await get(path, 'user_id=bob')
  await get('/user/list', 'team=red&page_size=1')
  await get('/user/available_roles')
  await manageKeys(ask)
  for (const name of ['customer', 'end_user']) await manageCustomer(ask, name)
  await post('/team/delete', { team_ids: ['red'] })
  await post('/user/delete', { user_ids: ['bob'] })
  await ask('DELETE', '/organization/member_delete', { body: place })
  await ask('DELETE', '/organization/delete', { body: { organization_ids: ['acme'] } })
  await post('/budget/delete', { id: 'free' })
  const { audit_logs: log } = await get('/audit', 'page_size=100')
  await ask('GET', '/audit/{id}', { in: { id: (log as { id: string }[])[0]!.id } })
}

/** Every operation of SCIM. */
export async function manageDirectory(ask: Ask): Promise<void> {
  await ask('POST', '/scim/tokens', { body: { key_alias: 'directory' } })
  const scim = (method: string, path: string, asking: Asking = {}) => ask(method, `/scim/v2${path}`, asking)
  await scim('GET', '/ServiceProviderConfig')
  for (const [path, id] of [
    ['/ResourceTypes', 'User'],
    ['/Schemas', 'urn:ietf:params:scim:schemas:core:2.0:Group'],
  ] as const) {
    await scim('GET', path)
    await scim('GET', `${path}/{id}`, { in: { id } })
  }
  const user = await scim('POST', '/Users', { body: { userName: 'scim@example.com' }, status: 201 })
  const members = [{ value: user.id }]
  const group = await scim('POST', '/Groups', { body: { displayName: 'Scim', members }, status: 201 })
  for (const [path, id, body] of [
    ['/Groups', group.id as string, { displayName: 'Scims', members }],
    ['/Users', user.id as string, { userName: 'scim@example.com', title: 'T' }],
  ] as const) {
    const one = { in: { id } }
    await scim('GET', path, { query: 'cursor=&count=1' })
    await scim('GET', `${path}/{id}`, one)
    await scim('PUT', `${path}/{id}`, { ...one, body })
    const patch = { Operations: [{ op: 'replace', path: 'externalId', value: 'x' }] }
    await scim('PATCH', `${path}/{id}`, { ...one, body: patch, status: path === '/Users' ? 200 : 204 })
    await scim('DELETE', `${path}/{id}`, { ...one, status: 204 })
  }
  await scim('POST', '/Bulk', { body: { Operations: [{ method: 'DELETE', path: `/Users/${String(user.id)}` }] } })
}

async function manageTeam(ask: Ask): Promise<void> {
  const post = (path: string, body: object) => ask('POST', path, { body: { team_id: 'red', ...body } })
  const get = (path: string, query = 'team_id=red') => ask('GET', path, { query })
  await post('/team/new', {
    organization_id: 'acme',
    budget_id: 'free',
    members_with_roles: [{ user_id: 'ann', role: 'admin' }],
  })
  await post('/team/update', { models: ['chat-model'], team_member_budget: 2, metadata: {} })
  await post('/team/model/add', { models: ['claude-model'] })
  await post('/team/model/delete', { models: ['claude-model'] })
  await post('/team/block', {})
  await post('/team/unblock', {})
  await post('/team/member_add', { member: { role: 'user', user_email: 'cy@example.com' }, max_budget_in_team: 1 })
  await post('/team/member_update', { user_email: 'cy@example.com', role: 'admin', rpm_limit: 4 })
  await post('/team/member_delete', { user_email: 'cy@example.com' })
  await post('/team/bulk_member_add', { members: [{ user_id: 'dee' }] })
  await ask('POST', '/team/{team_id}/reset_spend', { in: { team_id: 'red' }, body: { reset_to: 0 } })
  await post('/team/permissions_update', { team_member_permissions: ['/key/generate'] })
  await get('/team/permissions_list')
  await get('/team/info')
  await get('/team/list', 'organization_id=acme')
  await get('/v2/team/list', 'team_alias=r&page_size=1')
}

async function manageKeys(ask: Ask): Promise<void> {
  const post = (path: string, body: object, asking: Asking = {}) => ask('POST', path, { ...asking, body })
  const made = await post('/key/service-account/generate', { team_id: 'red', key_alias: 'robot' })
  const id = made.token_id as string
  await post('/key/bulk_update', { keys: [{ key: id, max_budget: 1 }, { key: 'none' }] })
  await post('/v2/key/info', { keys: [id] })
  await ask('GET', '/key/limits', { query: `key=${String(id)}&model=m` })
  await ask('GET', '/key/aliases')
  const { key } = await post('/key/regenerate', { key: id, duration: '1h' })
  await post('/key/health', {}, { key: key as string })
  await post('/key/derive', { max_budget: 0.5 }, { key: key as string })
  await post('/key/{key}/regenerate', { grace_period: '1h' }, { in: { key: id } })
  await post('/key/{key}/reset_spend', { reset_to: 0 }, { in: { key: id } })
}

async function manageCustomer(ask: Ask, name: string): Promise<void> {
  const post = (path: string, body: object) => ask('POST', `/${name}/${path}`, { body })
  await post('new', { user_id: 'c1', max_budget: 1 })
  await post('update', { user_id: 'c1', alias: 'Customer' })
  await post('block', { user_ids: ['c1'] })
  await post('unblock', { user_ids: ['c1'] })
  await ask('GET', `/${name}/info`, { query: 'end_user_id=c1' })
  await ask('GET', `/${name}/list`)
  await ask('GET', `/v2/${name}/list`)
  await post('delete', { user_ids: ['c1'] })
}
