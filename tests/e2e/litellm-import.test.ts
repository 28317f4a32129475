/** `modelgate import litellm`: keys and models of LiteLLM's database work at a gateway that serves, with its calls. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CryptoHasher, SQL } from 'bun'
import { join } from 'node:path'
import { runCommand } from '../../src/cli/cli-fixture.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { startKeyUpstream } from './key-upstream.ts'
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
    budget_id text, auto_rotate bool, rotation_interval text);
  create table "LiteLLM_CredentialsTable" (credential_name text, credential_values jsonb, credential_info jsonb);
  create table "LiteLLM_ProxyModelTable" (model_id text, model_name text, litellm_params jsonb, model_info jsonb,
    blocked bool default false);
  create table "LiteLLM_SpendLogs" (request_id text primary key, call_type text, api_key text, spend float8,
    prompt_tokens int4, completion_tokens int4, "startTime" timestamp(3), "endTime" timestamp(3),
    "completionStartTime" timestamp(3), model text, model_id text, model_group text, custom_llm_provider text,
    "user" text, metadata jsonb, cache_hit text, request_tags jsonb, team_id text, end_user text, session_id text,
    status text, messages jsonb);`

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

/** Sealed by PyNaCl and by AES-256-GCM as LiteLLM does it, under this salt key. */
const saltKey = 'sk-salt-of-litellm'
const sealed = {
  model: 'q7N1237PQXSNqQgCmcA_LrzgUEABlYro86XA_-XvlibUezasoiygt0le-VBVAXXHq3i8c1I=',
  apiKey: 'RVsW1esRG2gw-6-VAsk_Ky9iNKz3ZXFrrf9ebR5vRbb_hC0fPLvepkLfpYoW3pgDTAgmyBi2ud4fBQ==',
  ofCredential: 'v2:gcm:Uxorn1RnOLiKifEDyKTkTI0i7ay2tw-kgzgdqvMtcdLlmuzPBzAkhSLkIIOcIQJT',
  ofNoVendor: '1tyYcUeIBkzIvcPIYK_ZavGV2STZ8Didwry7h5K3_qTUiCXtzo5g5CtwUPvyYWk4',
}
const modelRows = (upstream: string) => `
  insert into "LiteLLM_CredentialsTable" values ('at-upstream', '{"api_key": "${sealed.ofCredential}"}', '{"note": 1}');
  insert into "LiteLLM_ProxyModelTable" (model_id, model_name, litellm_params, model_info, blocked) values
    ('m-1', 'of-litellm', '{"model": "${sealed.model}", "api_key": "${sealed.apiKey}", "api_base": "${upstream}",
      "rpm": null}', '{"id": "m-1", "db_model": true, "mode": "chat"}', false),
    ('m-2', 'by-credential', '{"model": "${sealed.model}", "litellm_credential_name": "at-upstream",
      "api_base": "${upstream}"}', '{}', true),
    ('m-3', 'unknown-provider', '{"model": "${sealed.ofNoVendor}"}', '{}', false);`

/** A day ago. */
const calledAt = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
const calls = `
  insert into "LiteLLM_SpendLogs" (request_id, call_type, api_key, spend, prompt_tokens, completion_tokens, "startTime",
    "endTime", "completionStartTime", model, model_id, model_group, custom_llm_provider, "user", metadata, cache_hit,
    request_tags, team_id, end_user, session_id, status, messages) values
    ('chatcmpl-1', 'acompletion', '${digest(works)}', 0.3, 100, 20, '${calledAt} 10:00:00', '${calledAt} 10:00:02.5',
      '${calledAt} 10:00:01', 'gpt-4o', 'd-1', 'gpt-4o', 'openai', 'ada', '{"user_api_key_alias": "first",
      "spend_logs_metadata": {"job": "nightly"}, "usage_object": {"prompt_tokens_details": {"cached_tokens": 40}}}',
      'False', '["red"]', 'team', 'customer', 's-1', 'success', '{"secret": "said"}'),
    ('chatcmpl-2', 'aembedding', '${digest(works)}', 0, 0, 0, '${calledAt} 11:00:00', '${calledAt} 11:00:00', null,
      'embed', '', '', '', '', '{"error_information": {"error_code": "429", "error_class": "RateLimitError"}}', '', '[]',
      null, '', null, 'failure', null),
    ('chatcmpl-0', 'acompletion', '', 9, 1, 1, '2020-01-01 00:00:00', '2020-01-01 00:00:00', null, 'old', null, null,
      null, null, null, null, null, null, null, null, null, null);`

const config = `model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_base: "{simulator}/v1", api_key: any }
`

const postgres = backends().find(one => one.name !== 'SQLite')

