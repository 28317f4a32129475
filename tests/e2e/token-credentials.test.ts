/** Tokens of an identity provider in the place of keys: whose calls they are, and which are refused. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { exportJWK, SignJWT } from 'jose'
import { startProvider, tokenOf, unpublishedKey } from '../support/sign-in/identity-provider.ts'
import type { TestProvider } from '../support/sign-in/identity-provider.ts'
import { backends, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let provider: TestProvider
const gateways: Gateway[] = []
beforeEach(async () => {
  provider = await startProvider()
})
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop()
  provider.stop()
})

const audience = 'gateway'

async function start(more = '', environment: Record<string, string> = {}, backend = backends()[0]!) {
  const settings = `
general_settings:
  enable_jwt_auth: true
  litellm_jwtauth: { audience: ${audience}, issuer: "${provider.issuer}"${more && `, ${more}`} }
`
  const gateway = await startGateway({ config: standardConfig + settings, environment, backend })
  gateways.push(gateway)
  return gateway
}

const nowSeconds = () => Math.floor(Date.now() / 1000)
const claims = (sub: string, more: Json = {}): Json => ({
  iss: provider.issuer,
  aud: audience,
  sub,
  iat: nowSeconds(),
  exp: nowSeconds() + 300,
  ...more,
})
const tokenFor = (sub: string, more: Json = {}) => provider.sign(claims(sub, more))

const message = { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }] }
const chat = (gateway: Gateway, token: string, model = 'chat-model') =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ ...message, model }),
  })
const statusOf = async (gateway: Gateway, token: string) => (await chat(gateway, token)).status

/** What the client is told of a token that is refused. */
async function refusal(gateway: Gateway, token: string): Promise<string> {
  const answer = await chat(gateway, token)
  const { error } = (await answer.json()) as { error: { message: string; code: string } }
  expect([answer.status, error.code]).toEqual([401, 'invalid_api_key'])
  return error.message
}

async function made(gateway: Gateway, path: string, body: Json): Promise<Json> {
  const answer = await gateway.admin(path, body)
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Json
}

const newUser = (gateway: Gateway, id: string, more: Json = {}) =>
  made(gateway, '/user/new', { user_id: id, auto_create_key: false, ...more })

test('a call with a token is on the ledger as its user, and in the team that the token names', async () => {
  const gateway = await start('team_id_jwt_field: team')
  await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  await made(gateway, '/team/new', { team_id: 'blue', members_with_roles: [{ user_id: 'ann', role: 'user' }] })
  await made(gateway, '/team/new', { team_id: 'red' })
  expect(await statusOf(gateway, await tokenFor('person-1'))).toBe(200)
  expect(await statusOf(gateway, await tokenFor('person-1', { team: 'blue' }))).toBe(200)
  expect(await refusal(gateway, await tokenFor('person-1', { team: 'red' }))).toContain("'red' is none of the teams")
  const rows = await gateway.rows()
  const seen = rows.map(row => [row.user_id, row.team_id]).toSorted()
  expect(seen).toEqual(
    [
      ['ann', 'blue'],
      ['ann', null],
    ].toSorted(),
  )
})

test('models and budgets of user and team bind the calls of a token', async () => {
  const gateway = await start('team_id_jwt_field: team')
  await newUser(gateway, 'ann', { sso_user_id: 'person-1', models: ['chat-model', 'claude-model'] })
  const members = [{ user_id: 'ann', role: 'user' }]
  await made(gateway, '/team/new', { team_id: 'blue', models: ['claude-model'], members_with_roles: members })
  await made(gateway, '/team/new', { team_id: 'poor', max_budget: 0, members_with_roles: members })
  expect((await chat(gateway, await tokenFor('person-1'), 'embedding-model')).status).toBe(403)
  expect((await chat(gateway, await tokenFor('person-1', { team: 'blue' }))).status).toBe(403)
  expect((await chat(gateway, await tokenFor('person-1', { team: 'poor' }))).status).toBe(429)
  expect((await chat(gateway, await tokenFor('person-1'))).status).toBe(200)
})

