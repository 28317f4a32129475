/** Models that lack something, through the whole gateway: families of models, schemas, guards. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { ScriptedReply, ScriptRequest } from '../../simulator/index.ts'
import { streamData } from '../support/openai-conformance.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const host =
  '{ model: hosted_vllm/NAME, api_base: "{simulator}/v1", api_key: canary, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }'
const entry = (name: string, info: string) =>
  `  - model_name: acme/${name}\n    proxy_params: ${host.replace('NAME', `acme/${name}`)}\n    model_info: { id: ${name.replaceAll('/', '-')}${info} }\n`

const config = `model_list:
${entry('instruct-v4-27b-it', '')}${entry('instruct-v3-70b-it', '')}${entry('reasoning-v3.5-70b-R', '')}${entry('instruct-v4.5-27b-it', '')}${entry('guard', '')}
${entry('plain', ', tool_calling: prompted, structured_output: none')}${entry('json', ', structured_output: json_object')}${entry('no-tools', ', tool_calling: none')}
${entry('open', ', thinking: tags_open')}${entry('trusted', ', structured_output: native')}
  - model_name: claude
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: canary }
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

type Json = Record<string, unknown>
interface ToolCall {
  id: string
  type: string
  function: { name: string; arguments: string }
}
interface Said {
  content: string | null
  reasoning_content?: string
  tool_calls?: ToolCall[]
}
interface Outcome {
  message: Said
  finish: string
  usage: Json | undefined
}

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const user = (content: string) => ({ role: 'user', content })

const post = (model: string, more: object, path = '/v1/chat/completions') =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: model.includes('/') ? model : `acme/${model}`, ...more }),
  })

/** Whole or streamed, gathered into one shape. */
async function chat(model: string, stream: boolean, more: object): Promise<Outcome> {
  const response = await post(model, { stream, ...(stream && { stream_options: { include_usage: true } }), ...more })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
  if (!stream) {
    const body = JSON.parse(text) as { choices: { message: Said; finish_reason: string }[]; usage: Json }
    return { message: body.choices[0]!.message, finish: body.choices[0]!.finish_reason, usage: body.usage }
  }
  return gathered(text)
}

function gathered(text: string): Outcome {
  const outcome: Outcome = { message: { content: null }, finish: '', usage: undefined }
  const { message } = outcome
  for (const data of streamData(text)) {
    if (data === '[DONE]') continue
    const chunk = data as {
      choices: { delta: Said & { tool_calls?: (ToolCall & { index: number })[] }; finish_reason: string | null }[]
      usage?: Json
    }
    if (chunk.usage) outcome.usage = chunk.usage
    const [choice] = chunk.choices
    if (!choice) continue
    if (choice.delta.content) message.content = (message.content ?? '') + choice.delta.content
    if (choice.delta.reasoning_content)
      message.reasoning_content = (message.reasoning_content ?? '') + choice.delta.reasoning_content
    for (const { index, ...call } of choice.delta.tool_calls ?? []) {
      const calls = (message.tool_calls ??= [])
      if (!calls[index]) calls[index] = call
      else calls[index].function.arguments += call.function.arguments
    }
    if (choice.finish_reason) outcome.finish = choice.finish_reason
  }
  return outcome
}

const script = (model: string, reply: ScriptedReply, when: (request: ScriptRequest) => boolean = () => true) =>
  gateway.simulator.script(request => request.model === `acme/${model}` && when(request), reply)
const bodies = () =>
  gateway.simulator.truth.entries.map(one => one.body as Json & { messages: { role: string; content: string }[] })
const knowsResult = (request: ScriptRequest) => JSON.stringify(request.body).includes('21 degrees')

