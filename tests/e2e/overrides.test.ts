/** What clients ask of the gateway itself, through the whole of it: retries, fallbacks, larger models, lost fields. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const entry = (name: string, model = `custom_openai/${name}`, more = '') =>
  `  - model_name: ${name}\n    proxy_params: { model: ${model}, api_base: "{simulator}/v1", api_key: canary${more} }\n    model_info: { id: ${name} }\n`
const config = `model_list:
${['one', 'two', 'three', 'secret'].map(name => entry(name)).join('')}${entry('strict', undefined, ', drop_params: false')}
  - model_name: claude
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: canary }
    model_info: { id: claude }
  - model_name: embed
    proxy_params: { model: custom_openai/sim-embedding, api_base: "{simulator}/v1", api_key: canary }
  - model_name: slow/*
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: canary }
router_settings: { num_retries: 0, fallbacks: [{ one: [two] }], allowed_fails: 1000, cooldown_time: 0 }
`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key({ models: ['one', 'two', 'three', 'claude', 'strict', 'embed', 'slow/*'] })
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

interface Seen {
  status: number
  model: string | null
  fallbacks: string | null
  dropped: string | null
  error: { message: string; param: string | null; name: string; code: string | null }
  text: string
}

async function ask(model: string, more: object = {}, path = '/v1/chat/completions', as = key): Promise<Seen> {
  const body = path.endsWith('completions')
    ? { messages: [{ role: 'user', content: 'say: hi' }] }
    : path.endsWith('embeddings')
      ? { input: 'x' }
      : { input: 'say: hi' }
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}` },
    body: JSON.stringify({ model, ...body, ...more }),
  })
  const text = await response.text()
  const header = (name: string) => response.headers.get(`x-proxy-${name}`)
  const { error } = (text.startsWith('{') ? JSON.parse(text) : {}) as Pick<Seen, 'error'>
  return {
    status: response.status,
    model: header('model-id'),
    fallbacks: header('attempted-fallbacks'),
    dropped: header('dropped-params'),
    error,
    text,
  }
}

/** The upstream's model refuses every call in this way. */
const fails = (model: string, status: number, body: object = { error: { message: 'broken' } }) =>
  gateway.simulator.script(request => request.model === model, { raw: { status, body: JSON.stringify(body) } })
const tooLong = {
  error: {
    message: 'maximum context length is 10 tokens',
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
  },
}
const asked = () => gateway.simulator.truth.entries.map(one => (one.body as { model: string }).model)

