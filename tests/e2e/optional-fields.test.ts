/** Fields that may be left out, fields for the gateway itself, and what is refused before anything is sent. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const at = (model: string) => `{ model: ${model}, api_base: "{simulator}/v1", api_key: canary }`
const list = `model_list:
  - model_name: chat
    proxy_params: ${at('custom_openai/sim-chat')}
  - model_name: claude
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: canary }
  - model_name: thinker
    proxy_params: ${at('custom_openai/sim-chat')}
    model_info: { thinking: tags }
  - model_name: first-judge
    proxy_params: ${at('custom_openai/sim-moderation')}
    model_info: { mode: moderation }
  - model_name: other-judge
    proxy_params: ${at('groq/sim-moderation')}
    model_info: { mode: moderation }
  - model_name: first-painter
    proxy_params: ${at('custom_openai/sim-image')}
    model_info: { mode: image_generation }
  - model_name: other-painter
    proxy_params: ${at('custom_openai/sim-image')}
    model_info: { mode: image_generation }
  - model_name: embed
    proxy_params: ${at('custom_openai/sim-embedding')}
    model_info: { mode: embedding, max_input_tokens: 50 }
  - model_name: uploads
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: other-account }
    model_info: { id: uploads-id }
router_settings: { num_retries: 0 }
`

let gateway: Gateway
let configured: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config: list })
  key = await gateway.key()
  configured = await startGateway({
    config: `${list}general_settings: { moderation_model: other-judge, image_generation_model: other-painter, files_model: uploads }\n`,
  })
})
afterAll(async () => {
  await gateway?.stop()
  await configured?.stop()
})
afterEach(() => gateway.simulator.reset())

interface Seen {
  status: number
  text: string
  json: any
  headers: Headers
}

async function ask(path: string, body?: object | FormData, as = key, of = gateway): Promise<Seen> {
  const response = await fetch(of.url + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${as}` },
    ...(body && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text, json: JSON.parse(text), headers: response.headers }
}

const group = ({ headers }: Seen) => headers.get('x-proxy-model-group')
const entries = () => gateway.simulator.truth.entries

describe('a call that names no model', () => {
  test('moderations: the first model of that mode that the key may use, or the configured one', async () => {
    const body = { input: 'x' }
    expect(group(await ask('/v1/moderations', body))).toBe('first-judge')
    const limited = await gateway.key({ models: ['chat', 'other-judge'] })
    expect(group(await ask('/v1/moderations', body, limited))).toBe('other-judge')
    expect(group(await ask('/v1/moderations', body, masterKey, configured))).toBe('other-judge')
    const none = await gateway.key({ models: ['chat'] })
    expect(await ask('/v1/moderations', body, none)).toMatchObject({
      status: 422,
      text: expect.stringContaining('model'),
    })
  })

  test('images, also in forms: the same', async () => {
    const form = () => {
      const fields = new FormData()
      fields.set('prompt', 'a cat')
      fields.set('image', new File([new Uint8Array([137, 80, 78, 71])], 'x.png', { type: 'image/png' }))
      return fields
    }
    const made = await ask('/v1/images/generations', { prompt: 'a cat' })
    expect([made.status, group(made)]).toEqual([200, 'first-painter'])
    expect(entries().at(-1)!.body).toMatchObject({ model: 'sim-image' })
    const edited = await ask('/v1/images/edits', form())
    expect([edited.status, group(edited)]).toEqual([200, 'first-painter'])
    for (const [path, body] of [
      ['/v1/images/generations', { prompt: 'a cat' }],
      ['/v1/images/edits', form()],
    ] as const)
      expect(group(await ask(path, body, masterKey, configured))).toBe('other-painter')
  })

  test("moderations and images where a vendor's pattern has them: OpenAI's own, if the key may use it", async () => {
    const at = '{ model: "openai/*", api_base: "{simulator}/v1", api_key: canary }'
    for (const pattern of ['openai/*', '*', 'mine/*']) {
      const wide = await startGateway({
        config: `model_list:\n  - { model_name: "${pattern}", proxy_params: ${at} }\nrouter_settings: { num_retries: 0 }\n`,
      })
      for (const [path, body, model] of [
        ['/v1/moderations', { input: 'x' }, 'omni-moderation-latest'],
        ['/v1/images/generations', { prompt: 'a cat' }, 'gpt-image-2.5-flare'],
      ] as const) {
        await ask(path, body, await wide.key(), wide)
        expect([pattern, (wide.simulator.truth.last()!.body as { model: string }).model]).toEqual([pattern, model])
        const sent = wide.simulator.truth.entries.length
        const narrow = await wide.key({ models: ['openai/gpt-5'] })
        expect((await ask(path, body, narrow, wide)).status).toBe(422)
        expect(wide.simulator.truth.entries.length).toBe(sent)
      }
      await wide.stop()
    }
    const none = await startGateway({
      config: `model_list:\n  - { model_name: "*", proxy_params: ${at.replace('openai', 'custom_openai')} }\n`,
    })
    expect((await ask('/v1/moderations', { input: 'x' }, await none.key(), none)).status).toBe(422)
    await none.stop()
  })

  test('files: the upstream of files_model, where several take files', async () => {
    const form = () => {
      const fields = new FormData()
      fields.set('purpose', 'user_data')
      fields.set('file', new File(['x'], 'x.txt'))
      return fields
    }
    expect(await ask('/v1/files', form(), masterKey)).toMatchObject({
      status: 400,
      text: expect.stringContaining('several upstreams'),
    })
    const uploaded = await ask('/v1/files', form(), masterKey, configured)
    expect([uploaded.status, uploaded.headers.get('x-proxy-model-id')]).toEqual([200, 'uploads-id'])
    // A key that may not use it still chooses for itself.
    const limited = await configured.key({ models: ['chat'] })
    expect((await ask('/v1/files', form(), limited, configured)).status).toBe(200)
  })
})

test('a moderation model may be at any host with the dialect of OpenAI', async () => {
  for (const model of ['first-judge', 'other-judge']) {
    const { status, json } = await ask('/v1/moderations', { model, input: 'x' })
    expect([model, status, json.results?.length]).toEqual([model, 200, 1])
  }
})

describe('tool results without tool_call_id', () => {
  const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: null, tool_calls: [call('call_a', 'a'), call('call_b', 'b')] },
    { role: 'tool', content: 'of a' },
    { role: 'tool', content: 'of b' },
  ]

  test('answer the open calls in order', async () => {
    expect((await ask('/v1/chat/completions', { model: 'claude', messages })).status).toBe(200)
    const sent = JSON.stringify((entries().at(-1)!.body as { messages: unknown }).messages)
    expect(sent).toMatch(/"tool_use_id":"call_a"[^}]*of a.*"tool_use_id":"call_b"[^}]*of b/)
    const swapped = [...messages.slice(0, 2), { role: 'tool', tool_call_id: 'call_b', content: 'of b' }, messages[2]]
    expect((await ask('/v1/chat/completions', { model: 'claude', messages: swapped })).status).toBe(200)
    const second = JSON.stringify((entries().at(-1)!.body as { messages: unknown }).messages)
    expect(second).toMatch(/"tool_use_id":"call_a"[^}]*of a/)
  })

  test('are refused where no call is open, and pass on the forward lane', async () => {
    const orphan = [messages[0], { role: 'tool', content: 'of a' }]
    expect(await ask('/v1/chat/completions', { model: 'claude', messages: orphan })).toMatchObject({
      status: 422,
      text: expect.stringContaining('messages.1.tool_call_id'),
    })
    await ask('/v1/chat/completions', { model: 'chat', messages })
    expect((entries().at(-1)!.body as { messages: unknown }).messages).toEqual(messages)
  })
})

describe('embeddings', () => {
  test('without input are an empty list; nothing is sent, charged or counted as tokens', async () => {
    for (const more of [{}, { input: [] }, { input: null }]) {
      const { status, json } = await ask('/v1/embeddings', { model: 'embed', ...more })
      expect([status, json.object, json.data, json.usage.total_tokens]).toEqual([200, 'list', [], 0])
    }
    expect(entries()).toEqual([])
    const [row] = await gateway.rows('&model=embed')
    expect(row).toMatchObject({ outcome: 'success', input_tokens: 0, status: 200 })
    expect((await ask('/v1/embeddings', { model: 'no-such', input: [] })).status).toBe(404)
  })

  test('that are longer than max_input_tokens are refused before anything is sent', async () => {
    const words = (count: number) => 'word '.repeat(count)
    const tokens = (count: number) => Array.from({ length: count }, () => 5)
    for (const input of [words(200), ['a', words(200)], tokens(51), [tokens(3), tokens(51)]]) {
      const { status, json } = await ask('/v1/embeddings', { model: 'embed', input })
      expect([status, json.error.code, json.error.param]).toEqual([400, 'context_length_exceeded', 'input'])
    }
    expect(entries()).toEqual([])
    for (const input of [words(40), [words(40), words(40)], tokens(50)])
      expect((await ask('/v1/embeddings', { model: 'embed', input })).status).toBe(200)
  })

  test('name the fields that are ignored, and honour proxy_call_id', async () => {
    const ignored = { api_base: 'http://127.0.0.1:9', api_key: 'k', api_type: 'azure', custom_llm_provider: 'openai' }
    const answer = await ask('/v1/embeddings', {
      ...{ model: 'embed', input: 'x', proxy_call_id: 'job-7/a' },
      ...ignored,
      ...{ api_version: null, logger_fn: null },
    })
    expect([answer.status, answer.headers.get('x-proxy-call-id')]).toEqual([200, 'job-7/a'])
    expect(answer.headers.get('x-proxy-dropped-params')!.split(',').sort()).toEqual(Object.keys(ignored).sort())
    expect(Object.keys(entries().at(-1)!.body as object).sort()).toEqual(['input', 'model'])
    // The ledger keeps an id of its own: two calls may send the same one, and both are recorded.
    const id = answer.headers.get('x-request-id')!
    expect((await gateway.rows(`&request_id=${id}`)).length).toBe(1)
    await ask('/v1/embeddings', { model: 'embed', input: 'x', proxy_call_id: 'job-7/a' })
    expect(entries().length).toBe(2)
    for (const wrong of ['', 'a b', 'x'.repeat(129), 7])
      expect((await ask('/v1/embeddings', { model: 'embed', input: 'x', proxy_call_id: wrong })).status).toBe(422)
  })
})

test('thinking_mode is on or off, for models that think in tags', async () => {
  const chat = (model: string, mode: unknown) =>
    ask('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'x' }],
      chat_template_kwargs: { thinking_mode: mode },
    })
  for (const wrong of ['auto', 'ON', true, 1])
    expect(await chat('thinker', wrong)).toMatchObject({
      status: 422,
      text: expect.stringContaining('chat_template_kwargs.thinking_mode'),
    })
  expect(entries()).toEqual([])
  for (const right of ['on', 'off', null]) expect((await chat('thinker', right)).status).toBe(200)
  // Another template may have other words.
  expect((await chat('chat', 'auto')).status).toBe(200)
})

test('supported_compat_params answers for names of the catalogue too', async () => {
  for (const name of ['openai/gpt-4o', 'gpt-4o', 'anthropic/claude-sonnet-4-5', 'claude-sonnet-4-5'])
    expect((await ask(`/utils/supported_compat_params?model=${encodeURIComponent(name)}`)).json).toMatchObject({
      supported_compat_params: expect.arrayContaining(['temperature', 'tools', 'max_tokens']),
    })
  expect((await ask('/utils/supported_compat_params?model=no-such-model')).status).toBe(404)
  // A configured model that the key may not use stays hidden.
  const limited = await gateway.key({ models: ['chat'] })
  expect((await ask('/utils/supported_compat_params?model=claude', undefined, limited)).status).toBe(404)
})

test('an unknown team_id is a 404', async () => {
  await gateway.admin('/team/new', { team_id: 'red' })
  const own = await gateway.key({ team_id: 'red' })
  const list = (team: string, as: string) => ask(`/v1/models?team_id=${team}`, undefined, as)
  expect((await list('red', own)).status).toBe(200)
  expect((await list('red', masterKey)).status).toBe(200)
  for (const [team, as] of [
    ['blue', masterKey],
    ['blue', own],
    ['red', key],
  ] as const)
    expect(await list(team, as)).toMatchObject({ status: 404, text: expect.stringContaining('team_id') })
})
