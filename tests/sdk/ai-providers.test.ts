/**
 * Vercel's own provider packages, each in its vendor's dialect and against upstreams of other vendors: they check every
 * field and event. A model's name makes them write differently, so that each upstream stands behind several names.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai'
import type { LanguageModel } from 'ai'
import type { TruthEntry } from '../../simulator/index.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { askAboutPicture, askForTool, pixel, toolResult, weatherTool } from './matrix/client.ts'
import { providerRows } from './matrix/providers.ts'
import type { ProviderRow } from './matrix/providers.ts'

// What a client cannot say of a certain model it leaves out, and writes about it to the console.
Object.defineProperty(globalThis, 'AI_SDK_LOG_WARNINGS', { value: false, configurable: true })

const upstreams = ['openai', 'custom_openai', 'anthropic', 'gemini', 'cohere', 'mistral', 'ollama', 'bedrock']
const rows: readonly ProviderRow[] = [
  ...providerRows.filter(row => upstreams.includes(row.name)),
  // Knows no structured output: objects come by a forced tool.
  {
    name: 'claude-old',
    params: {
      model: 'anthropic/claude-3-7-sonnet-20250219',
      api_base: '{simulator}',
      api_key: 'upstream-key-canary-1',
    },
    path: /\/v1\/messages$/,
  },
]
const hello = 'hello there, Grüße ✓ 😀'

interface Dialect {
  readonly name: string
  /** What its models are called; the upstream's name follows. */
  readonly prefixes: readonly string[]
  connect(url: string, apiKey: string): (model: string) => LanguageModel
}

const dialects: readonly Dialect[] = [
  {
    name: '@ai-sdk/openai, chat',
    // For names of reasoning models it writes `developer`, and no sampling.
    prefixes: ['sim-', 'gpt-5-'],
    connect: (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat,
  },
  {
    name: '@ai-sdk/openai, responses',
    prefixes: ['sim-', 'gpt-5-'],
    connect: (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses,
  },
  {
    name: '@ai-sdk/anthropic',
    // Only of names that it knows it believes that they are held to a schema; for others it makes a tool of it.
    prefixes: ['sim-', 'claude-sonnet-4-5-', 'claude-3-5-haiku-'],
    connect: (url, apiKey) => createAnthropic({ baseURL: `${url}/v1`, apiKey }),
  },
  {
    name: '@ai-sdk/google',
    prefixes: ['sim-', 'gemini-2.5-flash-'],
    connect: (url, apiKey) => createGoogle({ baseURL: `${url}/v1beta`, apiKey }),
  },
]

function config(): string {
  const names = new Set(dialects.flatMap(({ prefixes }) => prefixes))
  const deployment = (model_name: string, { params }: ProviderRow, fault?: string) => ({
    model_name,
    proxy_params: { ...params, ...(fault !== undefined && { extra_headers: { 'x-simulate': fault } }) },
    model_info: { mode: 'chat' },
  })
  const models = rows.flatMap(row => [...names].map(prefix => deployment(`${prefix}${row.name}`, row)))
  const faulty = rows.flatMap(row => [
    deployment(`limited-${row.name}`, row, '429;retry-after='),
    deployment(`cut-${row.name}`, row, 'cut;at=30;token-ms=1'),
  ])
  return JSON.stringify({
    model_list: [...models, ...faulty],
    router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0 },
  })
}

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config: config() })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

/** The last call that arrived; it went where this upstream is. */
function arrived(row: ProviderRow): TruthEntry {
  const entry = gateway.simulator.truth.last()!
  expect(entry.path).toMatch(row.path)
  return entry
}

const settings = { maxRetries: 0, maxOutputTokens: 2000 } as const
const citySchema = jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
})
const billed = ({
  inputTokens,
  outputTokens,
}: {
  inputTokens: number | undefined
  outputTokens: number | undefined
}) => ({ inputTokens, outputTokens })

/** A stream to its end; an error inside of a stream is thrown here: it would not be seen otherwise. */
async function gathered({
  stream,
}: {
  stream: AsyncIterable<{ type: string }>
}): Promise<{ text: string; pieces: number; types: Set<string> }> {
  let text = ''
  let pieces = 0
  const types = new Set<string>()
  for await (const part of stream as AsyncIterable<{ type: string; text?: string; error?: unknown }>) {
    types.add(part.type)
    if (part.type === 'error') throw part.error
    if (part.type !== 'text-delta') continue
    text += part.text
    pieces++
  }
  return { text, pieces, types }
}

interface Cell {
  readonly dialect: string
  readonly model: LanguageModel
  readonly row: ProviderRow
}

/** Cells that cannot be, with the reason. */
function reasonAgainst(dialect: string, modelName: string, scenario: string): string | undefined {
  const isPlayedByTool =
    dialect === '@ai-sdk/anthropic' && !modelName.startsWith('claude-sonnet') && scenario.startsWith('object')
  return isPlayedByTool && modelName.endsWith('-ollama')
    ? 'this client forces a tool, and Ollama cannot be made to call one'
    : undefined
}

/** Google's own model reads the result as this client wrapped it; all others read the text. */
const readResult = ({ dialect, row }: Cell): string =>
  dialect === '@ai-sdk/google' && row.name === 'gemini'
    ? JSON.stringify({ name: weatherTool.name, content: toolResult })
    : toolResult

