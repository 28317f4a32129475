/**
 * Tools that other upstreams do not know: those that take plain text, nested or flat as Cursor sends them, and odd
 * names.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { matrixConfig } from './matrix/providers.ts'

type Json = Record<string, unknown>
type Messages = OpenAI.ChatCompletionMessageParam[]

let gateway: Gateway
let key: string
let client: OpenAI
beforeAll(async () => {
  gateway = await startGateway({ config: matrixConfig() })
  key = await gateway.key()
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
})
afterAll(() => gateway?.stop())

const lastBody = (): Json => gateway.simulator.truth.last()!.body as Json
const grammar = { syntax: 'lark' as const, definition: 'start: /.+/' }
const nested: OpenAI.ChatCompletionCustomTool = {
  type: 'custom',
  custom: { name: 'apply_patch', description: 'Edits files', format: { type: 'grammar', grammar } },
}
const flat = { type: 'custom', name: 'ApplyPatch', description: 'Edits files', format: { type: 'grammar', ...grammar } }
const readFile = {
  type: 'function' as const,
  function: { name: 'read_file', parameters: { type: 'object', properties: { path: { type: 'string' } } } },
}
const ask: Messages = [{ role: 'user', content: 'apply_patch please, use the tool' }]

const upstreams = [
  'openai',
  'azure',
  'openai-codex',
  'custom_openai',
  'groq',
  'anthropic',
  'gemini',
  'gemini-three',
  'cohere',
  'mistral',
  'ollama',
  'bedrock',
]

describe.each(upstreams)('a text tool of a chat client at %s', model => {
  for (const streamed of [false, true])
    test(`${streamed ? 'streamed' : 'whole'}: called as it was declared, and its result is understood`, async () => {
      const body = { model, messages: ask, tools: [readFile, nested] }
      const answer = streamed
        ? await streamedCall(body)
        : (await client.chat.completions.create(body)).choices[0]!.message
      const call = answer.tool_calls![0]!
      if (call.type !== 'custom') throw new Error(`a call of type ${call.type}`)
      expect(call.custom.name).toBe('apply_patch')
      expect(call.custom.input.length).toBeGreaterThan(0)
      expect(call.custom.input).not.toStartWith('{')
      const messages: Messages = [...ask, answer, { role: 'tool', tool_call_id: call.id, content: 'patched' }]
      const last = await client.chat.completions.create({ model, messages, tools: [readFile, nested] })
      expect(last.choices[0]!.message.content).toBe('The tool said: patched')
      expect(JSON.stringify(lastBody())).toContain(JSON.stringify(call.custom.input).slice(1, -1))
    })
})

/** The client's own helper knows no text tools. */
async function streamedCall(body: OpenAI.ChatCompletionCreateParamsNonStreaming) {
  const stream = await client.chat.completions.create({ ...body, stream: true })
  const custom = { name: '', input: '' }
  let id = ''
  for await (const { choices } of stream)
    for (const call of (choices[0]?.delta.tool_calls ?? []) as { id?: string; custom?: Partial<typeof custom> }[]) {
      id ||= call.id ?? ''
      custom.name ||= call.custom?.name ?? ''
      custom.input += call.custom?.input ?? ''
    }
  const calls: OpenAI.ChatCompletionMessageToolCall[] = [{ id, type: 'custom', custom }]
  return { role: 'assistant' as const, content: null, tool_calls: calls }
}

async function post(path: string, body: object): Promise<{ headers: Headers; body: Json; text: string }> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  expect({ path, status: response.status, text: response.ok ? '' : text }).toEqual({ path, status: 200, text: '' })
  return { headers: response.headers, body: text.startsWith('{') ? (JSON.parse(text) as Json) : {}, text }
}

interface CursorCall {
  id: string
  type: string
  function: { name: string; arguments: string }
}

const callOf = (body: Json): CursorCall =>
  (body.choices as { message: { tool_calls: CursorCall[] } }[])[0]!.message.tool_calls[0]!

