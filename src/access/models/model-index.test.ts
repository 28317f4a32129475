import { expect, test } from 'bun:test'
import { concreteModel } from '../../config/models/model-facts.ts'
import { readSettings } from '../../config/read-settings.ts'
import { nativeProfile } from '../../core/deployment.ts'
import { providers } from '../../providers/index.ts'
import { bareKey } from '../../core/caller.ts'
import { CallerLimits } from '../limits/limit-scopes.ts'
import { ModelIndex } from './model-index.ts'

const index = (models: string) => {
  const { settings, mistakes } = readSettings({
    text: `model_list:\n${models}`,
    file: 'c.yaml',
    environment: {},
    providers,
  })
  expect(mistakes).toEqual([])
  return new ModelIndex(settings!, concreteModel)
}
const entry = (name: string, params: string, info = '{}') =>
  `  - model_name: ${name}\n    proxy_params: { ${params} }\n    model_info: ${info}\n`

test('a model behind a pattern has its own prices, abilities and profile', () => {
  const models = index(entry('openai/*', 'model: openai/*, api_key: k') + entry('own/*', 'model: "hosted_vllm/org/*"'))
  const [four] = models.resolve('openai/gpt-4o')
  expect(four).toMatchObject({
    target: { model: 'gpt-4o' },
    priceSource: 'catalogue',
    prices: { input: 2_500_000_000n },
    info: { supports_vision: true },
  })
  expect(four!.profile).toBe(nativeProfile)
  expect(models.resolve('openai/text-embedding-3-small')[0]!.mode).toBe('embedding')
  const [forced] = models.resolve('own/instruct-v4-27b-it')
  expect(forced).toMatchObject({
    target: { model: 'org/instruct-v4-27b-it' },
    prices: null,
    profile: { toolCalling: 'forced-only', alternateRoles: true },
  })
  expect(models.resolve('own/x-guard')[0]!.profile.guard).toBe(true)
  expect(models.resolve('own/plain')[0]!.profile).toBe(nativeProfile)
  expect(models.resolve('own/plain')).toBe(models.resolve('own/plain'))
})

test('a pattern stands for no model named . or .., which would lead to another path of the upstream', () => {
  const models = index(
    ['azure', 'bedrock', 'gemini', 'vertex_ai', 'openai']
      .map(provider =>
        entry(
          `${provider}/*`,
          `model: ${provider}/*, api_base: "http://upstream.test", api_key: k, vertex_project: project-1, ` +
            'aws_region_name: us-east-1',
        ),
      )
      .join(''),
  )
  for (const provider of ['azure', 'bedrock', 'gemini', 'vertex_ai', 'openai']) {
    expect([provider, models.resolve(`${provider}/m..1`).length]).toEqual([provider, 1])
    for (const name of ['.', '..', '../x', 'x/..', 'x/./y', '../../openai/files'])
      expect([provider, name, models.resolve(`${provider}/${name}`)]).toEqual([provider, name, []])
  }
})

test('what is declared for the pattern counts for all of its models', () => {
  const models = index(
    entry(
      'g/*',
      'model: openai/*, api_key: k, input_cost_per_token: 0.000001',
      '{ tool_calling: prompted, output_cost_per_token: 0.000002 }',
    ),
  )
  expect(models.resolve('g/gpt-4o')[0]).toMatchObject({
    prices: { input: 1_000_000_000n, output: 2_000_000_000n },
    priceSource: 'config',
    profile: { toolCalling: 'prompted' },
  })
  expect(models.resolve('g/gpt-4o')[0]!.prices).not.toHaveProperty('cacheRead')
})

test('other names of a provider work in both places', () => {
  for (const params of [
    'model: command-r, custom_llm_provider: cohere_chat',
    'model: cohere_chat/command-r, custom_llm_provider: cohere_chat',
    'model: cohere_chat/command-r',
  ])
    expect(index(entry('m', `${params}, api_key: k`)).resolve('m')[0]!.target).toMatchObject({
      provider: { name: 'cohere' },
      model: 'command-r',
    })
  expect(index(entry('m', 'model: llama3, custom_llm_provider: ollama_chat')).resolve('m')[0]!.target).toMatchObject({
    provider: { name: 'ollama' },
    model: 'llama3',
  })
  expect(
    index(entry('m', 'model: openai/gpt-oss-20b, custom_llm_provider: groq, api_key: k')).resolve('m')[0]!.target,
  ).toMatchObject({ provider: { name: 'groq' }, model: 'openai/gpt-oss-20b' })
})

test('a name longer than any model has matches no pattern, so that no cache holds it', () => {
  const models = index(
    entry('own/*', 'model: "hosted_vllm/org/*"') + entry(`${'n'.repeat(600)}`, 'model: hosted_vllm/org/m'),
  )
  const arn = `own/${'a'.repeat(496)}`
  expect(models.resolve(arn)[0]!.target.model).toBe(`org/${'a'.repeat(496)}`)
  expect(models.resolve(`${arn}a`)).toEqual([])
  // What the operator wrote down is known by itself.
  expect(models.resolve('n'.repeat(600)).length).toBe(1)
})

test('a hidden alias as LiteLLM writes it serves, and is in no list', () => {
  const aliases = '{ shown: { model: fast }, quiet: { model: fast, hidden: true }, brief: fast }'
  const models = index(
    `${entry('fast', 'model: local/simulated-chat')}router_settings: { model_group_alias: ${aliases} }\n`,
  )
  for (const name of ['shown', 'quiet', 'brief']) expect(models.resolve(name)).toEqual(models.resolve('fast'))
  expect(models.names().filter(name => !name.includes('/'))).toEqual(['fast', 'shown', 'brief'])
})

test('the limits and budgets of a model hold under each name that it has for the caller', () => {
  const entries = entry('openai/*', 'model: openai/*, api_key: k') + entry('fast', 'model: local/simulated-chat')
  const models = index(`${entries}router_settings: { model_group_alias: { quick: fast, best: openai/gpt-4.1 } }\n`)
  const limitIds = (named: string, asked: string) => {
    const modelMaxBudget = { [named]: { maxBudgetNanoUsd: 1n, budgetDuration: null } }
    const limited = { ...bareKey, modelRequestsPerMinute: { [named]: 1 }, modelMaxBudget }
    const key = { ...limited, id: 'k', aliases: { mine: 'fast' } }
    const limits = new CallerLimits({ role: 'key', key }, models.settings, 'w').ofModel(asked, models)
    const budgets = limits.plan?.at(0).scopes ?? []
    return [...limits.limits, ...budgets].map(({ id }) => id)
  }
  const id = models.resolve('fast')[0]!.id
  const pairs: [named: string, asked: string, isSame: boolean][] = [
    ['fast', id, true],
    ['fast', 'quick', true],
    ['quick', 'fast', true],
    ['mine', 'fast', true],
    ['mine', id, true],
    ['gpt-4.1', 'openai/gpt-4.1', true],
    ['openai/gpt-4.1', 'gpt-4.1', true],
    ['gpt-4.1', 'best', true],
    ['best', 'gpt-4.1', true],
    ['openai/gpt-4.1', 'gpt-4.1-mini', false],
    ['other', 'fast', false],
    ['fast', 'gpt-4.1', false],
  ]
  for (const [named, asked, isSame] of pairs) {
    const both = isSame ? [`key:k:model:${named}`, `key:k:model:${named}`] : []
    expect([named, asked, limitIds(named, asked)]).toEqual([named, asked, both])
  }
})
