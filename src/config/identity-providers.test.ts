/** The settings of identity providers, from the file and from the environment. */
import { expect, test } from 'bun:test'
import { readIdentitySettings } from './identity-providers.ts'
import type { Environment } from './environment.ts'
import type { Config } from './sections/file.ts'

const read = (environment: Environment, general: Config['general_settings'] = {}) =>
  readIdentitySettings({ general_settings: general }, environment, {
    proxies: undefined,
    placed: (path, message) => `${path.join('.')}: ${message}`,
  })
const providersOf = (environment: Environment) => read(environment).settings.providers

test('nothing is configured without a client', () => {
  expect(read({ GENERIC_ISSUER: 'https://x.example', GOOGLE_CLIENT_SECRET: 's', MICROSOFT_TENANT: 't' })).toEqual({
    settings: { proxies: undefined, providers: [], tokens: null },
    mistakes: [],
    warnings: [],
  })
})

test('a provider where everyone can have an account makes no users unless domains are named', () => {
  const google = { GOOGLE_CLIENT_ID: 'id', GOOGLE_CLIENT_SECRET: 'secret' }
  expect(providersOf(google)[0]).toMatchObject({ issuer: 'https://accounts.google.com', createsUsers: false })
  expect(read(google).warnings).toEqual([expect.stringContaining('ALLOWED_EMAIL_DOMAINS')])
  const named = read({ ...google, ALLOWED_EMAIL_DOMAINS: 'Example.com, example.org,' })
  expect(named.settings.providers[0]).toMatchObject({
    createsUsers: true,
    trustsEmail: false,
    emailDomains: ['example.com', 'example.org'],
  })
  expect(named.warnings).toEqual([])
})

test("addresses of a directory of one's own are trusted, those of Microsoft's public ones are not", () => {
  const microsoft = { MICROSOFT_CLIENT_ID: 'id', MICROSOFT_CLIENT_SECRET: 'secret' }
  const tenant = (name: string) => providersOf({ ...microsoft, MICROSOFT_TENANT: name })[0]
  expect(tenant('contoso.com')).toMatchObject({
    issuer: 'https://login.microsoftonline.com/contoso.com/v2.0',
    trustsEmail: true,
    createsUsers: true,
    claims: { subject: 'oid' },
  })
  for (const name of ['common', 'organizations', 'consumers'])
    expect(tenant(name)).toMatchObject({ trustsEmail: false, createsUsers: false })
  for (const name of [undefined, '', 'a/b'])
    expect(read({ ...microsoft, MICROSOFT_TENANT: name }).mistakes).toEqual([
      expect.stringContaining('MICROSOFT_TENANT'),
    ])
})

test('a generic provider needs an issuer or its three addresses, over https', () => {
  const generic = { GENERIC_CLIENT_ID: 'id' }
  expect(read(generic).mistakes).toEqual([expect.stringContaining('GENERIC_CLIENT_ID')])
  expect(read({ ...generic, GENERIC_ISSUER: 'http://login.example.com' }).mistakes).toEqual([
    expect.stringContaining('must be an https:// address'),
  ])
  expect(read({ ...generic, GENERIC_ISSUER: 'http://localhost:9000' }).mistakes).toEqual([])
  const [provider] = providersOf({
    ...generic,
    GENERIC_AUTHORIZATION_ENDPOINT: 'https://x.example/a',
    GENERIC_TOKEN_ENDPOINT: 'https://x.example/t',
    GENERIC_USERINFO_ENDPOINT: 'https://x.example/u',
  })
  expect(provider).toMatchObject({ issuer: null, clientSecret: null, claims: { subject: 'sub', role: null } })
})

test('a secret is never shown with the settings that hold it', () => {
  const { settings } = read({ GOOGLE_CLIENT_ID: 'id', GOOGLE_CLIENT_SECRET: 'canary-secret' })
  expect(JSON.stringify(settings)).not.toContain('canary')
  expect(Bun.inspect(settings, { depth: 10 })).not.toContain('canary')
})

test('two providers of one name are a mistake', () => {
  const sso = [{ name: 'google', issuer: 'https://x.example', client_id: 'c' }]
  expect(read({ GOOGLE_CLIENT_ID: 'id' }, { sso }).mistakes).toEqual([
    "general_settings.sso: has a provider 'google', and so has the environment; give it another name",
  ])
})

test('tokens need an issuer and an audience, and are off without', () => {
  const on = { enable_jwt_auth: true }
  for (const environment of [{}, { JWT_ISSUER: 'https://x.example' }, { JWT_AUDIENCE: 'a' }]) {
    const { settings, warnings, mistakes } = read(environment, on)
    expect([settings.tokens, mistakes]).toEqual([null, []])
    expect(warnings).toEqual([expect.stringContaining('has no effect without')])
  }
  const whole = { JWT_ISSUER: 'https://x.example', JWT_AUDIENCE: 'a,b', JWT_PUBLIC_KEY_URL: 'https://x.example/keys' }
  expect(read(whole, on).settings.tokens).toMatchObject({
    audiences: ['a', 'b'],
    keysUrl: 'https://x.example/keys',
    subjectIsUserId: false,
    createsUsers: false,
  })
  expect(read(whole).settings.tokens).toBeNull()
  expect(read({ ...whole, JWT_PUBLIC_KEY_URL: 'http://x.example/keys' }, on).mistakes).toEqual([
    'JWT_PUBLIC_KEY_URL must be an https:// address',
  ])
})

test('ids of users name persons of the only provider, else of the one that is named', () => {
  const provider = (name: string, issuer = `https://${name}.example`) => ({ name, issuer, client_id: 'c' })
  const matching = (general: Config['general_settings'], environment: Environment = {}) => {
    const { settings, warnings, mistakes } = read(environment, general)
    const names = settings.providers.filter(one => one.matchesUserIds).map(one => one.name)
    return { matching: [...names, ...(settings.tokens?.matchesUserIds ? ['jwt_auth'] : [])], warnings, mistakes }
  }
  const none = { warnings: [], mistakes: [] }
  const a = provider('a')
  const b = provider('b')
  const tokens = { enable_jwt_auth: true, jwt_auth: { issuer: 'https://a.example', audience: 'g' } }
  expect(matching({ sso: [a] })).toEqual({ matching: ['a'], ...none })
  expect(matching({ sso: [a], ...tokens })).toEqual({ matching: ['a', 'jwt_auth'], ...none })
  expect(matching({ sso: [a, provider('twin', 'https://a.example')] })).toEqual({ matching: ['a', 'twin'], ...none })
  for (const general of [
    { sso: [a, b] },
    { sso: [b], ...tokens },
    { sso: [{ ...a, user_id_claim: 'oid' }], ...tokens },
  ])
    expect(matching(general)).toEqual({
      matching: [],
      mistakes: [],
      warnings: [expect.stringContaining('general_settings.sso_user_ids_of: is not set')],
    })
  expect(matching({ sso: [a, b], sso_user_ids_of: 'b' })).toEqual({ matching: ['b'], ...none })
  expect(matching({ sso: [b], ...tokens, sso_user_ids_of: ['b', 'jwt_auth'] })).toEqual({
    matching: ['b', 'jwt_auth'],
    ...none,
  })
  expect(matching({ sso: [a, b], sso_user_ids_of: 'c' })).toEqual({
    matching: [],
    warnings: [],
    mistakes: ["general_settings.sso_user_ids_of: names 'c', but the identity providers are: a, b"],
  })
})
