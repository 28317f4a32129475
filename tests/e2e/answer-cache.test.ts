/** The cache of answers: who shares what, what is kept, and how a hit looks in every dialect. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { CountingUpstream } from '../support/upstreams/counting-upstream.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

const upstream = new CountingUpstream()
const models = `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k, input_cost_per_token: 0.001, output_cost_per_token: 0.002 }
  - model_name: other-chat
    proxy_params: { model: custom_openai/other, api_base: "${upstream.url}", api_key: k }
  - model_name: raw
    proxy_params: { model: text_completion_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: completion }
  - model_name: vectors
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: embedding }
  - model_name: judge
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: moderation }
  - model_name: ranker
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: rerank }
  - model_name: voice
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: audio_speech }
  - model_name: ear
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: audio_transcription }
router_settings: { num_retries: 0 }
`
let gateway: Gateway
let key: string

beforeAll(async () => {
  gateway = await startGateway({ config: `${models}\nlitellm_settings: { cache: true }` })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  await upstream.stop()
})
beforeEach(() => upstream.clear())

let questions = 0
/** A question that was never asked before. */
const question = (text = 'what'): string => `${text} ${++questions}?`

interface Posting {
  readonly as?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
  readonly at?: Gateway
}

const post = (path: string, body: Json | FormData, { as = key, headers = {}, signal, at = gateway }: Posting = {}) =>
  fetch(`${at.url}${path}`, {
    method: 'POST',
    signal,
    headers: {
      authorization: `Bearer ${as}`,
      ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  })

const chatBody = (text: string, more: Json = {}): Json => ({
  model: 'chat',
  messages: [{ role: 'user', content: text }],
  ...more,
})
const chat = (text: string, more: Json = {}, how: Posting = {}) =>
  post('/v1/chat/completions', chatBody(text, more), how)
const textOf = async (response: Response): Promise<string> => {
  const body = await response.text()
  expect([response.status, body]).toEqual([200, expect.anything()])
  return body
}
/** The number of the upstream's answer, in an answer of any dialect; a stream has it in a piece of its own. */
const answered = (body: string): string => {
  const pieces = [...body.matchAll(/"(?:content|text|delta)": ?"((?:answer )?\d*)"/g)].map(([, piece]) => piece)
  return /answer (\d+)/.exec(pieces.join(''))?.[1] ?? `nothing in ${body}`
}
const isHit = (response: Response): boolean => response.headers.get('x-proxy-cache-hit') === 'true'

const dialects: Record<string, (text: string, stream: boolean) => Promise<Response>> = {
  chat: (text, stream) => chat(text, { stream, max_tokens: 50 }),
  responses: (text, stream) => post('/v1/responses', { model: 'chat', input: text, stream, max_output_tokens: 50 }),
  messages: (text, stream) =>
    post('/v1/messages', { model: 'chat', max_tokens: 50, stream, messages: [{ role: 'user', content: text }] }),
  gemini: (text, stream) =>
    post(`/v1beta/models/chat:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, {
      contents: [{ role: 'user', parts: [{ text }] }],
      generationConfig: { maxOutputTokens: 50 },
    }),
}

describe('a hit answers in every dialect, streamed or not, whatever the first call was', () => {
  const ways = Object.keys(dialects).flatMap(name => [false, true].map(stream => ({ name, stream })))
  for (const first of ways)
    test(`after ${first.name}, ${first.stream ? 'streamed' : 'whole'}`, async () => {
      const text = question()
      const body = await textOf(await dialects[first.name]!(text, first.stream))
      expect(answered(body)).toBe('1')
      for (const next of ways) {
        const response = await dialects[next.name]!(text, next.stream)
        expect([next, isHit(response), answered(await textOf(response))]).toEqual([next, true, '1'])
        expect(response.headers.get('content-type')).toStartWith(next.stream ? 'text/event-stream' : 'application/json')
      }
      expect(upstream.count).toBe(1)
    })

  test('text completions, whole and streamed', async () => {
    const prompt = question()
    await textOf(await post('/v1/completions', { model: 'chat', prompt }))
    for (const stream of [false, true]) {
      const response = await post('/v1/completions', { model: 'chat', prompt, stream })
      expect([isHit(response), answered(await textOf(response))]).toEqual([true, '1'])
    }
    expect(upstream.count).toBe(1)
  })

  test('the usage of the first call is reported to those who ask for it', async () => {
    const text = question()
    await textOf(await chat(text))
    const whole = (await (await chat(text)).json()) as Json
    expect(whole.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 })
    const streamed = await textOf(await chat(text, { stream: true, stream_options: { include_usage: true } }))
    expect(streamed).toContain('"completion_tokens":5')
    expect(streamed).toEndWith('data: [DONE]\n\n')
  })

  test('a stored response of a hit has an id of its own', async () => {
    const input = question()
    const ask = async () => (await (await post('/v1/responses', { model: 'chat', input })).json()) as Json
    const [first, second] = [await ask(), await ask()]
    expect(first.id).not.toBe(second.id)
    expect(upstream.count).toBe(1)
    const read = await fetch(`${gateway.url}/v1/responses/${second.id}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(await read.text()).toContain('answer 1')
  })
})