const scenarios: Readonly<Record<string, (cell: Cell) => Promise<void>>> = {
  async 'text with a system message and sampling'({ model, row }) {
    const { text, usage, finishReason } = await generateText({
      ...settings,
      model,
      instructions: 'Be brief.',
      prompt: `say: ${hello}`,
      temperature: 0.5,
      stopSequences: ['@@'],
    })
    const { billable } = arrived(row)
    expect([text, finishReason, billed(usage)]).toEqual([hello, 'stop', billed(billable)])
  },

  async stream({ model, row }) {
    const result = streamText({ ...settings, model, prompt: `say: ${hello}`, onError: () => {} })
    const { text, pieces } = await gathered(result)
    const { billable, finished } = arrived(row)
    expect([text, pieces > 1, await result.finishReason, finished]).toEqual([hello, true, 'stop', 'complete'])
    expect(billed(await result.usage)).toEqual(billed(billable))
  },

  async 'tool loop'(cell) {
    const { model, row } = cell
    const asked: unknown[] = []
    const { text, steps } = await generateText({
      ...settings,
      model,
      prompt: askForTool,
      tools: weatherTools(asked),
      stopWhen: isStepCount(3),
    })
    expect([asked.length, typeof asked[0], text, steps.map(step => step.finishReason)]).toEqual([
      1,
      'string',
      `The tool said: ${readResult(cell)}`,
      ['tool-calls', 'stop'],
    ])
    arrived(row)
  },

  async 'tool loop, streamed'(cell) {
    const { model, row } = cell
    const asked: unknown[] = []
    const result = streamText({
      ...settings,
      model,
      prompt: askForTool,
      tools: weatherTools(asked),
      stopWhen: isStepCount(3),
      onError: () => {},
    })
    const { text, types } = await gathered(result)
    expect([asked.length, typeof asked[0], text]).toEqual([1, 'string', `The tool said: ${readResult(cell)}`])
    expect([types.has('tool-input-start'), types.has('tool-call'), types.has('tool-result')]).toEqual([
      true,
      true,
      true,
    ])
    arrived(row)
  },

  async object({ model, row }) {
    const { output } = await generateText({
      ...settings,
      model,
      prompt: 'A city, please.',
      output: Output.object({ schema: citySchema }),
    })
    expect(typeof output.city).toBe('string')
    arrived(row)
  },

  async 'object, streamed'({ model, row }) {
    const result = streamText({
      ...settings,
      model,
      prompt: 'A city, please.',
      output: Output.object({ schema: citySchema }),
      onError: () => {},
    })
    let last: unknown
    for await (const partial of result.partialOutputStream) last = partial
    expect(await result.output).toEqual(last as { city: string })
    expect(typeof (last as { city: string }).city).toBe('string')
    arrived(row)
  },

  async image({ model, row }) {
    const content = [
      { type: 'text' as const, text: askAboutPicture },
      { type: 'file' as const, data: Buffer.from(pixel, 'base64'), mediaType: 'image/png' },
    ]
    const { text } = await generateText({ ...settings, model, messages: [{ role: 'user', content }] })
    expect(text).toStartWith('I see 1 image. ')
    arrived(row)
  },

  async 'several turns'({ model, row }) {
    const messages = [
      { role: 'user' as const, content: 'Hello.' },
      { role: 'assistant' as const, content: 'Hi, how can I help?' },
      { role: 'user' as const, content: `say: ${hello}` },
    ]
    expect((await generateText({ ...settings, model, messages })).text).toBe(hello)
    arrived(row)
  },
}

function weatherTools(asked: unknown[]) {
  const get_weather = tool({
    description: weatherTool.description,
    inputSchema: jsonSchema<{ city: string }>(weatherTool.parameters as unknown as Parameters<typeof jsonSchema>[0]),
    execute: ({ city }) => {
      asked.push(city)
      return toolResult
    },
  })
  return { get_weather }
}

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

for (const { name, prefixes, connect } of dialects)
  describe(name, () => {
    for (const prefix of prefixes)
      for (const row of rows)
        for (const [scenario, run] of Object.entries(scenarios)) {
          const modelName = prefix + row.name
          const reason = reasonAgainst(name, modelName, scenario)
          test.skipIf(reason !== undefined)(`${modelName}: ${scenario}${reason ? ` (${reason})` : ''}`, () =>
            run({ dialect: name, model: connect(gateway.url, key)(modelName), row }),
          )
        }

    for (const row of rows) {
      test(`${row.name}: a refusal is an error of its own kind, with the status`, async () => {
        const error = await failure(
          generateText({ ...settings, model: connect(gateway.url, key)(`limited-${row.name}`), prompt: 'x' }),
        )
        expect([
          APICallError.isInstance(error),
          (error as APICallError).statusCode,
          (error as APICallError).isRetryable,
        ]).toEqual([true, 429, true])
        expect((error as Error).message).not.toContain('canary')
      })

      test(`${row.name}: a stream that is cut is no whole answer`, async () => {
        const result = streamText({
          ...settings,
          model: connect(gateway.url, key)(`cut-${row.name}`),
          prompt: 'tokens: 60',
          onError: () => {},
        })
        await failure(gathered(result))
        expect(arrived(row).finished).toBe('cut')
      })
    }

    test('a model that does not exist, a key that nobody knows', async () => {
      const statusOf = async (apiKey: string, model: string) =>
        (
          (await failure(
            generateText({ ...settings, model: connect(gateway.url, apiKey)(model), prompt: 'x' }),
          )) as APICallError
        ).statusCode
      expect([await statusOf(key, 'nope'), await statusOf('sk-stranger', 'sim-openai')]).toEqual([404, 401])
    })
  })
