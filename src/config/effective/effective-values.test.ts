/** What holds and where it comes from; secrets are masked, and the defaults are those of the settings. */
import { expect, test } from 'bun:test'
import type { EffectiveValue } from '../../core/effective-values.ts'
import { providers } from '../../providers/index.ts'
import { settingKeys } from '../sections/schema-keys.ts'
import type { ServeOptions } from '../serve-options.ts'
import { readSettings } from '../read-settings.ts'
import { cacheDefaults, defaultValues } from './defaults.ts'
import { effectiveValues } from './effective-values.ts'
import { isSecretKey } from './masked.ts'

const started: ServeOptions = {
  configFile: 'config.yaml',
  host: '127.0.0.1',
  port: 4000,
  dataDirectory: '/data',
  databaseUrl: 'sqlite:/data/modelgate.sqlite',
  environment: {},
}

function valuesOf(text: string, options: Partial<ServeOptions> = {}, sent = new Map<string, unknown>()) {
  const values = effectiveValues({ text, options: { ...started, ...options }, sent })
  return (key: string): EffectiveValue => values.find(one => one.key === key)!
}

const nested = (key: string, value: unknown): object =>
  key
    .split('.')
    .toReversed()
    .reduce<unknown>((inside, name) => ({ [name]: inside }), value) as object

function settingsOf(file: object) {
  const model = { model_name: 'm', proxy_params: { model: 'groq/x', api_key: 'a-key' } }
  const text = JSON.stringify({ model_list: [model], ...file })
  const { settings, mistakes } = readSettings({ text, environment: {}, providers })
  expect(mistakes).toEqual([])
  const { signIn, identity, publicModels, ...others } = settings!
  const { isTrustedProxy: _, ...ofSignIn } = signIn
  return { ...others, signIn: ofSignIn, tokens: identity.tokens, showPrices: publicModels.showPrices }
}

/** They are read elsewhere, where they are left out. */
const readLater = ['general_settings.response_retention_days', 'general_settings.secret_refresh_seconds']

test('a default that is written into the file changes nothing', () => {
  const plain = settingsOf({})
  const wrong = Object.entries(defaultValues).filter(
    ([key, value]) => !readLater.includes(key) && !Bun.deepEquals(settingsOf(nested(key, value)), plain),
  )
  expect(wrong).toEqual([])
  const cached = settingsOf({ settings: { cache: true } })
  for (const [key, value] of Object.entries(cacheDefaults)) {
    const params = { [key.split('.').at(-1)!]: value }
    expect([key, Bun.deepEquals(settingsOf({ settings: { cache: true, cache_params: params } }), cached)]).toEqual([
      key,
      true,
    ])
  }
  const known = new Set(settingKeys().map(({ path }) => path.join('.')))
  expect(Object.keys({ ...defaultValues, ...cacheDefaults }).filter(key => !known.has(key))).toEqual([])
})

