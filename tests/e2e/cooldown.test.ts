/**
 * Cooldowns through the whole gateway: a deployment that hangs, cuts its streams, or is refused for its own reasons.
 */
import { afterEach, describe, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Entry {
  readonly id: string
  readonly name?: string
  /** At the simulator; the id unless said otherwise. */
  readonly model?: string
  readonly more?: string
}

/** Deployments of `m` unless said otherwise. */
function config(entries: readonly Entry[], router: string): string {
  const list = entries.map(
    ({ id, model = id, name = 'm', more = '' }) =>
      `  - model_name: ${name}\n    proxy_params: { model: "custom_openai/${model}", api_base: "{simulator}/v1", ` +
      `api_key: canary${more} }\n    model_info: { id: ${id} }\n`,
  )
  return `model_list:\n${list.join('')}router_settings: { ${router} }\n`
}

let gateway: Gateway
const start = async (entries: readonly Entry[], router: string): Promise<void> =>
  void (gateway = await startGateway({ config: config(entries, router) }))
afterEach(() => gateway?.stop())

async function ask(model = 'm', more: object = {}) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'say: hi there' }], ...more }),
  })
  const header = (name: string) => response.headers.get(`x-proxy-${name}`)
  return {
    status: response.status,
    by: header('model-id'),
    fallbacks: header('attempted-fallbacks'),
    waitS: Number(response.headers.get('retry-after')),
    text: await response.text(),
  }
}

/** How often the upstream was asked for this model. */
const asked = (id: string): number =>
  gateway.simulator.truth.entries.filter(one => (one.body as { model: string }).model === id).length
/** The upstream answers calls of this model in this way. */
const scripted = (id: string, status: number, message = 'no', more: object = {}) =>
  gateway.simulator.script(request => request.model === id, {
    raw: { status, body: JSON.stringify({ error: { message, ...more } }) },
  })
const several = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make))
/** One after another. */
async function inTurn<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  while (made.length < count) made.push(await make())
  return made
}

describe('a deployment that hangs', () => {
  const hanging = [{ id: 'a', more: ', timeout: 0.3' }, { id: 'b' }]

  test('gets one call at a time after each cooldown, also under load', async () => {
    await start(hanging, 'num_retries: 1, allowed_fails: 3, cooldown_time: 0.1')
    gateway.simulator.script(request => request.model === 'a', { fault: 'hang' })
    // Nothing is known of it yet.
    while (asked('a') < 3) await several(8, ask)
    const before = asked('a')
    const calls: Promise<{ status: number }>[] = []
    const endMs = performance.now() + 2500
    while (performance.now() < endMs) {
      calls.push(ask())
      await Bun.sleep(20)
    }
    const statuses = (await Promise.all(calls)).map(one => one.status)
    expect(new Set(statuses)).toEqual(new Set([200]))
    // A probe takes at least 0.3 s, and the cooldowns are 0.1, 0.2, 0.4, 0.8 s.
    const swallowed = asked('a') - before
    expect({ swallowed, few: swallowed > 0 && swallowed <= 5 }).toEqual({ swallowed, few: true })
  })

  test('has its share again once a probe ends well', async () => {
    await start(hanging, 'num_retries: 1, allowed_fails: 1, cooldown_time: 0.05')
    gateway.simulator.script(request => request.model === 'a', { fault: 'hang' })
    while (asked('a') === 0) await ask()
    gateway.simulator.reset()
    while (!(await inTurn(30, ask)).some(({ by }) => by === 'a')) await Bun.sleep(50)
    const by = (await several(100, ask)).map(one => one.by)
    const share = by.filter(id => id === 'a').length
    expect({ share, fair: share >= 20 && share <= 80 }).toEqual({ share, fair: true })
  })
})