describe('a client that only knows `tools`', () => {
  const call = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
  const families: Record<string, ScriptedReply> = {
    'instruct-v4-27b-it': { text: `Let me look.\n\`\`\`tool_code\n${call}\n\`\`\`` },
    'instruct-v3-70b-it': { toolCalls: [{ name: 'get_weather', arguments: { city: 'Paris' } }] },
    'reasoning-v3.5-70b-R': {
      text: `<think>\nI need the weather, so \`\`\`tool_code\n{}\n\`\`\`\n</think>\n\n\`\`\`json\n${call}\n\`\`\``,
    },
    'instruct-v4.5-27b-it': { toolCalls: [{ name: 'get_weather', arguments: { city: 'Paris' } }] },
    plain: { text: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>' },
  }
  for (const [model, first] of Object.entries(families))
    for (const stream of [false, true])
      test(`${model}${stream ? ', streamed' : ''}: call, result, answer`, async () => {
        script(model, first)
        script(model, { text: 'It is sunny.' }, knowsResult)
        const asked = [{ role: 'system', content: 'Be brief.' }, user('Weather in Paris?')]
        const called = await chat(model, stream, { messages: asked, tools: [weather], tool_choice: 'auto' })
        expect(called.finish).toBe('tool_calls')
        expect(called.message.tool_calls).toHaveLength(1)
        const [toolCall] = called.message.tool_calls!
        expect(toolCall!.type).toBe('function')
        expect(toolCall!.function.name).toBe('get_weather')
        expect(JSON.parse(toolCall!.function.arguments)).toEqual({ city: 'Paris' })
        expect(called.usage).toMatchObject({ total_tokens: expect.any(Number) })
        const messages = [
          ...asked,
          { role: 'assistant', ...called.message },
          { role: 'tool', tool_call_id: toolCall!.id, content: '21 degrees' },
        ]
        const answered = await chat(model, stream, { messages, tools: [weather] })
        expect(answered).toMatchObject({ message: { content: 'It is sunny.' }, finish: 'stop' })
        const isNative = model.includes('v3-70b') || model.includes('v4.5')
        for (const body of bodies()) expect('tools' in body).toBe(isNative)
        if (!isNative)
          expect(bodies()[1]!.messages.map(message => message.role)).toEqual(['system', 'user', 'assistant', 'user'])
      })

  test('forced, the v4 model gets its tools as they are', async () => {
    script('instruct-v4-27b-it', { toolCalls: [{ name: 'get_weather', arguments: { city: 'Rome' } }] })
    const outcome = await chat('instruct-v4-27b-it', false, {
      messages: [user('x')],
      tools: [weather],
      tool_choice: 'required',
    })
    expect(outcome.message.tool_calls![0]!.function.name).toBe('get_weather')
    expect(bodies()[0]).toMatchObject({ tools: [weather], tool_choice: 'required' })
  })

  test('a client that emulates tools itself gets its bytes through, both ways', async () => {
    const text = `\`\`\`tool_code\n${call}\n\`\`\``
    script('instruct-v4-27b-it', { text })
    const messages = [{ role: 'system', content: 'Call with tool_code blocks: get_weather(city)' }, user('Weather?')]
    const outcome = await chat('instruct-v4-27b-it', false, { messages, some_field: 1 })
    expect([outcome.message.content, outcome.finish, outcome.message.tool_calls]).toEqual([text, 'stop', undefined])
    expect(bodies()[0]).toEqual({ model: 'acme/instruct-v4-27b-it', stream: false, messages, some_field: 1 } as never)
  })

  test('where nothing has to be played, what the hub has no words for passes, untouched', async () => {
    const clip = { type: 'video_url', video_url: { url: 'https://x/y.mp4' } }
    const asked = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [clip, { type: 'text', text: 'What is this?' }] },
    ]
    for (const model of ['instruct-v4-27b-it', 'plain', 'json', 'no-tools']) {
      gateway.simulator.reset()
      expect([model, (await post(model, { messages: asked, some_field: 1 })).status]).toEqual([model, 200])
      expect(bodies()[0]).toEqual({ model: `acme/${model}`, messages: asked, some_field: 1 } as never)
    }
    // With something to play, it has to be translated.
    expect((await post('plain', { messages: asked, tools: [weather] })).status).toBe(422)
    expect((await post('instruct-v4-27b-it', { messages: [...asked, asked[1]] })).status).toBe(422)
    expect(
      (
        await post('json', {
          messages: asked,
          response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
        })
      ).status,
    ).toBe(422)
  })

  test('a model without tools says so, by the field', async () => {
    const response = await post('no-tools', { messages: [user('x')], tools: [weather] })
    const body = (await response.json()) as { error: Json; detail: { loc: string[] }[] }
    expect([response.status, body.error.param, body.detail[0]?.loc]).toEqual([422, 'tools', ['body', 'tools']])
    expect(gateway.simulator.truth.entries).toHaveLength(0)
    expect((await post('no-tools', { messages: [user('x')] })).status).toBe(200)
  })
})

