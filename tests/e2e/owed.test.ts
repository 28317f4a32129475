/** What was sent to an upstream is owed, for each way in which an answer can end: docs/decisions/0012, row by row. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import { answer, rawUpstream } from '../support/upstreams/raw-upstream.ts'
import type { RawPeer, RawUpstream } from '../support/upstreams/raw-upstream.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

/** Behaves as the model of the request says. */
function react(peer: RawPeer, request: string): void {
  const model = /"model"(?::"|\r\n\r\n)([^"\r]*)/.exec(request)?.[1] ?? ''
  const act = acts[model]
  if (!act) throw new Error(`no act for '${model}'`)
  act(peer)
}
const sse = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
const chunk = (content: string, more = ''): string =>
  `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"${content}"},` +
  `"finish_reason":null}]${more}}\n\n`
const last = (usage: string): string =>
  `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n` +
  `data: {"id":"c","model":"m","choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`
const whole = (content: string, usage?: string): string =>
  answer(
    `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":` +
      `"${content}"},"finish_reason":"stop"}]${usage === undefined ? '' : `,"usage":${usage}`}}`,
  )
const status = (line: string, body: string): string =>
  `HTTP/1.1 ${line}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
const text = 'word '.repeat(400)
const noTokens = '{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}'

const event = (type: string, fields: string): string => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`
const begin = event(
  'message_start',
  '"message":{"id":"m","type":"message","role":"assistant","content":[],' +
    '"usage":{"input_tokens":300,"cache_read_input_tokens":40000,"output_tokens":1}}',
)
const delta =
  event('content_block_start', '"index":0,"content_block":{"type":"text","text":""}') +
  event('content_block_delta', '"index":0,"delta":{"type":"text_delta","text":"one two three"}')

const acts: Record<string, (peer: RawPeer) => void> = {
  silent: () => {},
  reset: ({ socket }) => socket.resetAndDestroy(),
  half: ({ socket }) => void socket.end(whole(text).slice(0, 200)),
  cut: ({ socket }) => void socket.end(sse + chunk('one ') + chunk('two ')),
  dribble: ({ socket }) => void socket.write(sse + chunk('one ') + chunk('two ')),
  reported: ({ socket }) =>
    void socket.end(sse + chunk('one ', ',"usage":{"prompt_tokens":70,"completion_tokens":1}') + chunk('two ')),
  busy: ({ socket }) => void socket.write(status('503 Service Unavailable', '{"error":{"message":"busy"}}')),
  refused: ({ socket }) => void socket.write(status('400 Bad Request', '{"error":{"message":"no"}}')),
  page: ({ socket }) => void socket.write(status('200 OK', '<html>sign in</html>')),
  portal: ({ socket }) =>
    void socket.write(status('200 OK', '<html>sign in</html>').replace('application/json', 'text/html')),
  'error-report': ({ socket }) => void socket.write(status('200 OK', '{"error":{"message":"no seats left"}}')),
  unfinished: ({ socket }) =>
    void socket.write(
      answer(
        '{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",' +
          '"content":"a b c d"},"finish_reason":null}],"usage":{"prompt_tokens":70,"completion_tokens":4}}',
      ),
    ),
  zero: ({ socket }) => void socket.write(whole(text, noTokens)),
  fewer: ({ socket }) => void socket.write(whole(text, '{"prompt_tokens":70,"completion_tokens":3}')),
  honest: ({ socket }) => void socket.write(whole(text, '{"prompt_tokens":70,"completion_tokens":401}')),
  'zero-stream': ({ socket }) => void socket.end(sse + chunk(text) + last(noTokens)),
  begun: ({ socket }) => void socket.end(sse + begin + delta),
  uncounted: ({ socket }) =>
    void socket.end(sse + begin + delta + event('message_delta', '"delta":{"stop_reason":"end_turn"}')),
  'no-report': ({ socket }) =>
    void socket.write(
      answer(
        '{"type":"message","id":"m","role":"assistant","content":[{"type":"text","text":"a b"}],"stop_reason":"end_turn"}',
      ),
    ),
  'honest-stream': ({ socket }) =>
    void socket.end(sse + chunk(text) + last('{"prompt_tokens":70,"completion_tokens":401}')),
}

