/** Keys whose text has to be replaced, and keys that belong to a team alone. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { patchOf, scimClient } from './scim-client.ts'
import type { Json } from './scim-client.ts'

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config: `${standardConfig}general_settings: { key_rotation_grace: 1s }\n` })
})
afterAll(() => gateway.stop())

async function ask(key: string, path: string, body?: object): Promise<{ status: number; text: string; body: Json }> {
  const answer = await fetch(`${gateway.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, text, body: JSON.parse(text) as Json }
}
const call = (key: string) =>
  ask(key, '/v1/chat/completions', { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }] })

test('a text older than its interval and the grace is refused with the remedy, and a new one works', async () => {
  const made = await ask(masterKey, '/key/generate', { auto_rotate: true, rotation_interval: '1s' })
  expect(made.body).toMatchObject({ auto_rotate: true, rotation_interval: '1s' })
  expect(Date.parse(made.body.key_rotation_at as string) - Date.parse(made.body.last_rotation_at as string)).toBe(1000)
  const key = made.body.key as string
  let last = await call(key)
  for (const fromMs = performance.now(); last.status === 200 && performance.now() - fromMs < 60_000; ) {
    await Bun.sleep(20)
    last = await call(key)
  }
  expect(last.text).toContain('POST /key/regenerate')
  const renewed = await ask(masterKey, '/key/regenerate', { key: made.body.token_id, auto_rotate: false })
  expect(renewed.body).toMatchObject({ auto_rotate: false, rotation_interval: null, key_rotation_at: null })
  expect((await call(renewed.body.key as string)).status).toBe(200)
}, 90_000)

test('a rotation without an interval is refused by name', async () => {
  const { status, text } = await ask(masterKey, '/key/generate', { auto_rotate: true })
  expect([status, text.includes('rotation_interval: is missing')]).toEqual([422, true])
})

test('users do not put off the rotation of keys that were made for them', async () => {
  const { body: user } = await ask(masterKey, '/user/new', { user_id: 'rita' })
  const { body: key } = await ask(masterKey, '/key/generate', { user_id: 'rita', rotation_interval: '30d' })
  const own = user.key as string
  for (const change of [{ rotation_interval: null }, { auto_rotate: false }, { rotation_interval: '900d' }]) {
    const { status, text } = await ask(own, '/key/update', { key: key.token_id, ...change })
    expect([change, status, text.includes('rotationInterval')]).toEqual([change, 403, true])
  }
})

test('a key of a service account outlives its maker, and is listed with its team', async () => {
  await ask(masterKey, '/team/new', { team_id: 'bots' })
  const { body: maker } = await ask(masterKey, '/user/new', { user_id: 'maker', user_email: 'maker@x.example' })
  await ask(masterKey, '/team/member_add', { team_id: 'bots', member: { user_id: 'maker', role: 'admin' } })
  const made = await ask(maker.key as string, '/key/service-account/generate', { team_id: 'bots', key_alias: 'bot' })
  expect(made.body).toMatchObject({ user_id: null, team_id: 'bots', created_by: 'maker' })
  const key = made.body.key as string
  expect((await call(key)).status).toBe(200)
  const scim = await scimClient(gateway)
  await scim.done('PATCH', '/Users/maker', patchOf({ op: 'Replace', path: 'active', value: 'False' }))
  expect([(await call(maker.key as string)).status, (await call(key)).status]).toEqual([401, 200])
  await scim.done('DELETE', '/Users/maker')
  expect((await call(key)).status).toBe(200)
  const listed = await ask(masterKey, '/key/list?team_id=bots&return_full_object=true')
  expect(listed.body.keys).toMatchObject([{ key_alias: 'bot', user_id: null }])
  // It is no user: it neither manages nor lists.
  for (const path of ['/key/list', '/user/list', '/audit'])
    expect([path, (await ask(key, path)).status]).toEqual([path, 403])
  expect((await ask(key, '/key/generate', {})).status).toBe(403)
})

test('service accounts are made by admins of the team alone', async () => {
  await ask(masterKey, '/team/new', { team_id: 'guarded', team_member_permissions: ['/key/generate'] })
  const roles: [user: string, fields: Json, team: string | undefined, status: number][] = [
    ['member', {}, 'user', 403],
    ['admin', {}, 'admin', 200],
    ['stranger', {}, undefined, 404],
    ['viewer', { user_role: 'internal_user_viewer' }, 'admin', 403],
    ['reader', { user_role: 'proxy_admin_viewer' }, undefined, 403],
    ['boss', { user_role: 'proxy_admin' }, undefined, 200],
  ]
  for (const [user_id, fields, role, status] of roles) {
    const { body } = await ask(masterKey, '/user/new', { user_id: `g-${user_id}`, ...fields })
    if (role)
      await ask(masterKey, '/team/member_add', { team_id: 'guarded', member: { user_id: `g-${user_id}`, role } })
    const made = await ask(body.key as string, '/key/service-account/generate', { team_id: 'guarded' })
    expect([user_id, made.status]).toEqual([user_id, status])
    if (status === 200) expect(made.body.user_id).toBeNull()
  }
  for (const fields of [{}, { team_id: 'guarded', user_id: 'g-admin' }])
    expect((await ask(masterKey, '/key/service-account/generate', fields)).status).toBe(422)
})
