/** Compaction by OpenAI's own client: on models of other vendors, and at upstreams that compact by themselves. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

const config = `
model_list:
  - model_name: claude
    proxy_params: { model: anthropic/claude-sim, api_base: "{simulator}", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: gpt
    proxy_params: { model: custom_openai/gpt-sim, api_base: "{simulator}/v1", api_key: k }
  - model_name: summarizer
    proxy_params: { model: custom_openai/small-sim, api_base: "{simulator}/v1", api_key: k }
  - model_name: cut
    proxy_params: { model: custom_openai/cut-sim, api_base: "{simulator}/v1", api_key: k }
  - model_name: silent
    proxy_params: { model: custom_openai/silent-sim, api_base: "{simulator}/v1", api_key: k }
  - model_name: own
    proxy_params: { model: custom_openai/own-sim, api_base: "{simulator}/v1", forward_client_credentials: [custom_openai] }
  - model_name: azure-gpt
    proxy_params: { model: azure/gpt-sim, api_base: "{simulator}", api_key: k, api_version: v1 }
`
const summary = '1. Task: mend the parser. 3. Files: src/parser.ts.'
let gateway: Gateway
let client: OpenAI

beforeAll(async () => {
  gateway = await startGateway({ config })
  gateway.simulator.script({ text: /context of this conversation is full/ }, { text: summary })
  gateway.simulator.script(
    { text: /context of this conversation is full/, model: 'cut-sim' },
    { text: summary, finish: 'length' },
  )
  gateway.simulator.script({ text: /context of this conversation is full/, model: 'silent-sim' }, { text: '' })
  client = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})
afterAll(() => gateway.stop())

const user = (content: string): ResponseInputItem => ({ type: 'message', role: 'user', content })
const conversation: ResponseInputItem[] = [
  user('Mend the parser.'),
  { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"file":"src/parser.ts"}' },
  { type: 'function_call_output', call_id: 'c1', output: 'the parser' },
  { type: 'message', role: 'assistant', content: 'I have read it.' },
]
const tools = [
  { type: 'function' as const, name: 'read', strict: false, parameters: { type: 'object', properties: {} } },
]
const headers = { 'x-proxy-session-id': 'compacting' }
/** What the upstream was sent last, as text. */
const lastSent = (): string => JSON.stringify(gateway.simulator.truth.entries.at(-1)!.body)
const fails = async (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: { status: number; message: string; code: string }) => error,
  )

