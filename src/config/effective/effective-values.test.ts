/** What holds and where it comes from; secrets are masked, and the defaults are those of the settings. */
import { expect, test } from 'bun:test'
import { z } from 'zod'
import type { EffectiveValue } from '../../core/effective-values.ts'
import { providers } from '../../providers/index.ts'
import { valueSchema } from '../../core/setting-keys.ts'
import type { SettingKey, SettingKeys } from '../../core/setting-keys.ts'
import { isObject, valueAt } from '../../lib/json/json-values.ts'
import { descriptionProblem } from '../../../tests/support/descriptions.ts'
import { fileKeys } from '../sections/file.ts'
import { placedKeys } from '../sections/setting-paths.ts'
import type { PlacedKey } from '../sections/setting-paths.ts'
import type { ServeOptions } from '../serve-options.ts'
import { readSettings } from '../read-settings.ts'
import { effectiveValues } from './effective-values.ts'
import { isSecret } from './masked.ts'
import { variables } from './variables.ts'

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

type Json = Record<string, unknown>

/** `value` at a path of keys, and nothing else. */
const nested = (path: readonly string[], value: unknown): Json =>
  path.toReversed().reduce<unknown>((inside, name) => ({ [name]: inside }), value) as Json

function merged(one: Json, other: Json): Json {
  const out = { ...one }
  for (const [name, value] of Object.entries(other)) {
    const known = out[name]
    out[name] = isObject(known) && isObject(value) ? merged(known, value) : value
  }
  return out
}

const modelsNamed = (...names: string[]): Json => ({
  model_list: names.map(name => ({ model_name: name, proxy_params: { model: `groq/${name}`, api_key: 'a-key' } })),
})
const provider = (name: string) => ({ name, issuer: `https://${name}.example.com`, client_id: 'modelgate' })

/** Without these some keys have no effect that settings show. */
const company: Json = {
  ...modelsNamed('m'),
  general_settings: {
    jwt_auth: { issuer: 'https://login.example.com', audience: 'modelgate' },
    agent_telemetry_endpoint: 'https://collector.example.com',
  },
  settings: {
    cache_params: { semantic_model: 'm' },
    max_budget: 5,
  },
}

/** What single keys need beside them. */
const beside: readonly (readonly [key: RegExp, file: Json])[] = [
  [/fallbacks$|_alias$|public_model_groups/, modelsNamed('gpt-4.1-mini', 'small', 'large', 'fast', 'lenient')],
  [/default_in_redis_ttl/, { settings: { cache_params: { type: 'redis' } } }],
  [/sso_user_ids_of/, { general_settings: { sso: [provider('keycloak'), provider('other')] } }],
  [
    /forward_client_credentials/,
    { model_list: [{ model_name: 'own', proxy_params: { model: 'openai/gpt-4.1', api_key: 'a-key' } }] },
  ],
  [/end_user.*budget_duration/, { settings: { max_end_user_budget: 5 } }],
  [/default_team_params.budget_duration/, { settings: { default_team_params: { max_budget: 5 } } }],
  [/internal_user.*budget_duration/, { settings: { max_internal_user_budget: 5 } }],
]

/** Keys without a default of their own, and the value that other keys or the environment may give them. */
const derived: Readonly<Record<string, unknown>> = {
  // As the sampler of the environment says, which is all where none is named.
  'general_settings.open_telemetry.sample_ratio': 1,
  'settings.cache_params.type': 'local',
  'settings.cache_params.default_in_memory_ttl': 600,
  'general_settings.proxy': false,
}

/** A file in which the key has an effect, as the conditions of its declaration say, without the key itself. */
function fileFor({ path, usedWith }: PlacedKey): Json {
  const exampleOf = (of: string) => placedKeys.find(one => one.path.join('.') === of)?.key.example
  const conditions = usedWith.map(one => nested(one.path.split('.'), one.value ?? exampleOf(one.path) ?? {}))
  // A copy: the key is taken out of it.
  const further = beside.flatMap(([key, file]) => (key.test(path.join('.')) ? [file] : []))
  const file = structuredClone([...conditions, ...further].reduce(merged, company))
  const section = valueAt(file, path.slice(0, -1))
  if (isObject(section)) delete section[path.at(-1)!]
  return file
}

/** What the gateway runs with; a function that no two readings share is called. undefined = the file has a mistake. */
function settingsOf(file: Json) {
  const text = JSON.stringify(file)
  const read = readSettings({ text, environment: {}, providers })
  if (!read.settings) return undefined
  const { isTrustedProxy, ...signIn } = read.settings.signIn
  const { references } = read.entryContext
  return { ...read.settings, references, warnings: [], signIn: { ...signIn, trusts: isTrustedProxy('10.0.0.7') } }
}

function defaultOf({ sameAs, ...key }: SettingKey): unknown {
  const first = sameAs === undefined ? undefined : placedKeys.find(({ path }) => path.join('.') === sameAs)?.key
  return 'default' in key ? key.default : first && 'default' in first ? first.default : undefined
}

/** Values that the key takes: all of them where they are few, the default among them. */
function valuesOfType({ key }: PlacedKey): unknown[] {
  const type = valueSchema(key)
  const { enum: words = [], anyOf = [] } = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }) as {
    enum?: unknown[]
    anyOf?: { enum?: unknown[] }[]
  }
  const plain = [true, false, 0, 1, 7, 100, 'text', '8d', 'Europe/Berlin', ['logs'], 'https://other.example.com']
  const all = [defaultOf(key), ...words, ...anyOf.flatMap(one => one.enum ?? []), key.example, ...plain]
  const isReference = (value: unknown) => typeof value === 'string' && /os\.environ|\$\{/.test(value)
  const taken = all.filter(value => value !== undefined && !isReference(value) && type.safeParse(value).success)
  return [...new Set(taken)]
}