let upstream: RawUpstream
let gateway: Gateway
const entry = (name: string, model: string, more = '') => `
  - model_name: "${name}"
    proxy_params: { model: "${model}", api_base: "{raw}/v1", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.00001${more} }`

beforeAll(async () => {
  upstream = await rawUpstream({ onRequest: react })
  gateway = await startGateway({
    config: `model_list:${entry('raw/*', 'custom_openai/*')}${entry('dear/*', 'custom_openai/*', ', max_tokens: 5000')}
    model_info: { max_output_tokens: 3000 }
${entry('claude/*', 'anthropic/*', ', cache_read_input_token_cost: 0.000001').replace('{raw}/v1', '{raw}')}
  - model_name: gone
    proxy_params: { model: custom_openai/gone, api_base: "http://127.0.0.1:1/v1", input_cost_per_token: 0.000001, output_cost_per_token: 0.00001 }
  - model_name: sound
    proxy_params: { model: custom_openai/silent, api_base: "{raw}/v1", api_key: k }
    model_info: { mode: audio_transcription }
  - model_name: picture
    proxy_params: { model: custom_openai/silent, api_base: "{raw}/v1", api_key: k, output_cost_per_image: 0.04 }
    model_info: { mode: image_generation }
  - model_name: vector
    proxy_params: { model: custom_openai/silent, api_base: "{raw}/v1", api_key: k, input_cost_per_token: 0.000001 }
    model_info: { mode: embedding }
  - model_name: checked/*
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: k }
    model_info: { structured_output: none }
router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0 }
`.replaceAll('{raw}', upstream.url),
  })
})
afterAll(async () => {
  await gateway?.stop()
  upstream?.stop()
})
afterEach(() => gateway.simulator.reset())

/** 1,000 words: an estimate is not below the count that tokenizers give. */
const prompt = 'lorem '.repeat(1000)
const inputMin = 1000
const inputMax = 2200
const messages = [{ role: 'user', content: prompt }]

interface Ended {
  readonly row: LedgerRow
  readonly status: number
  readonly headers: Headers | undefined
  /** Of the answer. */
  readonly text: string
}

/** Sends a call; `leave` = the client goes away once the upstream has the request. */
async function ask(
  body: object,
  { leave = false, path = '/v1/chat/completions', key = '' }: { leave?: boolean; path?: string; key?: string } = {},
): Promise<Ended> {
  const user = key || (await gateway.key())
  const alias = crypto.randomUUID()
  const controller = new AbortController()
  const before = upstream.requests()
  let answered = ''
  const asked = fetch(`${gateway.url}${path}`, {
    method: 'POST',
    signal: controller.signal,
    headers: { authorization: `Bearer ${user}`, 'user-agent': alias },
    body: body instanceof FormData ? body : JSON.stringify(body),
  }).then(
    async response => {
      answered = await response.text().catch(() => '')
      return response
    },
    () => undefined,
  )
  if (leave) {
    await until(() => upstream.requests() > before, 'the request at the upstream')
    await Bun.sleep(20)
    controller.abort()
  }
  const response = await asked
  const stored = async () => (await gateway.rows()).find(one => one.user_agent === alias)
  const row = await until(stored, 'the call has its row')
  return { row, status: response?.status ?? 0, headers: response?.headers, text: answered }
}

function expectInput(row: LedgerRow, times = 1): void {
  expect(row.input_tokens).toBeGreaterThanOrEqual(inputMin * times)
  expect(row.input_tokens).toBeLessThanOrEqual(inputMax * times)
}
/** 1 and 10 microdollars a token. */
const cost = (row: LedgerRow) => String(row.input_tokens! * 1000 + row.output_tokens! * 10_000)