describe.skipIf(!postgres)('a LiteLLM database', () => {
  let source: Awaited<ReturnType<NonNullable<typeof postgres>['open']>>
  let gateway: Gateway
  let upstream: ReturnType<typeof startKeyUpstream>
  let printed: Json[]
  const environment = () => ({
    DATABASE_URL: `sqlite:${join(gateway.dataDirectory, 'modelgate.sqlite')}`,
    MODELGATE_DATA_DIR: gateway.dataDirectory,
  })
  const importAgain = (more: Readonly<Record<string, string>> = {}) =>
    runCommand(['import', 'litellm', '--from', source.databaseUrl!, '--json', '--spend-logs', '30d'], {
      ...environment(),
      ...more,
    })

  beforeAll(async () => {
    upstream = startKeyUpstream()
    source = await postgres!.open()
    gateway = await startGateway({ config })
    const sql = new SQL(source.databaseUrl!, { max: 1 })
    for (const text of [tables, rows, keys, modelRows(upstream.url), calls]) await sql.unsafe(text)
    await sql.close()
    // The gateway has asked for them before they are there.
    for (const text of texts) expect((await chat(text)).status).toBe(401)
    const { code, out, error } = await importAgain({ LITELLM_DATABASE_SALT_KEY: saltKey })
    // One model cannot be served.
    expect([code, error]).toEqual([1, ''])
    printed = JSON.parse(out) as Json[]
  })
  afterAll(async () => {
    await gateway?.stop()
    await upstream?.stop()
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
      credentials: 1,
      models: 2,
      calls: 2,
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
    expect((JSON.parse(out) as Json[]).filter(one => one.made !== 0).map(one => one.kind)).toEqual(['calls'])
    expect(await gateway.rows(`&end_date=${calledAt}`)).toHaveLength(2)
    const { info } = (await admin(`/key/info?key=${works}`)) as { info: Json }
    expect(info.key_alias).toBe('renamed')
  })

  test('models and credentials are opened with the salt key, served, and stored under the own key', async () => {
    const ask = (model: string) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'say: hello' }] }),
      })
    await until(async () => (await ask('of-litellm')).status === 200)
    expect(upstream.keys.at(-1)).toBe('Bearer sk-of-the-upstream')
    // It was switched off there.
    expect((await ask('by-credential')).status).toBe(403)
    await gateway.admin('/model/unblock', { model_id: 'm-2' })
    expect((await ask('by-credential')).status).toBe(200)
    expect(upstream.keys.at(-1)).toBe('Bearer sk-of-the-credential')
    const models = printed.find(one => one.kind === 'models')!
    expect(models.problems).toEqual([expect.stringContaining('model unknown-provider: ')])
  })

  test('without its salt key, or with another, nothing encrypted is brought, and it is said', async () => {
    const sql = new SQL(source.databaseUrl!, { max: 1 })
    await sql.unsafe(
      `insert into "LiteLLM_ProxyModelTable" values ('m-4', 'late', '{"model": "${sealed.model}"}', '{}')`,
    )
    await sql.close()
    const problemsOf = async (more: Readonly<Record<string, string>>) => {
      const counts = JSON.parse((await importAgain(more)).out) as { kind: string; problems: string[] }[]
      return counts.find(one => one.kind === 'models')!.problems.find(one => one.includes('late'))
    }
    expect(await problemsOf({})).toContain('set LITELLM_DATABASE_SALT_KEY')
    expect(await problemsOf({ LITELLM_DATABASE_SALT_KEY: 'sk-other' })).toContain('is not the key')
  })

  test('its calls are in the ledger and its sums, without what was said, and count once', async () => {
    const list = await gateway.rows(`&end_date=${calledAt}`)
    expect(list.map(row => row.outcome)).toEqual(['error', 'success'])
    const [failed, served] = list
    expect(served).toMatchObject({
      key_id: digest(works),
      user_id: 'ada',
      team_id: 'team',
      model: 'gpt-4o',
      operation: 'chat',
      cost_nano_usd: '300000000',
      input_tokens: 100,
      output_tokens: 20,
      cached_input_tokens: 40,
      duration_ms: 2500,
      first_byte_ms: 1000,
      request_tags: ['red'],
      session_id: 's-1',
      spend_logs_metadata: { job: 'nightly', litellm_request_id: 'chatcmpl-1' },
    })
    expect(failed).toMatchObject({ status: 429, error_kind: 'RateLimitError', cost_nano_usd: null, input_tokens: null })
    expect(JSON.stringify(list)).not.toContain('said')
    const [day] = (await admin(`/spend/logs?start_date=${calledAt}&end_date=${calledAt}`)) as unknown as Json[]
    expect(day).toMatchObject({ spend: 0.3, models: { 'gpt-4o': 0.3 }, users: { ada: 0.3 } })
    expect(await runCommand(['ledger', 'verify'], environment())).toMatchObject({ code: 0 })
  })

  test('is asked for by address, and has to be one', async () => {
    const environment = { MODELGATE_DATA_DIR: gateway.dataDirectory }
    expect(
      await runCommand(['import', 'litellm', '--from', 'postgres://x', '--spend-logs', 'x'], environment),
    ).toMatchObject({
      code: 2,
      error: expect.stringContaining('--spend-logs'),
    })
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
