/** The fault table: what the upstream does wrong, and what the client is told. Both lanes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { streamData } from '../support/openai-conformance.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

let gateway: Gateway
let key: string

beforeAll(async () => {
  gateway = await startGateway()
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const ask = (model: string, more: object = {}, text = 'tokens: 20') =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: text }], ...more }),
  })

const lanes = { forward: 'fault/sim', translate: 'claude-fault/sim' }

for (const [lane, prefix] of Object.entries(lanes))
  describe(`${lane} lane`, () => {
    const whole: [string, number, string][] = [
      ['refuse', 503, 'APIConnectionError'],
      ['reset', 503, 'APIConnectionError'],
      ['hang', 408, 'Timeout'],
      ['truncated-json', 502, 'BadGatewayError'],
      ['length-long', 503, 'APIConnectionError'],
      ['length-short', 502, 'BadGatewayError'],
      ['bad-chunk', 502, 'BadGatewayError'],
      ['bad-status-line', 502, 'BadGatewayError'],
      ['status-999', 502, 'BadGatewayError'],
      ['huge-headers', 502, 'BadGatewayError'],
      ['many-headers', 502, 'BadGatewayError'],
      ['redirect', 502, 'BadGatewayError'],
      ['html-error', 502, 'BadGatewayError'],
      ['status(code=500)', 500, 'InternalServerError'],
      ['status(code=503)', 503, 'ServiceUnavailableError'],
      ['status(code=400)', 400, 'BadRequestError'],
      ['status(code=401)', 502, 'BadGatewayError'],
      ['status(code=404)', 404, 'NotFoundError'],
      ['429', 429, 'RateLimitError'],
    ]
    for (const [fault, status, name] of whole)
      for (const stream of [false, true])
        test(`${fault}${stream ? ', streamed' : ''}: ${status} ${name} before the first byte`, async () => {
          // A bad length shows in a whole answer only: a stream has no length.
          if (stream && /length|truncated/.test(fault)) return
          const model = `${prefix}#${fault}`.replace('status(code=', 'status;code=').replace(')', '')
          const response = await ask(model, { stream })
          const body = (await response.json()) as { error: { name: string; message: string } }
          expect([response.status, body.error.name]).toEqual([status, name])
          expect(body.error.message).not.toContain('canary')
          expect(response.headers.get('content-type')).toContain('application/json')
        })

    const cut = [
      'cut;at=5',
      'cut-chunked;at=5',
      'cut-reset;at=5',
      'cut-close-delimited;at=5',
      'hang-mid;at=5',
      'error-in-stream;at=5',
    ]
    for (const fault of cut)
      test(`${fault}: what came, then an error event, and no end mark`, async () => {
        const response = await ask(`${prefix}#${fault}`, { stream: true })
        // An error that arrived together with the first content: nothing has gone out, so its status is still true.
        if (fault.startsWith('error-in-stream') && response.status >= 500) return
        expect(response.status).toBe(200)
        const events = streamData(await response.text()) as { error?: { message: string }; choices?: unknown[] }[]
        expect(events.at(-1)?.error?.message).toBeString()
        expect(events).not.toContain('[DONE]' as never)
        expect(events.length).toBeGreaterThan(3)
      })

    for (const fault of ['no-done', 'split-utf8', 'drip;ms=1'])
      test(`${fault}: a complete stream`, async () => {
        const response = await ask(`${prefix}#${fault}`, { stream: true }, 'say: Grüße ✓ 😀')
        const events = streamData(await response.text()) as { choices: { delta: { content?: string } }[] }[]
        expect(events.at(-1)).toBe('[DONE]' as never)
        const text = events
          .slice(0, -1)
          .map(event => event.choices[0]?.delta.content ?? '')
          .join('')
        expect(text).toBe('Grüße ✓ 😀')
      })

    test('a giant event is refused without filling the memory', async () => {
      const before = process.memoryUsage.rss()
      const response = await ask(`${prefix}#giant-event;bytes=30000000`, { stream: true })
      const text = await response.text()
      expect(text).toContain('error')
      expect(text).not.toContain('[DONE]')
      expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024)
    })

    test('stale keep-alive connections never show', async () => {
      for (let at = 0; at < 30; at++) {
        const response = await ask(`${prefix}#reset-idle;ms=1`)
        expect(response.status).toBe(200)
        await response.arrayBuffer()
        await Bun.sleep(at % 4)
      }
    })

    test('unsolicited bytes on an idle connection never reach a client', async () => {
      for (let at = 0; at < 10; at++) {
        const response = await ask(`${prefix}#unsolicited`, {}, 'say: mine')
        expect(
          ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content,
        ).toBe('mine')
      }
    })

    test('absurd usage is not believed and not billed', async () => {
      const response = await ask(`${prefix}#bad-usage`)
      await response.text()
      const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
      expect(row?.usage_source).not.toBe('upstream')
      expect(row?.input_tokens).toBeGreaterThanOrEqual(0)
    })
  })

test('a host where nothing listens is 503 APIConnectionError', async () => {
  const response = await ask('nobody')
  const { error } = (await response.json()) as { error: { name: string; message: string } }
  expect([response.status, error.name]).toEqual([503, 'APIConnectionError'])
})

test('a client that leaves closes the upstream', async () => {
  for (const [model, stream] of [
    ['fault/sim#hang', false],
    ['fault/sim#hang', true],
    ['fault/sim#token-ms=20', true],
  ] as const) {
    const controller = new AbortController()
    const calls = gateway.simulator.truth.entries.length
    const asked = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'tokens: 1000' }] }),
    })
      .then(response => response.text())
      .catch(() => 'left')
    await until(() => gateway.simulator.truth.entries.length > calls, 'the upstream is asked')
    const entry = gateway.simulator.truth.entries.at(-1)!
    expect(entry.finished).toBeUndefined()
    controller.abort()
    await asked
    await until(() => entry.finished === 'client-closed', 'the upstream is closed')
  }
})

test('every accepted request has exactly one row, for each way in which it can end', async () => {
  const rows = await gateway.rows()
  expect(new Set(rows.map(row => row.request_id)).size).toBe(rows.length)
  expect(rows.length).toBeGreaterThan(80)
})

test('no secret of an upstream is in any row', async () => {
  expect(JSON.stringify(await gateway.rows())).not.toContain('canary')
})
