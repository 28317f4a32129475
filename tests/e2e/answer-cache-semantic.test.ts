/**
 * Answers shared by meaning: over an embedding model of the gateway, and never where the facts of two prompts differ.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { CountingUpstream } from '../support/upstreams/counting-upstream.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const upstream = new CountingUpstream()
let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k, input_cost_per_token: 0.001, output_cost_per_token: 0.002 }
  - model_name: vectors
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k, input_cost_per_token: 0.0000001, output_cost_per_token: 0 }
    model_info: { mode: embedding }
router_settings: { num_retries: 0 }
litellm_settings: { cache: true, cache_params: { semantic_model: vectors, similarity_threshold: 0.8 } }
`,
  })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  await upstream.stop()
})
beforeEach(() => upstream.clear())

const chats = () => upstream.asked.filter(({ path }) => path === '/chat/completions').length
const ask = (text: string, more: object = {}, as = key) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}` },
    body: JSON.stringify({ model: 'chat', temperature: 0, messages: [{ role: 'user', content: text }], ...more }),
  })
const isHit = async (...asked: Parameters<typeof ask>) =>
  (await ask(...asked)).headers.get('x-proxy-cache-hit') === 'true'

test('a prompt that means the same gets the kept answer, with its similarity and its row', async () => {
  expect(await isHit('what is the capital of france')).toBe(false)
  const hit = await ask('what is of france the capital', { stream: true })
  expect(hit.headers.get('x-proxy-cache-hit')).toBe('true')
  expect(Number(hit.headers.get('x-proxy-semantic-similarity'))).toBeGreaterThan(0.9)
  expect(await hit.text()).toContain('answer ')
  expect(chats()).toBe(1)
  const id = hit.headers.get('x-proxy-call-id')
  await until(async () => (await gateway.rows()).some(row => row.request_id === id), 'its row is there')
  expect((await gateway.rows()).find(row => row.request_id === id)).toMatchObject({
    cache_hit_kind: 'semantic',
    cost_nano_usd: '0',
    saved_nano_usd: '20000000',
  })
})

for (const [what, one, other] of [
  ['a number', 'transfer 100 dollars to the account of my friend', 'transfer 250 dollars to the account of my friend'],
  ['a negation', 'should one take this medicine with warm milk', 'should one not take this medicine with warm milk'],
  ['a quotation', 'translate the word "cat" into spanish please', 'translate the word "dog" into spanish please'],
  ['a name', 'please tell me who was married to Ann Miller', 'please tell me who was married to Eve Miller'],
  ['a direction', 'how do files get from the laptop to phones', 'how do files get to the laptop from phones'],
] as const)
  test(`${what} that differs is another question, however alike the prompts are`, async () => {
    expect(await isHit(one)).toBe(false)
    expect(await isHit(other)).toBe(false)
    expect(chats()).toBe(2)
  })

test('another tenant, model setting or system prompt shares nothing', async () => {
  const [one, other] = ['where do birds spend winter days', 'where do birds winter days spend']
  expect(await isHit(one)).toBe(false)
  expect(await isHit(other, {}, await gateway.key())).toBe(false)
  expect(await isHit(other, { max_tokens: 5 })).toBe(false)
  const system = { role: 'system', content: 'be brief' }
  expect(await isHit(other, { messages: [system, { role: 'user', content: other }] })).toBe(false)
  expect(await isHit(other)).toBe(true)
})

test('tools, a temperature, and several turns are left alone unless they are allowed', async () => {
  const [one, other] = ['when do the shops of the town open', 'the shops of the town open when do']
  const turns = (text: string) => ({
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'hello' },
      { role: 'user', content: text },
    ],
  })
  const tools = { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }] }
  for (const more of [tools, { temperature: 0.7 }, { temperature: undefined }]) {
    expect(await isHit(one, more)).toBe(false)
    expect(await isHit(other, more)).toBe(false)
  }
  expect(await isHit('', turns(one))).toBe(false)
  expect(await isHit('', turns(other))).toBe(false)
})

const redisUrl = process.env.TEST_REDIS_URL
if (redisUrl === undefined) console.log('skipped: answers by meaning over Redis (set TEST_REDIS_URL)')

test.skipIf(redisUrl === undefined)('over Redis a prompt that one replica has answered hits at another', async () => {
  const { hostname, port } = new URL(redisUrl!)
  const proxy = await startTcpProxy(hostname, Number(port))
  const namespace = `test-${crypto.randomUUID()}`
  const replica = async () => {
    const made = await startGateway({
      config: `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { id: one }
  - model_name: vectors
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
    model_info: { mode: embedding, id: two }
router_settings: { num_retries: 0 }
litellm_settings:
  cache: true
  cache_params:
    { type: redis, url: "redis://127.0.0.1:${proxy.port}", namespace: ${namespace}, scope: user, socket_timeout: 5,
      semantic_model: vectors, similarity_threshold: 0.8, semantic_prompts: 500 }
`,
      keyPepper: 'a pepper that all replicas of this test have',
    })
    return { gateway: made, key: await made.key({ user_id: 'shared' }), other: await made.key({ user_id: 'other' }) }
  }
  const [one, two] = [await replica(), await replica()]
  const hits = async ({ gateway: at, key: as }: { gateway: Gateway; key: string }, text: string) => {
    const response = await fetch(`${at.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${as}` },
      body: JSON.stringify({ model: 'chat', temperature: 0, messages: [{ role: 'user', content: text }] }),
    })
    expect(response.status).toBe(200)
    await response.text()
    return response.headers.get('x-proxy-semantic-similarity') !== null
  }
  try {
    // More than are read at once, so that a replica that comes late reads on.
    for (const word of Array.from(
      { length: 130 },
      (_, at) => `${[...String(at)].map(one => 'abcdefghij'[Number(one)]).join('')}z`,
    ))
      await hits(one, `tell about ${word} and its ${word.repeat(2)} now`)
    expect(await hits(one, 'what is the capital of spain')).toBe(false)
    // Reading on takes a moment, and a question that was answered meanwhile is kept itself.
    let asked = 0
    await until(() => hits(two, inOrder('what is the capital of spain', ++asked)), 'the other replica has it')
    expect(await hits({ ...two, key: two.other }, inOrder('what is the capital of spain', ++asked))).toBe(false)
    expect(await hits(two, 'what is not the capital of spain')).toBe(false)
    expect(await hits(two, 'which river runs through vienna')).toBe(false)
    expect(await hits(one, 'through vienna runs which river')).toBe(true)
    const flushed = await fetch(`${two.gateway.url}/cache/flushall`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
    })
    expect(flushed.status).toBe(200)
    expect(await hits(one, 'vienna runs through which river')).toBe(false)
    proxy.cut()
    expect(await hits(one, 'who wrote the longest poem')).toBe(false)
  } finally {
    await proxy.close()
    await Promise.all([one.gateway.stop(), two.gateway.stop()])
  }
})

/** The words of a text in their order number `index`, which is another text for each index below the factorial. */
function inOrder(text: string, index: number): string {
  const left = text.split(' ')
  const words: string[] = []
  for (let rest = index; left.length > 0; rest = Math.floor(rest / (left.length + 1)))
    words.push(...left.splice(rest % left.length, 1))
  return words.join(' ')
}
