/** What a stolen token of a directory reaches: nobody's rights, and no account of one who has a proof of one's own. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { Browser, clientId, clientSecret, signInWith, startProvider } from '../support/sign-in/identity-provider.ts'
import type { TestProvider } from '../support/sign-in/identity-provider.ts'
import { backends, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { patchOf, scimClient } from './scim-client.ts'
import type { Json, ScimClient } from './scim-client.ts'

const password = 'a password nobody guesses'

for (const backend of backends())
  describe(backend.name, () => {
    let provider: TestProvider
    let gateway: Gateway
    let scim: ScimClient
    beforeAll(async () => {
      provider = await startProvider()
      const jwt = `  enable_jwt_auth: true\n  jwt_auth: { issuer: "${provider.issuer}", audience: gateway, user_id_jwt_field: sub, user_id_upsert: true }\n`
      const entry = `    - { name: own, issuer: "${provider.issuer}", client_id: ${clientId}, client_secret: ${clientSecret} }\n`
      gateway = await startGateway({ backend, config: `${standardConfig}\ngeneral_settings:\n${jwt}  sso:\n${entry}` })
      scim = await scimClient(gateway)
    })
    afterAll(async () => {
      await gateway.stop()
      provider.stop()
    })
    afterEach(() => {
      provider.lies = {}
    })

    const admin = async (path: string, body?: Json): Promise<Json> => {
      const answer = await gateway.admin(path, body)
      if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
      return (await answer.json()) as Json
    }
    const newUser = (user_id: string, more: Json = {}) =>
      admin('/user/new', { user_id, auto_create_key: false, ...more })
    const infoOf = async (id: string) => (await admin(`/user/info?user_id=${id}`)).user_info as Json
    const signIn = async (person: Json, browser = new Browser()) => {
      provider.person = person
      const back = await signInWith(browser, gateway.url, provider)
      const text = await back.text()
      if (back.status !== 302) return `${back.status} ${text}`
      const { user_info: user } = (await (await browser.open(`${gateway.url}/user/info`)).json()) as { user_info: Json }
      return user.user_id
    }
    const replace = (id: string, value: Json) => scim.ask('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value }))

    test('nothing of an administrator whom no directory has sent is changed', async () => {
      for (const user_role of ['proxy_admin', 'proxy_admin_viewer']) {
        const id = `by-hand-${user_role}`
        await newUser(id, { user_role, user_email: `${id}@example.com` })
        await admin('/team/new', { team_id: `team-${id}`, members_with_roles: [{ user_id: id, role: 'user' }] })
        const before = await infoOf(id)
        const group = (await scim.done('POST', '/Groups', { displayName: `group of ${id}` })).id as string
        const attempts: [string, string, Json | undefined][] = [
          ['PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { externalId: `thief of ${id}` } })],
          [
            'PATCH',
            `/Users/${id}`,
            patchOf({ op: 'replace', path: 'emails[type eq "work"].value', value: 't@evil.example' }),
          ],
          ['PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } })],
          ['PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { displayName: 'x' } })],
          ['PUT', `/Users/${id}`, { userName: 'thief', externalId: 'thief' }],
          ['DELETE', `/Users/${id}`, undefined],
          ['PATCH', `/Groups/${group}`, patchOf({ op: 'add', path: 'members', value: [{ value: id }] })],
        ]
        for (const [method, path, body] of attempts) {
          const { status, body: heard } = await scim.ask(method, path, body)
          expect([method, path, status, heard.detail]).toEqual([
            method,
            path,
            403,
            expect.stringContaining('administrator'),
          ])
        }
        const twin = await scim.ask('POST', '/Users', {
          userName: `twin of ${id}`,
          emails: [{ value: `${id}@example.com` }],
        })
        expect(twin.status).toBe(409)
        // The directory may say who is in the group, without the administrator.
        await scim.done('PUT', `/Groups/team-${id}`, { displayName: 'x', members: [] })
        await scim.ask('DELETE', `/Groups/team-${id}`)
        expect(await infoOf(id)).toEqual(before)
        expect(await signIn({ sub: `thief of ${id}` })).not.toBe(id)
      }
    })

    test('of an administrator of its own a directory changes no name and no address, and nobody comes back as one', async () => {
      const { id } = (await scim.done('POST', '/Users', { userName: 'lead@example.com', externalId: 'lead-1' })) as {
        id: string
      }
      await admin('/user/update', { user_id: id, user_role: 'proxy_admin' })
      for (const value of [
        { externalId: 'thief' },
        { userName: 'thief' },
        { emails: [{ value: 'thief@evil.example' }] },
      ])
        expect((await replace(id, value)).status).toBe(403)
      expect((await replace(id, { displayName: 'Lead', title: 'Boss' })).status).toBe(200)
      // Nor is it enough that a directory has said who it is before the user became an administrator.
      expect(await signIn({ sub: 'lead-1' })).toContain('who is an administrator')
      expect(await signIn({ sub: 'other', email: 'lead@example.com', email_verified: true })).toContain(
        'is an administrator',
      )
      expect((await replace(id, { active: false })).status).toBe(200)
      await scim.ask('DELETE', `/Users/${id}`)
      const back = await scim.done('POST', '/Users', { userName: 'lead@example.com', externalId: 'lead-1' })
      expect([back.id, (await infoOf(id)).user_role]).toEqual([id, 'internal_user'])
    })

    test('a user with a password is linked by what a directory says only with the proof of the password', async () => {
      await newUser('ann', { user_email: 'ann@example.com' })
      await admin('/sign-in/password', { user_id: 'ann', new_password: password })
      expect((await replace('ann', { emails: [{ value: 'thief@evil.example' }] })).status).toBe(403)
      expect((await replace('ann', { externalId: 'ann-1' })).status).toBe(200)
      expect(await signIn({ sub: 'ann-1' })).toContain('who has a password')
      expect(await signIn({ sub: 'x', email: 'ann@example.com', email_verified: true })).toContain('who has a password')
      const browser = new Browser()
      const headers = { 'content-type': 'application/json', origin: gateway.url }
      const body = JSON.stringify({ username: 'ann', password })
      expect((await browser.open(`${gateway.url}/login`, { method: 'POST', headers, body })).status).toBe(200)
      expect(await signIn({ sub: 'ann-1' }, browser)).toBe('ann')
      expect(await signIn({ sub: 'ann-1' })).toBe('ann')
    })

    test('the session of another user proves nothing', async () => {
      await newUser('cleo', { user_email: 'cleo@example.com' })
      await admin('/sign-in/password', { user_id: 'cleo', new_password: password })
      expect((await replace('cleo', { externalId: 'cleo-1' })).status).toBe(200)
      const browser = new Browser()
      expect(await signIn({ sub: 'dora' }, browser)).toBeString()
      expect(await signIn({ sub: 'cleo-1' }, browser)).toContain('who has a password')
    })

    test('a user without a password whom an administrator made is linked as before', async () => {
      await newUser('bea', { user_email: 'bea@example.com' })
      expect((await replace('bea', { externalId: 'bea-1' })).status).toBe(200)
      expect(await signIn({ sub: 'bea-1' })).toBe('bea')
    })

    test("no claim, and no administrator's word, makes a user of a part of the gateway", async () => {
      const nowS = Math.floor(Date.now() / 1000)
      for (const sub of ['scim-directory', 'master', 'cli', 'program', 'sso:own', 'token:x']) {
        const made = await gateway.admin('/user/new', { user_id: sub, user_role: 'proxy_admin' })
        expect([sub, made.status, await made.text()]).toEqual([
          sub,
          400,
          expect.stringContaining('names a part of the gateway'),
        ])
        const token = await provider.sign({ iss: provider.issuer, aud: 'gateway', iat: nowS, exp: nowS + 300, sub })
        const headers = { authorization: `Bearer ${token}` }
        const answer = await fetch(`${gateway.url}/user/info`, { headers })
        const { user_info: user } = (await answer.json()) as { user_info: Json }
        expect([sub, user.user_role, user.user_id === sub]).toEqual([sub, 'internal_user', false])
        expect((await fetch(`${gateway.url}/scim/v2/Users`, { headers })).status).toBe(403)
      }
    })
  })