describe('retries and fallbacks of the client', () => {
  test('num_retries replaces the number of the router', async () => {
    fails('three', 500)
    expect([(await ask('three')).status, asked().length]).toEqual([500, 1])
    expect([(await ask('three', { num_retries: 2 })).status, asked().length]).toEqual([500, 4])
  })

  for (const stream of [false, true])
    test(`fallbacks replace those of the router${stream ? ', streamed' : ''}; an empty list is none`, async () => {
      fails('one', 503)
      expect(await ask('one', { stream })).toMatchObject({ status: 200, model: 'two', fallbacks: '1' })
      expect(await ask('one', { stream, fallbacks: ['three'] })).toMatchObject({
        status: 200,
        model: 'three',
        fallbacks: '1',
      })
      fails('three', 500)
      expect(await ask('one', { stream, fallbacks: [{ model: 'three' }, 'claude'] })).toMatchObject({
        status: 200,
        model: 'claude',
        fallbacks: '2',
      })
      expect(await ask('one', { stream, fallbacks: [] })).toMatchObject({ status: 503, fallbacks: '0' })
    })

  test('a fallback is asked for like the model of the call: 403 and 404 before anything is sent', async () => {
    const forbidden = await ask('one', { fallbacks: ['two', 'secret'] })
    expect(forbidden).toMatchObject({
      status: 403,
      error: { param: 'fallbacks', code: 'model_not_allowed', name: 'PermissionDeniedError' },
    })
    expect(forbidden.error.message).toContain("'secret'")
    expect(await ask('one', { fallbacks: ['nowhere'] })).toMatchObject({
      status: 404,
      error: { param: 'fallbacks', code: 'model_not_found' },
    })
    expect(await ask('one', { context_window_fallback_dict: { one: 'secret' } })).toMatchObject({
      status: 403,
      error: { param: 'context_window_fallback_dict' },
    })
    expect(asked()).toEqual([])
    expect((await ask('one', { fallbacks: ['secret'] }, undefined, await gateway.key())).status).toBe(200)
  })

  test('a larger model for what is too long for this one, and for nothing else', async () => {
    fails('one', 400, tooLong)
    expect(await ask('one', { fallbacks: ['three'] })).toMatchObject({
      status: 400,
      error: { code: 'context_length_exceeded' },
    })
    expect(await ask('one', { context_window_fallback_dict: { one: 'two', other: 'secret' } })).toMatchObject({
      status: 200,
      model: 'two',
      fallbacks: '1',
    })
    fails('two', 400, tooLong)
    expect(await ask('one', { context_window_fallback_dict: { one: 'two', two: 'three' } })).toMatchObject({
      status: 200,
      model: 'three',
      fallbacks: '2',
    })
    // A circle ends.
    expect(await ask('one', { context_window_fallback_dict: { one: 'two', two: 'one' } })).toMatchObject({
      status: 400,
      fallbacks: '1',
    })
    gateway.simulator.reset()
    fails('one', 500)
    expect(await ask('one', { fallbacks: [], context_window_fallback_dict: { one: 'two' } })).toMatchObject({
      status: 500,
      fallbacks: '0',
    })
  })

  test('in other dialects too', async () => {
    fails('one', 503)
    expect(await ask('one', { fallbacks: ['three'] }, '/v1/responses')).toMatchObject({ status: 200, model: 'three' })
    expect(await ask('one', { fallbacks: ['secret'] }, '/v1/responses')).toMatchObject({ status: 403 })
    expect(await ask('one', { num_retries: 'x' }, '/v1/responses')).toMatchObject({
      status: 422,
      error: { param: 'num_retries' },
    })
  })
})

describe('what this gateway does not have', () => {
  test('guardrails that do not exist are refused: a client must not believe it is guarded', async () => {
    for (const model of ['one', 'claude']) {
      const refused = await ask(model, { guardrails: ['pii'] })
      expect(refused).toMatchObject({ status: 422, error: { param: 'guardrails.0' } })
      expect(refused.error.message).toContain('/guardrails/list')
    }
    expect((await ask('one', { guardrails: ['pii'] }, '/v1/responses')).status).toBe(422)
    expect((await ask('one', { guardrails: ['pii'], drop_params: true })).status).toBe(422)
    expect(asked()).toEqual([])
    expect(await ask('one', { guardrails: [] })).toMatchObject({ status: 200, dropped: null })
  })

  test('a cache is reported as dropped, no cache is what everybody gets', async () => {
    for (const model of ['one', 'claude']) {
      expect(await ask(model, { caching: true, cache: { ttl: 5 } })).toMatchObject({
        status: 200,
        dropped: 'caching,cache',
      })
      expect(await ask(model, { caching: false, cache: { 'no-cache': true } })).toMatchObject({
        status: 200,
        dropped: null,
      })
      expect(await ask(model, { caching: true, drop_params: false })).toMatchObject({
        status: 422,
        error: { param: 'caching' },
      })
    }
    expect(await ask('embed', { caching: true }, '/v1/embeddings')).toMatchObject({ status: 200, dropped: 'caching' })
  })
})

