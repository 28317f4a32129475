/** Text completions played by models that only chat: lists of prompts, echo, suffix, and what they cost. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let key: string

const config = standardConfig.replace(
  'router_settings',
  `  - model_name: codestral
    proxy_params: { model: mistral/codestral, api_base: "{simulator}/v1", api_key: k }
router_settings`,
)

beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

interface Choice {
  index: number
  text: string
  finish_reason: string | null
}
interface Completion {
  id: string
  choices: Choice[]
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

const ask = (body: object) =>
  fetch(`${gateway.url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'claude-model', max_tokens: 50, ...body }),
  })
const forget = () => fetch(new URL('/__reset', gateway.simulator.url), { method: 'POST' })
/** What reached the upstream. */
const asked = async () => {
  const log = (await (await fetch(new URL('/__truth', gateway.simulator.url))).json()) as {
    entries: { body: Record<string, unknown> }[]
  }
  return log.entries
}

test('a list of prompts is one answer with a choice each, in order, billed as one call', async () => {
  await forget()
  const response = await ask({ prompt: ['say: one', 'say: two', 'say: three'] })
  expect(response.status).toBe(200)
  const body = (await response.json()) as Completion
  expect(body.choices.map(one => [one.index, one.text, one.finish_reason])).toEqual([
    [0, 'one', 'stop'],
    [1, 'two', 'stop'],
    [2, 'three', 'stop'],
  ])
  expect((await asked()).length).toBe(3)
  const singles = await Promise.all(
    ['one', 'two', 'three'].map(
      async word => ((await (await ask({ prompt: `say: ${word}` })).json()) as Completion).usage,
    ),
  )
  const sum = (name: 'prompt_tokens' | 'completion_tokens') => singles.reduce((all, usage) => all + usage[name], 0)
  expect(body.usage).toMatchObject({ prompt_tokens: sum('prompt_tokens'), completion_tokens: sum('completion_tokens') })
  const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
  const cost = BigInt(sum('prompt_tokens')) * 3000n + BigInt(sum('completion_tokens')) * 15000n
  expect(row).toMatchObject({
    outcome: 'success',
    attempts: 1,
    input_tokens: sum('prompt_tokens'),
    cost_nano_usd: cost.toString(),
  })
})

test('as a stream the choices come one after the other, with one head, one usage and one end', async () => {
  const response = await ask({
    prompt: ['say: first words', 'say: second words'],
    stream: true,
    echo: true,
    stream_options: { include_usage: true },
  })
  const text = await response.text()
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  const chunks = text
    .split('\n\n')
    .filter(one => one.startsWith('data: {'))
    .map(one => JSON.parse(one.slice(6)) as Completion)
  expect(new Set(chunks.map(one => one.id)).size).toBe(1)
  const choices = chunks.flatMap(one => one.choices)
  const textOf = (index: number) =>
    choices
      .filter(one => one.index === index)
      .map(one => one.text)
      .join('')
  expect([textOf(0), textOf(1)]).toEqual(['say: first wordsfirst words', 'say: second wordssecond words'])
  expect(choices.filter(one => one.finish_reason !== null).map(one => one.index)).toEqual([0, 1])
  const usages = chunks.filter(one => one.usage)
  expect(usages.length).toBe(1)
  const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
  expect(row).toMatchObject({
    outcome: 'success',
    usage_source: 'upstream',
    input_tokens: usages[0]!.usage.prompt_tokens,
    output_tokens: usages[0]!.usage.completion_tokens,
  })
})

test('an upstream that fails ends the call with its error, whole and as a stream', async () => {
  const whole = await ask({ model: 'claude-fault/x#status;code=500', prompt: ['say: a', 'say: b'] })
  expect(whole.status).toBe(500)
  const cut = await ask({
    model: 'claude-fault/x#cut;at=4',
    prompt: ['say: some longer words', 'say: b'],
    stream: true,
  })
  const text = await cut.text()
  expect(text).toContain('"error"')
  expect(text).not.toContain('[DONE]')
  const [row] = await gateway.rows(`&request_id=${cut.headers.get('x-request-id')}`)
  expect(row!.outcome).toBe('upstream_cut')
})

test('a client that leaves in the middle stops the series', async () => {
  await forget()
  const abort = new AbortController()
  const response = await fetch(`${gateway.url}/v1/completions`, {
    method: 'POST',
    signal: abort.signal,
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: 'claude-fault/x#token-ms;ms=20',
      max_tokens: 500,
      stream: true,
      prompt: Array<string>(50).fill('tokens: 5'),
    }),
  })
  await response.body!.getReader().read()
  abort.abort()
  for (let before = -1, count = 0; count > before; await Bun.sleep(300)) {
    before = count
    count = (await asked()).length
    expect(count).toBeLessThan(50)
  }
})

test('a suffix goes to who can fill the middle and is refused by name everywhere else', async () => {
  const refused = await ask({ prompt: 'def f():', suffix: 'return x' })
  expect(refused.status).toBe(400)
  const { error } = (await refused.json()) as { error: { message: string; param: string } }
  expect(error.param).toBe('suffix')
  expect(error.message).toContain('claude-model')
  await forget()
  await ask({ model: 'codestral', prompt: 'def f():', suffix: 'return x' })
  const [sent] = await asked()
  expect(sent?.body).toMatchObject({ model: 'codestral', prompt: 'def f():', suffix: 'return x' })
  expect(sent?.body.messages).toBeUndefined()
})

test('a host with text completions of its own gets the list as it is', async () => {
  await forget()
  const response = await ask({ model: 'chat-model', prompt: ['say: a', 'say: b'], echo: true })
  expect(response.status).toBe(200)
  expect((await asked()).map(one => one.body.prompt)).toEqual([['say: a', 'say: b']])
})
