/** What scripts of operators do: keys, teams, users, budgets, models, spending, health. */
import type { Answer, Ask, Gateway } from '../answer.ts'
import { asked, chat } from './scenario.ts'
import type { Scenario } from './scenario.ts'

const post = (path: string, body: object): Ask => ({ path, body })
/** An id that no run before has used. */
const unique = (): string => crypto.randomUUID().slice(0, 8)

/** One request whose path or body names an object that is made first; its id takes the place of `ID`. */
function about(name: string, make: (gateway: Gateway) => Promise<string>, ask: Ask): Scenario {
  return {
    name,
    async run(gateway): Promise<Answer> {
      const id = await make(gateway)
      const { path, body } = ask
      return gateway.ask({
        ...ask,
        path: path.replaceAll('ID', id),
        ...(body !== undefined && { body: JSON.parse(JSON.stringify(body).replaceAll('ID', id)) as object }),
      })
    },
  }
}

const key = (gateway: Gateway) => gateway.key({ key_alias: `k-${unique()}`, models: ['gpt-4o'], max_budget: 5 })
const made = (path: string, idName: string, fields: () => object) => async (gateway: Gateway) =>
  String((await gateway.step(post(path, fields())))[idName])
const team = made('/team/new', 'team_id', () => ({ team_alias: `t-${unique()}`, models: ['gpt-4o'], max_budget: 9 }))
const user = made('/user/new', 'user_id', () => ({ user_email: `${unique()}@example.com`, user_role: 'internal_user' }))
const budget = made('/budget/new', 'budget_id', () => ({ budget_id: `b-${unique()}`, max_budget: 3 }))
const organization = made('/organization/new', 'organization_id', () => ({
  organization_alias: `o-${unique()}`,
  models: ['gpt-4o'],
  max_budget: 4,
}))
async function customer(gateway: Gateway): Promise<string> {
  const user_id = `c-${unique()}`
  await gateway.step(post('/customer/new', { user_id, max_budget: 2 }))
  return user_id
}

const keys: readonly Scenario[] = [
  asked('keys: generate', post('/key/generate', {})),
  asked(
    'keys: generate with everything',
    post('/key/generate', {
      models: ['gpt-4o'],
      duration: '30d',
      max_budget: 1,
      budget_duration: '30d',
      rpm_limit: 5,
      tpm_limit: 500,
      max_parallel_requests: 3,
      metadata: { team: 'a' },
      aliases: { mine: 'gpt-4o' },
      user_id: 'ada',
    }),
  ),
  asked('keys: generate, a wrong type', post('/key/generate', { max_budget: 'much' })),
  asked('keys: generate, an unknown duration', post('/key/generate', { duration: 'soon' })),
  asked('keys: generate, for a team that is not there', post('/key/generate', { team_id: 'no-such-team' })),
  {
    name: 'keys: service account',
    run: async gateway => gateway.ask(post('/key/service-account/generate', { team_id: await team(gateway) })),
  },
  about('keys: info', key, { path: '/key/info?key=ID' }),
  {
    name: 'keys: info of itself',
    run: async gateway => gateway.ask({ path: '/key/info', key: await key(gateway) }),
  },
  asked('keys: info of none', { path: '/key/info?key=sk-no-such-key' }),
  about('keys: info by v2', key, post('/v2/key/info', { keys: ['ID'] })),
  about('keys: update', key, post('/key/update', { key: 'ID', max_budget: 7, metadata: { a: 1 } })),
  asked('keys: update of none', post('/key/update', { key: 'sk-no-such-key', max_budget: 7 })),
  asked('keys: list', { path: '/key/list' }),
  asked('keys: list, whole', { path: '/key/list?return_full_object=true&size=2&page=1' }),
  asked('keys: aliases', { path: '/key/aliases' }),
  about('keys: block', key, post('/key/block', { key: 'ID' })),
  about('keys: unblock', key, post('/key/unblock', { key: 'ID' })),
  about('keys: delete', key, post('/key/delete', { keys: ['ID'] })),
  asked('keys: delete of none', post('/key/delete', { keys: ['sk-no-such-key'] })),
  asked('keys: delete of nothing', post('/key/delete', {})),
  about('keys: reset of spending', key, post('/key/ID/reset_spend', { reset_to: 0 })),
  {
    name: 'keys: health',
    run: async gateway => gateway.ask({ path: '/key/health', method: 'POST', key: await key(gateway) }),
  },
]