test('each value says where it comes from: file and line, variable, flag, API or default', () => {
  const text = `litellm_settings:
  num_retries: 4
general_settings:
  header_prefix: os.environ/PREFIX
  database_url: postgres://file@host/db
environment_variables:
  UI_USERNAME: root
`
  const environment = {
    PREFIX: 'x-own',
    DATABASE_URL: 'postgres://me:planted@host/db',
    JWT_ISSUER: 'https://issuer',
    PORT: '4100',
  }
  const sent = new Map([['settings.public_model_groups', ['a']]])
  const settingOf = valuesOf(text, { environment, port: 4100, host: '0.0.0.0', dataDirectory: '/elsewhere' }, sent)
  const place = (key: string) => {
    const { value, source, where, reference } = settingOf(key)
    return [value, source, where, ...(reference ? [reference] : [])]
  }
  expect(place('router_settings.num_retries')).toEqual([4, 'file', 'config.yaml:2'])
  expect(place('general_settings.header_prefix')).toEqual(['x-own', 'file', 'config.yaml:4', 'os.environ/PREFIX'])
  expect(place('general_settings.database_url')).toEqual([
    'postgres://[redacted]@host/db',
    'environment',
    'DATABASE_URL',
  ])
  expect(place('general_settings.jwt_auth.issuer')).toEqual(['https://issuer', 'environment', 'JWT_ISSUER'])
  expect(place('general_settings.max_request_size_mb')).toEqual([32, 'default', null])
  expect(place('general_settings.max_keys_per_user')).toEqual([null, 'default', null])
  expect(place('general_settings.master_key')).toEqual(['********', 'stored', null])
  expect(place('settings.public_model_groups')).toEqual([['a'], 'api', null])
  expect(place('UI_USERNAME')).toEqual(['root', 'file', 'config.yaml:7'])
  expect(place('PORT')).toEqual(['4100', 'environment', 'PORT'])
  expect(place('HOST')).toEqual(['0.0.0.0', 'flag', '--host'])
  expect(place('MODELGATE_DATA_DIR')).toEqual(['/elsewhere', 'flag', '--data-dir'])
})

test('secrets are masked wherever they stand', () => {
  const planted = 'planted-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ'
  const provider = { name: 'kc', issuer: 'https://login.example.com', client_id: 'a', client_secret: planted }
  const text = JSON.stringify({
    general_settings: {
      master_key: `sk-${planted}`,
      database_url: `postgres://me:${planted}@host/db`,
      proxy: `http://me:${planted}@proxy:3128`,
      alert_to_webhook_url: {
        budget_alerts: `https://hooks.example.com/${planted}`,
        key_alerts: [`https://h/${planted}`],
      },
      agent_telemetry_endpoint: 'https://collector.example.com',
      agent_telemetry_headers: { 'x-tenant': planted },
      managed_settings: { env: { ANY: planted }, apiKeyHelper: planted },
      sso: [provider],
    },
    settings: { cache: true, cache_params: { host: 'h', password: planted } },
    environment_variables: { OPENAI_API_KEY: planted, ANYTHING: planted },
  })
  const environment = {
    UI_PASSWORD: planted,
    SMTP_PASSWORD: planted,
    REDIS_URL: `redis://:${planted}@redis:6379`,
    MODELGATE_KEY_PEPPER: planted,
    MODELGATE_ENCRYPTION_KEY: planted,
    VAULT_TOKEN: planted,
    GENERIC_CLIENT_SECRET: planted,
    ANTHROPIC_API_KEY: planted,
  }
  const values = effectiveValues({ text, options: { ...started, environment }, sent: new Map() })
  expect(values.filter(one => JSON.stringify(one).includes(planted)).map(one => one.key)).toEqual([])
  // What was set is shown all the same.
  for (const key of ['ANTHROPIC_API_KEY', 'VAULT_TOKEN', 'general_settings.sso'])
    expect([key, JSON.stringify(values.find(one => one.key === key)?.value)]).toEqual([
      key,
      expect.stringContaining('****'),
    ])
})

test('a key whose name sounds secret is one, or is known to be none', () => {
  const plain = [
    'prices.public_key',
    'settings.cost_terms.keys',
    'general_settings.jwt_auth.public_key_ttl',
    'general_settings.jwt_auth.accept_id_tokens',
    ...['max_keys_per_user', 'max_key_age', 'key_rotation_grace', 'key_reminders', 'agent_token_minutes'],
    ...['max_stored_objects_per_key', 'max_stored_mb_per_key', 'secret_file_directories', 'secret_refresh_seconds'],
    'alert_to_email.key_alerts',
  ]
  const sounds = settingKeys()
    .map(({ path }) => path.join('.'))
    .filter(key => /key|secret|token|password|credential|header/.test(key) && !isSecretKey(key))
    .filter(key => !plain.some(one => key.endsWith(one)) && !key.includes('_key_generate_params.'))
  expect(sounds).toEqual(['credential_list', 'general_settings.header_prefix'])
})
