/** Fields that the built-in models do not take: named in the answer, or refused where nothing may be dropped. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let key: string

beforeAll(async () => {
  gateway = await startGateway({ config: standardConfig })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

async function ask(path: string, body: object) {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const dropped = response.headers
    .get('x-proxy-dropped-params')
    ?.split(',')
    .map(one => one.trim())
    .sort()
  return { status: response.status, dropped, text: await response.text() }
}

const messages = [{ role: 'user', content: 'hello' }]
const cases: [string, object, string[]][] = [
  [
    '/v1/completions',
    { model: 'local/simulated-chat', prompt: 'x', suffix: 'y', best_of: 2, temperature: 0 },
    ['best_of', 'suffix', 'temperature'],
  ],
  ['/v1/completions', { model: 'local/simulated-chat', prompt: 'x', suffix: 'y', stream: true }, ['suffix']],
  [
    '/v1/chat/completions',
    { model: 'local/simulated-chat', messages, temperature: 1, reasoning_effort: 'low', verbosity: 'low' },
    ['reasoning_effort', 'temperature', 'verbosity'],
  ],
  [
    '/v1/messages',
    { model: 'local/simulated-chat', messages, max_tokens: 20, temperature: 1, top_k: 5 },
    ['temperature', 'top_k'],
  ],
  [
    '/v1/images/generations',
    { model: 'local/simulated-image', prompt: 'x', size: '64x64', quality: 'high' },
    ['quality'],
  ],
  [
    '/v1/audio/speech',
    { model: 'local/simulated-speech', input: 'x', voice: 'alloy', response_format: 'wav', instructions: 'whisper' },
    ['instructions'],
  ],
]
for (const [path, body, names] of cases) {
  test(`${path} says that ${names.join(', ')} changed nothing, or refuses`, async () => {
    const { status, dropped } = await ask(path, body)
    expect([status, dropped]).toEqual([200, names])
    if (path === '/v1/messages') return
    const strict = await ask(path, { ...body, drop_params: false })
    expect(strict.status).toBe(422)
    for (const name of names) expect(strict.text).toContain(name)
  })
}

test('what it does take is not named, and has its effect', async () => {
  const echoed = await ask('/v1/completions', {
    model: 'local/simulated-chat',
    prompt: 'once upon',
    echo: true,
    logprobs: null,
    drop_params: false,
  })
  expect([echoed.status, echoed.dropped]).toEqual([200, undefined])
  expect(echoed.text).toContain('"text":"once upon[simulated]')
  const functions = [{ name: 'look_up', parameters: { type: 'object', properties: { city: { type: 'string' } } } }]
  const called = await ask('/v1/chat/completions', {
    model: 'local/simulated-chat',
    messages,
    functions,
    function_call: { name: 'look_up' },
    drop_params: false,
  })
  expect([called.status, called.dropped]).toEqual([200, undefined])
  expect(called.text).toContain('"function_call":{"name":"look_up"')
  const streamed = await ask('/v1/chat/completions', {
    model: 'local/simulated-chat',
    messages,
    functions,
    function_call: { name: 'look_up' },
    stream: true,
  })
  expect(streamed.text).toContain('"finish_reason":"function_call"')
  expect(streamed.text).toEndWith('data: [DONE]\n\n')
})
