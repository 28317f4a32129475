/** What teams and end users get that are made without it, and teams that every user may join, in LiteLLM's settings. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const config = `${standardConfig.replaceAll('proxy_params', 'litellm_params')}
litellm_settings:
  default_internal_user_params: { available_teams: [guests, secret, closed, gone] }
  default_team_settings: [{ team_id: guests, max_budget: 25 }]
  default_team_params: { budget_duration: 30d, models: [chat-model], rpm_limit: 60, team_member_permissions: [/key/info, /key/generate] }
  default_end_user_params: { budget_id: free-tier, max_parallel_requests: 3 }
`

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    beforeAll(async () => {
      gateway = await startGateway({ backend, config })
    })
    afterAll(() => gateway?.stop())

    const ask = async (key: string, path: string, body?: object) => {
      const response = await fetch(`${gateway.url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${key}` },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const userKey = async (user_id: string) =>
      (await ask(masterKey, '/user/new', { user_id, user_email: `${user_id}@example.com` })).body.key as string

    test('a team that is made without fields has those of the configuration, and its own where it sends them', async () => {
      const { body: plain } = await ask(masterKey, '/team/new', { team_id: 'plain', max_budget: null })
      expect(plain).toMatchObject({
        max_budget: 25,
        budget_duration: '30d',
        models: ['chat-model'],
        rpm_limit: 60,
        tpm_limit: null,
        team_member_permissions: ['/key/info', '/key/generate'],
      })
      const { body: own } = await ask(masterKey, '/team/new', { team_id: 'own', max_budget: 1, models: ['nobody'] })
      expect(own).toMatchObject({ max_budget: 1, models: ['nobody'], rpm_limit: 60 })
    })

    test('users join and leave teams that are open to all, as plain members and for themselves alone', async () => {
      for (const team_id of ['guests', 'secret', 'closed', 'other']) await ask(masterKey, '/team/new', { team_id })
      await ask(masterKey, '/team/block', { team_id: 'closed' })
      const ada = await userKey('ada')
      await userKey('bob')
      const open = async (key: string) =>
        ((await ask(key, '/team/available')).body as unknown as { team_id: string }[]).map(one => one.team_id).sort()
      expect(await open(ada)).toEqual(['guests', 'secret'])
      expect(await open(masterKey)).toEqual(['guests', 'secret'])

      const join = (team_id: string, member: object, more: object = {}) =>
        ask(ada, '/team/member_add', { team_id, member, ...more })
      expect((await join('other', { role: 'user', user_id: 'ada' })).status).toBe(404)
      expect((await join('closed', { role: 'user', user_id: 'ada' })).status).toBe(404)
      expect((await join('guests', { role: 'admin', user_id: 'ada' })).status).toBe(404)
      expect((await join('guests', { role: 'user', user_id: 'bob' })).status).toBe(404)
      expect((await join('guests', { role: 'user', user_id: 'ada' }, { max_budget_in_team: 500 })).status).toBe(404)
      const joined = await join('guests', { role: 'user', user_email: 'ada@example.com' })
      expect(joined).toMatchObject({ status: 200, body: { team_id: 'guests', updated_users: [{ user_id: 'ada' }] } })
      expect(await open(ada)).toEqual(['secret'])

      // What an administrator has set for the member stays.
      await ask(masterKey, '/team/member_update', { team_id: 'guests', user_id: 'ada', max_budget_in_team: 2 })
      expect((await join('guests', { role: 'user', user_id: 'ada' })).status).toBe(409)
      const shares = (await ask(masterKey, '/team/info?team_id=guests')).body.team_memberships
      expect(JSON.stringify(shares)).toContain('"max_budget":2,')

      await ask(masterKey, '/team/member_add', { team_id: 'guests', member: { role: 'user', user_id: 'bob' } })
      expect((await ask(ada, '/team/member_delete', { team_id: 'guests', user_id: 'bob' })).status).toBe(403)
      expect((await ask(ada, '/team/member_delete', { team_id: 'guests', user_id: 'ada' })).status).toBe(200)
      expect(await open(ada)).toEqual(['guests', 'secret'])
    })

    test('end users have the budget that the configuration names, and are refused until it exists', async () => {
      const key = await gateway.key()
      const call = (user: string) =>
        ask(key, '/v1/chat/completions', {
          model: 'chat-model',
          max_tokens: 5,
          user,
          messages: [{ role: 'user', content: 'hi' }],
        })
      expect(await call('eve')).toMatchObject({ status: 403, body: { error: { param: 'user' } } })
      await ask(masterKey, '/budget/new', { budget_id: 'free-tier', rpm_limit: 1 })
      expect((await call('eve')).status).toBe(200)
      expect((await call('eve')).status).toBe(429)
      expect((await call('mallory')).status).toBe(200)
      const limits = (await ask(masterKey, `/key/limits?key=${key}&customer=eve`)).body
      expect(limits.scopes).toContainEqual(expect.objectContaining({ id: 'eve', budget_id: 'free-tier', rpm_limit: 1 }))
      await ask(masterKey, '/customer/new', { user_id: 'vip', rpm_limit: 50 })
      expect([(await call('vip')).status, (await call('vip')).status]).toEqual([200, 200])
    })
  })
