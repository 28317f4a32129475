/** Tools of the gateway that it runs for a model: one answer of several turns, in each dialect, whole and streamed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolTestServer } from '../support/tool-server.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let server: ToolTestServer
let key: string
let client: OpenAI

/** Upstreams of three dialects: the tools are the same, and so is the run. */
const models = ['openai-chat', 'openai-responses', 'claude', 'gemini'] as const

beforeAll(async () => {
  server = startToolServer({ generation: 'stateless', more: ['second'] })
  gateway = await startGateway({
    config: `
model_list:
  - model_name: openai-chat
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: openai-responses
    proxy_params: { model: openai/gpt-5.1, api_base: "{simulator}/v1", api_key: k }
  - model_name: claude
    proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "{simulator}", api_key: k }
  - model_name: gemini
    proxy_params: { model: gemini/gemini-2.5-flash, api_base: "{simulator}/v1beta", api_key: k }
mcp_servers:
  local:
    url: "${server.url}"
    allow_all_keys: true
    mcp_info: { mcp_server_cost_info: { default_cost_per_query: 0.01 } }
  closed:
    url: "${server.url}"
`,
  })
  key = await gateway.key({ key_alias: 'loop' })
  client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.stop()
  await server.stop()
})

const mcp = (more: object = {}) => ({
  type: 'mcp' as const,
  server_label: 'mine',
  server_url: 'litellm_proxy/local',
  require_approval: 'never' as const,
  ...more,
})

interface Wish {
  readonly name: string
  readonly arguments: unknown
}
const echo: Wish = { name: 'local-echo', arguments: { text: 'hello' } }

/** The model asks for these tools, one list a turn, and then says what it was told. */
function scripted(...turns: readonly Wish[][]): void {
  gateway.simulator.script({}, { text: 'It said hello.', times: 1 })
  for (const toolCalls of turns.toReversed()) gateway.simulator.script({}, { toolCalls, times: 1 })
}

const typesOf = (items: readonly { type: string }[]) => items.map(({ type }) => type)
const lastBody = () => JSON.stringify(gateway.simulator.truth.entries.at(-1))

describe.each([...models])('responses on %s', model => {
  test('a run is one answer: the list, the call with its result, and the text', async () => {
    scripted([echo])
    const before = server.calls.length
    const response = await client.responses.create({ model, input: 'Echo hello', tools: [mcp()] } as never)
    const made = response as OpenAI.Responses.Response
    expect(typesOf(made.output)).toEqual(['mcp_list_tools', 'mcp_call', 'message'])
    expect(made.output[0]).toMatchObject({ server_label: 'mine', tools: [{ name: 'local-echo' }, {}, {}, {}] })
    expect(made.output[1]).toMatchObject({
      name: 'local-echo',
      server_label: 'mine',
      status: 'completed',
      output: 'stateless: hello',
      error: null,
    })
    expect(made.output_text).toBe('It said hello.')
    expect(made.tools).toMatchObject([{ type: 'mcp', server_label: 'mine' }])
    expect(server.calls.slice(before)).toMatchObject([{ tool: 'echo', arguments: { text: 'hello' } }])
    expect(lastBody()).toContain('stateless: hello')
  })

  test('the stream has the same items, each event once, in one numbering', async () => {
    scripted([echo, { name: 'local-second', arguments: {} }], [echo])
    const stream = await client.responses.create({ model, input: 'Echo', stream: true, tools: [mcp()] } as never)
    const events: Record<string, any>[] = []
    for await (const event of stream as unknown as AsyncIterable<Record<string, any>>) events.push(event)
    expect(events.map(one => one.sequence_number)).toEqual(events.map((_, at) => at))
    const done = events.filter(one => one.type === 'response.output_item.done')
    expect(done.map(one => [one.output_index, one.item.type])).toEqual([
      [0, 'mcp_list_tools'],
      [1, 'mcp_call'],
      [2, 'mcp_call'],
      [3, 'mcp_call'],
      [4, 'message'],
    ])
    const added = events.filter(one => one.type === 'response.output_item.added')
    expect(added.map(one => one.output_index)).toEqual([0, 1, 2, 3, 4])
    expect(added.map(one => one.item.id)).toEqual(done.map(one => one.item.id))
    const last = events.at(-1)!
    expect(last.type).toBe('response.completed')
    expect(last.response.output).toEqual(done.map(one => one.item))
    expect(last.response.output.map((item: { output?: string }) => item.output)).toEqual([
      undefined,
      'stateless: hello',
      'second',
      'stateless: hello',
      undefined,
    ])
    expect(events.filter(one => one.type === 'response.created').length).toBe(1)
    expect(events.filter(one => String(one.type).startsWith('response.function_call')).length).toBe(0)
    expect(events.filter(one => one.type === 'response.mcp_call.completed').length).toBe(3)
  })
})