describe('drop_params of a call', () => {
  test('false refuses what would be lost, by name, and itself is no loss', async () => {
    expect(await ask('claude', { seed: 1 })).toMatchObject({ status: 200, dropped: 'seed' })
    expect(await ask('claude', { seed: 1, drop_params: false })).toMatchObject({
      status: 422,
      error: { param: 'seed' },
    })
    expect(await ask('claude', { drop_params: false })).toMatchObject({ status: 200, dropped: null })
    expect(await ask('one', { drop_params: false })).toMatchObject({ status: 200, dropped: null })
    expect(gateway.simulator.truth.entries.at(-1)!.body).not.toHaveProperty('drop_params')
  })

  test('true is heard where the operator refuses', async () => {
    expect((await ask('strict', { caching: true })).status).toBe(422)
    expect(await ask('strict', { caching: true, drop_params: true })).toMatchObject({ status: 200, dropped: 'caching' })
  })

  test('several answers of a model that gives one are refused, unless the call lets `n` go', async () => {
    const refusal = { status: 422, error: { param: 'n', message: expect.stringContaining('one answer to a call') } }
    expect(await ask('claude', { n: 2 })).toMatchObject(refusal)
    expect(await ask('claude', { n: 2, stream: true })).toMatchObject({ status: 422 })
    expect(gateway.simulator.truth.entries).toEqual([])
    expect(await ask('claude', { n: 2, drop_params: true })).toMatchObject({ status: 200, dropped: 'n' })
    expect(await ask('claude', { n: 1 })).toMatchObject({ status: 200, dropped: null })
    expect(await ask('one', { n: 2 })).toMatchObject({ status: 200, dropped: null })
  })

  test('the header of lost fields is bounded', async () => {
    const fields = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`some_long_name_of_a_field_${at}`, 1]))
    const { status, dropped } = await ask('claude', fields)
    expect([status, dropped!.length, dropped!.slice(-3)]).toEqual([200, 2048, '...'])
    expect(dropped).toStartWith('some_long_name_of_a_field_0,some_long')
  })
})

test("an upstream's 409 and 422 are called by their names", async () => {
  for (const [status, name] of [
    [409, 'ConflictError'],
    [422, 'UnprocessableEntityError'],
    [418, 'BadRequestError'],
  ] as const) {
    gateway.simulator.reset()
    fails('three', status)
    expect(await ask('three')).toMatchObject({ status, error: { name, message: expect.stringContaining('broken') } })
  }
})

test('a byte order mark before the JSON does not travel on', async () => {
  const text = '\u{FEFF}' + JSON.stringify({ model: 'one', messages: [{ role: 'user', content: 'say: hi' }], n: 1 })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: Buffer.from(text),
  })
  expect(response.status).toBe(200)
  expect(gateway.simulator.truth.entries.at(-1)!.body).toMatchObject({ model: 'one', n: 1 })
})

test('models of another kind are named in good English', async () => {
  const named = await startGateway({
    config: config.replace(
      'sim-embedding, api_base: "{simulator}/v1", api_key: canary }',
      'sim-embedding, api_base: "{simulator}/v1", api_key: canary }\n    model_info: { mode: embedding }',
    ),
  })
  const response = await fetch(`${named.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await named.key()}` },
    body: JSON.stringify({ model: 'embed', messages: [{ role: 'user', content: 'x' }] }),
  })
  const { error } = (await response.json()) as Pick<Seen, 'error'>
  expect([response.status, error.message]).toEqual([
    400,
    "the model 'embed' is an embedding model; use /v1/embeddings, or another model",
  ])
  await named.stop()
})

describe('timeout', () => {
  for (const [what, path, more] of [
    ['a whole answer', '/v1/chat/completions', {}],
    ['a stream', '/v1/chat/completions', { stream: true }],
    ['embeddings', '/v1/embeddings', {}],
  ] as const)
    test(`${what} is waited for as long as the client says, and the deployment does not rest for it`, async () => {
      for (let at = 0; at < 2; at++) {
        const seen = await ask('slow/sim#hang', { timeout: 0.3, ...more }, path)
        expect([seen.status, seen.error.name, seen.dropped]).toEqual([408, 'Timeout', null])
      }
      const { body } = gateway.simulator.truth.entries[0]!
      expect(body).not.toHaveProperty('timeout')
      expect(await (await gateway.admin('/metrics')).text()).not.toMatch(
        /^modelgate_deployment_cooldown\{.*\} (1|0\.5)$/m,
      )
    })

  test('0 leaves it to the deployment; other values are refused by name', async () => {
    expect((await ask('one', { timeout: 0 })).status).toBe(200)
    for (const timeout of [-1, '5', 100_000]) {
      const refused = await ask('one', { timeout })
      expect([refused.status, refused.error.message]).toEqual([422, expect.stringContaining('timeout')])
    }
  })
})
