import { expect, test } from 'bun:test'
import { concreteModel } from '../../config/models/model-facts.ts'
import { readSettings } from '../../config/read-settings.ts'
import type { Caller, VirtualKey } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import { providers } from '../../providers/index.ts'
import { callableDeployments, listedNames, mayCall } from './model-access.ts'
import { ModelIndex } from './model-index.ts'

const indexOf = (input: { text?: string; environment?: Record<string, string> }) => {
  const { settings, mistakes } = readSettings({ environment: {}, providers, ...input })
  expect(mistakes).toEqual([])
  return new ModelIndex(settings!, concreteModel)
}
const callerFor = (...models: string[]): Caller => ({ role: 'key', key: { id: 'k', models } as unknown as VirtualKey })
const admin: Caller = { role: 'proxy_admin', key: { id: 'master', models: [] } as unknown as VirtualKey }
const asked = (index: ModelIndex, model: string, caller = admin) => {
  const found = callableDeployments(caller, model, index)
  return found instanceof GatewayError ? [found.kind, found.param, found.message] : found.map(one => one.modelName)
}
const entry = (name: string) => `  - { model_name: ${name}, proxy_params: { model: groq/x, api_key: k } }\n`
const listed = indexOf({ text: `model_list:\n${entry('fast-chat')}${entry('secret-chat')}${entry('"open/*"')}` })

test('a misspelt model is answered with the name that was meant, if the key may know it', () => {
  const lists = 'GET /v1/models lists those that do'
  expect(asked(listed, 'fast-chta')).toEqual([
    'model-not-found',
    'model',
    `the model 'fast-chta' does not exist, did you mean 'fast-chat'? ${lists}`,
  ])
  expect(asked(listed, 'secret-chta', callerFor('other'))).toEqual([
    'model-not-found',
    'model',
    `the model 'secret-chta' does not exist; ${lists}`,
  ])
  expect(asked(listed, 'something-else')).toEqual([
    'model-not-found',
    'model',
    `the model 'something-else' does not exist; ${lists}, and names like open/* work, too`,
  ])
  expect(asked(listed, 'secret-chat', callerFor('fast-chat'))).toEqual([
    'model-forbidden',
    'model',
    "this key may not use the model 'secret-chat'; GET /v1/models lists those it may use",
  ])
  expect(asked(listed, 'fast-chat', callerFor('fast-chat'))).toEqual(['fast-chat'])
  expect(asked(listed, 'x'.repeat(5000))[2]).toHaveLength(
    200 + '...'.length + `the model '' does not exist; ${lists}, and names like open/* work, too`.length,
  )
})

test('without a configuration, a model of a provider without a key names the variable to set', () => {
  const bare = indexOf({ environment: { GROQ_API_KEY: 'gsk-1' } })
  expect(asked(bare, 'openai/gpt-4.1-mini')[2]).toBe(
    "the model 'openai/gpt-4.1-mini' does not exist: this gateway offers nothing of 'openai' yet; " +
      'set OPENAI_API_KEY where the gateway runs, and start it again',
  )
  expect(asked(bare, 'claude-sonnet-4-5')[2]).toBe(
    "the model 'claude-sonnet-4-5' does not exist: this gateway offers nothing of 'anthropic' yet; " +
      'set ANTHROPIC_API_KEY where the gateway runs, and start it again',
  )
  expect(asked(bare, 'claude-sonnet-4-5', callerFor('groq/*'))[2]).not.toContain('anthropic')
  expect(asked(bare, 'ollama/llama3')[2]).toContain(
    'have it running before the gateway starts, or put it into the `model_list`',
  )
  expect(asked(bare, 'azure/gpt')[2]).toContain('put it into the `model_list` of a configuration, with its `api_base`')
  expect(asked(bare, 'groq/llama')).toEqual(['groq/*'])
  expect(asked(bare, 'local/simulated-chta')[2]).toContain("did you mean 'local/simulated-chat'?")
  expect(asked(bare, 'a-model-of-long-ago')[2]).toContain('and names like groq/* work, too')
  expect(asked(indexOf({ environment: { OPENAI_API_KEY: 'sk 1' } }), 'openai/gpt-5')[2]).toContain(
    'the key in OPENAI_API_KEY has a blank',
  )
  // A model that was made by API, also one of a team.
  const [{ target }] = indexOf({ environment: { OPENAI_API_KEY: 'sk-1' } }).settings.deployments as [Deployment]
  const made = { ...bare.settings.deployments[0]!, modelName: 'gpt-5-mine', target }
  const beside = new ModelIndex({ ...bare.settings, deployments: [...bare.settings.deployments, made] }, concreteModel)
  expect(asked(beside, 'openai/gpt-4.1-mini')[2]).not.toContain('OPENAI_API_KEY')
  expect(asked(beside, 'claude-sonnet-4-5')[2]).toContain('ANTHROPIC_API_KEY')
  // Where a model list stands, a key in the environment would change nothing.
  expect(asked(listed, 'openai/gpt-5')[2]).not.toContain('OPENAI_API_KEY')
})