describe('streams', () => {
  const pair = [
    { id: 'a', more: ', order: 1' },
    { id: 'b', more: ', order: 2' },
  ]

  test('a deployment that cuts them half-way cools down, though each begins well', async () => {
    await start(pair, 'num_retries: 1, allowed_fails: 3, cooldown_time: 60')
    gateway.simulator.script(request => request.model === 'a', { fault: 'cut;at=3' })
    const answers = await inTurn(8, () => ask('m', { stream: true }))
    expect(answers.map(one => one.by)).toEqual(['a', 'a', 'a', 'b', 'b', 'b', 'b', 'b'])
    expect(answers.map(one => one.text.includes('[DONE]'))).toEqual([...Array(3).fill(false), ...Array(5).fill(true)])
  })

  test('one that finishes them is healthy, and clients that leave say nothing about it', async () => {
    await start(pair, 'num_retries: 1, allowed_fails: 1, cooldown_time: 60')
    await inTurn(3, () => ask('m', { stream: true }))
    for (let count = 0; count < 3; count++) {
      gateway.simulator.script(request => request.model === 'a', { fault: 'hang-mid;at=3', times: 1 })
      const leaving = new AbortController()
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'say: hi there' }] }),
        signal: leaving.signal,
      })
      await response.body!.getReader().read()
      leaving.abort()
    }
    expect((await ask('m', { stream: true })).by).toBe('a')
    expect(asked('b')).toBe(0)
  })
})

describe("faults of a deployment's own are tried elsewhere, and it cools down", () => {
  const order = (id: string, at: number) => ({ id, more: `, order: ${at}` })
  const cases: [string, number, string, object?][] = [
    ['its model is gone', 404, 'The model `a` does not exist or you do not have access to it.', { param: 'model' }],
    ['nothing is at its address', 404, 'Not Found'],
    ['its key is refused', 401, 'Incorrect API key provided'],
    ['its key may not use the model', 403, 'Project does not have access to model a', { param: null }],
    ['its account is empty', 402, 'Insufficient credit'],
    ['its quota is used up', 429, 'You exceeded your current quota', { code: 'insufficient_quota' }],
  ]
  for (const [what, status, message, more] of cases)
    test(`${what}: ${status}`, async () => {
      await start(
        [order('a', 1), order('b', 2), { id: 'spare', name: 'spare' }],
        'num_retries: 1, cooldown_time: 60, fallbacks: [{ m: [spare] }]',
      )
      scripted('a', status, message, more)
      const answers = await inTurn(3, ask)
      expect(answers.map(one => [one.status, one.by])).toEqual(Array(3).fill([200, 'b']))
      expect(asked('a')).toBe(1)
      scripted('b', status, message, more)
      expect(await ask()).toMatchObject({ status: 200, by: 'spare', fallbacks: '1' })
      expect([asked('a'), asked('b')]).toEqual([1, 4])
    })

  test('where no other deployment has the model the client hears of it', async () => {
    await start([order('a', 1)], 'num_retries: 2, cooldown_time: 60')
    scripted('a', 404, 'The model `a` does not exist')
    const { status, text } = await ask()
    expect([status, JSON.parse(text).error.code, asked('a')]).toEqual([404, 'model_not_found', 1])
  })
})