const people: readonly Scenario[] = [
  asked(
    'teams: new',
    post('/team/new', { team_alias: 'a', models: ['gpt-4o'], max_budget: 1, members_with_roles: [] }),
  ),
  about('teams: info', team, { path: '/team/info?team_id=ID' }),
  asked('teams: info of none', { path: '/team/info?team_id=no-such-team' }),
  about('teams: update', team, post('/team/update', { team_id: 'ID', max_budget: 8 })),
  asked('teams: update of none', post('/team/update', { team_id: 'no-such-team', max_budget: 8 })),
  asked('teams: list', { path: '/team/list' }),
  asked('teams: list by v2', { path: '/v2/team/list?page=1&page_size=3' }),
  about('teams: block', team, post('/team/block', { team_id: 'ID' })),
  about(
    'teams: add a member',
    team,
    post('/team/member_add', { team_id: 'ID', member: { role: 'user', user_id: 'ada' } }),
  ),
  {
    name: 'teams: remove a member',
    async run(gateway) {
      const team_id = await team(gateway)
      const member = { role: 'user', user_id: `m-${unique()}` }
      await gateway.step(post('/team/member_add', { team_id, member }))
      return gateway.ask(post('/team/member_delete', { team_id, user_id: member.user_id }))
    },
  },
  {
    name: 'teams: change a member',
    async run(gateway) {
      const team_id = await team(gateway)
      const member = { role: 'user', user_id: `m-${unique()}` }
      await gateway.step(post('/team/member_add', { team_id, member }))
      return gateway.ask(post('/team/member_update', { team_id, user_id: member.user_id, max_budget_in_team: 2 }))
    },
  },
  about('teams: add models', team, post('/team/model/add', { team_id: 'ID', models: ['embed'] })),
  about('teams: permissions', team, { path: '/team/permissions_list?team_id=ID' }),
  about('teams: activity', team, {
    path: '/team/daily/activity?team_ids=ID&start_date=2026-01-01&end_date=2027-01-01',
  }),
  about('teams: delete', team, post('/team/delete', { team_ids: ['ID'] })),
  asked('users: new', post('/user/new', {})),
  asked('users: new, a role that there is not', post('/user/new', { user_role: 'king' })),
  about('users: info', user, { path: '/user/info?user_id=ID' }),
  asked('users: info of none', { path: '/user/info?user_id=no-such-user' }),
  about('users: info by v2', user, { path: '/v2/user/info?user_id=ID' }),
  about('users: update', user, post('/user/update', { user_id: 'ID', max_budget: 3 })),
  asked('users: list', { path: '/user/list?page=1&page_size=2' }),
  asked('users: roles', { path: '/user/available_roles' }),
  about('users: activity', user, { path: '/user/daily/activity?start_date=2026-01-01&end_date=2027-01-01' }),
  about('users: delete', user, post('/user/delete', { user_ids: ['ID'] })),
  asked('customers: new', post('/customer/new', { user_id: `c-${unique()}`, max_budget: 1 })),
  about('customers: info', customer, { path: '/customer/info?end_user_id=ID' }),
  asked('customers: info of none', { path: '/customer/info?end_user_id=no-such-customer' }),
  about('customers: update', customer, post('/customer/update', { user_id: 'ID', max_budget: 4 })),
  asked('customers: list', { path: '/customer/list' }),
  about('customers: block', customer, post('/customer/block', { user_ids: ['ID'] })),
  about('customers: delete', customer, post('/customer/delete', { user_ids: ['ID'] })),
  asked('budgets: new', post('/budget/new', { max_budget: 1, budget_duration: '30d' })),
  about('budgets: info', budget, post('/budget/info', { budgets: ['ID'] })),
  about('budgets: update', budget, post('/budget/update', { budget_id: 'ID', max_budget: 4 })),
  about('budgets: settings', budget, { path: '/budget/settings?budget_id=ID' }),
  asked('budgets: list', { path: '/budget/list' }),
  about('budgets: delete', budget, post('/budget/delete', { id: 'ID' })),
  asked('organizations: new', post('/organization/new', { organization_alias: 'o', models: [] })),
  about('organizations: info', organization, { path: '/organization/info?organization_id=ID' }),
  about('organizations: update', organization, {
    ...post('/organization/update', { organization_id: 'ID', models: ['embed'] }),
    method: 'PATCH',
  }),
  asked('organizations: list', { path: '/organization/list' }),
  about(
    'organizations: add a member',
    organization,
    post('/organization/member_add', { organization_id: 'ID', member: { role: 'internal_user', user_id: 'ada' } }),
  ),
  about('organizations: delete', organization, {
    ...post('/organization/delete', { organization_ids: ['ID'] }),
    method: 'DELETE',
  }),
  asked('tags: new', post('/tag/new', { name: `tag-${unique()}`, models: [] })),
  asked('tags: list', { path: '/tag/list' }),
]

const model = async (gateway: Gateway): Promise<string> => {
  const litellm_params = { model: 'openai/gpt-4o', api_base: 'http://127.0.0.1:9/v1', api_key: 'x' }
  const answer = await gateway.step(post('/model/new', { model_name: `m-${unique()}`, litellm_params }))
  return String(answer.model_id ?? (answer.model_info as { id: string }).id)
}

