/** The device flow (RFC 8628) as programs and browsers see it, on each database. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { browserWith, signedInBrowser } from '../support/sign-in/browser-session.ts'
import type { Browser } from '../support/sign-in/browser-session.ts'
import { askDevice, post, redeem, refresh, signInDevice } from '../support/sign-in/device-client.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const chat = { model: 'chat-model', messages: [{ role: 'user', content: 'tokens: 3' }] }

interface OauthError {
  readonly error: string
  readonly error_description: string
}

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let url: string
    let databaseUrl: string
    let ada: Browser

    beforeAll(async () => {
      const opened = await backend.open()
      gateway = await startGateway({ backend: { name: backend.name, open: async () => opened } })
      url = gateway.url
      databaseUrl = opened.databaseUrl ?? `sqlite:${gateway.dataDirectory}/modelgate.sqlite`
      await made('/user/new', { user_id: 'ada', user_email: 'ada@example.com', user_role: 'proxy_admin' })
      ada = await signedInBrowser(url, databaseUrl, 'ada')
    })
    afterAll(() => gateway?.stop())

    async function made(path: string, body: object): Promise<void> {
      const answer = await gateway.admin(path, body)
      if (answer.status !== 200) throw new Error(await answer.text())
    }
    const call = (token: string, path = '/v1/chat/completions', body: object = chat): Promise<Response> =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const person = async (id: string): Promise<Browser> => {
      await made('/user/new', { user_id: id })
      return signedInBrowser(url, databaseUrl, id)
    }
    const refused = async (answer: Response): Promise<[number, string]> => [
      answer.status,
      ((await answer.json()) as OauthError).error,
    ]

    test('the discovery document names endpoints of the address that was asked', async () => {
      const answer = await fetch(`${url}/.well-known/oauth-authorization-server`)
      expect(await answer.json()).toMatchObject({
        issuer: url,
        device_authorization_endpoint: `${url}/oauth/device_authorization`,
        token_endpoint: `${url}/oauth/token`,
        revocation_endpoint: `${url}/oauth/revoke`,
        grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        gateway_protocol_version: 1,
      })
    })

    test('a program waits, a person sees who asks and approves, and the token calls models in the name of the person', async () => {
      const asked = await askDevice(url, 'claude-code/9.9 <b>bold</b>')
      expect(asked).toMatchObject({
        verification_uri: `${url}/device`,
        verification_uri_complete: `${url}/device?user_code=${asked.user_code}`,
        expires_in: 600,
        interval: 5,
      })
      expect(asked.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
      const page = await ada.get(`/device?user_code=${asked.user_code.toLowerCase().replace('-', '')}`)
      const text = await page.text()
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      for (const part of [asked.user_code, 'claude-code/9.9 &lt;b&gt;bold', '127.0.0.1', 'ada@example.com'])
        expect(text).toContain(part)
      expect(text).not.toContain('<script')
      const approved = await ada.post('/device', { user_code: asked.user_code, decision: 'approve' })
      expect([approved.status, await approved.text()]).toEqual([200, expect.stringContaining('Signed in')])
      const answer = await redeem(url, asked.device_code)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const tokens = (await answer.json()) as { access_token: string }
      expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3600, email: 'ada@example.com', user_id: 'ada' })
      expect((await call(tokens.access_token)).status).toBe(200)
      const [row] = await gateway.rows('&user_id=ada')
      expect(row).toMatchObject({ user_id: 'ada', status: 200 })
    })

    test('before the decision the program hears authorization_pending, and slow_down when it asks too often', async () => {
      const asked = await askDevice(url)
      expect(await refused(await redeem(url, asked.device_code))).toEqual([400, 'authorization_pending'])
      await until(async () => {
        const [status, error] = await refused(await redeem(url, asked.device_code))
        expect([status, ['authorization_pending', 'slow_down'].includes(error)]).toEqual([400, true])
        return error === 'slow_down'
      }, 'it asks too often')
    })

    test('a denied code gives access_denied, a used one expired_token, a foreign one invalid_grant', async () => {
      const denied = await askDevice(url)
      expect((await ada.post('/device', { user_code: denied.user_code, decision: 'deny' })).status).toBe(200)
      expect(await refused(await redeem(url, denied.device_code))).toEqual([400, 'access_denied'])
      const { access_token: token } = await signInDevice(url, ada)
      expect(token).toBeString()
      const used = await askDevice(url)
      await ada.post('/device', { user_code: used.user_code, decision: 'approve' })
      const answers = await Promise.all([redeem(url, used.device_code), redeem(url, used.device_code)])
      expect(answers.map(one => one.status).toSorted()).toEqual([200, 400])
      expect(await refused(await redeem(url, 'mgc_x'))).toEqual([400, 'invalid_grant'])
      expect(await refused(await redeem(url, `mgc_${'x'.repeat(43)}`))).toEqual([400, 'expired_token'])
    })

    test('a code is decided once', async () => {
      const asked = await askDevice(url)
      const decide = (decision: string) => ada.post('/device', { user_code: asked.user_code, decision })
      expect((await decide('approve')).status).toBe(200)
      expect((await decide('deny')).status).toBe(400)
      expect((await redeem(url, asked.device_code)).status).toBe(200)
    })

    test('requests that the protocol does not have are refused with the field and the remedy', async () => {
      const token = (form: Record<string, string>) => post(url, '/oauth/token', form)
      for (const [form, error, part] of [
        [{}, 'invalid_request', 'grant_type'],
        [{ grant_type: 'password' }, 'unsupported_grant_type', 'refresh_token'],
        [{ grant_type: 'refresh_token' }, 'invalid_request', 'refresh_token'],
        [{ grant_type: 'refresh_token', refresh_token: 'mgr_x' }, 'invalid_grant', 'sign in again'],
        [{ grant_type: 'urn:ietf:params:oauth:grant-type:device_code' }, 'invalid_request', 'device_code'],
      ] as const) {
        const answer = await token(form)
        const body = (await answer.json()) as OauthError
        expect([answer.status, body.error]).toEqual([400, error])
        expect(body.error_description).toContain(part)
      }
      const json = await fetch(`${url}/oauth/token`, { method: 'POST', body: '{"grant_type":"refresh_token"}' })
      expect([json.status, ((await json.json()) as OauthError).error]).toEqual([415, 'invalid_request'])
      const twice = await fetch(`${url}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=a&grant_type=b',
      })
      expect([twice.status, ((await twice.json()) as OauthError).error]).toEqual([400, 'invalid_request'])
    })

    test('who is not signed in is sent to sign in and back, and no key or token can approve', async () => {
      const asked = await askDevice(url)
      const stranger = await browserWith(url, 'other=1').get(`/device?user_code=${asked.user_code}`)
      expect(stranger.status).toBe(303)
      expect(stranger.headers.get('location')).toContain(encodeURIComponent(`/device?user_code=${asked.user_code}`))
      const { access_token: token } = await signInDevice(url, ada)
      for (const key of [await gateway.key(), token]) {
        const body = new FormData()
        body.append('user_code', asked.user_code)
        body.append('decision', 'approve')
        const answer = await fetch(`${url}/device`, {
          method: 'POST',
          body,
          headers: { authorization: `Bearer ${key}` },
        })
        expect([answer.status, await answer.text()]).toEqual([
          403,
          expect.stringContaining('open this page in a browser'),
        ])
      }
      expect(await refused(await redeem(url, asked.device_code))).toEqual([400, 'authorization_pending'])
    })

    test('no page of another site can approve', async () => {
      const asked = await askDevice(url)
      const fields = { user_code: asked.user_code, decision: 'approve' }
      for (const [name, value] of [
        ['origin', 'https://evil.example'],
        ['sec-fetch-site', 'cross-site'],
        ['origin', 'null'],
      ] as const)
        expect((await ada.post('/device', fields, { [name]: value })).status).toBe(403)
      expect(await refused(await redeem(url, asked.device_code))).toEqual([400, 'authorization_pending'])
    })

    test('the operator cannot sign a program in, and hears why', async () => {
      const operator = await signedInBrowser(url, databaseUrl, null)
      const page = await operator.get('/device')
      expect([page.status, await page.text()]).toEqual([403, expect.stringContaining('signed in as the operator')])
      expect((await browserWith(url, 'modelgate_session=mgs_nothing').get('/device')).status).toBe(303)
    })

    test('codes cannot be found by trying: after ten wrong ones a person has to wait', async () => {
      const guesser = await person('guesser')
      const statuses: number[] = []
      for (let at = 0; at < 11; at++) statuses.push((await guesser.get('/device?user_code=BBBB-BBBB')).status)
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429])
      expect((await ada.get('/device?user_code=BBBB-BBBB')).status).toBe(400)
    })

    test('a refresh gives new tokens; its answer is given once more to a program that lost it', async () => {
      const first = await signInDevice(url, ada)
      const answers = await Promise.all([refresh(url, first.refresh_token), refresh(url, first.refresh_token)])
      const [one, other] = (await Promise.all(answers.map(answer => answer.json()))) as { refresh_token: string }[]
      expect(one!.refresh_token).toStartWith('mgr_')
      expect(one!.refresh_token).not.toBe(first.refresh_token)
      expect(other!.refresh_token).toBe(one!.refresh_token)
      expect((await refresh(url, one!.refresh_token)).status).toBe(200)
    })

    test('a refresh token that was used before ends the sign-in with all of its tokens, and leaves an audit row', async () => {
      const first = await signInDevice(url, ada)
      const second = (await (await refresh(url, first.refresh_token)).json()) as typeof first
      const third = (await (await refresh(url, second.refresh_token)).json()) as typeof first
      expect((await call(third.access_token)).status).toBe(200)
      const stolen = await refresh(url, first.refresh_token)
      expect([stolen.status, await stolen.json()]).toEqual([
        400,
        { error: 'invalid_grant', error_description: expect.stringContaining('sign-in has ended') },
      ])
      expect((await call(third.access_token)).status).toBe(401)
      expect(await refused(await refresh(url, third.refresh_token))).toEqual([400, 'invalid_grant'])
      const { audit_logs: rows } = (await (await gateway.admin('/audit?action=sign-in-refused')).json()) as {
        audit_logs: { updated_values: object }[]
      }
      expect(JSON.stringify(rows[0]!.updated_values)).toContain('was used before')
    })

    test('an access token ends with its user, and a refresh does not bring it back', async () => {
      const eve = await person('eve')
      const tokens = await signInDevice(url, eve)
      expect((await call(tokens.access_token)).status).toBe(200)
      await made('/user/update', { user_id: 'eve', blocked: true })
      const answer = await call(tokens.access_token)
      expect(answer.status).toBe(401)
      expect(await refused(await refresh(url, tokens.refresh_token))).toEqual([400, 'invalid_grant'])
      await made('/user/update', { user_id: 'eve', blocked: false })
      expect((await call(tokens.access_token)).status).toBe(401)
    })

    test('either token revokes the sign-in; a foreign token is no error', async () => {
      for (const name of ['access_token', 'refresh_token'] as const) {
        const tokens = await signInDevice(url, ada)
        expect((await post(url, '/oauth/revoke', { token: tokens[name] })).status).toBe(200)
        expect((await call(tokens.access_token)).status).toBe(401)
        expect(await refused(await refresh(url, tokens.refresh_token))).toEqual([400, 'invalid_grant'])
      }
      expect((await post(url, '/oauth/revoke', { token: 'sk-something' })).status).toBe(200)
    })

    test('a token calls models and reads, and manages nothing, though its user administers the gateway', async () => {
      const { access_token: token } = await signInDevice(url, ada)
      const made = await call(token, '/key/generate', {})
      expect([made.status, await made.text()]).toEqual([403, expect.stringContaining('this operation needs')])
      const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })
      expect(models.status).toBe(200)
    })

    test('the models of the user bind the token', async () => {
      await made('/user/new', { user_id: 'narrow', models: ['claude-model'] })
      const { access_token: token } = await signInDevice(url, await signedInBrowser(url, databaseUrl, 'narrow'))
      expect((await call(token)).status).toBe(403)
      const list = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })
      expect(((await list.json()) as { data: { id: string }[] }).data.map(one => one.id)).toEqual(['claude-model'])
    })

    test('the team that was chosen is charged, and who leaves it has lost the sign-in', async () => {
      await made('/user/new', { user_id: 'bob' })
      await made('/team/new', { team_id: 'red', team_alias: 'Red team' })
      await made('/team/member_add', { team_id: 'red', member: { user_id: 'bob', role: 'user' } })
      const bob = await signedInBrowser(url, databaseUrl, 'bob')
      const asked = await askDevice(url)
      expect(await (await bob.get(`/device?user_code=${asked.user_code}`)).text()).toContain('Red team')
      const foreign = { user_code: asked.user_code, decision: 'approve', team_id: 'blue' }
      expect((await bob.post('/device', foreign)).status).toBe(403)
      const tokens = await signInDevice(url, bob, { team_id: 'red' })
      expect(tokens.team_id).toBe('red')
      expect((await call(tokens.access_token)).status).toBe(200)
      const [row] = await gateway.rows('&user_id=bob')
      expect(row).toMatchObject({ team_id: 'red' })
      await made('/team/member_delete', { team_id: 'red', user_id: 'bob' })
      expect((await call(tokens.access_token)).status).toBe(401)
      expect(await refused(await refresh(url, tokens.refresh_token))).toEqual([400, 'invalid_grant'])
    })

    test('a token whose text was changed is refused', async () => {
      const { access_token: token } = await signInDevice(url, ada)
      const [head, body, signature] = token.split('.') as [string, string, string]
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>
      const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'eve' })).toString('base64url')
      const none = Buffer.from('{"alg":"none","typ":"at+jwt","kid":"modelgate-sign-in"}').toString('base64url')
      for (const text of [
        `${head}.${forged}.${signature}`,
        `${head}.${body}.`,
        `${none}.${body}.`,
        `${head}.${body}.${Buffer.alloc(32).toString('base64url')}`,
      ])
        expect((await call(text)).status).toBe(401)
    })
  })