test('a team that the configuration maps a claim to needs no membership, but has to exist', async () => {
  const gateway = await start('team_ids_jwt_field: groups, teams: { staff: blue, ghosts: none }, team_id_default: blue')
  await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  expect(await refusal(gateway, await tokenFor('person-1'))).toContain("'blue'")
  await made(gateway, '/team/new', { team_id: 'blue' })
  expect(await statusOf(gateway, await tokenFor('person-1', { groups: ['other', 'ghosts', 'staff'], jti: '1' }))).toBe(
    200,
  )
  expect(await refusal(gateway, await tokenFor('person-1', { groups: ['ghosts'] }))).toContain('does not exist')
  expect(await statusOf(gateway, await tokenFor('person-1', { jti: '2' }))).toBe(200)
  expect((await gateway.rows()).map(row => row.team_id)).toEqual(['blue', 'blue'])
})

const typedToken = (sub: string, typ: string, more: Json = {}) => provider.sign(claims(sub, more), { typ })

const bad: Readonly<Record<string, readonly [RegExp, () => string | Promise<string>]>> = {
  'another audience': [/another application/, () => tokenFor('person-1', { aud: 'other' })],
  'no audience': [/another application/, () => tokenFor('person-1', { aud: undefined })],
  'an end in the past': [/expired/, () => tokenFor('person-1', { exp: nowSeconds() - 60 })],
  'an end that never comes': [/more than ten years/, () => tokenFor('person-1', { exp: 1e308 })],
  'an end in eleven years': [
    /more than ten years/,
    () => tokenFor('person-1', { exp: nowSeconds() + 11 * 31_536_000 }),
  ],
  'the hash of what an ID token came with': [/ID token/, () => tokenFor('person-1', { at_hash: 'x' })],
  'the nonce of a sign-in': [/ID token/, () => tokenFor('person-1', { nonce: 'x' })],
  "Keycloak's word for an ID token": [/ID token/, () => tokenFor('person-1', { typ: 'ID' })],
  "Cognito's word for an ID token": [/ID token/, () => tokenFor('person-1', { token_use: 'id' })],
  'the type of a logout token': [/its type is 'logout\+jwt'/, () => typedToken('person-1', 'logout+jwt')],
  'the events of a logout token': [/tells of events/, () => tokenFor('person-1', { events: { logout: {} } })],
  'no end': [/no end/, () => tokenFor('person-1', { exp: undefined })],
  'a beginning to come': [/not valid yet/, () => tokenFor('person-1', { nbf: nowSeconds() + 600 })],
  'a making to come': [/seconds from now/, () => tokenFor('person-1', { iat: nowSeconds() + 600 })],
  'no subject': [/'sub'.*missing/, () => tokenFor('person-1', { sub: undefined, scope: 'models' })],
  'a claim of other values': [/`required_claims`/, () => tokenFor('person-1', { scope: 'mail' })],
  'no signature': [/algorithm/, () => tokenOf({ alg: 'none' }, claims('person-1', { scope: 'models' }))],
  'HS256 with the public key': [
    /algorithm/,
    async () => {
      const pem = await provider.publicPem()
      const sign = (signed: string) => createHmac('sha256', pem).update(signed).digest('base64url')
      return tokenOf({ alg: 'HS256' }, claims('person-1', { scope: 'models' }), sign)
    },
  ],
  'changed claims': [
    /signature/,
    async () => {
      const [header, , signature] = (await tokenFor('person-2', { scope: 'models' })).split('.')
      const other = Buffer.from(JSON.stringify(claims('person-1', { scope: 'models' }))).toString('base64url')
      return [header, other, signature].join('.')
    },
  ],
  'a key that is not published': [
    /does not publish/,
    async () => {
      const { privateKey } = await unpublishedKey()
      return new SignJWT(claims('person-1')).setProtectedHeader({ alg: 'RS256', kid: 'x' }).sign(privateKey)
    },
  ],
  'a key in its own header': [
    /does not publish/,
    async () => {
      const { privateKey, publicKey } = await unpublishedKey()
      const jwk = await exportJWK(publicKey)
      const jku = 'http://127.0.0.1:1/jwks'
      const header = { alg: 'RS256', kid: 'own', jwk, jku, x5u: jku }
      return new SignJWT(claims('person-1', { scope: 'models' })).setProtectedHeader(header).sign(privateKey)
    },
  ],
  'a key id that is a path or SQL': [
    /does not publish/,
    async () => {
      const { privateKey } = await unpublishedKey()
      const kid = `${'../'.repeat(4)}dev/null' or '1'='1`
      return new SignJWT(claims('person-1', { scope: 'models' }))
        .setProtectedHeader({ alg: 'RS256', kid })
        .sign(privateKey)
    },
  ],
  'none in other letters': [/algorithm/, () => tokenOf({ alg: 'NoNe' }, claims('person-1', { scope: 'models' }))],
  'a person without a user': [/there is no user for 'person-3'/, () => tokenFor('person-3', { scope: 'models' })],
  'another issuer': [/not known/, () => tokenFor('person-1', { iss: 'https://other.example.com' })],
}

