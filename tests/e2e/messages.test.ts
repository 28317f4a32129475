/**
 * Anthropic's dialect through a real gateway: forwarded to the simulator's Anthropic upstream, translated to its OpenAI
 * one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { frameSplitter } from '../../src/lib/frame-splitter.ts'
import { masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Block {
  type: string
  text?: string
  id?: string
  name?: string
  input?: Record<string, unknown>
  thinking?: string
  signature?: string
}

interface Message {
  id: string
  type: string
  model: string
  content: Block[]
  stop_reason: string | null
  usage: Record<string, number>
  error?: { type: string; message: string }
  request_id?: string
}

interface StreamEvent {
  type: string
  index?: number
  message?: Message
  content_block?: Block
  delta?: Record<string, string>
  usage?: Record<string, number>
  error?: { type: string; message: string }
}

let gateway: Gateway
let key: string

beforeAll(async () => {
  const own = `
  - model_name: strict-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: upstream-key-canary-1, drop_params: false }
  - model_name: failing-first
    proxy_params: { model: "anthropic/sim#status;code=529", api_base: "{simulator}", api_key: upstream-key-canary-2, order: 1 }
  - model_name: failing-first
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: upstream-key-canary-1, order: 2 }
router_settings:`
  const config = standardConfig
    .replace('router_settings:', own.trimStart().replace(/^/, '  '))
    .replace('num_retries: 0', 'num_retries: 1')
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const ask = (model: string, text: string, more: object = {}) => ({
  model,
  max_tokens: 2000,
  messages: [{ role: 'user', content: text }],
  ...more,
})
const post = (
  body: unknown,
  { path = '/v1/messages', headers = { 'x-api-key': key } as Record<string, string> } = {},
) => fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
const json = async (response: Response) => (await response.json()) as Message
const eventsOf = async (response: Response): Promise<StreamEvent[]> =>
  frameSplitter()
    .push(await response.bytes())
    .map(({ event, data }) => {
      const value = JSON.parse(data) as StreamEvent
      expect(value.type).toBe(event!)
      return value
    })
const said = (events: readonly StreamEvent[]): string => events.map(event => event.delta?.text ?? '').join('')
const upstreamBody = () => gateway.simulator.truth.entries.at(-1)!.body as Record<string, unknown>
const rowOf = async (response: Response) =>
  (await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`))[0]!

for (const model of ['chat-model', 'claude-model'])
  describe(model, () => {
    test('whole and streamed, on every path and with every key header', async () => {
      const places: { path: string; headers?: Record<string, string> }[] = [
        { path: '/v1/messages?beta=true' },
        { path: '/messages', headers: { authorization: `Bearer ${key}` } },
        { path: '/anthropic/v1/messages/', headers: { 'x-api-key': key, 'anthropic-version': '2026-10-21' } },
      ]
      for (const place of places) {
        const whole = await post(ask(model, 'say: hello there'), place)
        expect([whole.status, whole.headers.get('content-type'), whole.headers.get('request-id')]).toEqual([
          200,
          'application/json',
          whole.headers.get('x-request-id'),
        ])
        const message = await json(whole)
        expect(message).toMatchObject({
          type: 'message',
          model,
          content: [{ type: 'text', text: 'hello there' }],
          stop_reason: 'end_turn',
        })
        expect([
          message.id.startsWith('msg_'),
          message.usage.input_tokens! > 0,
          message.usage.output_tokens! > 0,
        ]).toEqual([true, true, true])

        const streamed = await post(ask(model, 'say: hello there', { stream: true }), place)
        expect(streamed.headers.get('content-type')).toStartWith('text/event-stream')
        const events = await eventsOf(streamed)
        expect([said(events), events[0]!.message!.model]).toEqual(['hello there', model])
        expect([events[0]!.type, events.at(-2)!.delta!.stop_reason, events.at(-1)!.type]).toEqual([
          'message_start',
          'end_turn',
          'message_stop',
        ])
        expect(events.at(-2)!.usage!.output_tokens).toBe(message.usage.output_tokens!)
      }
    })

    test('one row a call, with the usage of the upstream and the end user', async () => {
      for (const stream of [false, true]) {
        const response = await post(
          ask(model, 'say: hello there\ncached: 3', { stream, metadata: { user_id: 'user-7' } }),
        )
        await response.text()
        const row = await rowOf(response)
        expect(row).toMatchObject({
          operation: 'chat',
          route: '/v1/messages',
          outcome: 'success',
          usage_source: 'upstream',
          end_user: 'user-7',
          stream,
        })
        const { billable } = gateway.simulator.truth.entries.at(-1)!
        expect([row.input_tokens, row.output_tokens]).toEqual([billable.inputTokens, billable.outputTokens])
        expect(Number(row.cost_nano_usd)).toBeGreaterThan(0)
      }
    })

    test('the reasons why an answer ends', async () => {
      const cut = await json(await post(ask(model, 'tokens: 50', { max_tokens: 5 })))
      expect([cut.stop_reason, cut.usage.output_tokens]).toEqual(['max_tokens', 5])
      const stopped = await json(await post(ask(model, 'say: one END two', { stop_sequences: ['END'] })))
      expect(stopped.content[0]!.text!.trim()).toBe('one')
      const schema = {
        type: 'object',
        properties: { age: { type: 'integer' } },
        required: ['age'],
        additionalProperties: false,
      }
      const person = await json(
        await post(ask(model, 'a person', { output_config: { format: { type: 'json_schema', schema } } })),
      )
      expect(JSON.parse(person.content[0]!.text!)).toEqual({ age: expect.any(Number) })
    })

    test('a tool loop with a picture in the result', async () => {
      const tools = [
        {
          name: 'look',
          description: 'Looks',
          input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ]
      const asked = await json(
        await post(
          ask(model, 'Look at Paris, use the tool', {
            tools,
            tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
          }),
        ),
      )
      const call = asked.content.find(block => block.type === 'tool_use')!
      expect([asked.stop_reason, call.name, Object.keys(call.input!)]).toEqual(['tool_use', 'look', ['city']])
      const streamed = await eventsOf(await post(ask(model, 'Look at Paris, use the tool', { tools, stream: true })))
      const input = streamed.map(event => event.delta?.partial_json ?? '').join('')
      expect([
        streamed.find(event => event.content_block?.type === 'tool_use')!.content_block!.name,
        typeof (JSON.parse(input) as { city: unknown }).city,
      ]).toEqual(['look', 'string'])
      const pixel = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
      const messages = [
        { role: 'user', content: 'Look at Paris' },
        { role: 'assistant', content: asked.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: call.id, content: [{ type: 'text', text: 'sunny' }, pixel] }],
        },
      ]
      const answered = await json(await post({ model, max_tokens: 100, tools, messages }))
      // OpenAI takes no pictures in results: there it stands behind them, and is what the simulator speaks of.
      expect(answered.content[0]!.text).toContain(model === 'claude-model' ? 'sunny' : 'I see 1 image')
      expect(JSON.stringify(upstreamBody().messages)).toContain('sunny')
    })
  })

describe('forwarded', () => {
  test("the client's bytes, its version and betas, the operator's key", async () => {
    const sent = ask('claude-model', 'say: x', {
      system: [{ type: 'text', text: 'x-anthropic-billing-header: a' }],
      context_management: { edits: [] },
      futureField: { a: 1 },
    })
    const headers = {
      authorization: `Bearer ${key}`,
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'one-1,two-2',
      'x-other': 'stays here',
    }
    expect(
      (await post({ ...sent, api_base: 'https://evil' }, { headers, path: '/v1/messages?beta=true' })).status,
    ).toBe(200)
    const entry = gateway.simulator.truth.entries.at(-1)!
    expect(entry.body).toEqual({ ...sent, model: 'sim-claude' })
    expect([
      entry.path,
      entry.headers['anthropic-version'],
      entry.headers['anthropic-beta'],
      entry.headers['x-api-key'],
      entry.headers['x-other'],
      entry.headers.authorization,
    ]).toEqual(['/v1/messages', '2026-10-21', 'one-1,two-2', 'present', undefined, undefined])
    // Without a version of its own the client gets the deployment's.
    await post(ask('claude-model', 'say: x'))
    expect(gateway.simulator.truth.entries.at(-1)!.headers['anthropic-version']).toBe('2023-06-01')
  })

  test("Claude's thinking goes there and back, marked thinking of others stays here", async () => {
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    const first = await json(await post(ask('claude-model', 'say: x', { thinking })))
    expect(first.content.map(block => block.type)).toEqual(['thinking', 'text'])
    const foreign = { type: 'thinking', thinking: 'elsewhere', signature: 'modelgate-unsigned' }
    const messages = [
      { role: 'user', content: 'say: x' },
      { role: 'assistant', content: [foreign, ...first.content] },
      { role: 'user', content: 'say: y' },
    ]
    const response = await post({ model: 'claude-model', max_tokens: 2000, thinking, messages })
    expect([response.status, response.headers.get('x-proxy-dropped-params')]).toEqual([
      200,
      'messages.content.thinking',
    ])
    expect((upstreamBody().messages as { content: unknown }[])[1]!.content).toEqual(first.content)
  })
})

describe('translated', () => {
  test('a request of Claude Code in the words of OpenAI', async () => {
    const user = JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's' })
    const body = {
      ...ask('chat-model', ''),
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc=1' },
        { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'say: ok', cache_control: { type: 'ephemeral' } }] },
        { role: 'system', content: 'a reminder' },
      ],
      tools: [
        { name: 'Bash', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      context_management: { edits: [] },
      metadata: { user_id: user },
    }
    const response = await post(body, { path: '/v1/messages?beta=true' })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-proxy-dropped-params')!.split(',').sort()).toEqual([
      'cache_control',
      'tools.web_search_20250305',
    ])
    expect(upstreamBody()).toMatchObject({
      messages: [
        { role: 'system', content: 'You are an agent.' },
        { role: 'user', content: 'say: ok' },
        { role: 'system', content: 'a reminder' },
      ],
      tools: [{ type: 'function', function: { name: 'Bash' } }],
      reasoning_effort: 'high',
      user: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    })
    expect(JSON.stringify(upstreamBody())).not.toContain('billing')
    const [block] = (await json(response)).content
    // The simulator thinks when it is asked to, without a signature.
    expect([block!.type, block!.signature]).toEqual(['thinking', 'modelgate-unsigned'])
    expect((await rowOf(response)).end_user).toBe(user)
  })

  test('what an upstream cannot take is refused where the operator wants that', async () => {
    const refused = await post(
      ask('strict-model', 'x', { mcp_servers: [{ type: 'url', url: 'https://mcp.example.com', name: 'm' }] }),
    )
    expect([refused.status, (await json(refused)).error]).toEqual([
      422,
      { type: 'invalid_request_error', message: expect.stringContaining('mcp_servers') as string },
    ])
    const bash = await post(ask('chat-model', 'x', { tools: [{ type: 'bash_20250124', name: 'bash' }] }))
    expect([bash.status, (await json(bash)).error!.message]).toEqual([422, expect.stringContaining('tools.0.type')])
  })

  test('a deployment that fails is replaced by one of another dialect', async () => {
    for (const stream of [false, true]) {
      const response = await post(ask('failing-first', 'say: saved', { stream }))
      expect([response.status, response.headers.get('x-proxy-attempted-retries')]).toEqual([200, '1'])
      expect(stream ? said(await eventsOf(response)) : (await json(response)).content[0]!.text).toBe('saved')
    }
  })
})

describe('failures', () => {
  test("errors are Anthropic's, wherever they come from", async () => {
    const failures: [object, number, string][] = [
      [ask('nope', 'x'), 404, 'not_found_error'],
      [{ ...ask('chat-model', 'x'), max_tokens: undefined }, 422, 'invalid_request_error'],
      [ask('nobody', 'x'), 503, 'api_error'],
      [ask('fault/sim#429', 'x'), 429, 'rate_limit_error'],
      [ask('claude-fault/sim#429', 'x'), 429, 'rate_limit_error'],
      [ask('claude-fault/sim#status;code=529', 'x'), 503, 'overloaded_error'],
      [ask('claude-fault/sim#status;code=401', 'x', { stream: true }), 502, 'api_error'],
      [ask('claude-fault/sim#truncated-json', 'x'), 502, 'api_error'],
      [ask('embedding-model', 'x'), 400, 'invalid_request_error'],
      // Claude Code reads these words and shortens its conversation.
      [ask('fault/sim#status;code=400;kind=context-length', 'x'), 400, 'prompt is too long'],
      [ask('claude-fault/sim#status;code=400;kind=context-length', 'x'), 400, 'prompt is too long'],
    ]
    for (const [body, status, word] of failures) {
      const response = await post(body)
      const answer = await json(response)
      expect([body, response.status, answer.type]).toEqual([body, status, 'error'])
      expect(answer.request_id).toBe(response.headers.get('request-id')!)
      expect(`${answer.error!.type} ${answer.error!.message}`).toContain(word)
      expect(answer.error!.message).not.toContain('canary')
    }
    for (const path of ['/v1/messages', '/anthropic/v1/messages/count_tokens']) {
      const stranger = await post(ask('chat-model', 'x'), { path, headers: { 'x-api-key': 'sk-wrong' } })
      const answer = await json(stranger)
      expect([stranger.status, answer.error!.type]).toEqual([401, 'authentication_error'])
      expect(answer.request_id).toBe(stranger.headers.get('x-request-id')!)
    }
    const notJson = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: '{"model"',
    })
    expect([notJson.status, (await json(notJson)).error!.type]).toEqual([400, 'invalid_request_error'])
  })

  for (const prefix of ['fault/sim', 'claude-fault/sim']) {
    for (const fault of [
      'cut;at=6',
      'cut-chunked;at=6',
      'cut-reset;at=6',
      'cut-close-delimited;at=6',
      'error-in-stream;at=6',
      'no-finish',
    ])
      test(`${prefix} ${fault}: what came, then an error event, and no end`, async () => {
        const response = await post(ask(`${prefix}#${fault}`, 'tokens: 20', { stream: true }))
        // What breaks together with the first content: nothing has gone out, so its status is still true.
        if (!fault.startsWith('cut') && response.status >= 500) {
          const overloaded = fault.startsWith('error') && prefix !== 'fault/sim'
          return expect((await json(response)).error!.type).toBe(overloaded ? 'overloaded_error' : 'api_error')
        }
        const events = await eventsOf(response)
        expect(events.at(-1)!.type).toBe('error')
        expect([said(events).length > 0, events.some(event => event.type === 'message_stop')]).toEqual([true, false])
        expect((await rowOf(response)).outcome).toBe('upstream_cut')
      })

    for (const fault of ['no-done', 'split-utf8'])
      test(`${prefix} ${fault}: a complete stream`, async () => {
        const events = await eventsOf(await post(ask(`${prefix}#${fault}`, 'say: Grüße ✓ 😀', { stream: true })))
        expect([said(events), events.at(-1)!.type]).toEqual(['Grüße ✓ 😀', 'message_stop'])
      })

    test(`${prefix}: usage that is absurd or missing is estimated, not believed`, async () => {
      for (const fault of ['bad-usage', 'no-usage'])
        for (const stream of [false, true]) {
          const response = await post(ask(`${prefix}#${fault}`, 'tokens: 20', { stream }))
          expect([response.status, (await response.text()).length > 0]).toEqual([200, true])
          expect((await rowOf(response)).usage_source).toBe('estimated')
        }
    })
  }
})

describe('count_tokens', () => {
  const body = (model: string, more: object = {}) => ({
    model,
    messages: [{ role: 'user', content: 'Hello, Claude. How are you today?' }],
    ...more,
  })
  const count = async (asked: object, path = '/v1/messages/count_tokens') => {
    const response = await post(asked, { path })
    return { response, tokens: ((await response.json()) as { input_tokens: number }).input_tokens }
  }

  test("by the vendor's counter, and free", async () => {
    const { response, tokens } = await count(body('claude-model'), '/v1/messages/count_tokens?beta=true')
    expect([response.status, tokens > 3, response.headers.get('x-token-count-source')]).toEqual([200, true, null])
    expect(gateway.simulator.truth.entries.at(-1)).toMatchObject({
      path: '/v1/messages/count_tokens',
      body: { ...body('sim-claude') },
    })
    expect(await rowOf(response)).toMatchObject({
      operation: 'count-tokens',
      route: '/v1/messages/count_tokens',
      input_tokens: 0,
      cost_nano_usd: '0',
    })
  })

  test('estimated where nobody counts, without any call of the upstream', async () => {
    const before = gateway.simulator.truth.entries.length
    const { response, tokens } = await count(body('chat-model'), '/anthropic/v1/messages/count_tokens')
    expect([
      response.status,
      response.headers.get('x-token-count-source'),
      response.headers.get('x-proxy-model-id'),
    ]).toEqual([200, 'estimate', 'chat-deployment'])
    expect(tokens).toBeWithin(8, 25)
    const tools = [
      {
        name: 'weather',
        description: 'The weather of a city',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ]
    expect((await count(body('chat-model', { tools, system: 'Be brief.' }))).tokens).toBeGreaterThan(tokens + 20)
    // A host that cannot be reached can be counted for, and so can a built-in model.
    expect((await count(body('nobody'))).tokens).toBe(tokens)
    expect(gateway.simulator.truth.entries.length).toBe(before)
    expect(await rowOf(response)).toMatchObject({
      operation: 'count-tokens',
      outcome: 'success',
      deployment_id: 'chat-deployment',
      input_tokens: 0,
      cost_nano_usd: '0',
    })
  })

  test('it passes the policies: models of the key, limits, and one row a call', async () => {
    const narrow = await gateway.key({ models: ['claude-model'], rpm_limit: 2 })
    const asNarrow = (model: string) =>
      post(body(model), { path: '/v1/messages/count_tokens', headers: { 'x-api-key': narrow } })
    const refused = await asNarrow('chat-model')
    expect([refused.status, (await json(refused)).error!.type]).toEqual([403, 'permission_error'])
    const wide = await gateway.key({ models: ['chat-model'], rpm_limit: 1 })
    const asWide = () => post(body('chat-model'), { path: '/v1/messages/count_tokens', headers: { 'x-api-key': wide } })
    expect((await asWide()).status).toBe(200)
    const limited = await asWide()
    expect([limited.status, (await json(limited)).error!.type]).toEqual([429, 'rate_limit_error'])
    expect((await count(body('nope'))).response.status).toBe(404)
  })

  test('the other dialects count the same way', async () => {
    const { tokens } = await count(body('chat-model'))
    const contents = [{ role: 'user', parts: [{ text: 'Hello, Claude. How are you today?' }] }]
    const gemini = await fetch(`${gateway.url}/v1beta/models/chat-model:countTokens`, {
      method: 'POST',
      headers: { 'x-goog-api-key': key },
      body: JSON.stringify({ contents }),
    })
    expect(await gemini.json()).toEqual({ totalTokens: tokens })
  })
})

test('the paths are documented', async () => {
  const document = (await (
    await fetch(`${gateway.url}/openapi.json`, { headers: { authorization: `Bearer ${masterKey}` } })
  ).json()) as { paths: Record<string, unknown> }
  expect(Object.keys(document.paths)).toContain('/v1/messages')
  expect(Object.keys(document.paths)).toContain('/v1/messages/count_tokens')
})