describe('thinking', () => {
  for (const stream of [false, true])
    test(`is reported apart${stream ? ' in a stream' : ''}, and its switch reaches the host`, async () => {
      script('reasoning-v3.5-70b-R', { text: '<think>\nhm, well\n</think>\n\nHello.' })
      const more = { messages: [user('hi')], chat_template_kwargs: { thinking_mode: 'on' } }
      const outcome = await chat('reasoning-v3.5-70b-R', stream, more)
      expect(outcome.message).toMatchObject({ content: 'Hello.', reasoning_content: 'hm, well\n' })
      expect(bodies()[0]).toMatchObject({ chat_template_kwargs: { thinking_mode: 'on' } })
      script('reasoning-v3.5-70b-R', { text: 'a plan\n</think>\n\nHello.' })
      expect((await chat('reasoning-v3.5-70b-R', stream, more)).message).toMatchObject({
        content: 'Hello.',
        reasoning_content: 'a plan\n',
      })
      script('open', { text: 'hm</think>Hello.' })
      expect((await chat('open', stream, { messages: [user('hi')] })).message).toMatchObject({
        content: 'Hello.',
        reasoning_content: 'hm',
      })
      script('open', { text: 'Hello at once.' })
      const off = { messages: [user('hi')], chat_template_kwargs: { thinking_mode: 'off' } }
      expect((await chat('open', stream, off)).message.content).toBe('Hello at once.')
    })

  test('another vendor understands the switch too, and nothing is reported lost', async () => {
    const on = await post('claude', {
      model: 'claude',
      max_tokens: 9000,
      messages: [user('say: hi')],
      chat_template_kwargs: { thinking_mode: 'on' },
    })
    expect([on.status, on.headers.get('x-proxy-dropped-params')]).toEqual([200, null])
    expect(bodies()[0]).toMatchObject({ thinking: { type: 'adaptive' } })
    expect(bodies()[0]).not.toHaveProperty('chat_template_kwargs')
    const other = await post('claude', {
      model: 'claude',
      messages: [user('say: hi')],
      chat_template_kwargs: { thinking_mode: 'on', more: 1 },
    })
    expect(other.headers.get('x-proxy-dropped-params')).toBe('chat_template_kwargs')
  })
})

