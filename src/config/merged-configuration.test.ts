/** The file with what was made by API: mistakes there do not keep the file's own models from being served. */
import { expect, test } from 'bun:test'
import type { ConfiguredKind, ConfiguredObject } from '../core/objects/configured-objects.ts'
import { Secret } from '../lib/secret.ts'
import { providers } from '../providers/index.ts'
import { MergedConfiguration } from './merged-configuration.ts'
import { readSettings } from './read-settings.ts'

const file = `
model_list:
  - { model_name: own, proxy_params: { model: groq/own, api_key: k }, model_info: { id: own, access_groups: [both] } }
general_settings: { disable_local_models: true }
`

function merged(text = file, environment: Record<string, string> = {}) {
  const read = readSettings({ text, file: 'c.yaml', environment, providers })
  if (!read.settings) throw new Error(read.mistakes.join('\n'))
  return new MergedConfiguration(read.settings, read.entryContext)
}

const object = (kind: ConfiguredKind, id: string, more: Partial<ConfiguredObject>): ConfiguredObject => ({
  kind,
  id,
  name: id,
  body: {},
  secrets: null,
  version: 1,
  createdAtMs: 0,
  createdBy: 'master',
  updatedAtMs: 0,
  updatedBy: 'master',
  ...more,
})
const model = (id: string, params: object, more: Partial<ConfiguredObject> = {}) =>
  object('model', id, { body: { model_name: id, proxy_params: params, model_info: { id } }, ...more })
const names = ({ settings }: MergedConfiguration) => settings.deployments.map(one => one.modelName)

const releasing = (name: string) => file.replace('{ disable', `{ allowed_environment_references: [${name}], disable`)

test('models of both are served; groups of both are one', async () => {
  const both = merged()
  const before = both.settings
  await both.useObjects(() => [
    model('made', { model: 'groq/made' }, { secrets: new Secret('{"api_key":"sk-made"}') }),
    object('access_group', 'g1', { name: 'both', body: { models: ['made'] } }),
    object('access_group', 'g2', { name: 'constructor', body: { models: ['own'] } }),
  ])
  expect(names(both)).toEqual(['own', 'made'])
  expect(both.settings.deployments[1]!.target.apiKey!.reveal()).toBe('sk-made')
  expect(both.settings.accessGroups).toEqual({ both: ['own', 'made'], constructor: ['own'] })
  // Settings that were returned before do not change.
  expect(before.deployments.length).toBe(1)
})

test('a model that cannot be served is left out with the reason, and the others are served', async () => {
  const both = merged()
  await both.useObjects(() => [
    model('gone', { model: 'groq/x', api_key: 'os.environ/GROQ_API_KEY' }),
    model('own', { model: 'groq/x', api_key: 'k' }),
    model('sealed', { model: 'groq/x' }, { problem: 'is encrypted with another key' }),
    model('lost', { model: 'groq/x', credential_name: 'nowhere' }),
    model('newer', { model: 'groq/x', api_key: 'k', a_field_of_later: 1 }),
    model('fine', { model: 'groq/x', api_key: 'k' }),
  ])
  expect(names(both)).toEqual(['own', 'fine'])
  expect(Object.fromEntries(both.notServed)).toEqual({
    gone: expect.stringContaining('the environment variable GROQ_API_KEY is not set'),
    own: 'a model of the configuration file has the same id',
    sealed: 'is encrypted with another key',
    lost: expect.stringContaining('no credential has this name'),
    newer: expect.stringContaining('a_field_of_later'),
  })
})

test('an unchanged entry is built once; a changed credential or file builds it anew', async () => {
  const both = merged()
  const credential = (key: string) =>
    object('credential', 'c', { body: { values: {} }, secrets: new Secret(JSON.stringify({ api_key: key })) })
  const one = model('one', { model: 'groq/x', credential_name: 'c' })
  const first = credential('first')
  await both.useObjects(() => [one, first])
  const built = both.settings.deployments[1]
  await both.useObjects(() => [one, first, model('two', { model: 'groq/y', api_key: 'k' })])
  expect(both.settings.deployments[1]).toBe(built!)
  await both.useObjects(() => [one, credential('second')])
  expect(both.settings.deployments[1]!.target.apiKey!.reveal()).toBe('second')
  const read = readSettings({ text: `${file}router_settings: { timeout: 7 }`, environment: {}, providers })
  if (!read.settings) throw new Error(read.mistakes.join('\n'))
  both.useFile(read.settings, read.entryContext)
  expect(both.settings.deployments[1]!.timeouts.firstByteMs).toBe(7000)
})

test('`store_model_in_db`: false serves nothing of it; true lets the file name models that are made later', async () => {
  const off = merged(file.replace('{ disable', '{ store_model_in_db: false, disable'))
  await off.useObjects(() => [model('made', { model: 'groq/made', api_key: 'k' })])
  expect(names(off)).toEqual(['own'])
  const later = `${file}router_settings: { fallbacks: [{ own: [later] }] }`
  expect(() => merged(later)).toThrow('no model is named `later`')
  const on = merged(later.replace('{ disable', '{ store_model_in_db: true, disable'))
  expect(on.settings.warnings.join()).toContain('no model is named `later`')
  await on.useObjects(() => [model('later', { model: 'groq/x', api_key: 'k' })])
  expect(names(on)).toEqual(['own', 'later'])
})

