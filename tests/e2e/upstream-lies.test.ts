/** Each lie of an upstream gets the same verdict on every lane: a table of lies by clients' dialects. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { answer, rawUpstream } from '../support/upstreams/raw-upstream.ts'
import type { RawUpstream } from '../support/upstreams/raw-upstream.ts'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { dialects, streamLies, wholeLies } from './upstream-lies.ts'

let gateway: Gateway
let upstream: RawUpstream
let key: string

/** What the upstream answers, by the number in the model's name. */
const answers: string[] = []
const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const chunked = (body: string) => (body === '' ? '' : `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`)

function planned(bytes: string): number {
  return answers.push(bytes) - 1
}

const model = (name: string, target: string, base = '') => `  - model_name: ${name}/*
    proxy_params: { model: "${target}/*", api_base: "{upstream}${base}", api_key: k, stream_timeout: 9, idle_timeout: 15 }
`
const config = standardConfig.replace(
  'router_settings: {',
  model('openai', 'custom_openai', '/v1') +
    model('completions', 'custom_openai', '/v1') +
    model('anthropic', 'anthropic') +
    model('gemini', 'gemini') +
    `  - model_name: pair
    proxy_params: { model: custom_openai/lie-0, api_base: "{upstream}/v1", order: 0, first_content_timeout: 0.3 }
  - model_name: pair
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", order: 1 }
  - model_name: pair-claude
    proxy_params: { model: anthropic/lie-0, api_base: "{upstream}", api_key: k, order: 0, first_content_timeout: 0.3 }
  - model_name: pair-claude
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", order: 1 }
router_settings: { allowed_fails: 1000, `,
)

beforeAll(async () => {
  upstream = await rawUpstream({
    onRequest(peer, request) {
      const at = Number(/lie-(\d+)/.exec(request)![1])
      peer.socket.write(answers[at]!)
    },
  })
  planned('')
  gateway = await startGateway({ config: config.replaceAll('{upstream}', upstream.url) })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  upstream?.stop()
})

const ask = (path: string, body: object) =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-api-key': key },
    body: JSON.stringify(body),
  })
const rowOf = async (response: Response) =>
  (await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`))[0]

/** Of a streamed chat. */
const wordsOf = (text: string) =>
  [...text.matchAll(/"delta":\{[^}]*"content":"([^"]*)"/g)].map(([, words]) => words).join('')

const messages = [{ role: 'user', content: 'say: honest words' }]
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const chat = (name: string, stream: boolean, more: object = {}) =>
  ask('/v1/chat/completions', {
    model: name,
    messages,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    ...more,
  })
const claude = (name: string, stream: boolean) => ask('/v1/messages', { model: name, messages, max_tokens: 9, stream })
const google = (name: string, stream: boolean) => {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return ask(`/v1beta/models/${encodeURIComponent(name)}:${method}`, { contents })
}

/** The columns: upstream's dialect, client, how it asks, and what only a complete stream has. */
const columns: [string, string, (name: string, stream: boolean) => Promise<Response>, RegExp][] = [
  ['openai', 'chat, forwarded', chat, /data: \[DONE\]\n\n$/],
  ['openai', 'Messages by chat', claude, /"type":"message_stop"/],
  [
    'openai',
    'Responses by chat',
    (name, stream) => ask('/v1/responses', { model: name, input: 'hi', stream }),
    /"response.completed"/,
  ],
  ['openai', 'Gemini by chat', google, /"finishReason":"STOP"/],
  [
    'completions',
    'completions, forwarded',
    (name, stream) => ask('/v1/completions', { model: name, prompt: 'hi', stream }),
    /data: \[DONE\]\n\n$/,
  ],
  ['anthropic', 'Messages, forwarded', claude, /"type":"message_stop"/],
  ['anthropic', 'chat by Messages', chat, /data: \[DONE\]\n\n$/],
  ['gemini', 'Gemini, forwarded', google, /"finishReason": ?"STOP"/],
  ['gemini', 'chat by Gemini', chat, /data: \[DONE\]\n\n$/],
]

for (const [name, client, send, mark] of columns) {
  const dialect = dialects[name]!
  describe(`${client}: a stream with`, () => {
    for (const lie of streamLies) {
      const body = lie.stream(dialect)
      if (body === undefined) continue
      test(`${lie.name}: ${lie.verdict}`, async () => {
        const at = planned(head + chunked(body) + (lie.open ? '' : '0\r\n\r\n'))
        const response = await send(`${name}/lie-${at}`, true)
        const text = await response.text()
        const row = await rowOf(response)
        if (lie.verdict === 'complete') {
          expect([response.status, mark.test(text), /"error": ?[{"]/.test(text)]).toEqual([200, true, false])
          expect(row).toMatchObject({ outcome: 'success', status: 200, usage_source: 'upstream', input_tokens: 7 })
          return
        }
        expect([mark.test(text), /error|failed/.test(text)]).toEqual([false, true])
        if (lie.says) expect(text).toContain(lie.says)
        if (!lie.late) expect(response.status).toBeOneOf([500, 502, 503])
        expect(row?.outcome).toBe(response.status === 200 ? 'upstream_cut' : 'error')
      })
    }
  })

  describe(`${client}: a whole answer of`, () => {
    for (const lie of wholeLies)
      test(`${lie.name}: ${lie.verdict}`, async () => {
        const response = await send(`${name}/lie-${planned(answer(lie.body(dialect)))}`, false)
        const text = await response.text()
        const row = await rowOf(response)
        if (lie.verdict === 'complete') {
          expect([response.status, text.includes('true words')]).toEqual([200, true])
          expect(row).toMatchObject({ outcome: 'success', usage_source: 'upstream', input_tokens: 7 })
          return
        }
        expect(response.status).toBeOneOf([500, 502, 503])
        expect([text.includes('true words'), row?.outcome]).toEqual([false, 'error'])
      })
  })
}

describe('a lie that shows before the first content is answered by another deployment:', () => {
  for (const [pair, dialect] of [
    ['pair', dialects.openai!],
    ['pair-claude', dialects.anthropic!],
  ] as const)
    for (const lie of streamLies) {
      const body = lie.stream(dialect)
      if (body === undefined || lie.verdict === 'complete' || lie.late) continue
      test(`${pair}: ${lie.name}`, async () => {
        answers[0] = `${head}${chunked(body)}0\r\n\r\n`
        const response = await chat(pair, true, { num_retries: 1 })
        const text = await response.text()
        expect([response.status, wordsOf(text), text.endsWith('data: [DONE]\n\n')]).toEqual([200, 'honest words', true])
        expect(await rowOf(response)).toMatchObject({ outcome: 'success', attempts: 2 })
      })
    }

  test('comments, pings and nothing else on an open connection', async () => {
    const ping = 'event: ping\ndata: {"type":"ping"}\n\n'
    for (const [pair, body] of [
      ['pair', ': OPENROUTER PROCESSING\n\n'],
      ['pair-claude', ': still here\n\n'],
      ['pair-claude', ping],
    ] as const) {
      answers[0] = head + chunked(body)
      const response = await chat(pair, true, { num_retries: 1 })
      expect([response.status, wordsOf(await response.text())]).toEqual([200, 'honest words'])
      expect(await rowOf(response)).toMatchObject({ outcome: 'success', attempts: 2 })
    }
  })
})
