/** What other gateways sell as "enterprise" is here for every installation: nothing looks for a licence. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const root = join(import.meta.dir, '../..')

/** Where a word is about something else: keys of LiteLLM without a function here, price lists, SCIM's name, drivers. */
const otherLicences: ReadonlySet<string> = new Set([
  'access/directory/schemas.ts',
  'config/litellm/litellm-keys.ts',
  'config/prices/price-list.ts',
  'guardrails/personal-data/national-numbers.ts',
])

test('no source reads, checks or mentions a licence of its own', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    file => file.endsWith('.ts') && !file.endsWith('.test.ts') && !otherLicences.has(file),
  )
  expect(sources.length).toBeGreaterThan(400)
  const words = /licen[cs]e|\benterprise\b|premium_?user|\bpaid\b.{0,20}\b(feature|plan|tier)/i
  expect(sources.filter(file => words.test(readFileSync(join(root, 'src', file), 'utf8')))).toEqual([])
})

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway?.stop())

/** As LiteLLM's documentation lists them under "Enterprise", and bifrost's and Portkey's price pages (2026-11). */
const soldElsewhere: readonly (readonly [what: string, path: string, body?: object])[] = [
  ['organizations', '/organization/new', { organization_alias: 'o', models: ['all-proxy-models'] }],
  ['budgets of organizations', '/organization/new', { organization_alias: 'b', max_budget: 5, budget_duration: '30d' }],
  ['admins of teams', '/team/new', { team_id: 't', members_with_roles: [{ role: 'admin', user_id: 'ann' }] }],
  [
    'budgets of members',
    '/team/member_add',
    { team_id: 't', member: { role: 'user', user_id: 'bo' }, max_budget_in_team: 1 },
  ],
  ['read-only administrators', '/user/new', { user_id: 'view', user_role: 'proxy_admin_viewer' }],
  ['budgets by model of a key', '/key/generate', { model_max_budget: { m: { budget_limit: 1, time_period: '1d' } } }],
  ['temporary raises', '/key/generate', { max_budget: 1, temp_budget_increase: 1, temp_budget_expiry: '2030-01-01' }],
  ['routes of a key', '/key/generate', { allowed_routes: ['/v1/models'] }],
  ['enforced parameters', '/key/generate', { enforced_params: ['user'] }],
  ['tags with budgets', '/tag/new', { name: 'batch', max_budget: 1 }],
  ['service accounts', '/key/service-account/generate', { team_id: 't', key_alias: 'ci' }],
  ['the audit log', '/audit'],
  ['reports of spending', '/global/spend/report?start_date=2026-11-01&end_date=2026-11-02'],
  ['usage by tag', '/tag/daily/activity?start_date=2026-11-01&end_date=2026-11-02'],
]

test.each(soldElsewhere.map(([what, path, body]) => ({ what, path, body })))('$what: none', async ({ path, body }) => {
  const answer = await gateway.admin(path, body)
  expect([path, answer.status, (await answer.text()).slice(0, 300)]).toEqual([path, 200, expect.any(String) as string])
})
