/** docs/configuration.md: every key of the configuration file, explained, with an example that is taken. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { configurationPage, fileSchema, entryOf } from '../../scripts/configuration-page.ts'
import type { KeySchema } from '../../scripts/configuration-page.ts'
import { keysWithoutFunction } from '../../src/config/litellm/litellm-keys.ts'
import { readConfig } from '../../src/config/reading/parse.ts'

type Path = readonly string[]

function keys(schema: KeySchema, path: Path = []): { readonly path: Path; readonly schema: KeySchema }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, one]) => [
    { path: [...path, key], schema: one },
    ...keys(key === 'mcp_servers' ? entryOf(one) : (one.items ?? one), [...path, key]),
  ])
}
const all = keys(fileSchema)
const hasKeys = ({ schema }: (typeof all)[number]): boolean => (schema.items ?? schema).properties !== undefined

test('the page is what the schema says', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/configuration.md'), 'utf8')
  expect(page === configurationPage(fileSchema) || 'run npm run configuration-page').toBe(true)
  expect(all.length).toBeGreaterThan(150)
  for (const { path } of all) expect(page).toContain(`| \`${path.at(-1)}\` |`)
})

test('every key has a sentence, and an example that the file takes', () => {
  const variables = ['OPENAI_API_KEY', 'AZURE_TENANT_ID', 'AZURE_CLIENT_ID', 'AZURE_CLIENT_SECRET', 'AZURE_AD_TOKEN']
  const more = [
    'CHECKS_KEY',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'KEY_OF_OPENAI',
    'AZURE_WEST_KEY',
    'AZURE_CERTIFICATE_PASSWORD',
  ]
  const environment = {
    ...Object.fromEntries([...variables, ...more].map(name => [name, 'a-value'])),
    KEYCLOAK_SECRET: 'a-secret',
    GITHUB_TOKEN: 'a-token',
    CHECKS_SIGNING_SECRET: 'a-secret-of-some-length',
    MASTER_KEY: 'sk-0Zq8vWm3Yx5Rk7Lp2Td9Nc4Hb6Jf1GsAe',
    DATABASE_URL: 'postgres://gateway:secret@db.internal/modelgate',
  }
  for (const one of all) {
    const { path, schema } = one
    expect([path, schema.description]).toEqual([path, expect.stringMatching(/^.{8,}\.$/)])
    if (hasKeys(one)) continue
    expect([path, schema.examples?.length]).toEqual([path, 1])
    const value = path.reduceRight<unknown>((inside, key) => ({ [key]: inside }), schema.examples![0])
    // A list of entries takes the key in an entry, beside those that every entry needs.
    const { general_settings: general } = value as { general_settings?: WithEntries }
    if (general?.sso && path.length > 2)
      general.sso = [{ name: 'p', issuer: 'https://login.example.com', client_id: 'c', ...general.sso }]
    const machines = general?.jwt_auth?.service_accounts
    if (machines && path.length > 3)
      general.jwt_auth!.service_accounts = [{ name: 'm', claims: { sub: 'm' }, team_id: 't', ...machines }]
    const {
      model_list: entry,
      credential_list: credential,
      prices,
      guardrails,
      mcp_servers: servers,
    } = value as Sections
    const required = { model_name: 'm', proxy_params: { model: 'groq/x' } }
    const params = (entry as { proxy_params?: object } | undefined)?.proxy_params
    const file = credential
      ? { credential_list: [{ credential_name: 'c', credential_values: {}, ...credential }] }
      : entry
        ? {
            credential_list: [{ credential_name: 'azure-west', credential_values: {} }],
            model_list: [{ ...required, ...entry, proxy_params: { ...required.proxy_params, ...params } }],
          }
        : prices
          ? { prices: { source: 'prices.json', ...prices } }
          : guardrails
            ? { guardrails: [guardrailWith(guardrails)] }
            : servers && path.length > 1
              ? toolServerWith(servers as Sections)
              : value
    expect([path, readConfig(JSON.stringify(file), { file: 'c.yaml', environment }).mistakes]).toEqual([path, []])
  }
})

interface WithEntries {
  sso?: object
  readonly jwt_auth?: { service_accounts?: object }
}

type Sections = Record<string, object | undefined>

/** A program where the key is one of programs; tokens where it says how they are sent, and the reverse. */
function toolServerWith(given: Sections): object {
  const isProgram = ['command', 'args', 'env', 'memory_limit_mb'].some(key => key in given)
  const place = isProgram ? { command: 'npx' } : { url: 'https://mcp.example.com/mcp' }
  const needsToken = ['auth_type', 'auth_value', 'authentication_token'].some(key => key in given)
  const token = needsToken ? { auth_type: 'api_key', authentication_token: 'a-token' } : {}
  return { allow_stdio: true, mcp_servers: { one: { ...place, ...token, ...given } } }
}

/** Lists inside of a guardrail are written as lists. */
function guardrailWith({ proxy_params: given = {}, ...more }: { proxy_params?: Sections }): object {
  const { patterns, topics, ...rest } = given
  const entry = (one: object, required: object) => (Array.isArray(one) ? one : [{ ...required, ...one }])
  // Only what another program judges is judged piece by piece.
  const isInPieces = Object.keys(rest).some(name => name.startsWith('window_'))
  const kind = isInPieces
    ? { guardrail: 'webhook', api_base: 'https://judge.example.com', window_characters: 1000 }
    : { guardrail: 'length', max_characters: 100_000 }
  const proxy_params = {
    ...kind,
    mode: 'pre_call',
    ...(patterns && { patterns: entry(patterns, { name: 'A', pattern: 'a' }) }),
    ...(topics && { topics: entry(topics, { name: 'a', words: ['b'] }) }),
    ...rest,
  }
  return { guardrail_name: 'g', proxy_params, ...more }
}

test('no key of the schema counts as one of LiteLLM without a function', () => {
  const known = all.map(({ path }) => path.join('.').replace(/^model_list\./, 'model_list.*.'))
  expect(known.filter(path => keysWithoutFunction.has(path))).toEqual([])
})
