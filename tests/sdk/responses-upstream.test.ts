/**
 * Clients of chat, Messages and Gemini in front of OpenAI models that take their calls only by Responses: what leaves
 * for the upstream, and reasoning that goes through the client and back.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { FunctionCallingConfigMode, GoogleGenAI } from '@google/genai'
import type { Content } from '@google/genai'
import OpenAI from 'openai'
import { expectConforms } from '../support/openai-conformance.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { askForTool, toolResult, weatherTool } from './matrix/client.ts'

type Json = Record<string, unknown>

const place = 'api_base: "{simulator}/v1", api_key: upstream-key-canary-1'
const config = `
model_list:
  - { model_name: six, proxy_params: { model: openai/gpt-6-sol, ${place} } }
  - { model_name: five-six, proxy_params: { model: openai/gpt-5.6, ${place} } }
  - { model_name: five-four, proxy_params: { model: openai/gpt-5.4, ${place} } }
  - { model_name: codex, proxy_params: { model: openai/gpt-5-codex, ${place} } }
  - { model_name: strict, proxy_params: { model: openai/gpt-5-codex, ${place}, drop_params: false } }
  - { model_name: forced, proxy_params: { model: custom_openai/sim, ${place} }, model_info: { chat_api: responses } }
  - { model_name: unknown-six, proxy_params: { model: openai/gpt-6-sol, ${place} }, model_info: { chat_api: chat } }
  - model_name: azure-six
    proxy_params: { model: azure/prod-1, api_base: "{simulator}", api_key: upstream-key-canary-2 }
    model_info: { base_model: azure/gpt-6-sol }
  - { model_name: other-account, proxy_params: { model: openai/gpt-6-sol, api_base: "{simulator}/v1", api_key: upstream-key-canary-3 } }
  - { model_name: claude, proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: upstream-key-canary-4 } }
router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0 }
`

let gateway: Gateway
let key: string
let openai: OpenAI
let anthropic: Anthropic
let google: GoogleGenAI
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
  google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: gateway.url } })
})
afterAll(() => gateway?.stop())

/** The body of the last call that arrived, which went by Responses. */
function sent(): Json {
  const { path, body } = gateway.simulator.truth.last()!
  expect(path).toEndWith('/v1/responses')
  expectConforms('CreateResponse', body)
  return body as Json
}

const inputOf = (body: Json, type: string): Json[] => (body.input as Json[]).filter(item => item.type === type)
const pathOf = (): string => gateway.simulator.truth.last()!.path
const tools = [{ type: 'function' as const, function: weatherTool as unknown as OpenAI.FunctionDefinition }]
const asked: OpenAI.ChatCompletionMessageParam = { role: 'user', content: askForTool }

describe('which calls go by Responses', () => {
  const path = async (model: string, more: object = {}): Promise<string> => {
    await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'say: hi' }], ...more })
    return pathOf()
  }

  test('function tools of the models that take them nowhere else; calls without tools are forwarded', async () => {
    expect(await path('six')).toBe('/v1/chat/completions')
    expect(await path('six', { tools: [] })).toBe('/v1/chat/completions')
    expect(await path('six', { tools })).toBe('/v1/responses')
    expect(await path('six', { tools, reasoning_effort: 'none' })).toBe('/v1/responses')
    expect(await path('five-six', { tools })).toBe('/v1/responses')
    expect(await path('five-six', { tools, reasoning_effort: 'none' })).toBe('/v1/chat/completions')
    expect(await path('five-four', { tools })).toBe('/v1/chat/completions')
    expect(await path('five-four', { tools, reasoning_effort: 'low' })).toBe('/v1/responses')
    expect(await path('azure-six', { functions: [weatherTool] })).toBe('/openai/v1/responses')
    expect(gateway.simulator.truth.last()!.model).toBe('prod-1')
  })

  test('every call of a model that only Responses have, and of one that is configured so', async () => {
    expect(await path('codex')).toBe('/v1/responses')
    expect(await path('forced')).toBe('/v1/responses')
    await openai.completions.create({ model: 'codex', prompt: 'say: hi' })
    expect(pathOf()).toBe('/v1/responses')
  })

  test('chat_api: chat overrides the table; the refusal of the vendor reaches the client', async () => {
    const refused = await path('unknown-six', { tools }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError)
    expect((refused as Error).message).toContain('use /v1/responses')
  })

  test('chat_api: responses for a provider without it is a mistake of the configuration', async () => {
    const wrong = config
      .replace('sim-claude,', 'sim-claude,')
      .replace('upstream-key-canary-4 } }', 'upstream-key-canary-4 }, model_info: { chat_api: responses } }')
      .concat('\ngeneral_settings: { strict_configuration: true }\n')
    await expect(startGateway({ config: wrong })).rejects.toThrow('the provider anthropic has no /responses')
  })
})

