/** `modelgate import litellm`: keys of LiteLLM's database work at a gateway that serves, with what they belong to. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CryptoHasher, SQL } from 'bun'
import { join } from 'node:path'
import { runCommand } from '../../src/cli/cli-fixture.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, unknown>

/** The tables as LiteLLM makes them, with the columns that matter. */
const tables = `
  create table "LiteLLM_BudgetTable" (budget_id text, max_budget float8, rpm_limit int8, budget_duration text,
    budget_reset_at timestamp(3), model_max_budget jsonb);
  create table "LiteLLM_OrganizationTable" (organization_id text, organization_alias text, budget_id text,
    metadata jsonb default '{}', models text[] default '{}', spend float8 default 0);
  create table "LiteLLM_OrganizationMembership" (user_id text, organization_id text, user_role text, budget_id text);
  create table "LiteLLM_ModelTable" (id int4, model_aliases jsonb);
  create table "LiteLLM_TeamTable" (team_id text, team_alias text, organization_id text, members_with_roles jsonb,
    metadata jsonb default '{}', max_budget float8, spend float8 default 0, models text[] default '{}', model_id int4,
    blocked bool default false, team_member_permissions text[] default '{}', rpm_limit int8, budget_duration text);
  create table "LiteLLM_TeamMembership" (user_id text, team_id text, spend float8 default 0, budget_id text);
  create table "LiteLLM_UserTable" (user_id text, user_email text, user_role text, max_budget float8, spend float8,
    sso_user_id text, models text[] default '{}', metadata jsonb default '{}');
  create table "LiteLLM_EndUserTable" (user_id text, alias text, blocked bool default false, budget_id text);
  create table "LiteLLM_VerificationToken" (token text, key_name text, key_alias text, spend float8 default 0,
    expires timestamp(3), models text[] default '{}', aliases jsonb default '{}', user_id text, team_id text,
    organization_id text, metadata jsonb default '{}', blocked bool, rpm_limit int8, tpm_limit int8,
    max_parallel_requests int4, max_budget float8, budget_duration text, budget_reset_at timestamp(3),
    allowed_cache_controls text[] default '{}', allowed_routes text[] default '{}', model_max_budget jsonb default '{}',
    budget_id text, auto_rotate bool, rotation_interval text);`

const rows = `
  insert into "LiteLLM_BudgetTable" (budget_id, max_budget, rpm_limit) values ('of-members', 2, 7), ('of-ada', 3, null);
  insert into "LiteLLM_OrganizationTable" (organization_id, organization_alias) values ('org', 'The org');
  insert into "LiteLLM_UserTable" (user_id, user_email, user_role, max_budget, spend, sso_user_id) values
    ('ada', 'ada@example.com', 'internal_user', 20, 1.25, 'sso-1'), ('odd', null, 'customer', null, 0, null),
    ('broke', null, null, 1, 1, null);
  insert into "LiteLLM_OrganizationMembership" values ('ada', 'org', 'org_admin', null), ('unknown', 'org', 'x', null);
  insert into "LiteLLM_ModelTable" values (1, '{"mine": "gpt-4o"}');
  insert into "LiteLLM_TeamTable" (team_id, team_alias, organization_id, members_with_roles, metadata, max_budget, spend,
    models, model_id) values ('team', 'The team', 'org',
    '[{"role": "admin", "user_id": "ada"}, {"role": "user", "user_id": "ghost"}, {"role": "user", "user_id": null}]',
    '{"team_member_budget_id": "of-members", "tags": ["t"], "note": 1}', 10, 4.5, '{gpt-4o}', 1);
  insert into "LiteLLM_TeamMembership" values ('ada', 'team', 0, 'of-ada');
  insert into "LiteLLM_EndUserTable" values ('customer', 'A customer', true, 'of-members');`

const texts = ['works', 'spent', 'expired', 'blocked', 'pages', 'of-user'].map(
  name => `sk-of-litellm-${name}-0123456789`,
)
const [works, spent, expired, blocked, pages, ofUser] = texts as [string, string, string, string, string, string]
const digest = (text: string): string => new CryptoHasher('sha256').update(text).digest('hex')
const keys = `
  insert into "LiteLLM_VerificationToken" (token, key_name, key_alias, spend, expires, models, user_id, team_id, blocked,
    max_budget, budget_duration, budget_reset_at, rpm_limit, metadata, model_max_budget) values
    ('${digest(works)}', 'sk-...6789', 'first', 0.5, '2099-01-01 00:00:00', '{}', 'ada', 'team', null, 100, '30d',
      '2099-01-01 00:00:00', 60, '{"tags": ["k"], "model_rpm_limit": {"gpt-4o": 9}}',
      '{"gpt-4o": {"budget_limit": "0.5", "time_period": "1d"}}'),
    ('${digest(spent)}', null, null, 2, null, '{}', null, null, null, 2, null, null, null, '{}', '{}'),
    ('${digest(expired)}', null, null, 0, '2020-01-01 00:00:00', '{}', null, null, null, null, null, null, null, '{}', '{}'),
    ('${digest(blocked)}', null, null, 0, null, '{}', null, null, true, null, null, null, null, '{}', '{}'),
    ('${digest(ofUser)}', null, null, 0, null, '{}', 'broke', null, null, null, null, null, null, '{}', '{}'),
    ('${digest(pages)}', null, null, 0, null, '{}', 'ada', 'litellm-dashboard', null, 1, null, null, null, '{}', '{}');`

const config = `model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_base: "{simulator}/v1", api_key: any }
`

