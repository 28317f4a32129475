/**
 * Moderation, pictures, speech and transcription through a whole gateway: to an upstream of OpenAI's shape and to
 * `local`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { expectConforms, streamData } from '../support/openai-conformance.ts'
import { rawUpstream } from '../support/upstreams/raw-upstream.ts'
import type { RawUpstream } from '../support/upstreams/raw-upstream.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const config = (media: string, raw: string) => `
model_list:
  - model_name: judge
    proxy_params: { model: openai/omni-moderation-latest, api_base: "${media}/v1", api_key: k, input_cost_per_token: 0 }
    model_info: { mode: moderation }
  - model_name: "media/*"
    proxy_params: { model: "openai/*", api_base: "${media}/v1", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: both
    proxy_params: { model: openai/fails-first, api_base: "${media}/v1", api_key: k, order: 0 }
  - model_name: both
    proxy_params: { model: openai/works, api_base: "${media}/v1", api_key: k, order: 1 }
  - model_name: "raw/*"
    proxy_params: { model: "openai/*", api_base: "${raw}/v1", api_key: k, input_cost_per_token: 0.000001 }
  - model_name: chatty
    proxy_params: { model: anthropic/claude-x, api_base: "${media}", api_key: k }
router_settings: { num_retries: 1 }
`

interface Seen {
  readonly path: string
  readonly headers: Headers
  /** Fields of a form or of a JSON body. */
  readonly fields: Record<string, unknown>
  /** `name: filename bytes sha256`. */
  readonly files: string[]
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const seen: Seen[] = []
let speechClosed = 0

/** OpenAI's media endpoints; the model's name says how it behaves. */
function startMediaUpstream() {
  return Bun.serve({
    port: 0,
    maxRequestBodySize: 1e9,
    async fetch(request) {
      const path = new URL(request.url).pathname
      const fields: Record<string, unknown> = {}
      const files: string[] = []
      if (request.headers.get('content-type')?.startsWith('multipart/'))
        for (const [name, value] of (await request.formData()) as unknown as Iterable<[string, string | File]>) {
          if (typeof value === 'string') fields[name] = name in fields ? [fields[name], value].flat() : value
          else files.push(`${name}: ${value.name} ${value.size} ${sha256(await value.bytes())}`)
        }
      else for (const [name, value] of Object.entries((await request.json()) as object)) fields[name] = value
      seen.push({ path, headers: request.headers, fields, files })
      if (fields.model === 'fails-first') return Response.json({ error: { message: 'broken' } }, { status: 500 })
      return answers[path]!(fields)
    },
  })
}

const sse = (...events: object[]) =>
  new Response(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

const answers: Record<string, (fields: Record<string, unknown>) => Response> = {
  '/v1/moderations': fields =>
    Response.json({
      id: 'modr-1',
      model: fields.model,
      results: [{ flagged: false, categories: {}, category_scores: {} }],
    }),
  '/v1/images/generations': fields => {
    const usage = {
      total_tokens: 30,
      input_tokens: 10,
      output_tokens: 20,
      input_tokens_details: { text_tokens: 10, image_tokens: 0 },
    }
    const done = { type: 'image_generation.completed', b64_json: 'QUI=', usage }
    if (fields.stream === true) return sse({ type: 'image_generation.partial_image', b64_json: 'QQ==' }, done)
    return Response.json({ created: 5, data: [{ b64_json: 'QUI=' }], ...(fields.model === 'tokens' && { usage }) })
  },
  '/v1/images/edits': () => Response.json({ created: 5, data: [{ b64_json: 'QUI=' }] }),
  '/v1/images/variations': () => Response.json({ created: 5, data: [{ url: 'https://a/b.png' }] }),
  '/v1/audio/speech': speech,
  '/v1/audio/transcriptions': transcription,
  '/v1/audio/translations': () => Response.json({ text: 'translated' }),
}

function speech(fields: Record<string, unknown>): Response {
  if (fields.model === 'refuses')
    return Response.json({ error: { message: 'no such voice', param: 'voice' } }, { status: 400 })
  if (fields.model === 'lies') return Response.json({ error: 'under a good status' })
  if (fields.stream_format === 'sse')
    return sse(
      { type: 'speech.audio.delta', audio: 'QUJD' },
      { type: 'speech.audio.done', usage: { input_tokens: 4, output_tokens: 6, total_tokens: 10 } },
    )
  let timer: Timer | undefined
  let count = 0
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        controller.enqueue(new Uint8Array(1000).fill(++count))
        if (count < (fields.model === 'endless' ? 1e9 : 5)) return
        clearInterval(timer)
        controller.close()
      }, 60)
    },
    cancel() {
      clearInterval(timer)
      speechClosed++
    },
  })
  return new Response(body, { headers: { 'content-type': `audio/${(fields.response_format as string) ?? 'mpeg'}` } })
}