describe('every operation', () => {
  const form = (content: string) => {
    const made = new FormData()
    made.set('model', 'ear')
    made.set('file', new File([content], 'a.wav', { type: 'audio/wav' }))
    return made
  }
  const operations: Record<string, (text: string) => Promise<Response>> = {
    embeddings: input => post('/v1/embeddings', { model: 'vectors', input }),
    moderations: input => post('/v1/moderations', { model: 'judge', input }),
    rerank: query => post('/v1/rerank', { model: 'ranker', query, documents: ['a', 'b'] }),
    speech: input => post('/v1/audio/speech', { model: 'voice', input, voice: 'alloy' }),
    transcriptions: content => post('/v1/audio/transcriptions', form(content)),
    'raw completions': prompt => post('/v1/completions', { model: 'raw', prompt }),
  }
  for (const [name, ask] of Object.entries(operations))
    test(`${name}: the second call is a hit with the same answer, another input is none`, async () => {
      const text = question()
      const first = await textOf(await ask(text))
      const second = await ask(text)
      const kept =
        name === 'raw completions'
          ? answered
          : name === 'embeddings'
            ? (body: string) => JSON.stringify((JSON.parse(body) as Json).data[0].embedding)
            : (body: string) => body.replace(/"(id|created)":[^,]*,/g, '')
      expect([isHit(second), kept(await textOf(second))]).toEqual([true, kept(first)])
      expect(upstream.count).toBe(1)
      expect(isHit(await ask(question()))).toBe(false)
      expect(upstream.count).toBe(2)
    })
})

test('a transcript that was streamed is not given to those who ask for a whole one', async () => {
  const form = (stream: string) => {
    const made = new FormData()
    made.set('model', 'ear')
    made.set('stream', stream)
    made.set('file', new File(['a sound'], 'streamed.wav'))
    return made
  }
  for (const [stream, hit] of [
    ['true', false],
    ['false', false],
    ['true', true],
    ['false', true],
  ] as const) {
    const response = await post('/v1/audio/transcriptions', form(stream))
    await textOf(response)
    const type = response.headers.get('content-type')!.split(';')[0]
    const expected = stream === 'true' ? 'text/event-stream' : 'application/json'
    expect([stream, isHit(response), type]).toEqual([stream, hit, expected])
  }
})