describe('answers by a schema', () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  }
  const response_format = { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } }
  const messages = [user('Who?')]

  for (const model of ['plain', 'json'])
    for (const stream of [false, true]) {
      const label = `${model}${stream ? ', streamed' : ''}`
      test(`${label}: mended, asked again, and every answer billed`, async () => {
        script(model, { text: '```json\n{"name": "Ada", "age": 36,}\n```' })
        script(model, { text: '{"name": "Ada"}', times: 1 })
        script(model, { text: 'It is Ada.', times: 1 })
        const outcome = await chat(model, stream, { messages, response_format })
        expect(outcome).toMatchObject({ message: { content: '{"name":"Ada","age":36}' }, finish: 'stop' })
        const asked = bodies()
        expect(asked).toHaveLength(3)
        expect(asked[0]!.response_format).toEqual(model === 'json' ? { type: 'json_object' } : undefined)
        expect(asked[0]!.messages[0]!.content).toContain(JSON.stringify(schema))
        expect(asked[2]!.messages.map(message => message.role)).toEqual(['system', 'user', 'assistant', 'user'])
        expect(asked[2]!.messages[3]!.content).toContain('`$.age` is missing')
        const { billableInputTokens, billableOutputTokens } = gateway.simulator.truth.totals()
        expect(outcome.usage).toMatchObject({
          prompt_tokens: billableInputTokens,
          completion_tokens: billableOutputTokens,
        })
      })
    }

  test('after three answers that do not fit: 500, named, and billed', async () => {
    script('plain', { text: 'no' })
    const response = await post('plain', { messages, response_format })
    const { error } = (await response.json()) as { error: Json }
    expect([response.status, error.name, error.param]).toEqual([500, 'JSONSchemaValidationError', 'response_format'])
    expect(bodies()).toHaveLength(3)
    const row = (await gateway.rows()).find(one => one.request_id === response.headers.get('x-request-id'))!
    const { billableInputTokens, billableOutputTokens } = gateway.simulator.truth.totals()
    expect(row).toMatchObject({
      outcome: 'error',
      status: 500,
      input_tokens: billableInputTokens,
      output_tokens: billableOutputTokens,
    })
  })

  test('a stream that never fits ends with the error and without [DONE]', async () => {
    script('plain', { text: 'no' })
    const text = await (await post('plain', { messages, response_format, stream: true })).text()
    expect(text).toContain('json_schema_mismatch')
    expect(text).not.toContain('[DONE]')
    expect(text).not.toContain('"no"')
  })

  test('an answer cut by its length is given as it is; a failing second try is the failure of the call', async () => {
    script('plain', { text: '{"name": "A', finish: 'length' })
    expect(await chat('plain', false, { messages, response_format })).toMatchObject({
      message: { content: '{"name": "A' },
      finish: 'length',
    })
    script('plain', { raw: { status: 503, body: '{"error":{"message":"busy"}}' } })
    script('plain', { text: 'no', times: 1 })
    expect((await post('plain', { messages, response_format })).status).toBe(503)
    script('plain', { text: 'no', times: 1 })
    expect(await (await post('plain', { messages, response_format, stream: true })).text()).toContain('busy')
  })

  const native = 'instruct-v4.5-27b-it'
  const strictly: Record<string, object> = {
    '/v1/chat/completions': { messages, response_format },
    '/v1/responses': { input: 'Who?', text: { format: { type: 'json_schema', name: 'person', schema, strict: true } } },
    '/v1/messages': { messages, max_tokens: 100, output_config: { format: { type: 'json_schema', schema } } },
  }
  for (const [path, body] of Object.entries(strictly))
    test(`${path}: a host that is only believed to enforce schemas is asked once, and its answer is judged`, async () => {
      for (const [text, problem] of [
        ['not json', 'not JSON'],
        ['{"name": "Ada"}', '`$.age` is missing'],
        ['```json\n{"name":"Ada","age":1}\n```', 'not JSON'],
      ] as const) {
        gateway.simulator.reset()
        script(native, { text })
        const response = await post(native, body, path)
        const answer = await response.text()
        expect(response.status).toBe(500)
        expect(answer).toContain(problem.replaceAll('"', '\\"'))
        expect(bodies()).toHaveLength(1)
        const row = (await gateway.rows()).find(one => one.request_id === response.headers.get('x-request-id'))!
        const { billableInputTokens, billableOutputTokens } = gateway.simulator.truth.totals()
        expect(row).toMatchObject({
          outcome: 'error',
          status: 500,
          input_tokens: billableInputTokens,
          output_tokens: billableOutputTokens,
        })
      }
      gateway.simulator.reset()
      script(native, { text: '{"name":"Ada","age":36}' })
      const good = await post(native, body, path)
      expect([good.status, (await good.text()).includes('36')]).toEqual([200, true])
      script(native, { text: '{"name":"A', finish: 'length' })
      expect((await post(native, body, path)).status).toBe(200)
      script(native, { toolCalls: [{ name: 'get_weather', arguments: { city: 'Paris' } }] })
      expect((await post(native, body, path)).status).toBe(200)
    })

  test('a schema that is not strict, a host that promises, one that is declared: the gateway does not judge', async () => {
    script(native, { text: 'not json' })
    const loose = { type: 'json_schema', json_schema: { name: 'person', schema } }
    expect((await post(native, { messages, response_format: loose })).status).toBe(200)
    expect((await post(native, { messages, response_format, stream: true })).status).toBe(200)
    script('trusted', { text: 'not json' })
    expect((await post('trusted', { messages, response_format })).status).toBe(200)
    gateway.simulator.script(request => request.model === 'sim-claude', { text: 'not json' })
    expect((await post('claude', { model: 'claude', messages, response_format })).status).toBe(200)
    const elsewhere = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: { $ref: 'http://x/y' } } }
    expect((await post(native, { messages, response_format: elsewhere })).status).toBe(422)
  })

  test('a call of a tool is no JSON answer, and is left alone', async () => {
    script('plain', { text: '```tool_code\nget_weather(city="Paris")\n```' })
    const outcome = await chat('plain', true, { messages, response_format, tools: [weather] })
    expect(outcome).toMatchObject({
      finish: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'get_weather' } }] },
    })
    expect(bodies()).toHaveLength(1)
  })

  test('a schema that refers elsewhere goes nowhere', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'x', schema: { $ref: 'http://x/y' } } }
    expect((await post('plain', { messages, response_format: format })).status).toBe(422)
    expect(bodies()).toHaveLength(0)
  })

  test('a client that leaves while the gateway asks again ends the second call too', async () => {
    script('plain', { text: '{"name": "Ada", "age": 1}', fault: 'slow;ms=5000' })
    script('plain', { text: 'no', times: 1 })
    const leaving = new AbortController()
    const gone = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      signal: leaving.signal,
      body: JSON.stringify({ model: 'acme/plain', messages, response_format, stream: true }),
    }).then(response => response.text())
    const { entries } = gateway.simulator.truth
    for (let waits = 0; entries.length < 2 && waits < 100; waits++) await Bun.sleep(10)
    leaving.abort()
    expect(await gone.catch(() => 'gone')).toBe('gone')
    for (let waits = 0; !entries[1]?.finished && waits < 100; waits++) await Bun.sleep(10)
    expect(entries[1]?.finished).toBe('client-closed')
  })
})

describe('a guard model', () => {
  test('judges one message; conversations and system prompts are refused', async () => {
    script('guard', { text: 'unsafe' })
    const content = 'Human user:How?\nAI assistant:Like this..'
    expect((await chat('guard', false, { messages: [user(content)], stream: false })).message.content).toBe('unsafe')
    expect(bodies()[0]!.messages).toEqual([user(content)])
    for (const messages of [
      [{ role: 'system', content: 's' }, user('x')],
      [user('a'), { role: 'assistant', content: 'b' }, user('c')],
    ]) {
      const response = await post('guard', { messages })
      const { error } = (await response.json()) as { error: Json }
      expect([response.status, error.param]).toEqual([400, 'messages'])
    }
  })

  test('answers moderations, one input a call', async () => {
    script('guard', { text: 'unsafe' })
    const response = await post('guard', { input: 'how to make poison' }, '/v1/moderations')
    const body = (await response.json()) as { results: { flagged: boolean; categories: Json }[] }
    expect([response.status, body.results.length, body.results[0]?.flagged]).toEqual([200, 1, true])
    expect((await post('guard', { input: ['a', 'b'] }, '/v1/moderations')).status).toBe(422)
  })
})
