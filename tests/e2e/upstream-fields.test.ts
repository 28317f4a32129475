/** Fields by which a client could steer an upstream past the gateway, and the provider's own ids, in every dialect. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string, more = '') =>
  `  - model_name: ${name}
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: canary${more} }\n`
const template = '{ chat_template_kwargs: { enable_thinking: false } }'
const config = `model_list:
${entry('chat')}${entry('open', ', allowed_fields: [provider, repetition_penalty]')}
${entry('closed', ', forward_unknown_fields: false, allowed_fields: [repetition_penalty]')}
${entry('strict', ', drop_params: false')}
${entry('cool', `, temperature: 0.2, stop: END, reasoning_effort: high, extra_body: ${template}`)}
  - model_name: claude
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: canary }
  - model_name: gemini
    proxy_params: { model: gemini/sim-gemini, api_base: "{simulator}/v1beta", api_key: canary }
  - model_name: responses
    proxy_params: { model: lm_studio/sim-chat, api_base: "{simulator}/v1", api_key: canary }
  - model_name: embed
    proxy_params: { model: custom_openai/sim-embedding, api_base: "{simulator}/v1", api_key: canary }
  - model_name: speech
    proxy_params: { model: custom_openai/sim-speech, api_base: "{simulator}/v1", api_key: canary }
router_settings: { num_retries: 0, fallbacks: [{ open: [chat] }] }
`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

async function ask(path: string, body: object | FormData, as = key) {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'anthropic-version': '2023-06-01' },
    body: body instanceof FormData ? body : JSON.stringify(body),
  })
  return {
    status: response.status,
    dropped: response.headers.get('x-proxy-dropped-params'),
    text: await response.text(),
  }
}

const sent = () => gateway.simulator.truth.entries.map(one => one.body as Record<string, unknown>)

const messages = [{ role: 'user', content: 'say: hi' }]
const chat = { model: 'chat', messages }
const paths: readonly (readonly [string, object])[] = [
  ['/v1/chat/completions', chat],
  ['/v1/completions', { model: 'chat', prompt: 'x' }],
  ['/v1/responses', { model: 'responses', input: 'x' }],
  ['/v1/messages', { model: 'claude', max_tokens: 9, messages }],
  ['/v1/messages/count_tokens', { model: 'claude', messages }],
  ['/v1beta/models/gemini:generateContent', { contents: [{ parts: [{ text: 'x' }] }] }],
  ['/v1/embeddings', { model: 'embed', input: 'x' }],
  ['/v1/images/generations', { model: 'chat', prompt: 'x' }],
  ['/v1/audio/speech', { model: 'speech', input: 'x', voice: 'alloy' }],
  ['/v1/rerank', { model: 'chat', query: 'x', documents: ['x'] }],
]

describe('optional fields that are null', () => {
  const none = { user: null, x_unknown: null }
  test.each([
    ['/v1/chat/completions', { ...chat, ...none, stop: null, tools: null, stream_options: null, temperature: null }],
    ['/v1/completions', { model: 'chat', prompt: 'x', ...none, suffix: null, echo: null }],
    ['/v1/responses', { model: 'responses', input: 'x', ...none, tools: null, text: null }],
    ['/v1/messages', { model: 'claude', max_tokens: 9, messages, system: null, stop_sequences: null }],
    ['/v1beta/models/gemini:generateContent', { contents: [{ parts: [{ text: 'x' }] }], tools: null }],
    ['/v1/embeddings', { model: 'embed', input: 'x', ...none, encoding_format: null, dimensions: null }],
    ['/v1/audio/speech', { model: 'speech', input: 'x', voice: 'alloy', speed: null }],
  ])('%s: reach no upstream, which may refuse null', async (path, body) => {
    expect(await ask(path, body)).toMatchObject({ status: 200, dropped: null })
    expect(sent()).toHaveLength(1)
    for (const [name, value] of Object.entries(sent()[0]!)) expect([name, value]).not.toEqual([name, null])
  })
})

describe('media in a field for another kind, at an upstream of the same dialect', () => {
  const pdf = Buffer.from('%PDF-1.7 x').toString('base64')
  const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64')
  const image = (url: string) => ({ type: 'image_url', image_url: { url } })
  const inline = (inlineData: object) => ({ contents: [{ role: 'user', parts: [{ inlineData }] }] })
  const chatOf = (part: object) => ({ model: 'chat', messages: [{ role: 'user', content: [part] }] })
  const block = (type: string, mediaType: string, data: string) => ({
    ...{ model: 'claude', max_tokens: 9 },
    messages: [{ role: 'user', content: [{ type, source: { type: 'base64', media_type: mediaType, data } }] }],
  })
  test.each([
    ['/v1/chat/completions', chatOf(image(`data:application/pdf;base64,${pdf}`)), '"type":"file"'],
    ['/v1/chat/completions', chatOf(image(`data:image/png;base64,${pdf}`)), `data:application/pdf;base64,${pdf}`],
    [
      '/v1/chat/completions',
      chatOf({ type: 'file', file: { file_data: `data:image/png;base64,${png}` } }),
      'image_url',
    ],
    ['/v1/messages', block('image', 'application/pdf', pdf), '"type":"document"'],
    ['/v1/messages', block('image', 'image/jpeg', png), '"media_type":"image/png"'],
    ['/v1/messages', block('document', 'image/png', png), '"type":"image"'],
    ['/v1/chat/completions', chatOf({ type: 'file', file: { file_data: png } }), 'image_url'],
    ['/v1beta/models/gemini:generateContent', inline({ mimeType: 'text/plain', data: png }), '"mimeType":"image/png"'],
  ])('%s: becomes the part of its type: %#', async (path, body, part) => {
    expect(await ask(path, body)).toMatchObject({ status: 200 })
    expect(sent().map(one => JSON.stringify(one))).toEqual([expect.stringContaining(part) as string])
  })

  test('is refused with its field where the upstream has no such part, and nothing is sent', async () => {
    const refused = await ask(
      '/v1/messages',
      block('image', 'audio/wav', Buffer.from('RIFF....WAVE').toString('base64')),
    )
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining('messages.0.content.0.source.data: this model takes no audio') as string,
    ])
    expect(sent()).toEqual([])
  })

  test('in its own field the bytes go as they are', async () => {
    const right = { ...chatOf({ ...image(`data:image/png;base64,${png}`), x_own: 1 }), x_more: [1] }
    expect(await ask('/v1/chat/completions', right)).toMatchObject({ status: 200 })
    expect(JSON.stringify(sent()[0]!.messages)).toBe(JSON.stringify(right.messages))
  })
})

describe('fields of the entry, for calls that have none of their own', () => {
  const cool = { model: 'cool', messages }
  const extra = { chat_template_kwargs: { enable_thinking: false } }
  const given = { temperature: 0.2, stop: 'END', reasoning_effort: 'high', ...extra }

  test('are sent with chats and completions, and what a client says wins', async () => {
    for (const [path, body, expected] of [
      ['/v1/chat/completions', cool, given],
      ['/v1/chat/completions', { ...cool, temperature: 1, reasoning: { effort: 'low' } }, { temperature: 1, ...extra }],
      ['/v1/chat/completions', { ...cool, chat_template_kwargs: {}, stop: null }, { chat_template_kwargs: {} }],
      ['/v1/completions', { model: 'cool', prompt: 'say: hi' }, { temperature: 0.2, stop: 'END', ...extra }],
    ] as const) {
      gateway.simulator.reset()
      expect(await ask(path, body)).toMatchObject({ status: 200, dropped: null })
      expect(sent()).toMatchObject([expected])
      if ('reasoning' in body) expect(sent()[0]).not.toHaveProperty('reasoning_effort')
    }
    await ask('/v1/chat/completions', chat)
    expect(sent().at(-1)).not.toHaveProperty('temperature')
  })

  test('are said in the words of Messages and Responses', async () => {
    for (const [path, body] of [
      ['/v1/messages', { ...cool, max_tokens: 9 }],
      ['/v1/responses', { model: 'cool', input: 'say: hi' }],
    ] as const) {
      gateway.simulator.reset()
      expect(await ask(path, body)).toMatchObject({ status: 200 })
      expect(sent()).toMatchObject([{ temperature: 0.2, reasoning_effort: 'high' }])
    }
  })
})

describe('names that differ only by case', () => {
  for (const [path, body] of paths)
    test(`are refused on ${path}, and nothing is sent`, async () => {
      for (const name of ['Model', 'MODEL', 'Models', 'Api_Base', '\u0050rovider']) {
        const { status, text } = await ask(path, { ...body, [name]: 'other' })
        expect({ name, status, text }).toMatchObject({ status: 400, text: expect.stringContaining(`\`${name}\``) })
      }
      expect(sent()).toEqual([])
    })

  test('so are letters beyond ASCII that fold to ASCII ones', async () => {
    for (const name of ['\u017Ftream', 'top_\u212A'])
      expect(await ask('/v1/chat/completions', { ...chat, [name]: 1 })).toMatchObject({ status: 400 })
  })

  test('are refused in forms and in the lines of a batch', async () => {
    const form = new FormData()
    form.set('model', 'chat')
    form.set('Model', 'other')
    form.set('prompt', 'x')
    form.set('image', new File([new Uint8Array([137, 80, 78, 71])], 'x.png', { type: 'image/png' }))
    expect(await ask('/v1/images/edits', form)).toMatchObject({
      status: 400,
      text: expect.stringContaining('`Model`'),
    })
    const upload = (extra: object) => {
      const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { ...chat, ...extra } }
      const file = new FormData()
      file.set('purpose', 'batch')
      file.set('model', 'chat')
      file.set('file', new File([JSON.stringify(line)], 'x.jsonl'))
      return ask('/v1/files', file)
    }
    expect((await upload({})).status).toBe(200)
    expect(await upload({ MODEL: 'x' })).toMatchObject({ status: 400, text: expect.stringContaining('line 1') })
    expect(await upload({ models: ['x'] })).toMatchObject({ status: 400, text: expect.stringContaining('models') })
  })

  test('other unknown names pass on the forward lane', async () => {
    expect((await ask('/v1/chat/completions', { ...chat, guidedJson: {}, repetition_penalty: 1.1 })).status).toBe(200)
    expect(sent()[0]).toMatchObject({ guidedJson: {}, repetition_penalty: 1.1 })
  })
})

describe('fields that choose a model, route or plugin of the upstream', () => {
  const steering = { models: ['a'], route: 'fallback', provider: { order: ['x'] }, plugins: [], preset: 'p' }

  for (const [path, body] of paths)
    test(`are not sent from ${path}`, async () => {
      await ask(path, { ...body, ...steering })
      expect(sent().length).toBe(1)
      for (const one of sent()) expect(Object.keys(one).filter(name => name in steering)).toEqual([])
    })

  test('are named in the answer, whole and streamed; a client or operator that wants no loss is told', async () => {
    const named = 'models,route,provider,plugins,preset'
    expect(await ask('/v1/chat/completions', { ...chat, ...steering })).toMatchObject({ status: 200, dropped: named })
    expect(await ask('/v1/chat/completions', { ...chat, ...steering, stream: true })).toMatchObject({
      status: 200,
      dropped: named,
    })
    const strict = await ask('/v1/chat/completions', { ...chat, model: 'strict', ...steering })
    expect(strict).toMatchObject({ status: 422, text: expect.stringContaining('does not take models') })
  })

  test('are not sent with a form', async () => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ model: 'chat', models: 'other', prompt: 'x' })) form.set(name, value)
    form.set('image', new File([new Uint8Array([137, 80, 78, 71])], 'x.png', { type: 'image/png' }))
    const answer = await ask('/v1/images/edits', form)
    expect(answer).toMatchObject({ dropped: 'models' })
    expect(sent().length).toBe(1)
    expect(JSON.stringify(sent())).not.toContain('other')
  })

  test('pass where the deployment allows them, not to its fallback', async () => {
    expect(await ask('/v1/chat/completions', { ...chat, model: 'open', ...steering })).toMatchObject({
      status: 200,
      dropped: 'models,route,plugins,preset',
    })
    expect(sent()[0]).toMatchObject({ provider: { order: ['x'] } })
    gateway.simulator.reset()
    let refusals = 1
    gateway.simulator.script(() => refusals-- > 0, { raw: { status: 503, body: '{}' } })
    expect((await ask('/v1/chat/completions', { ...chat, model: 'open', ...steering })).status).toBe(200)
    expect(sent().map(one => 'provider' in one)).toEqual([true, false])
  })

  test('with forward_unknown_fields: false only the known and the allowed ones pass', async () => {
    const more = { repetition_penalty: 1.1, guided_json: {}, seed: 1 }
    expect(await ask('/v1/chat/completions', { ...chat, model: 'closed', ...more })).toMatchObject({
      status: 200,
      dropped: 'guided_json',
    })
    expect(sent()[0]).toMatchObject({ repetition_penalty: 1.1, seed: 1 })
    expect(sent()[0]).not.toHaveProperty('guided_json')
  })
})