describe('what a hit costs and says', () => {
  test('nothing; the row says what it saved, and the answer how old it is', async () => {
    const text = question()
    const first = await chat(text)
    expect(first.headers.get('x-proxy-cache-hit')).toBeNull()
    const cacheKey = first.headers.get('x-proxy-cache-key')
    expect(cacheKey).toMatch(/^[0-9a-f]{64}$/)
    const hit = await chat(text)
    expect(hit.headers.get('x-proxy-cache-key')).toBe(cacheKey)
    expect(hit.headers.get('x-proxy-response-cost')).toBe('0')
    expect(hit.headers.get('age')).toMatch(/^\d+$/)
    const id = hit.headers.get('x-proxy-call-id')
    await until(async () => (await gateway.rows()).some(row => row.request_id === id), 'both rows are there')
    const rows = await gateway.rows()
    expect(rows.find(row => row.request_id === id)).toMatchObject({
      outcome: 'success',
      status: 200,
      attempts: 0,
      cost_nano_usd: '0',
      cache_hit_kind: 'exact',
      cache_hit: 'True',
      saved_nano_usd: '20000000',
    } as Json)
    expect(rows.find(row => row.request_id === first.headers.get('x-proxy-call-id'))).toMatchObject({
      cost_nano_usd: '20000000',
      cache_hit_kind: null,
      cache_hit: 'False',
    } as Json)
  })

  test('a hit takes nothing from a budget that is spent', async () => {
    const spent = await gateway.key({ max_budget: 0.1 })
    const text = question()
    await textOf(await chat(text, { max_tokens: 2 }, { as: spent }))
    expect((await chat(question(text), { max_tokens: 2 }, { as: spent })).status).toBe(429)
    expect(isHit(await chat(text, { max_tokens: 2 }, { as: spent }))).toBe(true)
  })
})

describe('who shares', () => {
  test('keys of one team share; of two teams, or without one, never', async () => {
    const text = question()
    for (const team of ['red', 'blue']) await gateway.admin('/team/new', { team_id: team })
    const [red, alsoRed, blue, lone, alsoLone] = await Promise.all([
      gateway.key({ team_id: 'red' }),
      gateway.key({ team_id: 'red' }),
      gateway.key({ team_id: 'blue' }),
      gateway.key(),
      gateway.key(),
    ])
    const hits: boolean[] = []
    for (const as of [red!, alsoRed!, blue!, lone!, alsoLone!, lone!]) hits.push(isHit(await chat(text, {}, { as })))
    expect(hits).toEqual([false, true, false, false, false, true])
    expect(upstream.count).toBe(4)
  })

  for (const [scope, expected] of Object.entries({ key: [false, false], user: [true, false], all: [true, true] }))
    test(`scope ${scope}`, async () => {
      const own = await startGateway({
        config: `${models}\nlitellm_settings: { cache: true, cache_params: { scope: ${scope} } }`,
      })
      try {
        for (const user_id of ['ann', 'bob']) await own.admin('/user/new', { user_id, auto_create_key: false })
        const keys = [
          await own.key({ user_id: 'ann' }),
          await own.key({ user_id: 'ann' }),
          await own.key({ user_id: 'bob' }),
        ]
        const text = question()
        const hits: boolean[] = []
        for (const as of keys) hits.push(isHit(await chat(text, {}, { as, at: own })))
        expect(hits).toEqual([false, ...expected])
      } finally {
        await own.stop()
      }
    })

  test('answers about a stored file are for the key that owns it', async () => {
    const keys = [await gateway.key({ team_id: 'red' }), await gateway.key({ team_id: 'red' })]
    const note = `the container of ${question()}`
    for (const as of keys) expect(isHit(await chat(note, {}, { as }))).toBe(false)
    expect(isHit(await chat(note, {}, { as: keys[0]! }))).toBe(true)
  })
})

