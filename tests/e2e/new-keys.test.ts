/** What the configuration says of keys and users that are made by API: defaults, and the most that they may have. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const settings = `
litellm_settings:
  default_key_generate_params: { max_budget: 5, budget_duration: 7d, models: [chat-model], metadata: { made: api } }
  upperbound_key_generate_params: { max_budget: 10, budget_duration: 30d, duration: 90d, rpm_limit: 60 }
  max_internal_user_budget: 20
  internal_user_budget_duration: 30d
`
const dayMs = 86_400_000

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config: standardConfig + settings })
})
afterAll(() => gateway.stop())

async function ask(path: string, body: Json): Promise<{ status: number; body: Json }> {
  const answer = await gateway.admin(path, body)
  return { status: answer.status, body: (await answer.json()) as Json }
}
const daysLeft = ({ expires }: Json): number => Math.round((Date.parse(expires as string) - Date.now()) / dayMs)

test('a key that is made without fields gets the defaults, then the bounds', async () => {
  const { body: made } = await ask('/key/generate', {})
  expect(made).toMatchObject({
    max_budget: 5,
    budget_duration: '7d',
    rpm_limit: 60,
    tpm_limit: null,
    models: ['chat-model'],
    metadata: { made: 'api' },
  })
  expect(daysLeft(made)).toBe(90)
  const own = { max_budget: 10, budget_duration: '30d', duration: '90d', rpm_limit: 1, models: [], metadata: { a: 1 } }
  const { body: chosen } = await ask('/key/generate', own)
  expect(chosen).toMatchObject({ max_budget: 10, budget_duration: '30d', rpm_limit: 1, models: [], metadata: { a: 1 } })
})

test('no key is made or changed beyond a bound, and each field is named', async () => {
  const beyond = { max_budget: 10.01, budget_duration: '31d', duration: '91d', rpm_limit: 61 }
  const refused = await ask('/key/generate', beyond)
  expect([refused.status, refused.body.detail.map((one: Json) => one.loc[1]).toSorted()]).toEqual([
    422,
    ['budget_duration', 'duration', 'max_budget', 'rpm_limit'],
  ])
  expect(refused.body.error.message).toContain('upperbound_key_generate_params')
  const { body: made } = await ask('/key/generate', {})
  for (const change of [{ max_budget: 11 }, { max_budget: null }, { duration: null }, { rpm_limit: null }])
    expect([change, (await ask('/key/update', { key: made.token_id, ...change })).status]).toEqual([change, 422])
  const allowed = await ask('/key/update', { key: made.token_id, max_budget: 9, tpm_limit: null, key_alias: 'renamed' })
  expect(allowed.body).toMatchObject({ max_budget: 9, key_alias: 'renamed', rpm_limit: 60 })
})

test('the key of a new user gets the same, and none is made beyond a bound', async () => {
  const { body: user } = await ask('/user/new', { user_id: 'ida' })
  const { body: made } = await ask('/key/update', { key: user.token_id, key_alias: 'of ida' })
  expect(made).toMatchObject({ user_id: 'ida', max_budget: 5, rpm_limit: 60, models: ['chat-model'] })
  expect(daysLeft(made)).toBe(90)
  const beyond = await ask('/user/new', { user_id: 'jo', duration: '91d' })
  expect([beyond.status, beyond.body.detail[0].loc]).toEqual([422, ['body', 'duration']])
  const missing = await fetch(`${gateway.url}/user/info?user_id=jo`, {
    headers: { authorization: `Bearer ${masterKey}` },
  })
  expect(missing.status).toBe(404)
})

test('a raise does not take a budget beyond its bound, however the two are sent', async () => {
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const raise = (usd: number) => ({ temp_budget_increase: usd, temp_budget_expiry: until })
  const refused = async (path: string, body: Json) => {
    const answer = await ask(path, body)
    return [answer.status, answer.body.detail?.[0].loc[1]]
  }
  const beyond = [422, 'temp_budget_increase']
  expect(await refused('/key/generate', raise(5.01))).toEqual(beyond)
  const { body: made } = await ask('/key/generate', { max_budget: 6, ...raise(4) })
  const change = (fields: Json) => refused('/key/update', { key: made.token_id, ...fields })
  expect(await change(raise(4.01))).toEqual(beyond)
  expect(await change({ max_budget: 6.01 })).toEqual(beyond)
  expect(await change({ max_budget: 1, ...raise(9) })).toEqual([200, undefined])
  expect(await change({ key_alias: 'raised' })).toEqual([200, undefined])
})

test('a user who is made without a budget gets that of the file', async () => {
  const { body } = await ask('/user/new', { user_id: 'eve', auto_create_key: false })
  expect(body).toMatchObject({ max_budget: 20, budget_duration: '30d' })
})