describe.each(['claude', 'gpt'])('on %s, which does not compact', model => {
  test('compact() gives one item, that later requests expand', async () => {
    const compacted = await client.responses.compact({ model, input: conversation, instructions: 'Be brief.' })
    expect(compacted.object).toBe('response.compaction')
    expect(compacted.output.map(({ type }) => type)).toEqual(['message', 'compaction'])
    expect(JSON.stringify(compacted.output)).not.toContain('parser.ts')
    expect(compacted.usage.output_tokens).toBeGreaterThan(0)
    const next = await client.responses.create({
      model,
      input: [...(compacted.output as ResponseInputItem[]), user('say: going on')],
      store: false,
    })
    expect(next.output_text).toBe('going on')
    expect(lastSent()).toContain('src/parser.ts')
    expect(lastSent()).not.toContain('I have read it')
  })

  test('a trigger is answered with one item, also in a stream', async () => {
    const input: ResponseInputItem[] = [...conversation, { type: 'compaction_trigger' }]
    const whole = await client.responses.create({ model, input, tools, store: false })
    expect(whole.output).toEqual([
      { id: expect.stringMatching(/^cmp_/), type: 'compaction', encrypted_content: expect.stringMatching(/^mg1\./) },
    ])
    const types: string[] = []
    const stream = client.responses.stream({ model, input, tools, store: false })
    for await (const event of stream) types.push(event.type)
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    expect((await stream.finalResponse()).output.map(({ type }) => type)).toEqual(['compaction'])
  })

  test('an open call keeps its place: its result comes after the item', async () => {
    const open: ResponseInputItem = { type: 'function_call', call_id: 'c2', name: 'read', arguments: '{}' }
    const { output } = await client.responses.create({
      model,
      input: [...conversation, open, { type: 'compaction_trigger' }],
      tools,
      store: false,
    })
    const next = await client.responses.create({
      model,
      input: [
        ...(output as ResponseInputItem[]),
        { type: 'function_call_output', call_id: 'c2', output: 'result of c2' },
      ],
      tools,
      store: false,
    })
    expect(next.status).toBe('completed')
    expect(lastSent()).toContain('result of c2')
  })

  test('a full conversation is compacted before it is answered', async () => {
    const long = [user('old '.repeat(2000)), ...conversation, user('say: answered')]
    const context_management = [{ type: 'compaction', compact_threshold: 1000 }]
    const whole = await client.responses.create({ model, input: long, context_management, store: false }, { headers })
    expect(whole.output.map(({ type }) => type)).toEqual(['compaction', 'message'])
    expect(whole.output_text).toBe('answered')
    expect(lastSent()).not.toContain('old old')
    const stream = client.responses.stream({ model, input: long, context_management, store: false }, { headers })
    const events = []
    for await (const event of stream) events.push(event)
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, at) => at))
    const final = await stream.finalResponse()
    expect(final.output.map(({ type }) => type)).toEqual(['compaction', 'message'])
    expect(final.output_text).toBe('answered')
    const next = await client.responses.create({
      model,
      input: [...long, ...(final.output as ResponseInputItem[]), user('say: on')],
      context_management,
      store: false,
    })
    expect(next.output.map(({ type }) => type)).toEqual(['message'])
    expect(lastSent()).not.toContain('old old')
    const below = await client.responses.create({ model, input: conversation, context_management, store: false })
    expect(below.output.map(({ type }) => type)).toEqual(['message'])
  })

  test('items that nobody here can open are refused with a sentence', async () => {
    const ask = (encrypted_content: string) =>
      client.responses.create({ model, input: [{ type: 'compaction', encrypted_content }, user('hi')] })
    expect(await fails(ask('gAAAA-of-openai'))).toMatchObject({
      status: 400,
      code: 'invalid_encrypted_content',
      message: expect.stringContaining('was not made by this gateway'),
    })
    expect(await fails(ask('mg9.compaction.v1.0.0'))).toMatchObject({
      status: 400,
      message: expect.stringContaining('another version'),
    })
  })
})

test('an item is of no use to another tenant', async () => {
  const [one, other] = await Promise.all(['one', 'two'].map(team_id => gateway.key({ team_id })))
  const as = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const { output } = await as(one!).responses.compact({ model: 'gpt', input: conversation })
  const input = [...(output as ResponseInputItem[]), user('say: yes')]
  expect((await as(one!).responses.create({ model: 'gpt', input })).output_text).toBe('yes')
  expect(await fails(as(other!).responses.create({ model: 'gpt', input }))).toMatchObject({
    status: 400,
    message: expect.stringContaining('made for another team, user or key'),
  })
})

test('compaction is charged, and in the ledger as a call of the session', async () => {
  const input = [user('old '.repeat(2000)), user('say: x')]
  const context_management = [{ type: 'compaction', compact_threshold: 1000 }]
  const session = { headers: { 'x-proxy-session-id': 'charged' } }
  await client.responses.create({ model: 'claude', input, context_management, store: false }, session)
  await client.responses.compact({ model: 'claude', input }, session)
  const rows = await gateway.rows('&session_id=charged')
  expect(rows.map(({ route }) => route).toSorted()).toEqual([
    '/v1/responses',
    '/v1/responses/compact',
    '/v1/responses/compact',
  ])
  for (const row of rows) expect(Number(row.cost_nano_usd)).toBeGreaterThan(0)
})