describe('what a call may say', () => {
  const asked = async (text: string, cache: Json, headers: Record<string, string> = {}): Promise<boolean> => {
    const response = await chat(text, { cache }, { headers })
    expect(response.status).toBe(200)
    await response.text()
    return isHit(response)
  }

  test('no-cache: the kept answer is not used, the new one is kept', async () => {
    const text = question()
    await asked(text, {})
    expect(await asked(text, { 'no-cache': true })).toBe(false)
    const third = await chat(text)
    expect([isHit(third), answered(await third.text())]).toEqual([true, '2'])
  })

  test('no-store: the answer is not kept', async () => {
    const text = question()
    expect(await asked(text, { 'no-store': true })).toBe(false)
    expect(await asked(text, {})).toBe(false)
    expect(await asked(text, { 'no-store': true })).toBe(true)
  })

  test('ttl 0 is over at once, s-maxage 0 takes no answer', async () => {
    const text = question()
    await asked(text, { ttl: 0 })
    expect(await asked(text, {})).toBe(false)
    expect(await asked(text, { 's-maxage': 3600 })).toBe(true)
  })

  test('a namespace does not share with another', async () => {
    const text = question()
    await asked(text, { namespace: 'a' })
    expect(await asked(text, { namespace: 'b' })).toBe(false)
    expect(await asked(text, {})).toBe(false)
    expect(await asked(text, { namespace: 'a' })).toBe(true)
  })

  test('caching: false leaves the cache alone', async () => {
    const text = question()
    expect(isHit(await chat(text, { caching: false }))).toBe(false)
    expect(isHit(await chat(text, { caching: false }))).toBe(false)
    expect(upstream.count).toBe(2)
  })

  test('the header Cache-Control means the same', async () => {
    const text = question()
    expect(await asked(text, {}, { 'cache-control': 'no-store' })).toBe(false)
    expect(await asked(text, {})).toBe(false)
    expect(await asked(text, {}, { 'cache-control': 'no-cache' })).toBe(false)
    expect(await asked(text, {}, { 'cache-control': 'max-age=3600' })).toBe(true)
  })

  test('a wrong control is refused with its name', async () => {
    for (const [cache, name] of [
      [{ 'no-cash': true }, 'no-cash'],
      [{ ttl: -1 }, 'ttl'],
      [{ 'no-store': 'yes' }, 'no-store'],
      [{ namespace: 5 }, 'namespace'],
    ] as const) {
      const response = await chat(question(), { cache })
      expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(name)])
    }
    expect(upstream.count).toBe(0)
  })

  test('a key may be kept from controls', async () => {
    const narrow = await gateway.key({ allowed_cache_controls: ['no-cache'] })
    const allowed = await chat(question(), { cache: { 'no-cache': true } }, { as: narrow })
    expect(allowed.status).toBe(200)
    const refused = await chat(question(), { cache: { ttl: 5 } }, { as: narrow })
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('cache.ttl')])
  })

  test('mode default_off: only calls that ask for it', async () => {
    const own = await startGateway({
      config: `${models}\nlitellm_settings: { cache: true, cache_params: { mode: default_off } }`,
    })
    try {
      const as = await own.key()
      const text = question()
      const ask = async (more: Json) => isHit(await chat(text, more, { as, at: own }))
      expect([await ask({}), await ask({})]).toEqual([false, false])
      expect([await ask({ caching: true }), await ask({ cache: { 'use-cache': true } }), await ask({})]).toEqual([
        false,
        true,
        false,
      ])
    } finally {
      await own.stop()
    }
  })
})

describe('what is not kept', () => {
  for (const what of ['call a tool', 'filter', 'fail', 'cut'])
    test(`an answer that is told to ${what}`, async () => {
      const text = question(what)
      for (const stream of [what === 'cut', what === 'cut']) await (await chat(text, { stream })).text().catch(() => '')
      expect(upstream.count).toBe(2)
    })

  test('a stream whose client left', async () => {
    const text = question()
    upstream.hold()
    const leaving = new AbortController()
    const response = await chat(text, { stream: true }, { signal: leaving.signal })
    await response.body!.getReader().read()
    leaving.abort()
    await until(() => upstream.aborted === 1, 'the upstream hears of it')
    upstream.release()
    expect(isHit(await chat(text))).toBe(false)
  })
})