test('tokens that do not hold are refused with 401 and a sentence, and one that holds is taken', async () => {
  const gateway = await start('required_claims: { scope: [models, all] }')
  await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  for (const [name, [sentence, token]] of Object.entries(bad))
    expect([name, await refusal(gateway, await token())]).toEqual([name, expect.stringMatching(sentence)])
  expect(await statusOf(gateway, await tokenFor('person-1', { scope: 'mail models' }))).toBe(200)
})

test('blocking or deleting the user, or ending the membership, ends the token', async () => {
  const gateway = await start('team_id_jwt_field: team')
  const { user_id: id } = await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  await made(gateway, '/team/new', { team_id: 'blue', members_with_roles: [{ user_id: 'ann', role: 'user' }] })
  const [plain, inTeam] = [await tokenFor('person-1'), await tokenFor('person-1', { team: 'blue' })]
  for (const token of [plain, inTeam]) expect(await statusOf(gateway, token)).toBe(200)
  await made(gateway, '/team/member_delete', { team_id: 'blue', user_id: id })
  expect(await refusal(gateway, inTeam)).toContain("'blue' is none of the teams")
  expect(await statusOf(gateway, plain)).toBe(200)
  await made(gateway, '/user/update', { user_id: id, blocked: true })
  expect(await refusal(gateway, plain)).toMatch(/is blocked|is deactivated/)
  await made(gateway, '/user/update', { user_id: id, blocked: false })
  expect(await statusOf(gateway, plain)).toBe(200)
  await made(gateway, '/user/delete', { user_ids: [id] })
  expect(await refusal(gateway, plain)).toContain('there is no user')
})

test('another `sso_user_id` of a user ends the tokens of the person before, at once', async () => {
  const gateway = await start()
  const { user_id: id } = await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  const before = await tokenFor('person-1')
  expect(await statusOf(gateway, before)).toBe(200)
  await made(gateway, '/user/update', { user_id: id, sso_user_id: 'person-2' })
  expect(await refusal(gateway, before)).toContain("there is no user for 'person-1'")
  expect(await statusOf(gateway, await tokenFor('person-2'))).toBe(200)
  await made(gateway, '/user/update', { user_id: id, user_alias: 'Ann' })
  expect(await statusOf(gateway, await tokenFor('person-2'))).toBe(200)
})

const accounts = [
  '{ name: nightly, claims: { azp: ci-runner, gty: [client-credentials, app] }, team_id: blue }',
  '{ name: lost, claims: { azp: ghost }, team_id: none }',
]
const machines = `service_accounts: [${accounts.join(', ')}], required_claims: { scope: [models] }`
const machineToken = (more: Json = {}) =>
  tokenFor('x@clients', { azp: 'ci-runner', gty: 'client-credentials', scope: 'models', ...more })