/** Keys that are read where they are used, and not as settings: by whom. */
const readElsewhere: Readonly<Record<string, string>> = {
  'general_settings.master_key': 'cli/serve.ts',
  'general_settings.database_url': 'cli/file-settings.ts',
  'general_settings.secret_refresh_seconds': 'app/index.ts, by the default of the declaration',
  'prices.refresh_seconds': 'config/prices/price-watch.ts, by the default of the declaration',
  'prices.source': 'config/prices/price-source.ts',
  'prices.sha256': 'config/prices/price-source.ts',
  'prices.public_key': 'config/prices/price-source.ts',
  environment_variables: 'config/reading/references.ts',
  allow_stdio: 'config/checks/tool-server-checks.ts',
  'router_settings.redis_url': 'cli/serve.ts, as those that follow',
  'router_settings.redis_host': 'cli/serve.ts',
  'router_settings.redis_port': 'cli/serve.ts',
  'router_settings.redis_password': 'cli/serve.ts',
  'router_settings.redis_db': 'cli/serve.ts',
}

const settingsKeys = placedKeys.filter(
  ({ path }) => !['model_list', 'credential_list', 'guardrails', 'mcp_servers'].includes(path[0]!),
)
const isInSettings = ({ path }: PlacedKey) => !(path.join('.') in readElsewhere)

test('every key that has a default shows it as what holds, where the key has an effect', () => {
  const declared = settingsKeys.filter(({ key }) => key.sameAs === undefined)
  const shown = declared.map(one => {
    const file = one.path[0] === 'prices' ? merged(company, { prices: { source: 'prices.json' } }) : fileFor(one)
    const { value, source } = valuesOf(JSON.stringify(file))(one.path.join('.'))
    return [one.path.join('.'), value, source] as const
  })
  const wrong = declared.filter((one, at) => 'default' in one.key && !Bun.deepEquals(shown[at]![1], defaultOf(one.key)))
  expect(wrong.map(({ path }) => path.join('.'))).toEqual([])
  const withDefault = declared.filter(({ key }) => 'default' in key).length
  expect(withDefault).toBeGreaterThan(70)
  expect(shown.filter(([, value, source]) => source === 'default' && value !== null)).toHaveLength(withDefault + 1)
})

test('the default that is shown is the one in use: writing it changes nothing, another value does', () => {
  const wrong: string[] = []
  for (const one of settingsKeys.filter(isInSettings)) {
    const file = fileFor(one)
    const plain = settingsOf(file)
    const place = one.path.join('.')
    const byDefault = derived[place] ?? defaultOf(one.key)
    // A value that other parts of this file contradict, as the name of a model that it does not have, is left out.
    const values = valuesOfType(one).flatMap(value => {
      const settings = settingsOf(merged(file, nested(one.path, value)))
      return settings ? [{ value, isUnchanged: Bun.deepEquals(settings, plain) }] : []
    })
    const unchanged = values.flatMap(one => (one.isUnchanged ? [one.value] : []))
    if (!plain) wrong.push(`${place}: a file without it has a mistake`)
    if (byDefault !== undefined && !unchanged.some(value => Bun.deepEquals(value, byDefault)))
      wrong.push(`${place}: its default is not what holds without it`)
    if (unchanged.length === values.length) wrong.push(`${place}: no value changes a setting`)
    for (const value of unchanged.filter(value => !Bun.deepEquals(value, byDefault)))
      wrong.push(`${place}: ${JSON.stringify(value)} is what holds without it, but is not declared as its default`)
  }
  expect(wrong).toEqual([])
})

test('every default, in lists of entries too, passes the check of its key', () => {
  const wrong = allKeys(fileKeys, '').filter(
    ([, key]) => 'default' in key && !valueSchema(key).safeParse(key.default).success,
  )
  expect(wrong.map(([path]) => path)).toEqual([])
})

function allKeys(keys: SettingKeys, above: string): [path: string, key: SettingKey][] {
  return Object.entries(keys).flatMap(([name, key]): [string, SettingKey][] => {
    const path = `${above}${name}`
    const inside = 'keys' in key ? key.keys : 'entries' in key ? key.entries : {}
    return [[path, key], ...allKeys(inside, `${path}.`)]
  })
}

test('every description of a key and of a variable is a sentence that can be read alone', () => {
  const all = [
    ...allKeys(fileKeys, '').map(([path, { description }]) => ({ path, description })),
    ...variables.map(({ name, description }) => ({ path: name, description })),
  ]
  const wrong = all.flatMap(({ path, description }) => {
    const problem = descriptionProblem(description)
    return problem === undefined ? [] : [`${path} ${problem}: ${description}`]
  })
  expect(wrong).toEqual([])
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
    'host_credentials_by_api',
    'alert_to_email.key_alerts',
    ...['extra_spend_tag_headers', 'user_header_name', 'forward_client_credentials'],
  ]
  const sounds = placedKeys
    .filter(({ path, key }) => /key|secret|token|password|credential|header/.test(path.join('.')) && !isSecret(key))
    .map(({ path }) => path.join('.'))
    .filter(key => !plain.some(one => key.endsWith(one)) && !key.includes('_key_generate_params.'))
  expect(sounds).toEqual(['credential_list', 'general_settings.header_prefix'])
})