const postgres = backends().find(one => one.name !== 'SQLite')

describe.skipIf(!postgres)('a LiteLLM database', () => {
  let source: Awaited<ReturnType<NonNullable<typeof postgres>['open']>>
  let gateway: Gateway
  let printed: Json[]
  const importAgain = () =>
    runCommand(['import', 'litellm', '--from', source.databaseUrl!, '--json'], {
      DATABASE_URL: `sqlite:${join(gateway.dataDirectory, 'modelgate.sqlite')}`,
      MODELGATE_DATA_DIR: gateway.dataDirectory,
    })

  beforeAll(async () => {
    source = await postgres!.open()
    gateway = await startGateway({ config })
    const sql = new SQL(source.databaseUrl!, { max: 1 })
    for (const text of [tables, rows, keys]) await sql.unsafe(text)
    await sql.close()
    // The gateway has asked for them before they are there.
    for (const text of texts) expect((await chat(text)).status).toBe(401)
    const { code, out, error } = await importAgain()
    expect([code, error]).toEqual([0, ''])
    printed = JSON.parse(out) as Json[]
  })
  afterAll(async () => {
    await gateway?.stop()
    await source?.close()
  })

  const chat = (key: string) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'say: hello' }] }),
    })
  const admin = async (path: string): Promise<Json> => (await (await gateway.admin(path)).json()) as Json

  test('is counted by kinds; sessions of its pages are left out', () => {
    const made = Object.fromEntries(printed.map(one => [one.kind, one.made]))
    expect(made).toEqual({
      budgets: 2,
      organizations: 1,
      users: 3,
      teams: 1,
      'members of organizations': 2,
      customers: 1,
      tags: 0,
      keys: 5,
    })
  })

  test('its keys work by their texts, and by nothing else', async () => {
    await until(async () => (await chat(works)).status === 200)
    for (const text of [expired, blocked, pages, digest(works)]) expect((await chat(text)).status).toBe(401)
  })

  test('a budget that was spent there is spent here', async () => {
    for (const key of [spent, ofUser]) {
      await until(async () => (await chat(key)).status === 429)
      const { error } = (await (await chat(key)).json()) as { error: Json }
      expect(error.type).toBe('budget_exceeded')
    }
  })

  test('a key keeps its id, limits, budget and spending, and goes on from there', async () => {
    for (const named of [works, digest(works)]) {
      const { info } = (await admin(`/key/info?key=${named}`)) as { info: Json }
      expect(info).toMatchObject({
        token_id: digest(works),
        key_alias: 'first',
        key_name: 'sk-...6789',
        user_id: 'ada',
        team_id: 'team',
        tags: ['k'],
        rpm_limit: 60,
        model_rpm_limit: { 'gpt-4o': 9 },
        max_budget: 100,
        budget_duration: '30d',
        model_max_budget: { 'gpt-4o': { budget_limit: 0.5, time_period: '1d' } },
        expires: '2099-01-01T00:00:00.000Z',
        metadata: {},
      })
      expect(info.spend).toBeGreaterThanOrEqual(0.5)
    }
    const answer = await chat(works)
    const [row] = await gateway.rows(`&request_id=${answer.headers.get('x-request-id')}`)
    expect(row).toMatchObject({ key_id: digest(works), team_id: 'team', user_id: 'ada' })
    const { info } = (await admin(`/key/info?key=${works}`)) as { info: Json }
    expect(info.spend).toBeGreaterThan(0.5)
  })

  test('teams keep members, budgets of members, aliases and spending', async () => {
    const { team_info: team } = (await admin('/team/info?team_id=team')) as { team_info: Json }
    expect(team).toMatchObject({
      team_alias: 'The team',
      organization_id: 'org',
      models: ['gpt-4o'],
      max_budget: 10,
      metadata: { note: 1 },
    })
    expect(team.spend).toBeGreaterThanOrEqual(4.5)
    expect(team.members_with_roles).toEqual([
      expect.objectContaining({ user_id: 'ada', role: 'admin' }),
      expect.objectContaining({ user_id: 'ghost', role: 'user' }),
    ])
  })

  test('users keep role, address and spending; a role that there is not is the least', async () => {
    const ada = (await admin('/user/info?user_id=ada')) as { user_info: Json }
    expect(ada.user_info).toMatchObject({ user_email: 'ada@example.com', user_role: 'internal_user', max_budget: 20 })
    expect(ada.user_info.spend).toBeGreaterThanOrEqual(1.25)
    const odd = (await admin('/user/info?user_id=odd')) as { user_info: Json }
    expect(odd.user_info).toMatchObject({ user_role: 'internal_user', spend: 0 })
  })

  test('a second time changes nothing', async () => {
    await gateway.admin('/key/update', { key: works, key_alias: 'renamed' })
    const { out } = await importAgain()
    expect((JSON.parse(out) as Json[]).map(one => one.made)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
    const { info } = (await admin(`/key/info?key=${works}`)) as { info: Json }
    expect(info.key_alias).toBe('renamed')
  })

  test('is asked for by address, and has to be one', async () => {
    const environment = { MODELGATE_DATA_DIR: gateway.dataDirectory }
    expect(await runCommand(['import', 'litellm'], environment)).toMatchObject({
      code: 2,
      error: expect.stringContaining('--from postgres://'),
    })
    const other = await postgres!.open()
    const refused = await runCommand(['import', 'litellm', '--from', other.databaseUrl!], environment)
    await other.close()
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('is not one of LiteLLM') })
  })
})