test('a token of a machine calls as a service account of its team, whose models, budget and block bind it', async () => {
  const gateway = await start(machines)
  await made(gateway, '/team/new', { team_id: 'blue', models: ['chat-model'] })
  const token = await machineToken()
  expect(await statusOf(gateway, token)).toBe(200)
  expect((await chat(gateway, token, 'claude-model')).status).toBe(403)
  const [row] = await gateway.rows()
  expect([row!.user_id, row!.team_id, row!.key_alias]).toEqual([null, 'blue', 'nightly'])
  const manage = (path: string, body: Json) =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    })
  expect((await manage('/key/generate', { team_id: 'blue' })).status).toBe(403)
  expect((await manage('/key/derive', { duration: '1h' })).status).toBe(403)
  await made(gateway, '/team/update', { team_id: 'blue', blocked: true })
  expect(await refusal(gateway, token)).toContain("'blue' of the service account 'nightly'")
})

test('a token is a machine’s by all claims of an entry, and a person’s otherwise', async () => {
  const gateway = await start(machines)
  await made(gateway, '/team/new', { team_id: 'blue' })
  await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  // The token of a person who uses the application of the machine names it too.
  const ofPerson = await tokenFor('person-1', { azp: 'ci-runner', scope: 'models' })
  expect(await statusOf(gateway, ofPerson)).toBe(200)
  expect((await gateway.rows())[0]).toMatchObject({ user_id: 'ann', team_id: null })
  expect(await refusal(gateway, await machineToken({ scope: 'mail' }))).toContain('`required_claims`')
  expect(await refusal(gateway, await machineToken({ gty: 'other' }))).toContain('there is no user')
  expect(await refusal(gateway, await machineToken({ azp: 'ghost' }))).toContain("'none' of the service account 'lost'")
})

test('user_id_upsert makes a user once, with the defaults of new users', async () => {
  const gateway = await start('user_id_upsert: true, user_email_jwt_field: mail, trust_email: true')
  const mail = 'Ada@Example.com'
  for (const jti of ['1', '2', '3'])
    expect(await statusOf(gateway, await tokenFor('person-9', { mail, jti }))).toBe(200)
  const { users } = (await (await gateway.admin('/user/list')).json()) as { users: Json[] }
  expect(users.map(one => [one.user_email, one.user_role, one.sso_user_id])).toEqual([
    ['ada@example.com', 'internal_user', 'person-9'],
  ])
})

test('a user who was deleted is not made anew by the next token, until an administrator makes one for the person', async () => {
  const gateway = await start('user_id_upsert: true')
  const users = async () => ((await (await gateway.admin('/user/list')).json()) as { users: Json[] }).users
  expect(await statusOf(gateway, await tokenFor('person-9'))).toBe(200)
  const [{ user_id: id }] = (await users()) as [Json]
  await made(gateway, '/user/delete', { user_ids: [id] })
  for (const jti of ['1', '2'])
    expect(await refusal(gateway, await tokenFor('person-9', { jti }))).toContain(`user '${String(id)}'`)
  expect(await users()).toEqual([])
  // Others come as before.
  expect(await statusOf(gateway, await tokenFor('person-10'))).toBe(200)
  // Also one who was made for a person who never came.
  await newUser(gateway, 'early', { sso_user_id: 'person-11' })
  await made(gateway, '/user/delete', { user_ids: ['early'] })
  expect(await refusal(gateway, await tokenFor('person-11'))).toContain('was removed')
  await newUser(gateway, 'again', { sso_user_id: 'person-9' })
  expect(await statusOf(gateway, await tokenFor('person-9', { jti: '3' }))).toBe(200)
})