test('variables of the file serve entries of the API; a change names only what it changes', async () => {
  const both = merged(`${releasing('OF_FILE')}environment_variables: { OF_FILE: sk-of-file }`)
  await both.load()
  const made = both.checkModel(
    { model_name: 'm', litellm_params: { model: 'groq/x', api_key: '${OF_FILE}' } },
    'm',
    undefined,
  )
  expect(made.deployment.target.apiKey!.reveal()).toBe('sk-of-file')
  expect(JSON.stringify(made.body)).not.toContain('sk-of-file')
  const before = model('m', { model: 'groq/x', timeout: 3 }, { secrets: new Secret('{"api_key":"sk-kept"}') })
  const changed = both.checkModel({ litellm_params: { timeout: null, api_key: '********' } }, 'm', before)
  expect(changed.deployment.target.apiKey!.reveal()).toBe('sk-kept')
  expect(changed.body.proxy_params).toEqual({ model: 'groq/x' })
})

test("what LiteLLM's clients send beside is a warning by its name, and nulls are nothing", async () => {
  const sent = {
    model_name: 'm',
    litellm_params: {
      model: 'openai/gpt-4o',
      custom_llm_provider: 'openai',
      api_key: 'sk-x',
      api_base: null,
      aws_region_name: null,
      tpm: 0,
      use_in_pass_through: false,
      use_litellm_proxy: false,
      merge_reasoning_content_in_choices: false,
      litellm_trace_id: 'x',
      model_info: {},
    },
    model_info: {
      id: 'm',
      db_model: true,
      tier: 'free',
      team_id: '',
      updated_at: 'x',
      direct_access: true,
      mode: 'chat',
    },
  }
  const both = merged()
  await both.load()
  const { warnings, deployment } = both.checkModel(sent, 'm', undefined)
  expect(deployment.target.model).toBe('gpt-4o')
  const named = warnings.map(one => one.split(':', 1)[0])
  for (const field of ['tpm', 'use_in_pass_through', 'use_litellm_proxy', 'litellm_trace_id', 'model_info'])
    expect(named).toContain(`litellm_params.${field}`)
  for (const field of ['tier', 'updated_at', 'direct_access']) expect(named).toContain(`model_info.${field}`)
  expect(named).not.toContain('litellm_params.api_base')
})

const planted = {
  PLANTED: 'planted-value',
  SMTP_PASSWORD: 'planted-value',
  GROQ_API_KEY: 'gsk',
  AWS_REGION: 'eu-west-1',
}

test('by API no field refers to a variable that is neither released nor a key of a provider', async () => {
  const both = merged(file, planted)
  await both.load()
  const base = { model: 'openai/x', api_key: 'k' }
  const places: readonly (readonly [params: object, path: string])[] = ['os.environ/NAME', '${NAME}', 'a${NAME:-b}c']
    .map(form => form.replace('NAME', 'SMTP_PASSWORD'))
    .flatMap(text => [
      [{ ...base, api_key: text }, 'api_key'],
      [{ ...base, api_base: text }, 'api_base'],
      [{ ...base, organization: text }, 'organization'],
      [{ ...base, extra_headers: { 'x-a': text } }, 'extra_headers.x-a'],
      [{ ...base, model: text }, 'model'],
      [{ ...base, proxy: text }, 'proxy'],
      [{ model: 'vertex_ai/x', vertex_credentials: { client_email: text } }, 'vertex_credentials.client_email'],
      [{ model: 'azure/x', client_secret: text }, 'client_secret'],
    ])
  for (const [litellm_params, path] of places) {
    const send = () => both.checkModel({ model_name: 'm', litellm_params }, 'm', undefined)
    expect(send).toThrow(`litellm_params.${path}`)
    expect(send).toThrow('SMTP_PASSWORD')
    expect(send).toThrow('allowed_environment_references')
  }
  for (const values of [{ api_key: 'os.environ/PLANTED' }, { extra_headers: { a: '${PLANTED}' } }])
    expect(() => both.checkCredential(values, undefined)).toThrow('allowed_environment_references')
  // A path made of a variable is a path.
  for (const path of ['${GOOGLE_APPLICATION_CREDENTIALS}/../x', '${GROQ_API_KEY:-/etc/passwd}'])
    expect(() =>
      both.checkModel(
        { model_name: 'm', litellm_params: { model: 'vertex_ai/x', vertex_credentials: path } },
        'm',
        undefined,
      ),
    ).toThrow('vertex_credentials')
})

test('by API variables that are released, and those of providers in their fields, are read', async () => {
  const both = merged(releasing('PLANTED'), planted)
  await both.load()
  const check = (litellm_params: object) => both.checkModel({ model_name: 'm', litellm_params }, 'm', undefined)
  expect(check({ model: 'openai/x', api_key: 'os.environ/PLANTED' }).deployment.target.apiKey!.reveal()).toBe(
    'planted-value',
  )
  const other = { model: 'custom_openai/x', api_base: 'https://a.example', api_key: '${GROQ_API_KEY}' }
  expect(check(other).deployment.target.apiKey!.reveal()).toBe('gsk')
  const pair = { aws_access_key_id: 'A', aws_secret_access_key: 'B' }
  const region = { model: 'bedrock/x', ...pair, aws_region_name: 'os.environ/AWS_REGION' }
  expect(check(region).deployment.target.baseUrl).toContain('eu-west-1')
  expect(() => check({ model: 'openai/x', api_key: 'os.environ/AWS_REGION' })).toThrow('cannot be read by API')
})

test('what is stored is asked again: a model whose variable is no longer released is not served', async () => {
  const both = merged(file, planted)
  await both.useObjects(() => [
    model('stored', { model: 'openai/x', api_key: 'os.environ/PLANTED' }),
    model('joined', { model: 'openai/x', credential_name: 'c' }),
    object('credential', 'c', { body: { values: { api_key: 'os.environ/PLANTED' } } }),
  ])
  expect(names(both)).toEqual(['own'])
  for (const id of ['stored', 'joined'])
    expect(both.notServed.get(id)).toContain('PLANTED of the environment cannot be read by API')
})
