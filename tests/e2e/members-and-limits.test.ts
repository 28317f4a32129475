/** Members who are no users yet, and limits that a named budget sets. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway?.stop())

const read = async (path: string) => (await (await gateway.admin(path)).json()) as Record<string, unknown>

test('a member who is no user is made one, or refused where the request says so', async () => {
  await gateway.admin('/team/new', { team_id: 'team' })
  await gateway.admin('/organization/new', { organization_id: 'org', organization_alias: 'org' })
  const requests: [string, (member: object) => object][] = [
    ['/team/member_add', member => ({ team_id: 'team', member })],
    ['/team/bulk_member_add', member => ({ team_id: 'team', members: [member] })],
    ['/organization/member_add', member => ({ organization_id: 'org', member })],
  ]
  for (const [path, body] of requests)
    for (const [field, value] of [
      ['user_id', `ghost-of-${path}`],
      ['user_email', `ghost@${path.slice(1).replaceAll(/[/_]/g, '-')}.example`],
    ] as const) {
      const refused = await gateway.admin(path, { ...body({ [field]: value }), create_missing_users: false })
      expect([path, refused.status]).toEqual([path, 404])
      expect(((await refused.json()) as { error: { param: string } }).error.param).toBe(field)
      expect(JSON.stringify(await read('/user/list?page_size=100'))).not.toContain(value)
      expect((await gateway.admin(path, body({ [field]: value }))).status).toBe(200)
      expect(JSON.stringify(await read('/user/list?page_size=100'))).toContain(value)
    }
})

test('the limits that hold are those of the named budget where an object has none', async () => {
  await gateway.admin('/budget/new', { budget_id: 'named', rpm_limit: 7, tpm_limit: 900, max_parallel_requests: 3 })
  await gateway.admin('/team/new', { team_id: 'limited', budget_id: 'named', rpm_limit: 5 })
  await gateway.admin('/user/new', { user_id: 'limited', budget_id: 'named', auto_create_key: false })
  await gateway.admin('/organization/new', {
    organization_id: 'limited',
    organization_alias: 'limited',
    budget_id: 'named',
  })
  await gateway.admin('/customer/new', { user_id: 'limited', budget_id: 'named' })
  const key = await gateway.key({ budget_id: 'named', tpm_limit: 100 })
  const named = { rpm_limit: 7, tpm_limit: 900, max_parallel_requests: 3 }
  expect(await read('/team/info?team_id=limited')).toMatchObject({ limits: { ...named, rpm_limit: 5 } })
  expect(await read('/user/info?user_id=limited')).toMatchObject({ limits: named })
  expect(await read('/organization/info?organization_id=limited')).toMatchObject({ limits: named })
  expect(await read('/customer/info?end_user_id=limited')).toMatchObject({ limits: named })
  expect(await read(`/key/info?key=${key}`)).toMatchObject({ limits: { ...named, tpm_limit: 100 } })
})