describe('equal calls at the same time', () => {
  test('50 of them reach the upstream once, in every dialect, whole and streamed', async () => {
    const text = question()
    upstream.hold()
    const ways = Object.values(dialects)
    const calls = Array.from({ length: 50 }, (_, at) => ways[at % ways.length]!(text, at % 3 === 0))
    await until(() => upstream.count > 0, 'the first has arrived')
    const followers = Promise.all(calls)
    await until(
      async () => (await gateway.admin('/metrics').then(one => one.text())).includes('modelgate_cache_followers 49'),
      'all wait',
    )
    upstream.release()
    for (const response of await followers) expect(answered(await textOf(response))).toBe('1')
    expect(upstream.count).toBe(1)
  })

  test('a follower that streams gets its pieces while the leader is still answered', async () => {
    const text = question()
    upstream.hold()
    const leader = await chat(text, { stream: true })
    const follower = await chat(text, { stream: true })
    expect(isHit(follower)).toBe(true)
    const reader = follower.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toContain('answer ')
    upstream.release()
    let rest = ''
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      rest += Buffer.from(piece.value).toString()
    expect(rest).toEndWith('data: [DONE]\n\n')
    await leader.text()
    const id = follower.headers.get('x-proxy-call-id')
    await until(async () => (await gateway.rows()).some(row => row.request_id === id), 'its row is there')
    expect((await gateway.rows()).find(row => row.request_id === id)).toMatchObject({
      cache_hit_kind: 'shared',
      cost_nano_usd: '0',
      saved_nano_usd: '20000000',
      outcome: 'success',
    })
  })

  test('the leaving of the leader does not end the answer of those who follow', async () => {
    const text = question()
    upstream.hold()
    const leaving = new AbortController()
    const leader = await chat(text, { stream: true }, { signal: leaving.signal })
    const follower = await chat(text, { stream: true })
    leaving.abort()
    await leader.text().catch(() => '')
    const third = await chat(text, { stream: true })
    upstream.release()
    expect(answered(await textOf(follower))).toBe('1')
    expect(answered(await textOf(third))).toBe('1')
    expect([upstream.count, upstream.aborted]).toEqual([1, 0])
  })

  test('when all have left, the upstream is cancelled', async () => {
    const text = question()
    upstream.hold()
    const leaving = new AbortController()
    const how = { signal: leaving.signal }
    const both = [await chat(text, { stream: true }, how), await chat(text, { stream: true }, how)]
    leaving.abort()
    await until(() => upstream.aborted === 1, 'the upstream hears of it')
    await Promise.allSettled(both.map(one => one.text()))
    upstream.release()
  })

  test('when the leader fails, the others go themselves', async () => {
    const text = question('fail')
    upstream.hold()
    const calls = Array.from({ length: 3 }, () => chat(text))
    await until(() => upstream.count === 1, 'the first has arrived')
    upstream.release()
    for (const response of await Promise.all(calls)) expect(response.status).toBe(500)
    expect(upstream.count).toBe(3)
  })

  test('a follower that does not read holds neither the leader nor the others back', async () => {
    const text = question('long')
    upstream.hold()
    const leader = await chat(text, { stream: true })
    const idle = await chat(text, { stream: true })
    const reading = await chat(text, { stream: true })
    upstream.release()
    expect(await textOf(leader)).toEndWith('data: [DONE]\n\n')
    expect(await textOf(reading)).toEndWith('data: [DONE]\n\n')
    expect(await textOf(idle)).toEndWith('data: [DONE]\n\n')
    expect(upstream.count).toBe(1)
  })
})

test('a gateway without a cache keeps nothing, and says that `cache` is not fulfilled', async () => {
  const own = await startGateway({ config: models })
  try {
    const as = await own.key()
    const text = question()
    for (let at = 0; at < 2; at++) {
      const response = await chat(text, { cache: { ttl: 5 }, caching: true }, { as, at: own })
      expect(isHit(response)).toBe(false)
      expect(response.headers.get('x-proxy-dropped-params')).toBe('caching,cache')
    }
    expect(upstream.count).toBe(2)
  } finally {
    await own.stop()
  }
})
