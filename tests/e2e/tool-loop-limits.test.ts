/** Runs with tools of the gateway against models that misbehave: what they can cost, and what of a turn reaches the next. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolTestServer } from '../support/tool-server.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Body = Record<string, any>

let gateway: Gateway
let server: ToolTestServer
let key: string
let upstream: ReturnType<typeof Bun.serve>
/** What the model was sent, and what it says to it. */
let asked: Body[] = []
let answers: (body: Body, turn: number) => unknown = () => ({})

const sse = (events: readonly Body[], isChat: boolean): Response =>
  new Response(
    events.map(one => `${isChat ? '' : `event: ${one.type}\n`}data: ${JSON.stringify(one)}\n\n`).join('') +
      (isChat ? 'data: [DONE]\n\n' : ''),
    { headers: { 'content-type': 'text/event-stream' } },
  )

beforeAll(async () => {
  server = startToolServer({ generation: 'stateless' })
  upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = (await request.json()) as Body
      asked.push(body)
      if (asked.length > 200) return new Response('{"error":{"message":"enough"}}', { status: 400 })
      const said = answers(body, asked.length)
      if (said instanceof Response) return said
      return Array.isArray(said) ? sse(said, request.url.endsWith('/chat/completions')) : Response.json(said)
    },
  })
  const base = `http://127.0.0.1:${upstream.port}`
  gateway = await startGateway({
    config: `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/m, api_base: "${base}/v1", api_key: k }
  - model_name: responses
    proxy_params: { model: openai/gpt-5.1, api_base: "${base}/v1", api_key: k }
  - model_name: claude
    proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "${base}", api_key: k }
mcp_servers:
  local:
    url: "${server.url}"
    allow_all_keys: true
`,
  })
  key = await gateway.key({ key_alias: 'loop' })
})
afterAll(async () => {
  await gateway.stop()
  await server.stop()
  await upstream.stop(true)
})

async function send(path: string, body: Body, says: typeof answers): Promise<Body> {
  asked = []
  answers = says
  const answer = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  return text.startsWith('{') ? JSON.parse(text) : { text }
}

const mcp = (more: Body = {}) => ({
  type: 'mcp',
  server_label: 'mine',
  server_url: 'modelgate/local',
  require_approval: 'never',
  ...more,
})
const chatCall = (id: string, args = '{"text":"hi"}', more: Body = {}) => ({
  id,
  type: 'function',
  function: { name: 'local-echo', arguments: args },
  ...more,
})
const completion = (message: Body) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, ...message },
      finish_reason: message.tool_calls ? 'tool_calls' : 'stop',
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const chunks = (delta: Body, finish: string) => [
  {
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }],
  },
  {
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: {}, finish_reason: finish }],
  },
  {
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
]
const response = (output: readonly Body[]) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'gpt-5.1',
  output,
  usage: {
    input_tokens: 1,
    output_tokens: 1,
    total_tokens: 2,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  temperature: 1,
  top_p: 1,
})
const called = (id: string, more: Body = {}) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'local-echo',
  arguments: '{"text":"hi"}',
  status: 'completed',
  ...more,
})
const message = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'done', annotations: [] }],
}
const claudeMessage = (content: readonly Body[], stop: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
})

/** A model that asks for a tool again whatever it is told. */
const claudeServers = [{ type: 'url', name: 'mine', url: 'modelgate/local' }]
const user = [{ role: 'user', content: 'x' }]