test('access tokens count in every form in which providers give them, and ID tokens where they are accepted', async () => {
  const gateway = await start()
  await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  const accepted = [
    // Keycloak before 24 has the nonce of the sign-in in its access tokens, and says what they are.
    tokenFor('person-1', { typ: 'Bearer', nonce: 'x' }),
    tokenFor('person-1', { scope: 'openid models', nonce: 'x' }),
    tokenFor('person-1', { scp: ['models'], nonce: 'x' }),
    tokenFor('person-1', { token_use: 'access', at_hash: 'x' }),
    typedToken('person-1', 'JWT', { jti: '1' }),
    typedToken('person-1', 'at+jwt', { nonce: 'x' }),
    typedToken('person-1', 'application/at+jwt'),
    typedToken('person-1', 'application/okta-internal-at+jwt'),
  ]
  for (const [at, token] of accepted.entries()) expect([at, await statusOf(gateway, await token)]).toEqual([at, 200])
  const lenient = await start('accept_id_tokens: true')
  await newUser(lenient, 'ann', { sso_user_id: 'person-1' })
  expect(await statusOf(lenient, await tokenFor('person-1', { nonce: 'x', at_hash: 'y' }))).toBe(200)
  expect(await refusal(lenient, await typedToken('person-1', 'logout+jwt'))).toContain('logout+jwt')
})

test('twenty calls with a new key that come while the keys are fetched are all served', async () => {
  for (const keepsId of [false, true]) {
    const gateway = await start()
    await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
    provider.lies = {}
    expect(await statusOf(gateway, await tokenFor('person-1', { jti: `before ${keepsId}` }))).toBe(200)
    await provider.rotate({ keepsId })
    const before = provider.keysAsked()
    provider.lies = { slow: { path: '/jwks', ms: 300 } }
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, at) => tokenFor('person-1', { jti: `${keepsId} ${at}` })),
    )
    const statuses = await Promise.all(
      tokens.map(async (token, at) => {
        await Bun.sleep(at * 10)
        return statusOf(gateway, token)
      }),
    )
    expect([keepsId, statuses, provider.keysAsked()]).toEqual([keepsId, tokens.map(() => 200), before + 1])
  }
})

test('the id of a user counts where the operator chose the claim, and nowhere else', async () => {
  const chosen = await start('user_id_jwt_field: uid')
  await newUser(chosen, 'ann')
  expect(await statusOf(chosen, await tokenFor('x', { uid: 'ann' }))).toBe(200)
  const plain = await start()
  await newUser(plain, 'ann')
  expect(await refusal(plain, await tokenFor('ann'))).toContain('there is no user')
})

test('keys that are kept go on while the provider is away, and a new key is found at once', async () => {
  const gateway = await start()
  await newUser(gateway, 'ann', { sso_user_id: 'person-1' })
  expect(await statusOf(gateway, await tokenFor('person-1', { jti: '1' }))).toBe(200)
  provider.lies = { keysStatus: 500 }
  expect(await statusOf(gateway, await tokenFor('person-1', { jti: '2' }))).toBe(200)
  expect(provider.keysAsked()).toBe(1)
  provider.lies = {}
  await provider.rotate()
  expect(await statusOf(gateway, await tokenFor('person-1', { jti: '3' }))).toBe(200)
  expect(provider.keysAsked()).toBe(2)
  // Invented key ids do not make the gateway ask again and again.
  for (const kid of ['a', 'b', 'c', 'd']) await refusal(gateway, await provider.sign(claims('person-1'), { kid }))
  expect(provider.keysAsked()).toBe(2)
})

test('with the names of the environment, and off while it is not switched on', async () => {
  const environment = {
    JWT_PUBLIC_KEY_URL: `${provider.issuer}/jwks`,
    JWT_AUDIENCE: `other, ${audience}`,
    JWT_ISSUER: provider.issuer,
  }
  const off = await startGateway({ config: standardConfig, environment })
  gateways.push(off)
  await newUser(off, 'ann', { sso_user_id: 'person-1' })
  expect(await refusal(off, await tokenFor('person-1'))).toContain('issuer that is not known')
  expect(provider.keysAsked()).toBe(0)
  const config = `${standardConfig}\ngeneral_settings: { enable_jwt_auth: true }\n`
  const on = await startGateway({ config, environment })
  gateways.push(on)
  await newUser(on, 'ann', { sso_user_id: 'person-1' })
  expect(await statusOf(on, await tokenFor('person-1'))).toBe(200)
})
