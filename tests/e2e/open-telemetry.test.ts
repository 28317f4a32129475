/** A collector is told of calls: spans, metrics and log records, as OpenTelemetry's own decoders read them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Collector } from '../../src/telemetry/otel/collector-fixture.ts'
import type { SeenSpan } from '../../src/telemetry/otel/collector-fixture.ts'
import { until } from '../support/until.ts'
import { startGateway, standardConfig } from './harness.ts'
import type { Gateway } from './harness.ts'

const clientTrace = '0af7651916cd43dd8448eb211c80319c'
const clientSpan = 'b7ad6b7169203331'
const client = (flags: string) => ({ traceparent: `00-${clientTrace}-${clientSpan}-${flags}` })
const config = `${standardConfig.replace('{ num_retries: 0 }', '{ num_retries: 0, fallbacks: [{ nobody: [chat-model] }] }')}
guardrails:
  - guardrail_name: words
    litellm_params: { guardrail: words, mode: pre_call, words: [forbidden], action: block, default_on: true }
settings: { forward_traceparent: true }
general_settings: { store_prompts_in_spend_logs: true }
`

async function call(gateway: Gateway, key: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'hello' }], ...body }),
  })
  return { status: response.status, id: response.headers.get('x-proxy-call-id')!, text: await response.text() }
}

const soon = { OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_BLRP_SCHEDULE_DELAY: '50', OTEL_METRIC_EXPORT_INTERVAL: '200' }

for (const protocol of ['http/protobuf', 'http/json'])
  describe(`over ${protocol}`, () => {
    const collector = new Collector()
    let gateway: Gateway
    let key: string

    beforeAll(async () => {
      gateway = await startGateway({
        config,
        environment: {
          ...soon,
          OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start(),
          OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
          OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=abc',
          OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
          OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
          OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
          MODELGATE_LOG_LEVEL: 'off',
        },
      })
      key = await gateway.key({ key_alias: `alice ${protocol}` })
    })
    afterAll(async () => {
      await gateway.stop()
      collector.stop()
    })

    const spansOf = async (traceId: string, name: string): Promise<{ own: SeenSpan; below: SeenSpan[] }> => {
      const find = () => collector.spans.find(one => one.traceId === traceId && one.name === name && one.kind === 2)
      await until(() => find() !== undefined)
      const own = find()!
      return { own, below: collector.spans.filter(one => one.parentSpanId === own.spanId) }
    }

    test('a call is a span of the client with children for admission, guardrails and its attempt', async () => {
      const { status } = await call(gateway, key, {}, { ...client('01'), baggage: 'tenant=blue', tracestate: 'a=b' })
      expect(status).toBe(200)
      const { own, below } = await spansOf(clientTrace, 'chat chat-model')
      expect(own).toMatchObject({ parentSpanId: clientSpan, kind: 2, status: 0 })
      expect(own.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'chat-model',
        'gen_ai.response.model': 'sim-chat',
        'http.route': '/v1/chat/completions',
        'http.response.status_code': 200,
        'modelgate.key.alias': `alice ${protocol}`,
        'modelgate.deployment.id': 'chat-deployment',
      })
      expect(own.attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0)
      expect(own.attributes['modelgate.cost_usd']).toBeGreaterThan(0)
      expect(own.resource).toMatchObject({ 'service.name': 'modelgate', 'deployment.environment.name': 'test' })
      expect(below.map(one => one.name).sort()).toEqual(['admission', 'chat sim-chat', 'guardrail words'])
      const attempt = below.find(one => one.kind === 3)!
      expect(attempt.attributes).toMatchObject({ 'server.address': '127.0.0.1', 'gen_ai.request.model': 'sim-chat' })
      for (const one of below) {
        expect(one.startNs).toBeGreaterThanOrEqual(own.startNs)
        expect(one.endNs).toBeLessThanOrEqual(own.endNs)
        expect(one.endNs).toBeGreaterThanOrEqual(one.startNs)
      }
      // The upstream was told of the attempt's span, and of what the client sent along.
      const { headers } = gateway.simulator.truth.entries.at(-1)!
      expect(headers.traceparent).toBe(`00-${clientTrace}-${attempt.spanId}-01`)
      expect(headers).toMatchObject({ baggage: 'tenant=blue', tracestate: 'a=b' })
    })

    test('each attempt is a span, the failed one with its error', async () => {
      const { id } = await call(gateway, key, { model: 'nobody' })
      const { below } = await spansOf(id.replaceAll('-', ''), 'chat nobody')
      const attempts = below.filter(one => one.kind === 3)
      expect(attempts.map(one => [one.name, one.status, one.attributes['error.type']])).toEqual([
        ['chat x', 2, 'upstream-unreachable'],
        ['chat sim-chat', 0, undefined],
      ])
    })

    test('a refused call is an error without an attempt', async () => {
      const { id, status } = await call(gateway, key, { messages: [{ role: 'user', content: 'forbidden' }] })
      expect(status).toBe(400)
      const { own, below } = await spansOf(id.replaceAll('-', ''), 'chat chat-model')
      expect(own.status).toBe(2)
      expect(own.attributes['error.type']).toBeString()
      expect(below.some(one => one.kind === 3)).toBe(false)
      expect(below.find(one => one.name === 'guardrail words')!.attributes).toMatchObject({
        'modelgate.guardrail.verdict': 'block',
      })
    })

    test("what the client's flag leaves out is sent only where it fails", async () => {
      const before = collector.spans.length
      await call(gateway, key, { user: 'quiet' }, client('00'))
      await call(gateway, key, { model: 'missing-model' }, client('00'))
      await until(() => collector.spans.length > before)
      await until(() => collector.logs.some(log => log.attributes['modelgate.end_user.id'] === 'quiet'))
      expect(collector.spans.slice(before).map(one => one.name)).not.toContain('chat sim-chat')
    })

    test('metrics of the conventions count every call', async () => {
      await call(gateway, key, { stream: true })
      const point = (name: string) => collector.points.find(one => one.name === name)
      await until(() => point('gen_ai.server.time_to_first_token') !== undefined)
      expect(point('gen_ai.client.operation.duration')).toMatchObject({ unit: 's' })
      expect(point('gen_ai.client.token.usage')!.bounds.slice(0, 3)).toEqual([1, 4, 16])
      expect(point('gen_ai.server.request.duration')!.count).toBeGreaterThan(0)
      expect(point('gen_ai.server.time_per_output_token')).toBeDefined()
      expect(collector.points.every(one => Object.values(one.attributes).every(value => value !== undefined))).toBe(
        true,
      )
    })

    test('calls and what was said are log records of their span', async () => {
      const { id } = await call(gateway, key, { messages: [{ role: 'user', content: 'a clear question' }] })
      const traceId = id.replaceAll('-', '')
      const of = (event: string) => collector.logs.find(log => log.traceId === traceId && log.eventName === event)
      await until(
        () => of('modelgate.call') !== undefined && of('gen_ai.client.inference.operation.details') !== undefined,
      )
      const content = of('gen_ai.client.inference.operation.details')!
      expect(JSON.parse(String(content.attributes['gen_ai.input.messages']))).toEqual([
        { role: 'user', parts: [{ type: 'text', content: 'a clear question' }] },
      ])
      const [answer] = JSON.parse(String(content.attributes['gen_ai.output.messages'])) as { finish_reason: string }[]
      expect(answer!.finish_reason).toBe('stop')
    })

    test('the variables of the exporters hold', () => {
      expect([...collector.types]).toEqual([protocol === 'http/json' ? 'application/json' : 'application/x-protobuf'])
      expect(collector.headers.every(one => one['x-collector-key'] === 'abc')).toBe(true)
      expect(collector.headers.some(one => one['content-encoding'] === 'gzip')).toBe(true)
    })
  })

describe('a collector that fails', () => {
  const gauge = async (gateway: Gateway, start: string) =>
    Number(
      (await (await fetch(`${gateway.url}/metrics`)).text())
        .split('\n')
        .find(one => one.startsWith(start))
        ?.split(' ')[1],
    )

  test('costs no call anything, and what is lost is counted', async () => {
    const collector = new Collector()
    collector.status = 400
    const gateway = await startGateway({
      environment: { ...soon, OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start() },
    })
    try {
      const key = await gateway.key()
      expect((await call(gateway, key, {})).status).toBe(200)
      await until(async () => (await gauge(gateway, 'modelgate_otlp_lost_total{signal="traces",reason="failed"}')) > 0)
    } finally {
      await gateway.stop()
      collector.stop()
    }
  })

  test('that hangs holds up neither calls nor, for long, the stop', async () => {
    const collector = new Collector()
    collector.status = 0
    const environment = {
      ...soon,
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start(),
      OTEL_BSP_MAX_QUEUE_SIZE: '6',
      OTEL_METRICS_EXPORTER: 'none',
    }
    const gateway = await startGateway({ environment })
    try {
      const key = await gateway.key()
      for (let at = 0; at < 6; at++) expect((await call(gateway, key, {})).status).toBe(200)
      const lost = 'modelgate_otlp_lost_total{signal="traces",reason="queue_full"}'
      await until(async () => (await gauge(gateway, lost)) > 0)
    } finally {
      await gateway.stop()
      collector.stop()
    }
  })
})

test('without a collector nothing of it exists', async () => {
  const gateway = await startGateway()
  try {
    await call(gateway, await gateway.key(), {})
    expect(await (await fetch(`${gateway.url}/metrics`)).text()).not.toContain('otlp')
  } finally {
    await gateway.stop()
  }
})