test('a model that never stops to ask for tools is left after 25 turns, in every dialect', async () => {
  const before = server.calls.length
  const chat = await send('/v1/chat/completions', { model: 'chat', messages: user, tools: [mcp()] }, (_, turn) =>
    completion({ tool_calls: [chatCall(`c${turn}`)] }),
  )
  expect(asked.length).toBe(25)
  expect(asked.at(-1)).toMatchObject({ tool_choice: 'none' })
  expect(server.calls.length - before).toBe(24)
  expect(chat.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant' } })
  expect(chat.choices[0].message.tool_calls).toBeUndefined()
  expect(chat.choices[0].message.provider_specific_fields.mcp_call_results.at(-1)).toMatchObject({ is_error: true })

  const made = await send('/v1/responses', { model: 'responses', input: 'x', tools: [mcp()] }, (_, turn) =>
    response([called(`c${turn}`)]),
  )
  expect(asked.length).toBe(25)
  expect(made.output.at(-1)).toMatchObject({ type: 'mcp_call', status: 'failed' })

  const message = await send(
    '/v1/messages',
    { model: 'claude', max_tokens: 10, messages: user, mcp_servers: claudeServers },
    (_, turn) =>
      claudeMessage([{ type: 'tool_use', id: `t${turn}`, name: 'local-echo', input: { text: 'x' } }], 'tool_use'),
  )
  expect(asked.length).toBe(25)
  expect(message).toMatchObject({ stop_reason: 'pause_turn' })
  expect(message.content.at(-1)).toMatchObject({ type: 'mcp_tool_result', is_error: true })
})

test('a model that has spent the calls of its request, and asks on, is left', async () => {
  const tools = [mcp()]
  const made = await send('/v1/responses', { model: 'responses', input: 'x', max_tool_calls: 1, tools }, (_, turn) =>
    response([called(`c${turn}`)]),
  )
  expect(asked.length).toBe(2)
  expect(made.output.map((item: Body) => item.status)).toEqual([undefined, 'completed', 'failed'])
})

test('a call of any kind that waits for the client ends the run: no model is asked with a call unanswered', async () => {
  const custom = {
    type: 'custom_tool_call',
    id: 'ctc_1',
    call_id: 'cc',
    name: 'apply_patch',
    input: 'x',
    status: 'completed',
  }
  const tools = [mcp(), { type: 'custom', name: 'apply_patch' }]
  const made = await send('/v1/responses', { model: 'responses', input: 'x', tools }, () =>
    response([called('c1'), custom]),
  )
  expect(asked.length).toBe(1)
  expect(made.output.map((item: Body) => item.type)).toEqual(['mcp_list_tools', 'mcp_call', 'custom_tool_call'])
})

const agreed = [
  { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'mine', name: 'local-echo', arguments: '{"text":"hi"}' },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
]

test('one agreement runs its call once, however often it is said', async () => {
  const before = server.calls.length
  const input = [...agreed, agreed[1], { ...agreed[1], approve: false }]
  await send('/v1/responses', { model: 'responses', input, tools: [mcp({ require_approval: 'always' })] }, () =>
    response([message]),
  )
  expect(server.calls.length - before).toBe(1)
  expect(asked[0]!.input.map((item: Body) => item.type)).toEqual(['function_call', 'function_call_output'])
})

test('what was agreed to is not run for a model that cannot be asked', async () => {
  const before = server.calls.length
  const tools = [mcp({ require_approval: 'always' })]
  const { error } = await send('/v1/responses', { model: 'none-such', input: agreed, tools }, () => response([message]))
  expect(error).toMatchObject({ code: 'model_not_found' })
  expect(server.calls.length - before).toBe(0)
})

test('what was run is known to the models of a conversation that goes on without the tools, or by another label', async () => {
  const first = await send('/v1/responses', { model: 'responses', input: 'x', tools: [mcp()] }, (_, turn) => ({
    ...response(turn === 1 ? [called('c1')] : [message]),
    id: `resp_${turn}`,
  }))
  const onward = { previous_response_id: first.id, input: 'y' }
  const known = [
    { type: 'function_call', name: 'local-echo' },
    { type: 'function_call_output', output: 'stateless: hi' },
  ]
  for (const more of [{}, { tools: [mcp({ server_label: 'renamed' })] }]) {
    await send('/v1/responses', { model: 'responses', ...onward, ...more }, () => response([message]))
    expect(asked[0]!.input.slice(1, 3)).toMatchObject(known)
    expect(JSON.stringify(asked[0]!.input)).not.toContain('mcp_')
  }
  await send('/v1/responses', { model: 'chat', ...onward }, () => completion({ content: 'done' }))
  expect(asked[0]!.messages[2]).toMatchObject({ role: 'tool', content: 'stateless: hi' })
  const vendors = [{ type: 'mcp', server_label: 'mine', server_url: 'https://example.com/mcp' }]
  await send('/v1/responses', { model: 'responses', ...onward, tools: vendors }, () => response([message]))
  expect(asked[0]!.input[2]).toMatchObject({ type: 'mcp_call', server_label: 'mine' })
})

test('two calls of one id in a turn are two items of the stream', async () => {
  const stream = (turn: number) => {
    const two = [called('same', { id: 'fc_1' }), called('same', { id: 'fc_2', arguments: '{"text":"two"}' })]
    const output: Body[] = turn === 1 ? two : [message]
    const begun = { ...response([]), status: 'in_progress' }
    return [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      ...output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item },
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: response(output) },
    ]
  }
  const { text } = await send(
    '/v1/responses',
    { model: 'responses', input: 'x', stream: true, tools: [mcp()] },
    (_, turn) => stream(turn),
  )
  const events: Body[] = text
    .split('\n')
    .flatMap((line: string) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
  const done = events.filter(one => one.type === 'response.output_item.done')
  expect(done.map(one => one.output_index)).toEqual([0, 1, 2, 3])
  expect(done.map(one => one.item)).toEqual(events.at(-1)!.response.output)
})

