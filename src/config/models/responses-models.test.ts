import { expect, test } from 'bun:test'
import { responsesOnly } from './responses-models.ts'
import type { DeclaredApi } from './responses-models.ts'

const of = (model: string, provider = 'openai', declared: DeclaredApi = {}, modelName = 'public') =>
  responsesOnly({ modelName, model, provider }, declared)

test('the models of OpenAI that take function tools, or anything, only on /responses', () => {
  const table = {
    everything: ['o1-pro', 'o3-pro-2025-06-10', 'gpt-5-pro', 'gpt-5.4-pro-2026-03-05', 'gpt-5-codex', 'gpt-5.3-codex'],
    tools: ['gpt-6-astra', 'gpt-6-sol', 'gpt-6', 'gpt-6.1'],
    'tools-unless-effort-none': ['gpt-5.6', 'gpt-5.6-terra', 'gpt-5.6-luna', 'gpt-5.10-mini'],
    'tools-with-effort': ['gpt-5.4', 'gpt-5.5-2026-04-23', 'gpt-5.4-mini', 'gpt-5-5'],
  } as const
  for (const [only, models] of Object.entries(table))
    for (const model of models) expect([model, of(model) as string]).toEqual([model, only])
  for (const model of [
    'codex-mini-latest',
    'o3-deep-research',
    'o4-mini-deep-research-2025-06-26',
    'computer-use-preview',
  ])
    expect([model, of(model)]).toEqual([model, 'everything'])
  for (const model of [
    'gpt-5',
    'gpt-5-2025-08-07',
    'gpt-5.2',
    'gpt-4o',
    'o3',
    'gpt-5.6-chat',
    'gpt-6-chat-latest',
    '*',
  ])
    expect([model, of(model)]).toEqual([model, undefined])
})

test('other hosts of the same models translate by themselves', () => {
  for (const provider of ['openrouter', 'custom_openai', 'bedrock'])
    expect(of('openai/gpt-6-sol', provider)).toBeUndefined()
  expect(of('gpt-6-sol', 'azure_ai')).toBe('tools')
})

test("a name at Azure is the operator's: base_model counts, then the public name", () => {
  expect(of('prod-1', 'azure', { base_model: 'azure/gpt-6-sol' })).toBe('tools')
  expect(of('prod-1', 'azure', {}, 'gpt-5.6')).toBe('tools-unless-effort-none')
  expect(of('gpt-6', 'azure', { base_model: 'gpt-4o' })).toBeUndefined()
  expect(of('gpt-4o', 'openai', {}, 'gpt-6')).toBeUndefined()
})

test('chat_api overrides the table, on every host', () => {
  expect(of('gpt-6', 'openai', { chat_api: 'chat' })).toBeUndefined()
  expect(of('gpt-6', 'openai', { chat_api: 'auto' })).toBe('tools')
  expect(of('qwen', 'hosted_vllm', { chat_api: 'responses' })).toBe('everything')
})