describe("a client's own faults are neither tried elsewhere nor counted", () => {
  const cases: [string, number, string, object?][] = [
    ['a bad request', 400, 'messages: too few', { param: 'messages' }],
    [
      'a response that is not there',
      404,
      "Previous response with id 'resp_1' not found.",
      { param: 'previous_response_id' },
    ],
    ['a file that is not there', 404, 'No such File object: file-1'],
    ['a file that is not theirs', 403, 'You do not have permission to access the File x1 or it may not exist.'],
    ['a cached content that is not theirs', 403, 'CachedContent not found (or permission denied)'],
  ]
  for (const [what, status, message, more] of cases)
    test(`${what}: ${status}`, async () => {
      await start(
        [
          { id: 'a', more: ', order: 1' },
          { id: 'b', more: ', order: 2' },
        ],
        'allowed_fails: 1, cooldown_time: 60',
      )
      scripted('a', status, message, more)
      const answers = await inTurn(3, ask)
      expect(answers.map(one => [one.status, one.by])).toEqual(Array(3).fill([status, 'a']))
      gateway.simulator.reset()
      expect((await ask()).by).toBe('a')
    })

  test("an input that the provider's moderation flagged: 403, for the client a refusal by its content policy", async () => {
    await start(
      [
        { id: 'a', more: ', order: 1' },
        { id: 'b', more: ', order: 2' },
      ],
      'allowed_fails: 1, cooldown_time: 60',
    )
    scripted('a', 403, 'The model requires moderation and your input was flagged')
    const refused = await ask()
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([400, 'content_policy_violation'])
    gateway.simulator.reset()
    expect((await ask()).by).toBe('a')
  })

  const pair = [
    { id: 'a', more: ', order: 1' },
    { id: 'b', more: ', order: 2' },
  ]

  test("a request's fault that a server answers with 500 is sent once, and cools nothing down", async () => {
    await start(pair, 'allowed_fails: 1, cooldown_time: 60')
    for (const message of ['image input is not supported', 'input (3001 tokens) is too large to process']) {
      const words = `${message}. increase the physical batch size`
      scripted('a', 500, words, { type: 'server_error', code: 500 })
      const before = asked('a')
      const refused = await ask()
      expect([refused.status, asked('a') - before, asked('b')]).toEqual([400, 1, 0])
      gateway.simulator.reset()
      expect((await ask()).by).toBe('a')
    }
  })

  test('what several deployments refuse in the same words is sent to each once, and cools none of them down', async () => {
    await start([...pair, { id: 'c', more: ', order: 3' }], 'allowed_fails: 1, num_retries: 2, cooldown_time: 60')
    scripted('a', 500, 'tensor 17 has no such shape')
    scripted('b', 500, 'tensor 4711 has no such shape')
    const refused = await ask()
    expect([refused.status, asked('a'), asked('b'), asked('c')]).toEqual([500, 1, 1, 0])
    gateway.simulator.reset()
    expect((await ask()).by).toBe('a')
  })

  test('servers that only say that they failed are tried elsewhere and cool down, alike or not', async () => {
    await start([...pair, { id: 'c', more: ', order: 3' }], 'allowed_fails: 1, num_retries: 2, cooldown_time: 60')
    for (const id of ['a', 'b']) scripted(id, 500, 'The server had an error while processing your request')
    expect((await ask()).by).toBe('c')
    gateway.simulator.reset()
    expect((await ask()).by).toBe('c')
  })

  test('one request above the tokens of a minute is tried elsewhere, and the others still fit', async () => {
    await start(
      [
        { id: 'a', more: ', order: 1' },
        { id: 'b', more: ', order: 2' },
      ],
      'num_retries: 1, cooldown_time: 60',
    )
    scripted('a', 429, 'Request too large for a on tokens per min (TPM): Limit 30000, Requested 61337.')
    expect((await ask()).by).toBe('b')
    gateway.simulator.reset()
    expect((await ask()).by).toBe('a')
  })

  test('a name that only a pattern matches, and that the upstream does not know: 404', async () => {
    await start(
      [
        { id: 'pattern', model: '*', name: 'any/*' },
        { id: 'spare', name: 'spare' },
      ],
      'fallbacks: [{ "*": [spare] }]',
    )
    scripted('nonsense', 404, 'The model `nonsense` does not exist', { code: 'model_not_found' })
    expect(await ask('any/nonsense')).toMatchObject({ status: 404, fallbacks: '0' })
    expect((await ask('any/other')).status).toBe(200)
  })
})