test.each(['cut', 'silent'])('a summary that is %s takes the place of nothing', async model => {
  const input = [user('old '.repeat(2000)), user('say: answered')]
  const context_management = [{ type: 'compaction', compact_threshold: 1000 }]
  const whole = await client.responses.create({ model, input, context_management, store: false })
  expect([whole.output_text, whole.output.map(({ type }) => type)]).toEqual(['answered', ['message']])
  expect(lastSent()).toContain('old old')
  expect((await fails(client.responses.compact({ model, input }))).status).toBe(502)
})

test("a summary is bound by the budget of the client's session, and is made with the client's own credentials", async () => {
  const input = [user('old '.repeat(2000)), user('say: x')]
  const context_management = [{ type: 'compaction', compact_threshold: 1000 }]
  const budget = { headers: { 'x-proxy-session-id': 'poor', 'x-proxy-session-budget': '0.0000001' } }
  const sent = gateway.simulator.truth.entries.length
  const refused = await fails(
    client.responses.create({ model: 'claude', input, context_management, store: false }, budget),
  )
  expect([refused.status, gateway.simulator.truth.entries.length]).toEqual([429, sent])
  const own = { headers: { 'x-proxy-api-key': masterKey, authorization: 'Bearer key-of-a-person' } }
  const whole = await client.responses.create({ model: 'own', input, context_management, store: false }, own)
  expect(whole.output.map(({ type }) => type)).toEqual(['compaction', 'message'])
})

test('a conversation that is stored is compacted, and goes on by its id', async () => {
  const first = await client.responses.create({ model: 'claude', input: 'Remember this.' })
  const compacted = await client.responses.compact({ model: 'claude', previous_response_id: first.id })
  expect(compacted.output.map(({ type }) => type)).toEqual(['message', 'compaction'])
  const trigger: ResponseInputItem[] = [{ type: 'compaction_trigger' }]
  const second = await client.responses.create({ model: 'claude', previous_response_id: first.id, input: trigger })
  const third = await client.responses.create({
    model: 'claude',
    previous_response_id: second.id,
    input: 'say: on and on',
  })
  expect(third.output_text).toBe('on and on')
  expect(lastSent()).toContain('src/parser.ts')
})

test('an upstream that compacts gets the request as it is, and its own items back', async () => {
  const input: ResponseInputItem[] = [...conversation, { type: 'compaction_trigger' }]
  const { output } = await client.responses.create({ model: 'azure-gpt', input, tools, store: false })
  expect(output).toEqual([expect.objectContaining({ type: 'compaction' })])
  expect(lastSent()).toContain('compaction_trigger')
  const next = await client.responses.create({
    model: 'azure-gpt',
    input: [...(output as ResponseInputItem[]), user('say: mine')],
    store: false,
  })
  expect(next.output_text).toBe('mine')
  expect(lastSent()).toContain('"compaction"')
  const compacted = await client.responses.compact({ model: 'azure-gpt', input: conversation })
  expect(compacted.output.map(({ type }) => type)).toEqual(['message', 'compaction'])
  const ours = await client.responses.compact({ model: 'gpt', input: conversation })
  const moved = [...(ours.output as ResponseInputItem[]), user('say: moved')]
  expect((await client.responses.create({ model: 'azure-gpt', input: moved })).output_text).toBe('moved')
  expect(lastSent()).toContain('src/parser.ts')
})

test('a trigger stands at the end, behind a conversation', async () => {
  const trigger: ResponseInputItem = { type: 'compaction_trigger' }
  expect(await fails(client.responses.create({ model: 'gpt', input: [trigger, user('hi')] }))).toMatchObject({
    status: 400,
    message: expect.stringContaining('must be the last item'),
  })
  expect(await fails(client.responses.create({ model: 'gpt', input: [trigger] }))).toMatchObject({
    status: 400,
    message: expect.stringContaining('no conversation before'),
  })
})