describe('what leaves', () => {
  test('a chat with everything that Responses have a field for, and the names of the rest', async () => {
    const response = await openai.chat.completions
      .create({
        model: 'codex',
        messages: [{ role: 'user', content: 'say: hi' }],
        seed: 1,
        stop: ['x'],
        max_completion_tokens: 5,
        logprobs: true,
        top_logprobs: 2,
        verbosity: 'low',
        reasoning_effort: 'low',
        parallel_tool_calls: false,
        tools,
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' }, strict: true } },
        prompt_cache_key: 'k',
        metadata: { team: 'blue' },
        user: 'ada',
      })
      .asResponse()
    expect(response.headers.get('x-proxy-dropped-params')).toBe('max_tokens,stop,seed')
    const { input: _, tools: __, ...fields } = sent()
    expect(fields).toEqual({
      model: 'gpt-5-codex',
      store: false,
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      // The least that Responses take.
      max_output_tokens: 16,
      top_logprobs: 2,
      text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
      reasoning: { effort: 'low' },
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      metadata: { team: 'blue' },
      user: 'ada',
    })
  })

  test('without drop_params a field that Responses lack is refused, and nothing is sent', async () => {
    const before = gateway.simulator.truth.last()!.n
    const body = { model: 'strict', messages: [{ role: 'user' as const, content: 'hi' }], n: 2 }
    const refused = await openai.chat.completions.create(body).catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 422, param: 'n' })
    expect(gateway.simulator.truth.last()!.n).toBe(before)
  })

  test('pictures and files', async () => {
    const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' }
    const url = 'https://images.example/a.png'
    const content = [
      { type: 'image_url' as const, image_url: { url, detail: 'low' as const } },
      { type: 'file' as const, file },
    ]
    await openai.chat.completions.create({ model: 'codex', messages: [{ role: 'user', content }] })
    expect(sent().input).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_image', detail: 'low', image_url: url },
          { type: 'input_file', ...file },
        ],
      },
    ])
  })

  test('usage: cached and reasoning tokens reach the client and the ledger', async () => {
    const content = 'cached: 3\nsay: hello there my friend'
    const { usage } = await openai.chat.completions.create({
      model: 'codex',
      messages: [{ role: 'user', content }],
      reasoning_effort: 'low',
    })
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe(3)
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(8)
    const { billable } = gateway.simulator.truth.last()!
    expect([usage!.prompt_tokens, usage!.completion_tokens]).toEqual([billable.inputTokens, billable.outputTokens])
    const [row] = (await gateway.rows()).filter(one => one.cached_input_tokens === 3)
    expect(row).toMatchObject({
      input_tokens: billable.inputTokens,
      output_tokens: billable.outputTokens,
      reasoning_tokens: 8,
    })
  })

  test('a tool without parameters, which Responses demand', async () => {
    const answer = await openai.chat.completions.create({
      model: 'codex',
      messages: [asked],
      tools: [{ type: 'function', function: { name: 'plain' } }],
      tool_choice: 'required',
    })
    expect(answer.choices[0]!.message.tool_calls).toMatchObject([{ type: 'function', function: { name: 'plain' } }])
    expect(sent().tools).toEqual([
      { type: 'function', name: 'plain', parameters: { type: 'object', properties: {} }, strict: false },
    ])
  })
})

/** Two turns of a client; the second one sends back what the first one gave. */
interface Turns {
  readonly first: (streamed: boolean) => Promise<void>
  readonly second: (model: string) => Promise<string>
}