describe('sent and not answered', () => {
  test('a whole answer that the client did not wait for owes its input and the output that was asked for', async () => {
    const { row } = await ask({ model: 'raw/silent', messages, max_tokens: 300, n: 2 }, { leave: true })
    expect(row).toMatchObject({ outcome: 'client_closed', status: 499, usage_source: 'estimated', output_tokens: 600 })
    expectInput(row)
    expect(row.cost_nano_usd).toBe(cost(row))
  })

  test('without a number 1,024 tokens are owed, with one of the operator that one, never more than the model gives', async () => {
    expect((await ask({ model: 'raw/silent', messages }, { leave: true })).row.output_tokens).toBe(1024)
    expect((await ask({ model: 'dear/silent', messages }, { leave: true })).row.output_tokens).toBe(3000)
    expect((await ask({ model: 'dear/silent', messages, max_tokens: 9999 }, { leave: true })).row.output_tokens).toBe(
      3000,
    )
  })

  test('a maximum that a budget has set is nothing that was asked for: a lost answer takes no quarter of it', async () => {
    const key = await gateway.key({ max_budget: 10 })
    const { row } = await ask({ model: 'raw/silent', messages }, { leave: true, key })
    expect([row.output_tokens, row.cost_nano_usd]).toEqual([1024, cost(row)])
    expect((await ask({ model: 'raw/reset', messages }, { key })).row.output_tokens).toBe(1024)
    const asked = await ask({ model: 'raw/silent', messages, max_tokens: 2000 }, { leave: true, key })
    expect(asked.row.output_tokens).toBe(2000)
    const poor = await gateway.key({ max_budget: 0.01 })
    const bounded = await ask({ model: 'raw/silent', messages }, { leave: true, key: poor })
    expect(bounded.row.output_tokens).toBeLessThan(1000)
  })

  test('a stream that the client did not wait for owes its input: it ends with its connection', async () => {
    const { row } = await ask({ model: 'raw/silent', messages, stream: true, max_tokens: 300 }, { leave: true })
    expect(row).toMatchObject({ outcome: 'client_closed', usage_source: 'estimated', output_tokens: 0 })
    expectInput(row)
  })

  for (const stream of [false, true])
    test(`a timeout of the client's own owes as much, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { row, status: seen } = await ask({ model: 'raw/silent', messages, stream, max_tokens: 300, timeout: 0.05 })
      expect(seen).toBe(408)
      expect(row).toMatchObject({ outcome: 'error', usage_source: 'estimated', output_tokens: stream ? 0 : 300 })
      expectInput(row)
      expect(row.cost_nano_usd).toBe(cost(row))
    })

  test('an upstream that resets may have done the work', async () => {
    const { row } = await ask({ model: 'raw/reset', messages, max_tokens: 300 })
    expect(row).toMatchObject({ outcome: 'error', usage_source: 'estimated', output_tokens: 300 })
    expectInput(row)
  })

  test('every attempt owes', async () => {
    const fallbacks = ['raw/half', 'gone', 'raw/busy', 'dear/reset']
    const { row } = await ask({ model: 'raw/reset', messages, max_tokens: 300, fallbacks })
    expect(row).toMatchObject({ attempts: 5, usage_source: 'estimated', output_tokens: 900 })
    expectInput(row, 3)
    expect(row.cost_nano_usd).toBe(cost(row))
  })

  test('a call that fell back owes both models, and says that a part is estimated', async () => {
    const { row, headers } = await ask({ model: 'raw/reset', messages, max_tokens: 300, fallbacks: ['raw/honest'] })
    expect(row).toMatchObject({ outcome: 'success', attempts: 2, usage_source: 'mixed', output_tokens: 300 + 401 })
    expectInput({ ...row, input_tokens: row.input_tokens! - 70 })
    expect(row.cost_nano_usd).toBe(cost(row))
    expect(headers!.get('x-proxy-usage-source')).toBe('mixed')
    expect(headers!.get('x-proxy-response-cost')).toBe(String(Number(row.cost_nano_usd) / 1e9))
  })

  test('an answer cut half-way owes what was asked for', async () => {
    const { row } = await ask({ model: 'raw/half', messages, max_tokens: 300 })
    expect(row).toMatchObject({ outcome: 'error', usage_source: 'estimated', output_tokens: 300 })
    expectInput(row)
  })

  for (const model of ['busy', 'refused'])
    test(`an upstream that says it did nothing is owed nothing (${model})`, async () => {
      const { row } = await ask({ model: `raw/${model}`, messages, num_retries: 2 })
      expect(row).toMatchObject({ usage_source: 'none', input_tokens: null, output_tokens: null, cost_nano_usd: '0' })
    })

  test('an upstream that was not reached is owed nothing', async () => {
    const { row } = await ask({ model: 'gone', messages })
    expect(row).toMatchObject({ status: 503, usage_source: 'none', input_tokens: null, cost_nano_usd: '0' })
  })

  test('a refused attempt beside a good one changes nothing', async () => {
    const { row, headers } = await ask({ model: 'raw/busy', messages, fallbacks: ['raw/honest'] })
    expect(row).toMatchObject({ attempts: 2, usage_source: 'upstream', input_tokens: 70, output_tokens: 401 })
    expect(row.cost_nano_usd).toBe(cost(row))
    expect(headers!.get('x-proxy-usage-source')).toBeNull()
  })

  test('a forwarded list of prompts owes the answers to all of them', async () => {
    const lists = [Array(3).fill('one two three'), Array(3).fill([11, 12, 13])]
    for (const prompts of lists) {
      const body = { model: 'raw/silent', prompt: prompts, max_tokens: 2000, n: 2 }
      const { row } = await ask(body, { leave: true, path: '/v1/completions' })
      expect(row.output_tokens).toBe(3 * 2 * 2000)
    }
    const best = { model: 'raw/silent', prompt: [11, 12, 13], max_tokens: 2000, best_of: 4 }
    expect((await ask(best, { leave: true, path: '/v1/completions' })).row.output_tokens).toBe(4 * 2000)
  })

  test('what only the upstream can read owes the maximum that it says', async () => {
    const parts = [{ type: 'of_another_vendor', words: 'one two' }]
    const body = { model: 'raw/silent', messages: [{ role: 'user', content: parts }], max_tokens: 5000, n: 2 }
    const { row } = await ask(body, { leave: true })
    expect(row.output_tokens).toBe(10_000)
  })

  test('pictures that were asked for are owed; the length of a recording is not known', async () => {
    const picture = { model: 'picture', prompt: 'a cat', n: 2 }
    const drawn = (await ask(picture, { leave: true, path: '/v1/images/generations' })).row
    expect(drawn).toMatchObject({ usage_source: 'estimated', images: 2, cost_nano_usd: '80000000' })
    const form = new FormData()
    form.set('model', 'sound')
    form.set('file', new File([Buffer.alloc(2000)], 'a.wav'))
    const heard = (await ask(form, { leave: true, path: '/v1/audio/transcriptions' })).row
    expect(heard).toMatchObject({ usage_source: 'none', audio_microseconds: null, cost_nano_usd: null })
  })

  test('embeddings owe their input', async () => {
    const { row } = await ask({ model: 'vector', input: prompt }, { leave: true, path: '/v1/embeddings' })
    expect(row).toMatchObject({ usage_source: 'estimated', output_tokens: 0 })
    expectInput(row)
  })
})

describe('answered, and not usable', () => {
  test('a 200 that is no answer owes the input, and what may be an answer', async () => {
    const { row } = await ask({ model: 'raw/page', messages })
    expect(row).toMatchObject({ outcome: 'error', status: 502, usage_source: 'estimated' })
    expectInput(row)
    expect(row.output_tokens).toBeLessThanOrEqual(6)
  })

  test('what is no stream, though one was asked for, owes what it says and no output that was only asked for', async () => {
    const page = await ask({ model: 'raw/portal', messages, stream: true })
    expect(page.row).toMatchObject({ outcome: 'error', usage_source: 'estimated', output_tokens: 0 })
    expectInput(page.row)
    const whole = await ask({ model: 'raw/honest', messages, stream: true })
    const reported = { input_tokens: 70, output_tokens: 401, usage_source: 'upstream' }
    expect(whole).toMatchObject({ status: 502, row: { outcome: 'error', ...reported } })
    const failed = await ask({ model: 'raw/error-report', messages, stream: true })
    expect(failed).toMatchObject({
      status: 500,
      text: expect.stringContaining('no seats left'),
      row: { output_tokens: 0 },
    })
  })

  test('a cut stream owes its input and what came of it', async () => {
    const { row } = await ask({ model: 'raw/cut', messages, stream: true, max_tokens: 300 })
    expect(row).toMatchObject({ outcome: 'upstream_cut', usage_source: 'estimated', output_tokens: 2 })
    expectInput(row)
  })

  test('a report before the last one is completed by what was seen', async () => {
    const { row } = await ask({ model: 'raw/reported', messages, stream: true })
    expect(row).toMatchObject({ usage_source: 'mixed', input_tokens: 70, output_tokens: 2 })
  })

  for (const path of ['/v1/messages', '/v1/chat/completions']) {
    test(`the input that a message reports at its beginning is owed when it is cut (${path})`, async () => {
      const { row } = await ask({ model: 'claude/begun', messages, stream: true, max_tokens: 300 }, { path })
      const input = { input_tokens: 40_300, cached_input_tokens: 40_000 }
      expect(row).toMatchObject({ outcome: 'upstream_cut', usage_source: 'mixed', ...input, output_tokens: 4 })
      expect(row.cost_nano_usd).toBe(cost(row))
    })

    test(`the output count that a message begins with is not believed at its end (${path})`, async () => {
      const { row } = await ask({ model: 'claude/uncounted', messages, stream: true, max_tokens: 300 }, { path })
      expect(row).toMatchObject({ outcome: 'success', usage_source: 'mixed', input_tokens: 40_300, output_tokens: 4 })
    })
  }

  test('a client that leaves a stream owes its input and what came of it', async () => {
    const { row } = await ask({ model: 'raw/dribble', messages, stream: true }, { leave: true })
    expect(row).toMatchObject({ outcome: 'client_closed', usage_source: 'estimated', output_tokens: 2 })
    expectInput(row)
  })

  test('two answers of which the second never came', async () => {
    gateway.simulator.script({ model: 'm' }, { text: 'no json', times: 1 })
    gateway.simulator.script({ model: 'm' }, { fault: 'reset', times: 1 })
    gateway.simulator.script({ model: 'm' }, { text: 'no json', times: 1 })
    const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
    const format = { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } }
    for (const stream of [false, true]) {
      gateway.simulator.reset()
      gateway.simulator.script({ model: 'm' }, { fault: 'hang' })
      gateway.simulator.script({ model: 'm' }, { text: 'no json', times: 1 })
      const { row } = await ask({
        model: 'checked/m',
        messages,
        stream,
        max_tokens: 300,
        response_format: format,
        timeout: 0.5,
      })
      const [first, second] = gateway.simulator.truth.entries
      expect(second).toBeDefined()
      expect(row.usage_source).toBe('mixed')
      expect(row.input_tokens).toBeGreaterThanOrEqual(first!.billable.inputTokens + inputMin)
      expect(row.output_tokens).toBe(first!.billable.outputTokens + (stream ? 0 : 300))
    }
  })
})

describe('a report that cannot be', () => {
  for (const [model, stream] of [
    ['zero', false],
    ['zero-stream', true],
  ] as const)
    test(`no tokens beside a text are not believed (${model})`, async () => {
      const { row } = await ask({ model: `raw/${model}`, messages, stream })
      expect(row).toMatchObject({ outcome: 'success', usage_source: 'estimated', output_tokens: text.length / 4 })
      expectInput(row)
      expect(row.cost_nano_usd).toBe(cost(row))
    })

  test('fewer tokens than the text has are not believed', async () => {
    const { row, headers } = await ask({ model: 'raw/fewer', messages })
    expect(row).toMatchObject({ usage_source: 'mixed', input_tokens: 70, output_tokens: text.length / 4 })
    expect(headers!.get('x-proxy-usage-source')).toBe('mixed')
  })

  for (const stream of [false, true])
    test(`one that can be is believed${stream ? ', streamed' : ''}`, async () => {
      const { row } = await ask({ model: stream ? 'raw/honest-stream' : 'raw/honest', messages, stream })
      expect(row).toMatchObject({ usage_source: 'upstream', input_tokens: 70, output_tokens: 401 })
    })
})

describe('limits', () => {
  test('leaving before the first byte takes its tokens: a second call has to wait', async () => {
    const key = await gateway.key({ tpm_limit: 1000 })
    await ask({ model: 'raw/silent', messages, max_tokens: 10 }, { leave: true, key })
    const { status: seen, headers } = await ask(
      { model: 'raw/honest', messages: [{ role: 'user', content: 'x' }] },
      { key },
    )
    expect(seen).toBe(429)
    expect(Number(headers!.get('retry-after'))).toBeLessThanOrEqual(60)
  })

  test('each prompt of a list that goes out alone owes its own input, and counts it', async () => {
    const key = await gateway.key({ tpm_limit: 8 * inputMax })
    const list = { model: 'claude/no-report', prompt: Array(4).fill(prompt), max_tokens: 300 }
    const { row } = await ask(list, { path: '/v1/completions', key })
    expect(row).toMatchObject({ outcome: 'success', usage_source: 'estimated' })
    expectInput(row, 4)
    expect((await ask(list, { path: '/v1/completions', key })).status).toBe(200)
  })

  test('a recording of unknown length counts its form', async () => {
    const key = await gateway.key({ tpm_limit: 3 })
    const form = () => {
      const made = new FormData()
      made.set('model', 'sound')
      made.set('prompt', prompt)
      made.set('file', new File([Buffer.alloc(2000)], 'a.wav'))
      return made
    }
    await ask(form(), { leave: true, path: '/v1/audio/transcriptions', key })
    expect((await ask(form(), { path: '/v1/audio/transcriptions', key })).status).toBe(429)
  })

  test('what was refused by its upstream is given back', async () => {
    const key = await gateway.key({ tpm_limit: 3000 })
    for (let at = 0; at < 4; at++) expect((await ask({ model: 'raw/busy', messages }, { key })).status).toBe(503)
  })
})

test('metrics tell how much is estimated', async () => {
  const value = async (name: string): Promise<number> => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text()
    return text
      .split('\n')
      .filter(line => line.startsWith(`${name}{`) && line.includes('"raw/*"'))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  const before = [await value('modelgate_estimated_calls_total'), await value('modelgate_estimated_spend_usd_total')]
  await ask({ model: 'raw/honest', messages })
  const { row } = await ask({ model: 'raw/reset', messages, max_tokens: 300 })
  expect((await value('modelgate_estimated_calls_total')) - before[0]!).toBe(1)
  expect((await value('modelgate_estimated_spend_usd_total')) - before[1]!).toBeCloseTo(
    Number(row.cost_nano_usd) / 1e9,
    9,
  )
})