describe('while every deployment of a name cools down', () => {
  const spared = [{ id: 'a' }, { id: 'spare', name: 'spare' }]

  test('calls go to the fallbacks at once, without an attempt at it and without a retry', async () => {
    await start(spared, 'num_retries: 2, allowed_fails: 1, cooldown_time: 60, fallbacks: [{ m: [spare] }]')
    scripted('a', 500)
    const answers = await inTurn(5, ask)
    expect(answers.map(one => [one.status, one.by, one.fallbacks])).toEqual(Array(5).fill([200, 'spare', '1']))
    expect(asked('a')).toBe(1)
  })

  test('it is tried all the same where the fallbacks fail, too', async () => {
    await start(spared, 'num_retries: 0, allowed_fails: 1, cooldown_time: 60, fallbacks: [{ m: [spare] }]')
    scripted('a', 500)
    await ask()
    gateway.simulator.reset()
    scripted('spare', 500)
    expect(await ask()).toMatchObject({ status: 200, by: 'a' })
    expect([asked('a'), asked('spare')]).toEqual([1, 1])
  })

  test('it is tried where there is nothing else, unless its provider asked for the wait', async () => {
    await start([{ id: 'a' }], 'num_retries: 0, allowed_fails: 1, cooldown_time: 60')
    scripted('a', 500)
    expect((await inTurn(3, ask)).map(one => one.status)).toEqual([500, 500, 500])
    expect(asked('a')).toBe(3)
    scripted('a', 429)
    expect((await inTurn(3, ask)).map(one => one.status)).toEqual([429, 429, 429])
    expect(asked('a')).toBe(4)
  })
})

describe('weight: 0 drains a deployment', () => {
  const drained = { id: 'a', more: ', weight: 0, order: 1' }

  test('no call of its name goes there, not even as a retry; by its id it can still be called', async () => {
    await start([drained, { id: 'b', more: ', order: 2' }], 'num_retries: 2')
    expect((await inTurn(10, ask)).map(one => one.by)).toEqual(Array(10).fill('b'))
    scripted('b', 500)
    expect((await ask()).status).toBe(500)
    expect(asked('a')).toBe(0)
    expect((await ask('a')).by).toBe('a')
  })

  test('with all of a name drained calls go to its fallbacks, else the error says why', async () => {
    await start([drained, { id: 'spare', name: 'spare' }], 'fallbacks: [{ m: [spare] }]')
    expect(await ask()).toMatchObject({ status: 200, by: 'spare' })
    const refused = await ask('m', { fallbacks: [] })
    expect([refused.status, JSON.parse(refused.text).error.message]).toEqual([
      503,
      expect.stringContaining('weight: 0'),
    ])
  })
})

test('retries at a deployment that has failed are bounded for each group: 20 % of the calls, and some more', async () => {
  await start([{ id: 'a' }, { id: 'b', name: 'other' }], 'num_retries: 1, cooldown_time: 0')
  scripted('a', 500)
  const beganMs = performance.now()
  for (let wave = 0; wave < 5; wave++) await several(40, ask)
  const most = 200 + 20 + 40 + ((performance.now() - beganMs) / 1000) * 10
  const counted = asked('a')
  expect({ counted, bounded: counted > 220 && counted <= most }).toEqual({ counted, bounded: true })
  gateway.simulator.script(request => request.model === 'b', { raw: { status: 500, body: '{}' }, times: 1 })
  expect(await ask('other')).toMatchObject({ status: 200, by: 'b' })
})

test('a provider that says to wait for an hour: the client is told when the gateway asks it again', async () => {
  await start([{ id: 'a' }], 'num_retries: 0')
  gateway.simulator.script(request => request.model === 'a', {
    raw: { status: 429, headers: { 'retry-after': '3600' }, body: '{"error":{"message":"slower"}}' },
  })
  // The first one is refused by the provider, the next by the cooldown.
  for (const by of ['slower', 'rate limited by its provider']) {
    const { status, text, waitS } = await ask()
    expect([status, text]).toEqual([429, expect.stringContaining(by)])
    expect(waitS).toBeWithin(59, 61)
  }
})
