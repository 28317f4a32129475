/** Every row has its source, no row hides another, and names of models find the row that is meant. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { providers } from '../src/providers/index.ts'
import { modelRulesPage } from '../scripts/model-rules-page.ts'
import { claudeHostFields, claudeRows, claudeRule } from './claude.ts'
import { cohereRows, cohereThinks } from './cohere.ts'
import { fittedEffort } from './efforts.ts'
import { geminiHostRules, geminiRows, geminiThinking } from './gemini.ts'
import { hostRefusals } from './host-refusals.ts'
import { hostRule, hostRules } from './hosts.ts'
import { mistralReasoning, mistralRows } from './mistral.ts'
import { azureVersionRule, openaiRows, openaiRule } from './openai.ts'
import { sonarSource } from './perplexity.ts'
import type { Source } from './source.ts'

const rows: readonly { readonly source: Source }[] = [
  { source: sonarSource },
  ...[claudeRows, cohereRows, geminiRows, mistralRows, openaiRows].flat(),
  ...Object.values(hostRules).flatMap(host => [host, ...(host.models ?? [])]),
  ...Object.values(hostRefusals).flat(),
  ...Object.values(claudeHostFields).flatMap(fields => Object.values(fields)),
  ...Object.values(geminiHostRules),
]

test('every row says where it was read, and when', () => {
  for (const { source } of rows) {
    expect(new URL(source.url).protocol).toBe('https:')
    expect(source.readOn).toMatch(/^20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/)
    expect(Date.parse(source.readOn)).toBeLessThanOrEqual(Date.now())
  }
})

test('codes of refusals are in lower case, as they are compared, and every row says something', () => {
  for (const row of Object.values(hostRefusals).flat()) {
    expect(row.codes?.filter(code => code !== code.toLowerCase()) ?? []).toEqual([])
    expect(row.codes ?? row.words ?? row.statuses ?? row.example).toBeDefined()
  }
  for (const host of Object.keys(hostRefusals)) expect(providers.has(host) || host).toBe(true)
})

describe('Claude', () => {
  /** platform.claude.com, the pages "Overview" of each model and "Thinking" (November 2026). */
  test.each([
    ['claude-opus-5-5', 'never', 'never', false],
    ['us.anthropic.claude-opus-5-5-v1:0', 'never', 'never', false],
    ['claude-sonnet-5-5', 'between_tools', 'never', false],
    ['claude-fable-5-1', 'never', 'never', false],
    ['claude-fable-5', 'never', 'always', false],
    ['claude-opus-5', 'disabled', 'always', false],
    ['claude-haiku-5-5', 'disabled', 'always', false],
    ['claude-sonnet-5', 'disabled', 'always', false],
    ['claude-opus-4-8', 'omit', 'unless-thinking', false],
    ['anthropic/claude-opus-4.7', 'omit', 'unless-thinking', false],
    ['claude-sonnet-4-6', 'omit', 'unless-thinking', false],
    ['claude-opus-4-5-20251101', 'omit', 'unless-thinking', true],
    ['claude-haiku-4-5@20251001', 'omit', 'unless-thinking', true],
    ['claude-opus-4-1-20250805', 'omit', 'unless-thinking', true],
    ['claude-sonnet-4-20250514', 'omit', 'unless-thinking', true],
    ['claude-3-7-sonnet-20250219', 'omit', 'unless-thinking', true],
    ['claude-3-5-haiku-20241022', 'omit', 'unless-thinking', true],
    ['claude-4-opus-20250514', 'omit', 'unless-thinking', true],
    ['claude-4-6-opus', 'omit', 'unless-thinking', false],
    ['anthropic.claude-v2:1', 'omit', 'unless-thinking', true],
    ['claude-2.1', 'omit', 'unless-thinking', true],
  ] as const)('%s', (name, off, forcedTools, prefill) => {
    expect(claudeRule(name)).toMatchObject({ off, forcedTools, prefill })
  })

  test('who thinks, and how', () => {
    const thinking = (name: string) => claudeRule(name).thinking.join()
    expect(thinking('claude-3-5-sonnet-latest')).toBe('')
    expect(thinking('claude-3-7-sonnet-latest')).toBe('enabled')
    expect(thinking('claude-opus-4-6')).toBe('adaptive,enabled')
    expect(thinking('claude-opus-4-7')).toBe('adaptive')
    expect(claudeRule('claude-instant-v1').tools).toBe(false)
    expect(claudeRule('claude-new')).toMatchObject({ off: 'never', thinking: ['adaptive'] })
    expect(claudeRule('minimax-m2')).toMatchObject({ off: 'omit', thinking: ['enabled'] })
  })
})