function transcription(fields: Record<string, unknown>): Response {
  if (fields.stream === 'true' && fields.model !== 'whisper-1') {
    const usage = {
      type: 'tokens',
      input_tokens: 14,
      input_token_details: { text_tokens: 0, audio_tokens: 14 },
      output_tokens: 3,
      total_tokens: 17,
    }
    return sse({ type: 'transcript.text.delta', delta: 'Hi' }, { type: 'transcript.text.done', text: 'Hi', usage })
  }
  const plain = { 'content-type': 'text/plain; charset=utf-8' }
  if (fields.response_format === 'srt')
    return new Response('1\n00:00:00,000 --> 00:00:01,000\nHi\n\n', { headers: plain })
  if (fields.response_format === 'vtt') return new Response('WEBVTT\n\n', { headers: { 'content-type': 'text/vtt' } })
  if (fields.response_format === 'text') return new Response('Hi\n', { headers: plain })
  return Response.json({ text: 'Hi', usage: { type: 'duration', seconds: 9 } })
}

describe('modalities', () => {
  let gateway: Gateway
  let upstream: ReturnType<typeof startMediaUpstream>
  let raw: RawUpstream
  let key: string
  let client: OpenAI

  beforeAll(async () => {
    upstream = startMediaUpstream()
    raw = await rawUpstream({
      onRequest(peer, request) {
        const length = request.includes('cut-late') ? 'content-length: 1000000\r\n' : ''
        peer.socket.write(`HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\n${length}\r\n`)
        if (!request.includes('cut-early')) peer.socket.write(Buffer.alloc(5000, 7))
        setTimeout(() => peer.socket.resetAndDestroy(), 50)
      },
    })
    gateway = await startGateway({ config: config(upstream.url.href.replace(/\/$/, ''), raw.url) })
    key = await gateway.key({ user_id: 'u' })
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
  })
  afterAll(async () => {
    await gateway?.stop()
    raw?.stop()
    await upstream?.stop(true)
  })

  const post = (path: string, body: BodyInit | object, headers: Record<string, string> = {}, signal?: AbortSignal) => {
    const isRaw = body instanceof FormData || typeof body === 'string' || body instanceof Uint8Array
    return fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: isRaw ? (body as BodyInit) : JSON.stringify(body),
      signal: signal ?? null,
    })
  }
  const form = (fields: Record<string, string>, file?: Uint8Array, name = 'a.wav') => {
    const made = new FormData()
    if (file) made.append('file', new File([file as BlobPart], name, { type: 'audio/wav' }))
    for (const [field, value] of Object.entries(fields)) made.append(field, value)
    return made
  }
  const rowOf = async (id: string | null) => {
    const rows = (await gateway.rows()).filter(row => row.request_id === id)
    expect(rows.length).toBe(1)
    return rows[0]!
  }
  /** Of the last calls. */
  const lastRow = async (response: Response) => rowOf(response.headers.get('x-request-id'))
  const last = () => seen.at(-1)!
  const wav = new Uint8Array(2000).fill(3)

  // ---- moderation

  test('moderations without a model go to the first that judges, and come back under its public name', async () => {
    const response = await post('/moderations', { input: ['a', 'b'] })
    expect(await response.json()).toMatchObject({ model: 'judge' })
    expect([last().path, last().fields]).toEqual([
      '/v1/moderations',
      { input: ['a', 'b'], model: 'omni-moderation-latest' },
    ])
    expect(await lastRow(response)).toMatchObject({
      operation: 'moderations',
      route: '/v1/moderations',
      model: 'judge',
      status: 200,
      outcome: 'success',
      cost_nano_usd: '0',
    })
    expect((await client.moderations.create({ input: 'a', model: 'judge' })).results.length).toBe(1)
  })

  test('the built-in judge, whose verdicts are simulated, judges only when it is named', async () => {
    const limited = await gateway.key({ models: ['local/simulated-moderation'] })
    expect((await post('/v1/moderations', { input: 'a' }, { authorization: `Bearer ${limited}` })).status).toBe(422)
    const judged = await new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: limited,
      maxRetries: 0,
    }).moderations.create({ input: 'I will kill you', model: 'local/simulated-moderation' })
    expectConforms('CreateModerationResponse', judged)
    expect([judged.model, judged.results[0]!.flagged]).toEqual(['local/simulated-moderation', true])
    const none = await gateway.key({ models: ['media/x'] })
    const refused = await post('/v1/moderations', { input: 'a' }, { authorization: `Bearer ${none}` })
    expect([refused.status, ((await refused.json()) as { detail: { loc: string[] }[] }).detail[0]!.loc]).toEqual([
      422,
      ['body', 'model'],
    ])
  })

  test('a model that does not judge says so', async () => {
    const response = await post('/v1/moderations', { input: 'a', model: 'local/simulated-chat' })
    expect(response.status).toBe(400)
    const empty = await post('/v1/moderations', { model: 'judge' })
    expect([empty.status, ((await empty.json()) as { detail: { type: string }[] }).detail[0]!.type]).toEqual([
      422,
      'missing',
    ])
  })

  // ---- pictures

  test('pictures: JSON both ways; tokens are priced, pictures alone have no known price', async () => {
    const priced = await post('/v1/images/generations', { model: 'media/tokens', prompt: 'a cat', n: 1 })
    expectConforms('ImagesResponse', await priced.json())
    expect(last().fields).toEqual({ model: 'tokens', prompt: 'a cat', n: 1 })
    expect(await lastRow(priced)).toMatchObject({
      operation: 'images',
      input_tokens: 10,
      output_tokens: 20,
      cost_nano_usd: '50000',
      usage_source: 'upstream',
    })
    const unpriced = await post('/images/generations', { model: 'media/pictures', prompt: 'a cat' })
    expect(await lastRow(unpriced)).toMatchObject({ status: 200, cost_nano_usd: null })
  })

  test('pictures as events, by the SDK', async () => {
    const stream = await client.images.generate({ model: 'media/x', prompt: 'a cat', stream: true })
    const types: string[] = []
    for await (const event of stream) types.push(event.type)
    expect(types).toEqual(['image_generation.partial_image', 'image_generation.completed'])
    const [row] = await gateway.rows()
    expect(row).toMatchObject({ stream: true, outcome: 'success', input_tokens: 10, output_tokens: 20 })
  })

  test('edits and variations are forms with their pictures', async () => {
    const image = (name: string, byte: number) =>
      toFile(new Uint8Array(400_000).fill(byte), name, { type: 'image/png' })
    await client.images.edit({
      model: 'media/edit',
      prompt: 'x',
      image: [await image('a.png', 1), await image('b.png', 2)],
    })
    expect(last().fields).toEqual({ model: 'edit', prompt: 'x' })
    expect(last().files).toEqual(
      [1, 2].map(byte => `image[]: ${byte === 1 ? 'a' : 'b'}.png 400000 ${sha256(new Uint8Array(400_000).fill(byte))}`),
    )
    expect(
      (await client.images.createVariation({ model: 'media/vary', image: await image('a.png', 1) })).data![0]!.url,
    ).toBe('https://a/b.png')
    const refused = await post('/v1/images/edits', form({ model: 'local/simulated-image', prompt: 'x' }))
    expect([refused.status, ((await refused.json()) as { detail: { loc: string[] }[] }).detail[0]!.loc]).toEqual([
      422,
      ['body', 'image'],
    ])
  })

  test('the built-in pictures are PNG', async () => {
    const made = await client.images.generate({
      model: 'local/simulated-image',
      prompt: 'a cat',
      size: '512x512',
      n: 2,
    })
    expect(made.data!.map(one => Buffer.from(one.b64_json!, 'base64').toString('latin1', 1, 4))).toEqual(['PNG', 'PNG'])
    const refused = await post('/v1/images/generations', {
      model: 'local/simulated-image',
      prompt: 'a',
      output_format: 'webp',
    })
    expect([refused.status, ((await refused.json()) as { error: { message: string } }).error.message]).toEqual([
      400,
      'the built-in image model makes png only',
    ])
  })

  // ---- speech

  test("speech arrives while it is made, byte for byte, under the upstream's type", async () => {
    const response = await post('/v1/audio/speech', {
      model: 'media/tts',
      input: 'hello there',
      voice: 'alloy',
      response_format: 'opus',
    })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/opus'])
    const reader = response.body!.getReader()
    const first = await reader.read()
    const firstMs = performance.now()
    const pieces = [first.value!]
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) pieces.push(piece.value)
    expect(performance.now() - firstMs).toBeGreaterThan(100)
    expect(Buffer.concat(pieces)).toEqual(Buffer.concat([1, 2, 3, 4, 5].map(byte => new Uint8Array(1000).fill(byte))))
    expect(await lastRow(response)).toMatchObject({
      operation: 'speech',
      outcome: 'success',
      stream: false,
      cost_nano_usd: null,
      usage_source: 'estimated',
      input_tokens: 0,
    })
  })

  test('speech as events reports its tokens', async () => {
    const response = await post('/audio/speech', {
      model: 'media/tts',
      input: 'hi',
      voice: 'alloy',
      stream_format: 'sse',
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(streamData(await response.text()).length).toBe(2)
    expect(await lastRow(response)).toMatchObject({
      stream: true,
      input_tokens: 4,
      output_tokens: 6,
      cost_nano_usd: '16000',
      usage_source: 'upstream',
    })
  })

  test('errors before the first byte have their true status', async () => {
    const refused = await post('/v1/audio/speech', { model: 'media/refuses', input: 'x', voice: 'nobody' })
    expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/json'])
    expect(((await refused.json()) as { error: { message: string } }).error.message).toBe('no such voice')
    expect(await lastRow(refused)).toMatchObject({ outcome: 'error', status: 400 })
    expect((await post('/v1/audio/speech', { model: 'media/lies', input: 'x', voice: 'a' })).status).toBe(502)
    expect((await post('/v1/audio/speech', { model: 'raw/cut-early', input: 'x', voice: 'a' })).status).toBe(503)
    expect((await post('/v1/audio/speech', { model: 'media/tts', voice: 'a' })).status).toBe(422)
    expect((await post('/v1/audio/speech', { model: 'chatty', input: 'x', voice: 'a' })).status).toBe(400)
  })

  test('speech that is cut is cut for the client, not quietly shorter', async () => {
    const response = await post('/v1/audio/speech', { model: 'raw/cut-late', input: 'hello', voice: 'a' })
    expect(response.status).toBe(200)
    expect(
      await response.bytes().then(
        () => 'whole',
        () => 'cut',
      ),
    ).toBe('cut')
    expect(await lastRow(response)).toMatchObject({ outcome: 'upstream_cut', error_kind: 'upstream-closed' })
  })

  test('a client that leaves stops the voice', async () => {
    const before = speechClosed
    const leaving = new AbortController()
    const response = await post(
      '/v1/audio/speech',
      { model: 'media/endless', input: 'x', voice: 'a' },
      {},
      leaving.signal,
    )
    await response.body!.getReader().read()
    leaving.abort()
    await until(() => speechClosed > before, 'the upstream is closed')
    expect(await lastRow(response)).toMatchObject({ outcome: 'client_closed' })
  })

  test('the built-in voice makes WAV, and its WAV is understood by the built-in ear', async () => {
    const spoken = await client.audio.speech.create({
      model: 'local/simulated-speech',
      input: 'x'.repeat(50),
      voice: 'alloy',
      response_format: 'wav',
    })
    expect(spoken.headers.get('content-type')).toBe('audio/wav')
    const heard = await client.audio.transcriptions.create({
      model: 'local/simulated-transcription',
      response_format: 'verbose_json',
      file: await toFile(await spoken.arrayBuffer(), 'x.wav'),
    })
    expect([heard.duration, heard.text.includes('24000 Hz')]).toEqual([1.5, true])
    const [row] = await gateway.rows()
    expect(row).toMatchObject({
      operation: 'transcriptions',
      model: 'local/simulated-transcription',
      cost_nano_usd: '0',
    })
    const refused = await post('/v1/audio/speech', {
      model: 'local/simulated-speech',
      input: 'x',
      voice: 'a',
      response_format: 'mp3',
    })
    expect([refused.status, ((await refused.json()) as { error: { message: string } }).error.message]).toEqual([
      400,
      expect.stringContaining('wav and pcm'),
    ])
  })

  // ---- transcription

  test("a file of 12 MB with its model behind it arrives unchanged under the upstream's model", async () => {
    const file = Uint8Array.from({ length: 12_000_000 }, (_, at) => (at * 7 + (at >> 10)) & 255)
    const response = await post(
      '/v1/audio/transcriptions',
      form(
        { model: 'media/whisper-1', language: 'en', 'timestamp_granularities[]': 'word', api_key: 'sk-x' },
        file,
        'näme x.wav',
      ),
    )
    expect([response.status, await response.json()]).toEqual([
      200,
      { text: 'Hi', usage: { type: 'duration', seconds: 9 } },
    ])
    expect(last().fields).toEqual({ model: 'whisper-1', language: 'en', 'timestamp_granularities[]': 'word' })
    expect(last().files).toEqual([`file: näme x.wav 12000000 ${sha256(file)}`])
    expect(Number(last().headers.get('content-length'))).toBeGreaterThan(12_000_000)
    expect(last().headers.get('authorization')).toBe('Bearer k')
    expect(await lastRow(response)).toMatchObject({
      operation: 'transcriptions',
      outcome: 'success',
      cost_nano_usd: '900000',
      usage_source: 'upstream',
    })
    expect(readdirSync(join(gateway.dataDirectory, 'uploads'))).toEqual([])
  })

  test('every response format passes with its type', async () => {
    const ask = async (format: string) => {
      const response = await post(
        '/audio/transcriptions',
        form({ model: 'media/whisper-1', response_format: format }, wav),
      )
      return [response.headers.get('content-type'), await response.text()]
    }
    expect(await ask('text')).toEqual(['text/plain; charset=utf-8', 'Hi\n'])
    expect(await ask('srt')).toEqual(['text/plain; charset=utf-8', '1\n00:00:00,000 --> 00:00:01,000\nHi\n\n'])
    expect(await ask('vtt')).toEqual(['text/vtt', 'WEBVTT\n\n'])
    const [row] = await gateway.rows()
    expect(row).toMatchObject({ usage_source: 'none', cost_nano_usd: null, input_tokens: null })
    expect((await client.audio.translations.create({ model: 'media/w', file: await toFile(wav, 'a.wav') })).text).toBe(
      'translated',
    )
  })

  test('streams, from models that can and from one that cannot', async () => {
    const stream = await client.audio.transcriptions.create({
      model: 'media/gpt-transcribe',
      file: await toFile(wav, 'a.wav'),
      stream: true,
    })
    const events: string[] = []
    for await (const event of stream) events.push(event.type)
    expect(events).toEqual(['transcript.text.delta', 'transcript.text.done'])
    const [row] = await gateway.rows()
    expect(row).toMatchObject({ stream: true, input_tokens: 14, output_tokens: 3, outcome: 'success' })
    const whole = await post('/v1/audio/transcriptions', form({ model: 'media/whisper-1', stream: 'true' }, wav))
    expect([whole.headers.get('content-type'), ((await whole.json()) as { text: string }).text]).toEqual([
      expect.stringContaining('application/json'),
      'Hi',
    ])
  })

  test('another deployment gets the whole file again', async () => {
    const file = new Uint8Array(1_000_000).fill(9)
    const response = await post('/v1/audio/transcriptions', form({ model: 'both' }, file))
    expect([response.status, response.headers.get('x-proxy-attempted-retries')]).toEqual([200, '1'])
    expect(seen.slice(-2).map(one => [one.fields.model, one.files])).toEqual([
      ['fails-first', [`file: a.wav 1000000 ${sha256(file)}`]],
      ['works', [`file: a.wav 1000000 ${sha256(file)}`]],
    ])
  })

  const bad: [string, () => BodyInit, Record<string, string>, number, string][] = [
    ['no file', () => form({ model: 'media/x' }), {}, 422, 'file'],
    ['no model', () => form({}, wav), {}, 422, 'model'],
    [
      'two models',
      () => {
        const made = form({ model: 'media/x' }, wav)
        made.append('model', 'media/y')
        return made
      },
      {},
      422,
      'model',
    ],
    ['JSON', () => '{"model":"media/x"}', { 'content-type': 'application/json' }, 415, 'multipart/form-data'],
    [
      'a cut form',
      () => '--B\r\ncontent-disposition: form-data; name="model"\r\n\r\nx',
      { 'content-type': 'multipart/form-data; boundary=B' },
      400,
      'closing boundary',
    ],
    [
      'a form that is said to be packed',
      () => form({ model: 'media/x' }, wav),
      { 'content-encoding': 'gzip' },
      400,
      'gzip',
    ],
    [
      'more than the limit',
      () => new Uint8Array(33 * 1024 * 1024),
      { 'content-type': 'multipart/form-data; boundary=B' },
      413,
      '33554432',
    ],
    ['a text file field', () => form({ model: 'media/x', file: 'text' }), {}, 422, 'file'],
  ]
  for (const [name, body, headers, status, word] of bad)
    test(`${name} is ${status} and goes nowhere`, async () => {
      const before = seen.length
      const response = await post('/v1/audio/transcriptions', body(), headers)
      const text = await response.text()
      expect([response.status, text.includes(word)]).toEqual([status, true])
      if (status === 422)
        expect(Object.keys((JSON.parse(text) as { detail: object[] }).detail[0]!)).toEqual(['loc', 'msg', 'type'])
      expect(seen.length).toBe(before)
      expect(await lastRow(response)).toMatchObject({ outcome: 'error', status, attempts: 0 })
    })

  test('keys and limits hold for forms as for everything', async () => {
    const limited = await gateway.key({ models: ['media/a'], rpm_limit: 1 })
    const ask = (model: string) =>
      post('/v1/audio/transcriptions', form({ model }, wav), { authorization: `Bearer ${limited}` })
    const narrow = await gateway.key({ models: ['media/a'] })
    const forbidden = form({ model: 'media/b' }, wav)
    expect((await post('/v1/audio/transcriptions', forbidden, { authorization: `Bearer ${narrow}` })).status).toBe(403)
    expect((await ask('media/a')).status).toBe(200)
    expect((await ask('media/a')).status).toBe(429)
    expect(
      (await post('/v1/audio/transcriptions', form({ model: 'media/a' }, wav), { authorization: 'Bearer sk-nobody' }))
        .status,
    ).toBe(401)
  })

  test('a client that leaves in the middle of its file has one row, and nothing of it stays', async () => {
    const before = (await gateway.rows()).length
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      `POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${masterKey}\r\ncontent-type: multipart/form-data; boundary=B\r\ncontent-length: 9000000\r\n\r\n`,
    )
    socket.write('--B\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n')
    await new Promise(resolve => socket.write(new Uint8Array(2_000_000), resolve))
    socket.destroy()
    await until(async () => (await gateway.rows()).length > before, 'the call has its row')
    const rows = await gateway.rows()
    expect(rows.length).toBe(before + 1)
    expect(rows[0]).toMatchObject({ outcome: 'client_closed', status: 499, attempts: 0 })
    expect(readdirSync(join(gateway.dataDirectory, 'uploads'))).toEqual([])
  })

  test('no descriptor of a deleted upload stays open', async () => {
    const open = () => {
      try {
        return [...new Bun.Glob('*').scanSync({ cwd: '/proc/self/fd', onlyFiles: false })].length
      } catch {
        return 0
      }
    }
    const before = open()
    for (let at = 0; at < 20; at++)
      await (await post('/v1/audio/transcriptions', form({ model: 'media/whisper-1' }, new Uint8Array(600_000)))).text()
    await until(() => open() - before < 8, 'they are closed')
  })

  test('the API document tells forms and audio from JSON', async () => {
    const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
      paths: Record<string, { post: any }>
    }
    expect(Object.keys(paths['/v1/audio/transcriptions']!.post.requestBody.content)).toEqual(['multipart/form-data'])
    expect(Object.keys(paths['/audio/speech']!.post.responses[200].content)).toEqual(['audio/*', 'text/event-stream'])
    expect(paths['/moderations']).toBeDefined()
  })
})