const models: readonly Scenario[] = [
  asked('models: list', { path: '/v1/models' }),
  asked('models: list with metadata', { path: '/v1/models?include_metadata=true' }),
  asked('models: list, groups only', { path: '/v1/models?only_model_access_groups=true' }),
  asked('models: list, unknown fallback type', { path: '/v1/models?include_metadata=true&fallback_type=no' }),
  asked('models: one', { path: '/v1/models/gpt-4o' }),
  asked('models: none', { path: '/v1/models/no-such-model' }),
  asked('models: info', { path: '/model/info' }),
  asked('models: info of one', { path: '/v1/model/info?litellm_model_id=gpt-4o-sim' }),
  asked('models: info of none', { path: '/model/info?litellm_model_id=no-such-id' }),
  asked('models: info by v2', { path: '/v2/model/info?page=1&size=2' }),
  asked('models: groups', { path: '/model_group/info' }),
  asked('models: one group', { path: '/model_group/info?model_group=gpt-4o' }),
  asked(
    'models: new',
    post('/model/new', { model_name: 'new', litellm_params: { model: 'openai/gpt-4o', api_key: 'x' } }),
  ),
  asked('models: new, without a model', post('/model/new', { model_name: 'new', litellm_params: {} })),
  about(
    'models: update',
    model,
    post('/model/update', { model_info: { id: 'ID' }, litellm_params: { model: 'openai/gpt-4.1' } }),
  ),
  about('models: delete', model, post('/model/delete', { id: 'ID' })),
  asked('models: delete of none', post('/model/delete', { id: 'no-such-id' })),
]

async function calledKey(gateway: Gateway): Promise<string> {
  const made_ = await gateway.step(post('/key/generate', { user_id: `u-${unique()}` }))
  await gateway.step({ ...chat({ user: 'customer-3', metadata: { tags: ['peers'] } }), key: String(made_.key) })
  const id = String(made_.token)
  const isWritten = ({ body }: Answer) => JSON.stringify(body).includes('gpt-4o')
  await gateway.until({ path: `/spend/logs?api_key=${id}` }, isWritten)
  return id
}

const days = 'start_date=2026-01-01&end_date=2027-01-01'
const operation: readonly Scenario[] = [
  about('spend: logs of a key', calledKey, { path: '/spend/logs?api_key=ID' }),
  asked('spend: logs by days', { path: `/spend/logs?${days}` }),
  about('spend: logs of a key, all of them', calledKey, {
    path: `/spend/logs?api_key=ID&${days}&summarize=false`,
  }),
  asked('spend: logs by pages', {
    path: '/spend/logs/v2?page=1&page_size=2&start_date=2026-01-01 00:00:00&end_date=2027-01-01 00:00:00',
  }),
  asked('spend: logs of the pages', {
    path: '/spend/logs/ui?page=1&page_size=2&start_date=2026-01-01 00:00:00&end_date=2027-01-01 00:00:00',
  }),
  asked('spend: keys', { path: '/spend/keys' }),
  asked('spend: users', { path: '/spend/users' }),
  asked('spend: tags', { path: `/spend/tags?${days}` }),
  asked(
    'spend: calculate',
    post('/spend/calculate', { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] }),
  ),
  asked('spend: global', { path: '/global/spend' }),
  asked('spend: global logs', { path: '/global/spend/logs' }),
  asked('spend: global keys', { path: '/global/spend/keys?limit=3' }),
  asked('spend: global models', { path: '/global/spend/models?limit=3' }),
  asked('spend: global teams', { path: '/global/spend/teams' }),
  asked('spend: global tags', { path: `/global/spend/tags?${days}` }),
  asked('spend: global provider', { path: `/global/spend/provider?${days}` }),
  asked('spend: global report', { path: `/global/spend/report?${days}` }),
  asked('spend: global end users', post('/global/spend/end_users', {})),
  asked('spend: global activity', { path: `/global/activity?${days}` }),
  asked('spend: global activity of models', { path: `/global/activity/model?${days}` }),
  asked('spend: activity of tags', { path: `/tag/daily/activity?${days}` }),
  asked('health: alive', { path: '/health/liveliness', key: null }),
  asked('health: alive, other spelling', { path: '/health/liveness', key: null }),
  asked('health: ready', { path: '/health/readiness', key: null }),
  asked('health: of one model', { path: '/health?model=gpt-4o' }),
  asked('health: latest', { path: '/health/latest' }),
  asked('other: routes', { path: '/routes', key: null }),
  asked('other: metrics', { path: '/metrics', key: null }),
  asked('other: guardrails', { path: '/guardrails/list' }),
  asked('other: cache', { path: '/cache/ping' }),
  asked('other: credentials', { path: '/credentials' }),
  asked('other: price list', { path: '/public/litellm_model_cost_map', key: null }),
  asked('other: callbacks', { path: '/get/config/callbacks' }),
]

/** All of them. */
export const administrationScenarios: readonly Scenario[] = [...keys, ...people, ...models, ...operation]
