/** A format of JSON beside tools, at hosts whose models take one of the two in a call. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { ScriptedReply } from '../../simulator/index.ts'
import type { Target } from '../../src/core/provider.ts'
import { providers } from '../../src/providers/index.ts'
import { streamData } from '../support/openai-conformance.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

/** By the public name: what the host calls it, and where it is. */
const lacking = {
  'gemini-2.5': ['gemini/gemini-2.5-flash', '{simulator}/v1beta'],
  cohere: ['cohere/command-a-03-2025', '{simulator}'],
  groq: ['groq/llama-3.3-70b-versatile', '{simulator}/host/groq/v1'],
  cerebras: ['cerebras/gpt-oss-120b', '{simulator}/host/cerebras/v1'],
  'claude-3': ['anthropic/claude-3-5-haiku-20241022', '{simulator}'],
  nova: ['bedrock/amazon.nova-pro-v1:0', '{simulator}'],
} as const
const taking = { 'gemini-3': ['gemini/gemini-3-pro-preview', '{simulator}/v1beta'] } as const
const config = `model_list:
${Object.entries({ ...lacking, ...taking })
  .map(([name, [model, base]]) => {
    const region = model.startsWith('bedrock/') ? ', aws_region_name: us-east-1' : ''
    const params = `model: "${model}", api_base: "${base}", api_key: canary, drop_params: false${region}`
    return `  - { model_name: ${name}, proxy_params: { ${params} } }`
  })
  .join('\n')}
router_settings: { num_retries: 0 }
`

let gateway: Gateway
let key: string

beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

type Fields = Record<string, any>

const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] }
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const asked = {
  messages: [{ role: 'user', content: 'How old?' }],
  tools: [tool],
  response_format: { type: 'json_schema', json_schema: { name: 'person', schema } },
}

const post = (body: object, path = '/v1/chat/completions') =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** The text and the names of the calls of an answer, whole or streamed. */
async function said(response: Response, stream: boolean): Promise<readonly [text: string, calls: readonly string[]]> {
  const text = await response.text()
  expect([response.status, response.status === 200 ? '' : text]).toEqual([200, ''])
  const parts = stream
    ? streamData(text)
        .flatMap(one => (typeof one === 'string' ? [] : ((one as Fields).choices as Fields[])))
        .map(one => one.delta)
    : [JSON.parse(text).choices[0].message]
  const calls = parts.flatMap(part => (part.tool_calls ?? []) as Fields[]).map(call => call.function.name)
  return [parts.map(part => part.content ?? '').join(''), calls.filter(name => name !== undefined)]
}

const script = (reply: ScriptedReply) => gateway.simulator.script(() => true, reply)
const bodies = () => gateway.simulator.truth.entries.map(one => one.body as Fields)

describe.each(Object.keys(lacking))('%s', model => {
  test.each([false, true])('is asked in the prompt, and again for what does not fit (streamed: %p)', async stream => {
    script({ text: '{"age": 36}' })
    script({ text: 'ok', times: 1 })
    const response = await post({ model, stream, ...asked })
    expect(await said(response, stream)).toEqual(['{"age": 36}', []])
    const sent = bodies()
    expect(sent).toHaveLength(2)
    for (const body of sent) {
      const json = JSON.stringify(body)
      expect(json).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1))
      expect(json).toContain('look')
      for (const field of ['response_format', 'responseMimeType', 'responseJsonSchema'])
        expect(json).not.toContain(field)
    }
  })

  test.each([false, true])('may call a tool instead (streamed: %p)', async stream => {
    script({ toolCalls: [{ name: 'look', arguments: {} }] })
    expect(await said(await post({ model, stream, ...asked }), stream)).toEqual(['', ['look']])
    expect(bodies()).toHaveLength(1)
  })

  test('has the format enforced where the call has no tools', async () => {
    script({ text: '{"age": 36}' })
    const { tools: _tools, ...rest } = asked
    expect((await post({ model, ...rest })).status).toBe(200)
    const [body, ...more] = bodies()
    expect(more).toEqual([])
    expect(JSON.stringify(body)).toMatch(/"(?:responseMimeType|response_format|gateway_json_answer)"/)
  })
})

test('an answer that never fits is an error that names the format, and no answer', async () => {
  script({ text: 'ok' })
  const response = await post({ model: 'gemini-2.5', ...asked })
  const { error } = (await response.json()) as Fields
  expect([response.status, error.param, bodies().length]).toEqual([500, 'response_format', 3])
})

test('a JSON object without a schema is asked for and checked, too', async () => {
  script({ text: '{"any": 1}' })
  script({ text: 'ok', times: 1 })
  const response = await post({ model: 'gemini-2.5', ...asked, response_format: { type: 'json_object' } })
  expect(await said(response, false)).toEqual(['{"any": 1}', []])
})

test('clients of the other dialects have it, too', async () => {
  const generate = '/v1beta/models/gemini-2.5:generateContent'
  const requests: readonly (readonly [path: string, body: object])[] = [
    [
      '/v1/responses',
      {
        model: 'gemini-2.5',
        input: 'How old?',
        tools: [{ type: 'function', ...tool.function }],
        text: { format: { type: 'json_schema', name: 'person', schema } },
      },
    ],
    [
      '/v1/messages',
      {
        model: 'gemini-2.5',
        max_tokens: 99,
        messages: asked.messages,
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
        output_config: { format: { type: 'json_schema', schema } },
      },
    ],
    [
      generate,
      {
        contents: [{ role: 'user', parts: [{ text: 'How old?' }] }],
        tools: [{ functionDeclarations: [tool.function] }],
        generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
      },
    ],
  ]
  for (const [path, body] of requests) {
    gateway.simulator.reset()
    script({ text: '{"age": 36}' })
    script({ text: 'ok', times: 1 })
    const response = await post(body, path)
    expect([path, response.status, JSON.stringify(await response.json()).includes('{\\"age\\": 36}')]).toEqual([
      path,
      200,
      true,
    ])
    expect(bodies()).toHaveLength(2)
  }
})

test('a model that takes both is sent both', async () => {
  script({ text: '{"age": 36}' })
  expect(await said(await post({ model: 'gemini-3', ...asked }), false)).toEqual(['{"age": 36}', []])
  const [body, ...more] = bodies()
  expect(more).toEqual([])
  expect(body!.generationConfig).toMatchObject({ responseMimeType: 'application/json', responseJsonSchema: schema })
})

test('hosts of several vendors decide by the model', () => {
  const takes = (name: string, model: string) => providers.get(name)!.takesFormatBesideTools!({ model } as Target)
  const taken = ['gemini-2.5-pro', 'gemini-3-pro-preview', 'claude-3-5-haiku@20241022', 'claude-sonnet-4-6']
  expect(taken.map(model => takes('vertex_ai', model))).toEqual([false, true, false, true])
  expect(takes('bedrock', 'us.anthropic.claude-sonnet-4-6')).toBe(true)
})