describe('Cursor', () => {
  const said = 'ApplyPatch please, use the tool'
  const shapes: Record<string, (more: Json[]) => Json> = {
    messages: more => ({ messages: [{ role: 'user', content: said }, ...more] }),
    input: more => ({
      input: [
        { role: 'user', content: said },
        ...more.flatMap((message): Json[] =>
          message.role === 'tool'
            ? [{ type: 'function_call_output', call_id: message.tool_call_id, output: message.content }]
            : (message.tool_calls as CursorCall[]).map(call => ({
                type: 'function_call',
                call_id: call.id,
                ...call.function,
              })),
        ),
      ],
    }),
  }
  for (const path of ['/cursor/chat/completions', '/v1/chat/completions'])
    for (const [name, bodyOf] of Object.entries(shapes))
      test.each(['openai', 'custom_openai', 'anthropic', 'gemini'])(
        `mixed tools beside \`${name}\` at ${path}: %s`,
        async model => {
          const tools = [readFile, flat]
          const { body } = await post(path, { model, ...bodyOf([]), tools })
          const call = callOf(body)
          // It reads the name and the plain text of a function.
          expect([call.type, call.function.name]).toEqual(['function', 'ApplyPatch'])
          expect(call.function.arguments).toMatch(/^[^{].+/)
          const { text } = await post(path, { model, ...bodyOf([]), tools, stream: true })
          expect(text).toContain('"name":"ApplyPatch"')
          expect(text).toContain(`"arguments":${JSON.stringify(call.function.arguments)}`)
          const turns = [
            { role: 'assistant', content: null, tool_calls: [call] },
            { role: 'tool', tool_call_id: call.id, content: 'patched' },
          ]
          const last = await post(path, { model, ...bodyOf(turns), tools })
          expect(JSON.stringify(last.body)).toContain('The tool said: patched')
          expect(last.headers.get('x-proxy-dropped-params')).toBe(model === 'openai' ? null : 'tools.format')
        },
      )

  test('its text tools are text tools at an upstream that knows them', async () => {
    await post('/v1/chat/completions', { model: 'openai', messages: [{ role: 'user', content: said }], tools: [flat] })
    expect(lastBody().tools).toEqual([flat])
  })
})

describe('tool names that an upstream would refuse', () => {
  const names = ['mcp.files/read', `mcp__${'long_'.repeat(20)}name`]
  const tools = names.map(name => ({ type: 'function' as const, function: { name } }))
  const good = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

  test.each([
    'openai',
    'custom_openai',
    'groq',
    'anthropic',
    'gemini',
    'mistral',
    'cohere',
    'bedrock',
    'openai-six',
    'openai-codex',
  ])('are fitted for %s, restored in its answer, and fitted alike in the conversation', async model => {
    for (const name of names)
      for (const streamed of [false, true]) {
        const messages: Messages = [{ role: 'user', content: 'x' }]
        const body = { model, tools, messages, tool_choice: { type: 'function' as const, function: { name } } }
        const answer = streamed
          ? await client.chat.completions.stream(body).finalChatCompletion()
          : await client.chat.completions.create(body)
        const { message } = answer.choices[0]!
        const call = message.tool_calls![0]!
        expect(call.type === 'function' && call.function.name).toBe(name)
        const turns: Messages = [
          ...messages,
          message as OpenAI.ChatCompletionMessageParam,
          { role: 'tool', tool_call_id: call.id, content: 'done' },
        ]
        const last = await client.chat.completions.create({ model, tools, messages: turns })
        expect(last.choices[0]!.message.content).toBe('The tool said: done')
        const sent = JSON.stringify(lastBody())
        for (const one of names) expect(sent).not.toContain(JSON.stringify(one))
        for (const [, sentName] of sent.matchAll(/"name":"([^"]*)"/g)) expect(sentName).toMatch(good)
      }
  })

  test('calls whose names fit are forwarded as they are, also with properties and participants of other names', async () => {
    const parameters = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const fitting = [{ type: 'function', function: { name: 'read_file', parameters } }]
    const messages = [{ role: 'user', name: 'Ada L.', content: 'x', unknown_field: 1 }]
    await post('/v1/chat/completions', { model: 'custom_openai', messages, tools: fitting })
    expect(lastBody()).toMatchObject({ messages, tools: fitting })
  })

  test('are fitted for clients of Messages too', async () => {
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
    const name = names[1]!
    const { content } = await anthropic.messages.create({
      model: 'custom_openai',
      max_tokens: 2000,
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ name, input_schema: { type: 'object' } }],
      tool_choice: { type: 'tool', name },
    })
    expect(content.map(block => block.type === 'tool_use' && block.name)).toEqual([name])
  })
})