/** ai.google.dev/gemini-api/docs/thinking and docs.cloud.google.com, "Thinking", table of levels (November 2026). */
test.each([
  ['gemini-3.8-flash', 'low,medium,high'],
  ['models/gemini-3.7-flash', 'low,medium,high'],
  ['gemini-flash-latest', 'low,medium,high'],
  ['gemini-3.6-flash', 'minimal,low,medium,high'],
  ['gemini-3.5-flash-lite', 'minimal,low,medium,high'],
  ['gemini-3.7-flash-lite', 'minimal,low,medium,high'],
  ['gemini-flash-lite-latest', 'minimal,low,medium,high'],
  ['gemini-3-flash-preview', 'minimal,low,medium,high'],
  ['gemini-3-pro-preview', 'low,high'],
  ['gemini-3.1-pro-preview', 'low,medium,high'],
  ['gemini-pro-latest', 'low,medium,high'],
  ['gemini-4-hydrogen', 'low,medium,high,xhigh'],
  ['gemini-3.1-flash-image', 'minimal,high'],
  ['gemini-2.5-pro', '128-32768'],
  ['gemini-2.5-flash-lite', '512-24576'],
  ['gemini-2.5-flash', '0-24576'],
  ['gemini-2.5-flash-image', ''],
  ['gemini-3-pro-image-preview', ''],
  ['gemini-2.5-flash-preview-tts', ''],
  ['gemini-2.0-flash', ''],
  ['gemma-3-27b-it', ''],
] as const)('%s thinks by %p', (name, expected) => {
  const thinking = geminiThinking(name)
  if (thinking.by === 'level') expect(thinking.levels.join()).toBe(expected)
  else if (thinking.by === 'budget') expect(`${thinking.min}-${thinking.max}`).toBe(expected)
  else expect(expected).toBe('')
})

test("Mistral's and Cohere's", () => {
  expect(mistralReasoning('magistral-medium-latest')).toEqual({ by: 'prompt-mode' })
  expect(mistralReasoning('mistral-large-4-0')).toEqual({ by: 'effort', efforts: ['none', 'low', 'medium', 'high'] })
  expect(mistralReasoning('mistral-small-latest')).toEqual({ by: 'effort', efforts: ['none', 'high'] })
  expect(mistralReasoning('ministral-8b-latest')).toEqual({ by: 'nothing' })
  expect(mistralReasoning('mistral-medium-2508')).toEqual({ by: 'nothing' })
  expect(['command-a-reasoning-08-2025', 'command-a-plus-05-2026'].map(cohereThinks)).toEqual([true, true])
  expect(['command-a-03-2025', 'command-r7b-12-2024', 'command-a-vision-07-2025'].map(cohereThinks)).toEqual([
    false,
    false,
    false,
  ])
})

/** developers.openai.com/api/docs/models, "Reasoning effort" of each model (November 2026). */
test.each([
  ['o3', 'low,medium,high'],
  ['o1-2024-12-17', 'low,medium,high'],
  ['gpt-5-mini-2025-08-07', 'minimal,low,medium,high'],
  ['gpt-5.1', 'none,low,medium,high'],
  ['gpt-5.5', 'none,low,medium,high,xhigh'],
  ['gpt-5.6-sol', 'none,low,medium,high,xhigh,max'],
  ['gpt-6-astra', 'low,medium,high,xhigh,max'],
  ['gpt-4o', ''],
  ['ft:gpt-4.1:me::1', ''],
])('%s takes the efforts %p', (name, efforts) => {
  expect(openaiRule(name)!.efforts!.join()).toBe(efforts)
})

test('a name that is not of OpenAI has no rules of OpenAI', () => {
  for (const name of ['gpt-oss-120b', 'llama-3.3-70b', 'omni', 'my-gpt-5']) expect(openaiRule(name)).toBeUndefined()
})

test("Azure's dated versions", () => {
  expect(azureVersionRule('2024-06-01')).toMatchObject({ rename: { max_completion_tokens: 'max_tokens' } })
  for (const version of ['2024-09-01-preview', '2024-10-21', '2025-04-01-preview', 'v1', 'preview'])
    expect(azureVersionRule(version)).toBeUndefined()
})

test('rules of hosts and of their models are joined', () => {
  expect(hostRule('groq', 'llama-3.3-70b-versatile')).toMatchObject({ efforts: [], onlyAt: { n: 1 } })
  expect(hostRule('groq', 'openai/gpt-oss-120b')).toMatchObject({
    efforts: ['low', 'medium', 'high'],
    messageRename: { reasoning_content: 'reasoning' },
    onlyAt: { n: 1 },
  })
  expect(hostRule('xai', 'grok-4.3')!.efforts).toEqual(['none', 'low', 'medium', 'high'])
  expect(hostRule('xai', 'grok-4.20-0309-reasoning')!.efforts).toEqual([])
  expect(hostRule('xai', 'grok-4-fast-non-reasoning')!.unsupported).toEqual([])
  expect(hostRule('nebius', 'any')).toBeUndefined()
  expect(hostRule('constructor', 'any')).toBeUndefined()
})

test.each([
  ['high', ['low', 'high'], 'high', false],
  ['medium', ['low', 'high'], 'low', true],
  ['minimal', ['low', 'high'], 'low', true],
  ['max', ['low', 'medium', 'high'], 'high', true],
  ['max', ['low', 'xhigh', 'max'], 'max', false],
  // Of two neighbours the cheaper one.
  ['xhigh', ['low', 'medium', 'high', 'max'], 'high', true],
  ['none', ['low', 'high'], 'low', true],
  ['low', ['none', 'high'], 'high', true],
  ['low', ['none', 'default'], 'default', true],
  ['none', ['none', 'default'], 'none', false],
  ['high', [], undefined, true],
  // A model that never thinks does what was asked.
  ['none', [], undefined, false],
] as const)('the effort %p where %p are taken', (asked, taken, effort, lost) => {
  expect(fittedEffort(asked, taken)).toEqual({ effort, lost })
})

test('the page of the rules is what the tables say', () => {
  const page = readFileSync(join(import.meta.dir, '../docs/model-rules.md'), 'utf8')
  expect(page === modelRulesPage() || 'run node bin/bun.mjs scripts/model-rules-page.ts').toBe(true)
})