test('the missing setting is named only to callers that may use the model', () => {
  const bare = indexOf({ environment: { OPENAI_API_KEY: 'sk 1' } })
  expect(asked(bare, 'openai/gpt-5', callerFor('openai/*'))[2]).toContain('the key in OPENAI_API_KEY has a blank')
  expect(asked(bare, 'openai/gpt-5', callerFor('groq/*'))[2]).toBe(
    "the model 'openai/gpt-5' does not exist; GET /v1/models lists those that do",
  )
})

test("a vendor's pattern also serves bare names of that vendor's models, to keys that may use the pattern", () => {
  const pattern = (name: string) => `  - { model_name: "${name}", proxy_params: { model: "${name}", api_key: k } }\n`
  const index = indexOf({
    text:
      `model_list:\n${pattern('openai/*')}${pattern('anthropic/*')}${entry('gpt-4o')}` +
      'router_settings: { model_group_alias: { best: claude-sonnet-4-5, gpt-4: openai/gpt-5 }, fallbacks: [{ gpt-4o: [gpt-5] }] }\n',
  })
  const [found] = index.resolve('claude-sonnet-4-5')
  expect([found!.target.provider.name, found!.target.model]).toEqual(['anthropic', 'claude-sonnet-4-5'])
  expect(index.resolve('claude-sonnet-4-5')).toBe(index.resolve('anthropic/claude-sonnet-4-5'))
  expect(asked(index, 'best')).toEqual(['anthropic/*'])
  // What is listed by its own name stays what it is.
  expect(index.resolve('gpt-4o')[0]!.target.provider.name).toBe('groq')
  expect(asked(index, 'gpt-5', callerFor('openai/*'))).toEqual(['openai/*'])
  expect(asked(index, 'gpt-5', callerFor('openai/gpt-5'))).toEqual(['openai/*'])
  expect(asked(index, 'gpt-5', callerFor('gpt-5'))).toEqual(['openai/*'])
  for (const [name, ...models] of [
    ['gpt-4o', 'openai/*'],
    ['gpt-5', 'anthropic/*'],
    ['gpt-5', 'gpt-4o'],
    ['best', 'anthropic/claude-haiku'],
    ['gpt-4', 'openai/gpt-4'],
  ])
    expect([name, asked(index, name!, callerFor(...models))[0]]).toEqual([name, 'model-forbidden'])
  for (const name of ['llama-3', 'gemini-2.5-pro', 'groq/claude-x', 'x'.repeat(600)])
    expect(asked(index, name)[0]).toBe('model-not-found')
})

test('an alias may be called where the list of models has it, or the model that it stands for', () => {
  const index = indexOf({
    text: `model_list:\n${entry('fast-chat')}${entry('other')}router_settings: { model_group_alias: { nickname: fast-chat } }\n`,
  })
  expect(asked(index, 'nickname', callerFor('fast-chat'))).toEqual(['fast-chat'])
  expect(asked(index, 'nickname', callerFor('nickname'))).toEqual(['fast-chat'])
  expect(asked(index, 'nickname', callerFor('other'))[0]).toBe('model-forbidden')
  expect(listedNames(callerFor('fast-chat'), index)).toEqual(['fast-chat', 'nickname'])
  expect(listedNames(callerFor('nickname'), index)).toEqual(['nickname'])
  // A team's own model of that name is another one.
  const { settings } = readSettings({
    environment: {},
    providers,
    text: `model_list:\n${entry('fast-chat')}${entry('best').replace(' }', ' }, model_info: { team_id: red }')}router_settings: { model_group_alias: { nickname: fast-chat } }\n`,
  })
  const renamed = { ...settings!, aliases: { best: 'fast-chat' } }
  const ofRed = new ModelIndex(renamed, concreteModel).ofTeam('red')
  const inRed = { ...callerFor('fast-chat'), team: { id: 'red', models: [] } } as unknown as Caller
  expect(callableDeployments(inRed, 'best', ofRed)).toBeInstanceOf(GatewayError)
  expect(callableDeployments(inRed, 'best', new ModelIndex(renamed, concreteModel))).toMatchObject([
    { modelName: 'fast-chat' },
  ])
})