function chatTurns(): Turns {
  const messages: OpenAI.ChatCompletionMessageParam[] = [asked]
  return {
    async first(streamed) {
      const body = { model: 'six', messages, tools }
      const answer = streamed
        ? await openai.chat.completions.stream(body).finalChatCompletion()
        : await openai.chat.completions.create(body)
      const { message } = answer.choices[0]!
      const [call] = message.tool_calls!
      messages.push(message as OpenAI.ChatCompletionMessageParam)
      messages.push({ role: 'tool', tool_call_id: call!.id, content: toolResult })
    },
    async second(model) {
      return (await openai.chat.completions.create({ model, messages, tools })).choices[0]!.message.content!
    },
  }
}

function messagesTurns(): Turns {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: askForTool }]
  const body = {
    max_tokens: 2000,
    thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    tools: [{ name: weatherTool.name, input_schema: weatherTool.parameters as unknown as Anthropic.Tool.InputSchema }],
  }
  return {
    async first(streamed) {
      const call = { model: 'six', messages, ...body }
      const message = streamed
        ? await anthropic.messages.stream(call).finalMessage()
        : await anthropic.messages.create(call)
      expect(message.stop_reason).toBe('tool_use')
      const use = message.content.find(block => block.type === 'tool_use')!
      messages.push({ role: 'assistant', content: message.content })
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: toolResult }] })
    },
    async second(model) {
      const { content } = await anthropic.messages.create({ model, messages, ...body })
      return content.map(block => (block.type === 'text' ? block.text : '')).join('')
    },
  }
}

function geminiTurns(): Turns {
  const contents: Content[] = [{ role: 'user', parts: [{ text: askForTool }] }]
  const { name, parameters } = weatherTool
  const config = {
    tools: [{ functionDeclarations: [{ name, parametersJsonSchema: parameters }] }],
    toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } },
  }
  return {
    async first(streamed) {
      const parts: NonNullable<Content['parts']> = []
      if (streamed) {
        const stream = await google.models.generateContentStream({ model: 'six', contents, config })
        for await (const chunk of stream) parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
      } else {
        const answer = await google.models.generateContent({ model: 'six', contents, config })
        parts.push(...(answer.candidates![0]!.content!.parts ?? []))
      }
      const call = parts.find(part => part.functionCall)!.functionCall!
      const response = { id: call.id!, name: call.name!, response: { output: toolResult } }
      contents.push({ role: 'model', parts }, { role: 'user', parts: [{ functionResponse: response }] })
    },
    async second(model) {
      return (await google.models.generateContent({ model, contents, config })).text!
    },
  }
}

for (const [name, turns] of Object.entries({ chat: chatTurns, Messages: messagesTurns, Gemini: geminiTurns }))
  describe(`a client of ${name}`, () => {
    for (const streamed of [false, true])
      test(`sends the encrypted reasoning back${streamed ? ' of a stream' : ''}, and only to its account`, async () => {
        const { first, second } = turns()
        await first(streamed)
        sent()
        expect(await second('six')).toContain(toolResult)
        const [reasoning, ...others] = inputOf(sent(), 'reasoning')
        expect(others).toEqual([])
        expect(reasoning!.summary).toEqual([])
        expect(reasoning!.id).toStartWith('rs_')
        expect(reasoning!.encrypted_content).toStartWith('gAAAA')
        expect(inputOf(sent(), 'function_call')).toHaveLength(1)
        // Another account could not read it, and would refuse the call.
        expect(await second('other-account')).toContain(toolResult)
        expect(inputOf(sent(), 'reasoning')).toEqual([])
        expect(await second('claude')).toContain(toolResult)
        expect(JSON.stringify(gateway.simulator.truth.last()!.body)).not.toContain('gAAAA')
      })
  })

test('the parameters that a model takes are those of Responses where it has no other API', async () => {
  const paramsOf = async (model: string): Promise<string[]> => {
    const response = await fetch(`${gateway.url}/utils/supported_openai_params?model=${model}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    return ((await response.json()) as { supported_openai_params: string[] }).supported_openai_params
  }
  const codex = await paramsOf('codex')
  for (const taken of ['tools', 'max_tokens', 'verbosity', 'store']) expect(codex).toContain(taken)
  for (const lost of ['n', 'stop', 'seed', 'modalities', 'web_search_options']) expect(codex).not.toContain(lost)
  expect(await paramsOf('six')).toContain('n')
})