describe('responses', () => {
  const model = 'openai-chat'
  const create = (body: object) => client.responses.create({ model, ...body } as never) as unknown as Promise<any>

  test('a call waits for agreement; agreed to it is run, refused to the model is told', async () => {
    for (const approve of [true, false]) {
      scripted([echo])
      const asked = await create({ input: 'Echo hello', tools: [mcp({ require_approval: 'always' })] })
      expect(typesOf(asked.output)).toEqual(['mcp_list_tools', 'mcp_approval_request'])
      const before = server.calls.length
      const [, { id: approval_request_id }] = asked.output
      const answered = await create({
        previous_response_id: asked.id,
        input: [{ type: 'mcp_approval_response', approval_request_id, approve }],
        tools: [mcp({ require_approval: 'always' })],
      })
      expect(answered.output_text).toBe('It said hello.')
      expect(server.calls.length - before).toBe(approve ? 1 : 0)
      expect(lastBody()).toContain(approve ? 'stateless: hello' : 'did not agree')
      const calls = answered.output.filter((item: { type: string }) => item.type === 'mcp_call')
      expect(calls).toMatchObject(approve ? [{ approval_request_id, output: 'stateless: hello' }] : [])
    }
  })

  test('what was run is part of the conversation that goes on', async () => {
    scripted([echo])
    const first = await create({ input: 'Echo hello', tools: [mcp()] })
    gateway.simulator.script({}, { text: 'Again.', times: 1 })
    const next = await create({ previous_response_id: first.id, input: 'And now?', tools: [mcp()] })
    expect(next.output_text).toBe('Again.')
    expect(lastBody()).toContain('stateless: hello')
  })

  test('a function of the client beside the tools goes to the client, with what was run', async () => {
    scripted([echo, { name: 'weather', arguments: { city: 'Bonn' } }])
    const own = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }
    const made = await create({ input: 'Both', tools: [mcp(), own] })
    expect(typesOf(made.output)).toEqual(['mcp_list_tools', 'mcp_call', 'function_call'])
  })

  test.each([
    ['a server that the key may not use', mcp({ server_url: 'litellm_proxy/closed' }), 403],
    ['no server of this name', mcp({ server_url: 'modelgate/nothing' }), 403],
    ['no tool left', mcp({ allowed_tools: ['other'] }), 400],
    ['no label', { ...mcp(), server_label: undefined }, 400],
  ])('%s is refused, and nothing is sent', async (_name, tool, status) => {
    const before = gateway.simulator.truth.entries.length
    const error = await create({ input: 'Echo', tools: [tool] }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect((error as { status?: number }).status).toBe(status)
    expect(gateway.simulator.truth.entries.length).toBe(before)
  })

  test('the bound of the request holds: what is beyond it is told to the model', async () => {
    scripted([echo], [echo], [echo])
    const before = server.calls.length
    const made = await create({ input: 'Echo', max_tool_calls: 1, tools: [mcp()] })
    expect(server.calls.length - before).toBe(1)
    expect(made.output.filter((item: { type: string }) => item.type === 'mcp_call').length).toBeGreaterThan(0)
  })

  test('a tool that fails, or cannot be called, is told to the model and shown', async () => {
    scripted([{ name: 'local-fail', arguments: {} }])
    const made = await create({ input: 'Fail', tools: [mcp()] })
    expect(made.output[1]).toMatchObject({ type: 'mcp_call', status: 'failed', error: 'it went wrong', output: null })
    expect(made.output_text).toBe('It said hello.')
  })

  test('a budget that is spent ends the run between its turns, with the reason, and nothing more is asked', async () => {
    const poor = await gateway.key({ max_budget: 0.0102 })
    const own = new OpenAI({ apiKey: poor, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    scripted([echo], [echo], [echo])
    const before = server.calls.length
    const stream = await own.responses.create({ model, input: 'Echo', stream: true, tools: [mcp()] } as never)
    const events: any[] = []
    for await (const event of stream as unknown as AsyncIterable<any>) events.push(event)
    expect(server.calls.length - before).toBe(1)
    const last = events.at(-1)
    expect(last.type === 'response.failed' || last.response.output.some((item: any) => item.error)).toBe(true)
    gateway.simulator.reset()
  })

  test('each turn and each tool has a row: of the session, the tool of its turn, with its price', async () => {
    scripted([echo])
    const sessionId = `session-${crypto.randomUUID()}`
    const options = { headers: { 'x-proxy-session-id': sessionId } }
    await client.responses.create({ model, input: 'Echo', tools: [mcp()] } as never, options)
    const rows = await gateway.rows(`&session_id=${sessionId}`)
    const byOperation = (operation: string) => rows.filter(row => row.operation === operation)
    expect([byOperation('chat').length, byOperation('tools').length]).toEqual([2, 1])
    const [tool] = byOperation('tools')
    expect(tool).toMatchObject({ tool_server: 'local', tool_name: 'echo', cost_nano_usd: '10000000' })
    expect(byOperation('chat').map(row => row.request_id)).toContain(tool!.parent_call_id!)
  })
})

describe.each([...models])('chat completions on %s', model => {
  const body = (more: object = {}) => ({
    model,
    messages: [{ role: 'user', content: 'Echo hello' }],
    tools: [mcp()],
    ...more,
  })
  const shown = {
    mcp_tool_calls: [{ function: { name: 'local-echo' } }],
    mcp_call_results: [{ name: 'local-echo', result: 'stateless: hello', is_error: false }],
  }

  test('the answer is that of the last turn, and says what was run', async () => {
    scripted([echo])
    const completion = (await client.chat.completions.create(body() as never)) as any
    const [{ message, finish_reason: finish }] = completion.choices
    expect([message.content, finish, message.tool_calls]).toEqual(['It said hello.', 'stop', undefined])
    expect(message.provider_specific_fields).toMatchObject(shown)
    expect(lastBody()).toContain('stateless: hello')
  })

  test('as a stream: the text alone, one end, and the usage of all turns', async () => {
    scripted([echo], [echo])
    const sent = body({ stream: true, stream_options: { include_usage: true } })
    const before = gateway.simulator.truth.entries.length
    const stream = (await client.chat.completions.create(sent as never)) as unknown as AsyncIterable<any>
    const chunks: any[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const deltas = chunks.flatMap(chunk => chunk.choices.map((choice: any) => choice.delta))
    expect(deltas.map(delta => delta.content ?? '').join('')).toBe('It said hello.')
    expect(deltas.some(delta => delta.tool_calls)).toBe(false)
    expect(deltas.filter(delta => delta.role).length).toBe(1)
    expect(chunks.flatMap(chunk => chunk.choices.flatMap((choice: any) => choice.finish_reason ?? []))).toEqual([
      'stop',
    ])
    expect(new Set(chunks.map(chunk => chunk.id)).size).toBe(1)
    const told = deltas.find(delta => delta.provider_specific_fields)!.provider_specific_fields
    expect(told.mcp_call_results.map((one: { result: string }) => one.result)).toEqual([
      'stateless: hello',
      'stateless: hello',
    ])
    const turns = gateway.simulator.truth.entries.slice(before)
    const outputs = turns.reduce((sum, entry) => sum + entry.billable.outputTokens, 0)
    expect(chunks.at(-1).usage.completion_tokens).toBe(outputs)
  })
})

describe('chat completions', () => {
  const create = (more: object) =>
    client.chat.completions.create({
      model: 'openai-chat',
      messages: [{ role: 'user', content: 'Echo hello' }],
      ...more,
    } as never) as unknown as Promise<any>

  test('a tool that needs agreement is a call for the client', async () => {
    scripted([echo])
    const before = server.calls.length
    const { choices } = await create({ tools: [mcp({ require_approval: 'always' })] })
    expect(choices[0].finish_reason).toBe('tool_calls')
    expect(choices[0].message.tool_calls).toMatchObject([{ function: { name: 'local-echo' } }])
    expect(server.calls.length).toBe(before)
  })

  test('the call of a function of its own goes to the client, alone', async () => {
    scripted([echo, { name: 'weather', arguments: { city: 'Bonn' } }])
    const own = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }
    for (const stream of [false, true]) {
      if (stream) scripted([echo, { name: 'weather', arguments: { city: 'Bonn' } }])
      const made = await create({ tools: [own, mcp()], stream })
      const names: string[] = []
      if (stream)
        for await (const chunk of made)
          for (const { delta } of chunk.choices)
            for (const { index, function: called } of delta.tool_calls ?? [])
              if (called.name) names.push(`${index} ${called.name}`)
      if (stream) expect(names).toEqual(['0 weather'])
      else expect(made.choices[0].message.tool_calls.map((one: any) => one.function.name)).toEqual(['weather'])
    }
  })

  test('tools that the key may not use are refused, and nothing is sent', async () => {
    const before = gateway.simulator.truth.entries.length
    const refused = create({ tools: [mcp({ server_url: 'litellm_proxy/closed' })] })
    expect(
      await refused.then(
        () => 200,
        (thrown: { status: number }) => thrown.status,
      ),
    ).toBe(403)
    expect(gateway.simulator.truth.entries.length).toBe(before)
  })
})

describe.each([...models])('messages on %s', model => {
  const anthropic = () => new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 })
  const body = (more: object = {}) => ({
    model,
    max_tokens: 500,
    messages: [{ role: 'user', content: 'Echo hello' }],
    mcp_servers: [{ type: 'url', url: 'litellm_proxy/local', name: 'mine' }],
    betas: ['mcp-client-2025-04-04'],
    ...more,
  })
  const create = (more?: object) => anthropic().beta.messages.create(body(more) as never) as unknown as Promise<any>
  const blocks = [
    { type: 'mcp_tool_use', name: 'local-echo', server_name: 'mine', input: { text: 'hello' } },
    { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'stateless: hello' }] },
    { type: 'text', text: 'It said hello.' },
  ]

  test('the answer has the calls with their results, and goes on from them later', async () => {
    scripted([echo])
    const message = await create()
    expect(message.content).toMatchObject(blocks)
    expect(message.content[1].tool_use_id).toBe(message.content[0].id)
    expect(message.stop_reason).toBe('end_turn')
    gateway.simulator.script({}, { text: 'Again.', times: 1 })
    const next = await create({
      messages: [
        { role: 'user', content: 'Echo hello' },
        { role: 'assistant', content: message.content },
        { role: 'user', content: 'And now?' },
      ],
    })
    expect(next.content).toMatchObject([{ type: 'text', text: 'Again.' }])
    expect(lastBody()).toContain('stateless: hello')
    // The servers need not be named again: what was run is part of the conversation.
    gateway.simulator.script({}, { text: 'Without them.', times: 1 })
    const later = await create({
      mcp_servers: undefined,
      messages: [
        { role: 'user', content: 'Echo hello' },
        { role: 'assistant', content: message.content },
        { role: 'user', content: 'And now?' },
      ],
      tools: [{ name: 'other', input_schema: { type: 'object' } }],
    })
    expect(later.content).toMatchObject([{ type: 'text', text: 'Without them.' }])
    expect(lastBody()).toContain('stateless: hello')
    expect(lastBody()).not.toContain('mcp_tool_use')
  })

  test('as a stream: the same blocks, in one numbering, and one end', async () => {
    scripted([echo])
    const stream = anthropic().beta.messages.stream(body() as never)
    const indexes: number[] = []
    let ends = 0
    for await (const event of stream as AsyncIterable<any>) {
      if (event.type === 'content_block_start') indexes.push(event.index)
      if (event.type === 'message_stop') ends++
    }
    const message = (await stream.finalMessage()) as any
    expect(message.content).toMatchObject(blocks)
    expect([indexes, ends, message.stop_reason]).toEqual([[0, 1, 2], 1, 'end_turn'])
  })
})