test('a name without its vendor, or with one too many, is answered with the name that was meant', () => {
  const text = `model_list:\n${entry('anthropic/claude-sonnet-4-5')}${entry('our-chat')}`
  const index = indexOf({ text })
  expect(asked(index, 'claude-sonnet-4-5')[2]).toContain("did you mean 'anthropic/claude-sonnet-4-5'?")
  expect(asked(index, 'openai/our-chat')[2]).toContain("did you mean 'our-chat'?")
  expect(asked(index, 'claude-sonnet-4-5', callerFor('our-chat'))[2]).not.toContain('anthropic/')
})

test('a model has to be in the list of the key, the team, the user and the organization alike', () => {
  const fields = (models: string[]) => ({ id: 'x', models, organizationId: null }) as unknown
  type Lists = { key?: string[]; team?: string[]; user?: string[]; organization?: string[] }
  const may = ({ key = [], team, user, organization }: Lists, model: string): boolean => {
    const caller = {
      role: 'key',
      key: fields(key),
      ...(team && { team: fields(team) }),
      ...(user && { user: fields(user) }),
      ...(organization && { organization: fields(organization) }),
    } as unknown as Caller
    return mayCall(caller, model, { accessGroups: { fast: ['fast-chat'] }, aliases: {} })
  }
  const cases: [Lists, model: string, may: boolean][] = [
    [{ team: ['a', 'b'], user: ['b', 'c'] }, 'b', true],
    [{ team: ['a', 'b'], user: ['b', 'c'] }, 'a', false],
    [{ key: ['a'], team: ['a', 'b'], organization: ['b'] }, 'a', false],
    [{ key: ['all-team-models'], team: ['a'] }, 'a', true],
    [{ key: ['all-team-models'], team: ['a'] }, 'b', false],
    [{ key: ['all-team-models'], team: ['a'], organization: ['b'] }, 'a', false],
    // Without a team there is no list to stand for: nothing, not everything.
    [{ key: ['all-team-models'] }, 'a', false],
    [{ key: ['all-proxy-models'], team: ['a'] }, 'b', false],
    [{ key: ['all-proxy-models'] }, 'b', true],
    [{ user: ['no-default-models'] }, 'a', false],
    [{ key: ['a'], user: ['no-default-models'] }, 'a', false],
    [{ user: ['no-default-models'], team: ['a'] }, 'a', true],
    [{ key: ['fast'], team: ['fast-chat'] }, 'fast-chat', true],
    [{ key: ['fast'], team: ['other'] }, 'fast-chat', false],
  ]
  for (const [lists, model, expected] of cases)
    expect([lists, model, may(lists, model)]).toEqual([lists, model, expected])
})

test("the group of a team's model opens no shared model of its name, and not the other way round", () => {
  const groupOf = (name: string, info: string) =>
    `  - { model_name: ${name}, proxy_params: { model: groq/x, api_key: k }, model_info: { ${info} } }\n`
  const index = indexOf({
    text: `model_list:\n${entry('fast')}${groupOf('own', 'team_id: t, team_public_model_name: fast, access_groups: [g]')}
${groupOf('slow', 'access_groups: [shared]')}${groupOf('slow', 'team_id: t')}`,
  })
  const ofTeam = (...models: string[]) =>
    ({ ...callerFor(...models), team: { id: 't', models: [] } }) as unknown as Caller
  const kindOf = (caller: Caller, model: string) => {
    const found = callableDeployments(caller, model, index.of(caller))
    return found instanceof GatewayError ? found.kind : found.map(one => one.teamId)
  }
  expect(kindOf(callerFor('g'), 'fast')).toBe('model-forbidden')
  expect(kindOf(ofTeam('g'), 'fast')).toEqual(['t'])
  expect(kindOf(callerFor('shared'), 'slow')).toEqual([undefined])
  expect(kindOf(ofTeam('shared'), 'slow')).toBe('model-forbidden')
  // The list of all groups is for those who manage them.
  expect(Object.keys(index.of(callerFor()).settings.accessGroups)).toEqual(['shared'])
  expect(Object.keys(index.of(admin).settings.accessGroups)).toEqual(['g', 'shared'])
})
