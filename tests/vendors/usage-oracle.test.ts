/** Usage as the AI SDK of Vercel reads it from the same answers: another's reading of the vendors' words. */
import { expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ChatEvent } from '../../src/core/hub/chat.ts'
import type { Usage } from '../../src/core/usage/usage.ts'
import { chatResult } from '../../src/providers/openai-compatible/read.ts'
import { responsesResult } from '../../src/providers/openai-compatible/responses/read.ts'
import { messageResult } from '../../src/providers/anthropic/read.ts'
import { generateResult } from '../../src/providers/gemini/read.ts'
import { families } from '../golden/answers/index.ts'

type Json = Record<string, unknown>

/** What both readings can say. */
interface Counts {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cacheRead: number
  readonly reasoning: number
}

const fetchOf = (body: unknown): typeof fetch =>
  (async () =>
    new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })) as unknown as typeof fetch

const models = {
  openai: (body: unknown) => createOpenAI({ apiKey: 'k', fetch: fetchOf(body) }).chat('gpt-4o'),
  compatible: (body: unknown) =>
    createOpenAICompatible({ name: 'host', baseURL: 'https://host.example/v1', fetch: fetchOf(body) })('m'),
  responses: (body: unknown) => createOpenAI({ apiKey: 'k', fetch: fetchOf(body) }).responses('gpt-5'),
  anthropic: (body: unknown) => createAnthropic({ apiKey: 'k', fetch: fetchOf(body) })('claude-sonnet-4-5'),
  gemini: (body: unknown) => createGoogle({ apiKey: 'k', fetch: fetchOf(body) })('gemini-2.5-flash'),
}
type Dialect = keyof typeof models

const readers: Readonly<Record<Dialect, (body: unknown) => ChatEvent[]>> = {
  openai: chatResult,
  compatible: chatResult,
  responses: body => responsesResult(body, 'account'),
  anthropic: messageResult,
  gemini: generateResult,
}

async function theirs(dialect: Dialect, body: unknown): Promise<Counts> {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }]
  const { usage } = await models[dialect](body).doGenerate({ prompt })
  const { inputTokens, outputTokens } = usage
  return {
    input: inputTokens.total,
    output: outputTokens.total,
    cacheRead: inputTokens.cacheRead ?? 0,
    reasoning: outputTokens.reasoning ?? 0,
  }
}

function ours(dialect: Dialect, body: unknown): Counts | undefined {
  const usage: Usage | undefined = readers[dialect](body).findLast(event => event.type === 'usage')?.usage
  return (
    usage && {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cacheRead: usage.cachedInputTokens ?? 0,
      reasoning: usage.reasoningTokens ?? 0,
    }
  )
}

const message = { role: 'assistant', content: 'Hi.' }
const chat = (usage: Json): Json => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
})
const messages = (usage: Json): Json => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
})
const generated = (usageMetadata: Json): Json => ({
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata,
})

/** Figures of the vendors' pages, or of their kind. */
const cases: readonly (readonly [Dialect, Json])[] = [
  ['openai', chat({ prompt_tokens: 2006, completion_tokens: 300, total_tokens: 2306 })],
  [
    'openai',
    chat({
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920 },
      completion_tokens_details: { reasoning_tokens: 192 },
    }),
  ],
  [
    'compatible',
    chat({
      prompt_tokens: 50,
      completion_tokens: 20,
      total_tokens: 70,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 5 },
    }),
  ],
  ['anthropic', messages({ input_tokens: 50, output_tokens: 503 })],
  [
    'anthropic',
    messages({
      input_tokens: 50,
      output_tokens: 503,
      cache_creation_input_tokens: 248,
      cache_read_input_tokens: 100_000,
    }),
  ],
  ['gemini', generated({ promptTokenCount: 9, candidatesTokenCount: 30, totalTokenCount: 39 })],
  [
    'gemini',
    generated({
      promptTokenCount: 5000,
      cachedContentTokenCount: 4000,
      candidatesTokenCount: 30,
      thoughtsTokenCount: 700,
      totalTokenCount: 5730,
    }),
  ],
]

test.each(cases)('%s: the same counts', async (dialect, body) => {
  expect(ours(dialect, body)).toEqual(await theirs(dialect, body))
})

test("the same counts in every documented answer that the vendors' own words make", async () => {
  let compared = 0
  for (const [name, dialect] of [
    ['openai', 'compatible'],
    ['responses', 'responses'],
    ['anthropic', 'anthropic'],
    ['gemini', 'gemini'],
  ] as const)
    for (const { name: fixture, whole } of families.find(family => family.name === name)!.fixtures) {
      const mine = whole === undefined ? undefined : readOrNothing(dialect, whole)
      // What the SDK's schemas do not know they refuse: those answers have another judge.
      const other = mine && (await theirs(dialect, whole).catch(() => undefined))
      if (!other || other.input === undefined) continue
      expect({ dialect, fixture, ...mine }).toEqual({ dialect, fixture, ...other })
      compared++
    }
  expect(compared).toBeGreaterThan(40)
})

function readOrNothing(dialect: Dialect, body: unknown): Counts | undefined {
  try {
    return ours(dialect, body)
  } catch {
    return undefined
  }
}
