/** What Claude Code asks of a gateway beside calls: settings that the operator decides, and a place for telemetry. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Received {
  readonly path: string
  readonly headers: Headers
  readonly body: Buffer
}

const received: Received[] = []
let collectorStatus = 200
const collector = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const body = Buffer.from(await request.arrayBuffer())
    received.push({ path: new URL(request.url).pathname, headers: request.headers, body })
    return new Response(Buffer.from([10, 0]), {
      status: collectorStatus,
      headers: { 'content-type': 'application/x-protobuf' },
    })
  },
})

const config = `${standardConfig}
general_settings:
  managed_settings:
    permissions: { deny: [WebFetch], defaultMode: acceptEdits }
    env: { DISABLE_UPDATES: "1" }
  managed_settings_of_teams:
    red:
      permissions: { deny: [Bash, WebFetch], defaultMode: plan }
      env: { ANTHROPIC_MODEL: claude-model }
  agent_telemetry_endpoint: "http://127.0.0.1:${collector.port}/otlp/"
  agent_telemetry_headers: { x-collector-key: collector-key-canary }
  agent_telemetry_signals: [metrics, traces]
`
let gateway: Gateway
let bare: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  bare = await startGateway()
  await gateway.admin('/team/new', { team_id: 'red' })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  await bare?.stop()
  await collector.stop(true)
})

interface Settings {
  readonly uuid: string
  readonly checksum: string
  readonly settings: Record<string, Record<string, unknown>>
}

const settings = (at: Gateway, token: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${at.url}/managed/settings`, { headers: { authorization: `Bearer ${token}`, ...headers } })

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toSorted(([one], [other]) => (one < other ? -1 : 1))
            .map(([name, one]) => [name, sorted(one)]),
        )
      : value

test('managed settings have the checksum that clients compute, as ETag too, and 304 for who has them', async () => {
  const answer = await settings(gateway, key)
  const body = (await answer.json()) as Settings
  expect(body.settings).toEqual({
    permissions: { deny: ['WebFetch'], defaultMode: 'acceptEdits' },
    env: {
      CLAUDE_CODE_ENABLE_TELEMETRY: '1',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: gateway.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      DISABLE_UPDATES: '1',
    },
  })
  const digest = createHash('sha256')
    .update(JSON.stringify(sorted(body.settings)))
    .digest('hex')
  expect(body.checksum).toBe(`sha256:${digest}`)
  expect([body.uuid, answer.headers.get('etag')]).toEqual([body.checksum, `"${body.checksum}"`])
  for (const tag of [`"${body.checksum}"`, `W/"${body.checksum}"`, `"other", "${body.checksum}"`]) {
    const known = await settings(gateway, key, { 'if-none-match': tag })
    expect([tag, known.status, await known.text()]).toEqual([tag, 304, ''])
  }
  expect((await settings(gateway, key, { 'if-none-match': '"sha256:other"' })).status).toBe(200)
})

test("a team's settings stand over those for all: what is denied adds up, the rest is replaced", async () => {
  const body = (await (await settings(gateway, await gateway.key({ team_id: 'red' }))).json()) as Settings
  expect(body.settings.permissions).toEqual({ deny: ['WebFetch', 'Bash'], defaultMode: 'plan' })
  expect(body.settings.env).toMatchObject({ DISABLE_UPDATES: '1', ANTHROPIC_MODEL: 'claude-model' })
})

test('without any policy the answer is 404 in the words of Anthropic, and 401 without a key', async () => {
  const none = await settings(bare, await bare.key())
  expect([none.status, await none.json()]).toMatchObject([404, { type: 'error', error: { type: 'not_found_error' } }])
  const stranger = await settings(gateway, 'sk-unknown')
  expect([stranger.status, await stranger.json()]).toMatchObject([401, { error: { type: 'authentication_error' } }])
})

test('`safeguards` of Claude Code reach Anthropic as they are, with its verdicts back; others get a call without them', async () => {
  const safeguards = [{ type: 'dangerous_tool_use', tool_use_ids: ['toolu_1'] }]
  const verdicts = { toolu_1: { status: 'evaluated', result: 'not_flagged' } }
  const seen: unknown[] = []
  const events = [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'sim-claude',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, safeguard_results: verdicts },
      usage: { output_tokens: 2 },
    },
    { type: 'message_stop' },
  ]
  const body = events.map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('')
  const isOurs = (sent: unknown): sent is { safeguards?: unknown } => JSON.stringify(sent).includes('judge-this')
  gateway.simulator.script(
    ({ path, body: sent }) => {
      if (isOurs(sent)) seen.push(sent.safeguards)
      return isOurs(sent) && path.endsWith('/messages')
    },
    { raw: { headers: { 'content-type': 'text/event-stream' }, body } },
  )
  const ask = async (model: string) => {
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'anthropic-beta': 'dangerous-tool-use-2026-09-03' },
      body: JSON.stringify({
        model,
        stream: true,
        max_tokens: 100,
        messages: [{ role: 'user', content: 'judge-this' }],
        safeguards,
      }),
    })
    return { status: answer.status, dropped: answer.headers.get('x-proxy-dropped-params'), text: await answer.text() }
  }
  const own = await ask('claude-model')
  expect([own.status, own.dropped, own.text]).toEqual([200, null, expect.stringContaining(JSON.stringify(verdicts))])
  const foreign = await ask('chat-model')
  expect([foreign.status, foreign.dropped, foreign.text]).toEqual([
    200,
    'safeguards',
    expect.stringContaining('message_stop'),
  ])
  expect(seen).toEqual([safeguards, undefined])
})

const send = (at: Gateway, signal: string, body: Buffer<ArrayBuffer> | string, type: string, token: string) =>
  fetch(`${at.url}/v1/${signal}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
  })

test('telemetry reaches the collector byte for byte, without the key of the agent', async () => {
  const body = Buffer.from(crypto.getRandomValues(new Uint8Array(5000)))
  for (const [signal, type] of [
    ['metrics', 'application/x-protobuf'],
    ['traces', 'application/json'],
  ] as const) {
    const answer = await send(gateway, signal, body, type, key)
    expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, Buffer.from([10, 0])])
    const last = received.at(-1)!
    expect([last.path, last.headers.get('content-type'), last.body.equals(body)]).toEqual([
      `/otlp/v1/${signal}`,
      type,
      true,
    ])
    expect(last.headers.get('x-collector-key')).toBe('collector-key-canary')
    expect(JSON.stringify([...last.headers])).not.toContain(key)
  }
})

test('what is not relayed is dropped with 200 and a warning that exporters read', async () => {
  const before = received.length
  const json = await send(gateway, 'logs', '{}', 'application/json', key)
  expect([json.status, await json.json()]).toMatchObject([
    200,
    { partialSuccess: { errorMessage: expect.stringContaining('relays no such telemetry') } },
  ])
  const protobuf = await send(gateway, 'logs', Buffer.from([1]), 'application/x-protobuf', key)
  const bytes = Buffer.from(await protobuf.arrayBuffer())
  expect([protobuf.status, protobuf.headers.get('content-type')]).toEqual([200, 'application/x-protobuf'])
  // partial_success { error_message }: tags 1 and 2, of the wire type 2, each with a length.
  expect([bytes[0], bytes[1]! + 2, bytes[2], bytes[3]! + 4]).toEqual([10, bytes.length, 18, bytes.length])
  expect(bytes.subarray(4).toString()).toContain('agent_telemetry_endpoint')
  expect(received.length).toBe(before)
  expect((await send(bare, 'metrics', '{}', 'application/json', await bare.key())).status).toBe(200)
  expect((await send(bare, 'metrics', '{}', 'application/json', 'sk-unknown')).status).toBe(401)
})

test('the collector answers for itself, and one that is away is a 503 after which exporters try again', async () => {
  collectorStatus = 429
  expect((await send(gateway, 'metrics', '{}', 'application/json', key)).status).toBe(429)
  collectorStatus = 200
  const away = await startGateway({
    config: `${standardConfig}\ngeneral_settings: { agent_telemetry_endpoint: "http://127.0.0.1:1" }\n`,
  })
  const answer = await send(away, 'metrics', '{}', 'application/json', await away.key())
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30'])
  expect(await answer.text()).toContain('the collector of telemetry cannot be reached')
  await away.stop()
})

test('telemetry beyond 8 MiB is refused with 413', async () => {
  const answer = await send(gateway, 'metrics', Buffer.alloc(8 * 1024 * 1024 + 1), 'application/x-protobuf', key)
  expect(answer.status).toBe(413)
})
