/** Guardrails beside the cache of answers: what is shared has been judged, and holds no value of one client. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { CountingUpstream } from '../support/upstreams/counting-upstream.ts'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

const upstream = new CountingUpstream()
/** Judges every text as the test says; undefined = it fails. */
let verdictWord: string | undefined
const judge = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => (verdictWord === undefined ? new Response('', { status: 500 }) : Response.json({ action: verdictWord })),
})
const guardAsked: string[] = []
const guard = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async request => {
    const { messages } = (await request.json()) as { messages: { content: string }[] }
    const text = messages.at(-1)!.content
    guardAsked.push(text)
    const message = { role: 'assistant', content: text.startsWith('of') ? 'unsafe' : 'safe' }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return Response.json({ id: 'x', object: 'chat.completion', created: 1, model: 'guard', choices, usage })
  },
})

/** Tells the model for which key a text is. */
const writer = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async request => {
    const { texts, request_data: about } = (await request.json()) as { texts: string[]; request_data: object }
    return Response.json({ action: 'GUARDRAIL_INTERVENED', texts: texts.map(one => `${one} ${JSON.stringify(about)}`) })
  },
})

const up = `api_base: "${upstream.url}", api_key: k`
let gateway: Gateway
let team: string

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - { model_name: chat, proxy_params: { model: custom_openai/up, ${up} } }
  - { model_name: vectors, proxy_params: { model: custom_openai/up, ${up} }, model_info: { mode: embedding } }
  - model_name: guard
    proxy_params: { model: custom_openai/guard, api_base: "http://127.0.0.1:${guard.port}/v1", api_key: k }
guardrails:
  - guardrail_name: personal
    litellm_params: { guardrail: personal_data, mode: pre_call, pii_entities_config: { EMAIL_ADDRESS: MASK } }
  - { guardrail_name: words, litellm_params: { guardrail: words, mode: post_call, words: [zanzibar] } }
  - { guardrail_name: guarded, litellm_params: { guardrail: guard_model, mode: pre_call, model: guard } }
  - guardrail_name: open
    litellm_params:
      guardrail: webhook
      mode: post_call
      api_base: "http://127.0.0.1:${judge.port}/check"
      unreachable_fallback: fail_open
  - guardrail_name: changing-webhook
    litellm_params: { guardrail: webhook, mode: pre_call, api_base: "http://127.0.0.1:${writer.port}" }
router_settings: { num_retries: 0 }
litellm_settings: { cache: true, cache_params: { semantic_model: vectors, similarity_threshold: 0.8 } }
`,
  })
  const made = await gateway.admin('/team/new', { team_alias: 'sharing' })
  team = ((await made.json()) as { team_id: string }).team_id
})
afterAll(async () => {
  await gateway?.stop()
  await Promise.all([upstream.stop(), judge.stop(true), guard.stop(true), writer.stop(true)])
})
beforeEach(() => {
  upstream.clear()
  guardAsked.length = 0
})

const chats = () => upstream.asked.filter(({ path }) => path === '/chat/completions').length
async function ask(text: string, key: string, more: object = {}) {
  const messages = [{ role: 'user', content: text }]
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'chat', temperature: 0, messages, ...more }),
  })
  const answer = await response.text()
  return { status: response.status, answer, isHit: response.headers.get('x-proxy-cache-hit') === 'true' }
}
const member = (guardrails: string[] = []) => gateway.key({ team_id: team, guardrails })

test('an answer with a value that came back is shared neither by its text nor by its meaning', async () => {
  const [one, other] = [await member(['personal']), await member(['personal'])]
  const text = 'please say hello to ann@example.com this morning'
  for (const [asked, key] of [
    [text, one],
    [text, one],
    [text, other],
    ['this morning please say hello to ann@example.com', other],
  ] as const)
    expect((await ask(asked, key)).isHit).toBe(false)
  expect(chats()).toBe(4)
  // Neither was the prompt embedded: nothing of it is remembered.
  expect(upstream.asked.filter(({ path }) => path === '/embeddings')).toEqual([])
  expect(JSON.stringify(upstream.asked)).not.toContain('ann@example.com')
})

test('an answer is shared with calls under the same guardrails alone', async () => {
  const [free, guarded, alike] = [await member(), await member(['words']), await member(['words'])]
  const text = 'where do storks spend their winter'
  expect((await ask(text, free)).isHit).toBe(false)
  expect((await ask(text, guarded)).isHit).toBe(false)
  expect((await ask('their winter where do storks spend', alike, { guardrails: ['open'] })).isHit).toBe(false)
  expect((await ask(text, alike)).isHit).toBe(true)
  expect(chats()).toBe(3)
})

test('another setting of a guardrail of the same name is another question', async () => {
  const settings = (word: string) => ({
    guardrail: {
      guardrail_name: 'changing',
      litellm_params: { guardrail: 'words', mode: 'post_call', words: [word] },
    },
  })
  const made = await gateway.admin('/guardrails', settings('pemba'))
  const { guardrail_id: id } = (await made.json()) as { guardrail_id: string }
  const key = await member(['changing'])
  const text = 'which islands are there to the east'
  expect((await ask(text, key)).isHit).toBe(false)
  expect((await ask(text, key)).isHit).toBe(true)
  const changed = await fetch(`${gateway.url}/guardrails/${id}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify(settings('answer')),
  })
  expect(changed.status).toBe(200)
  expect((await ask(text, key)).status).toBe(400)
})

test('a question that a webhook changes for each caller is another question for each', async () => {
  const [one, other] = [await member(['changing-webhook']), await member(['changing-webhook'])]
  expect((await ask('what may I see', one)).isHit).toBe(false)
  expect((await ask('what may I see', other)).isHit).toBe(false)
  expect((await ask('what may I see', one)).isHit).toBe(true)
})

test('an answer that a guardrail could not judge is not kept', async () => {
  const key = await member(['open'])
  verdictWord = undefined
  expect(await ask('what was not judged', key)).toMatchObject({ status: 200, isHit: false })
  verdictWord = 'BLOCKED'
  expect(await ask('what was not judged', key)).toMatchObject({ status: 400 })
  verdictWord = 'NONE'
  expect(await ask('what was not judged', key)).toMatchObject({ status: 200, isHit: false })
  expect(await ask('what was not judged', key)).toMatchObject({ status: 200, isHit: true })
})

test('the verdict over one text stands for no other one that means about the same', async () => {
  const key = await member(['guarded'])
  expect((await ask('what is the capital of spain', key)).status).toBe(200)
  expect((await ask('of spain what is the capital', key)).status).toBe(400)
  expect(new Set(guardAsked)).toEqual(new Set(['what is the capital of spain', 'of spain what is the capital']))
})

test('other penalties are another question', async () => {
  const key = await member()
  expect((await ask('who painted the blue horse', key, { presence_penalty: 1 })).isHit).toBe(false)
  expect((await ask('the blue horse who painted', key)).isHit).toBe(false)
  expect((await ask('the blue horse painted who', key)).isHit).toBe(true)
})