test('a chat that is streamed gives the model back its thinking and signatures with its calls', async () => {
  const thinking = {
    reasoning_content: 'hm',
    thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'U0lH' }],
  }
  const call = { index: 0, ...chatCall('c1'), extra_content: { google: { thought_signature: 'AAAA' } } }
  const body = {
    model: 'claude',
    stream: true,
    max_tokens: 4000,
    reasoning_effort: 'low',
    messages: user,
    tools: [mcp()],
  }
  await send('/v1/chat/completions', { ...body, model: 'chat' }, (_, turn) =>
    turn === 1 ? chunks({ ...thinking, tool_calls: [call] }, 'tool_calls') : chunks({ content: 'done' }, 'stop'),
  )
  expect(asked[1]!.messages[1]).toMatchObject({ reasoning_content: 'hm', tool_calls: [{ id: 'c1' }] })
  const events = (turn: number) => [
    { type: 'message_start', message: { ...claudeMessage([], ''), stop_reason: null } },
    ...(turn === 1
      ? [
          { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'U0lH' } },
          { type: 'content_block_stop', index: 0 },
          {
            type: 'content_block_start',
            index: 1,
            content_block: { type: 'tool_use', id: 't1', name: 'local-echo', input: {} },
          },
          { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"text":"x"}' } },
          { type: 'content_block_stop', index: 1 },
        ]
      : [
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'ok' } },
          { type: 'content_block_stop', index: 0 },
        ]),
    {
      type: 'message_delta',
      delta: { stop_reason: turn === 1 ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 3 },
    },
    { type: 'message_stop' },
  ]
  await send('/v1/chat/completions', body, (_, turn) => events(turn))
  expect(asked[1]!.messages[1].content).toMatchObject([
    { type: 'thinking', thinking: 'hm', signature: 'U0lH' },
    { type: 'tool_use', id: 't1' },
  ])
  expect(asked[1]!.thinking).toBeDefined()
})

test('a choice among tools holds for all turns; one that was demanded is free after the first', async () => {
  const within = {
    type: 'allowed_tools',
    mode: 'required',
    tools: [{ type: 'mcp', server_label: 'mine', name: 'echo' }],
  }
  const turns = (_: Body, turn: number) => response(turn === 1 ? [called('c1')] : [message])
  await send('/v1/responses', { model: 'responses', input: 'x', tool_choice: within, tools: [mcp()] }, turns)
  const tools = [{ type: 'function', name: 'local-echo' }]
  expect(asked.map(body => body.tool_choice)).toEqual([
    { type: 'allowed_tools', mode: 'required', tools },
    { type: 'allowed_tools', mode: 'auto', tools },
  ])
  for (const [choice, later] of [
    ['none', 'none'],
    ['required', 'auto'],
  ]) {
    await send('/v1/responses', { model: 'responses', input: 'x', tool_choice: choice, tools: [mcp()] }, turns)
    expect(asked.map(body => body.tool_choice)).toEqual([choice, later])
  }
})
