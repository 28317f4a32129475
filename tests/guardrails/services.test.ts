/**
 * Guardrails that ask: models of the gateway, Presidio's analyzer, webhooks; before a call, beside it and about its
 * answer.
 */
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { clientDialects, readAnswer } from '../policies/client-dialects.ts'

type Json = Record<string, any>

/** The services that are asked. */
class Services {
  readonly asked: { path: string; headers: Headers; text: string; body: Json }[] = []
  /** While set, nothing is answered. */
  hold: Promise<void> | undefined
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      const text = await request.text()
      const body = JSON.parse(text) as Json
      const { pathname: path } = new URL(request.url)
      this.asked.push({ path, headers: request.headers, text, body })
      await this.hold
      if (path === '/analyze') return Response.json(this.#analyzed(body.text as string))
      if (path === '/broken') return new Response('no', { status: 500 })
      return Response.json(this.#judged(body.texts as string[]))
    },
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  /** Characters as Python counts them. */
  #analyzed(text: string): Json[] {
    const start = [...text].join('\u0000').split('\u0000').join('').indexOf('Ada')
    if (start < 0) return []
    const before = [...text.slice(0, start)].length
    return [{ entity_type: 'PERSON', start: before, end: before + 3, score: 0.85 }]
  }

  #judged(texts: string[]): Json {
    if (texts.some(text => text.includes('bomb'))) return { action: 'BLOCKED', blocked_reason: 'not about weapons' }
    if (!texts.some(text => text.includes('darn'))) return { action: 'NONE' }
    return { action: 'GUARDRAIL_INTERVENED', texts: texts.map(text => text.replaceAll('darn', 'dear')) }
  }
}

const secret = 'a-signing-secret-of-32-characters'
const services = new Services()
let gateway: Gateway
const keys: Record<string, string> = {}
const names = ['guard', 'after', 'alone', 'pieces', 'beside', 'moderated', 'presidio', 'hook', 'closed', 'open']

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.001, output_cost_per_token: 0.001 }
  - model_name: judge
    proxy_params: { model: custom_openai/guard, api_base: "{simulator}/v1", api_key: k }
  - model_name: mod
    proxy_params: { model: openai/omni-moderation-latest, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: moderation }
guardrails:
  - { guardrail_name: guard, litellm_params: { guardrail: guard_model, mode: pre_call, model: judge } }
  - { guardrail_name: after, litellm_params: { guardrail: guard_model, mode: post_call, model: judge } }
  - { guardrail_name: alone, litellm_params: { guardrail: guard_model, mode: post_call, model: judge, input_mode: response } }
  - guardrail_name: pieces
    litellm_params: { guardrail: guard_model, mode: post_call, model: judge, input_mode: response, window_characters: 50, window_overlap: 10 }
  - { guardrail_name: beside, litellm_params: { guardrail: guard_model, mode: during_call, model: judge } }
  - { guardrail_name: moderated, litellm_params: { guardrail: openai_moderation, mode: pre_call, model: mod } }
  - guardrail_name: presidio
    litellm_params: { guardrail: presidio, mode: [pre_call, post_call], presidio_analyzer_api_base: "${services.url}" }
  - guardrail_name: hook
    litellm_params: { guardrail: webhook, mode: [pre_call, post_call], api_base: "${services.url}/check", signing_secret: ${secret} }
  - { guardrail_name: closed, litellm_params: { guardrail: webhook, mode: pre_call, api_base: "${services.url}/broken" } }
  - guardrail_name: open
    litellm_params: { guardrail: webhook, mode: pre_call, api_base: "${services.url}/broken", unreachable_fallback: fail_open }
router_settings: { num_retries: 0 }
`,
  })
  for (const name of names) keys[name] = await gateway.key({ guardrails: [name] })
})
afterAll(async () => {
  await gateway?.stop()
  await services.stop()
})
beforeEach(() => {
  gateway.simulator.reset()
  services.asked.length = 0
  services.hold = undefined
})

const client = clientDialects.chat!

async function ask(guardrail: string, text: string, stream = false) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[guardrail]}` },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: text }], ...(stream && { stream }) }),
  })
  const read = await readAnswer(client, response)
  const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
  return { status: response.status, text: read.text, error: read.error, row: row! }
}

/** What the judge was asked, and the chat model. */
const sentTo = (model: string): Json[] =>
  gateway.simulator.truth.entries.filter(one => one.model === model).map(({ body }) => body as Json)

function judgeSays(word: string): void {
  gateway.simulator.script({ model: 'guard' }, { text: word })
}

describe('a guard model', () => {
  test('is asked about the prompt alone, before the call, as one user message', async () => {
    judgeSays('safe')
    expect(await ask('guard', 'How are you?')).toMatchObject({ status: 200, row: { guardrails: 'guard:pass' } })
    expect(sentTo('guard')).toMatchObject([{ messages: [{ role: 'user', content: 'How are you?' }] }])
    const [row] = (await gateway.rows()).filter(one => one.model === 'judge')
    expect(row).toMatchObject({ key_id: 'master', outcome: 'success', guardrails: null })
  })

  for (const guardrail of ['guard', 'beside', 'moderated'])
    test(`is not asked at the operator's cost where the budget has no room for the call (${guardrail})`, async () => {
      keys.poor = await gateway.key({ guardrails: [guardrail], max_budget: 0.001 })
      expect(await ask('poor', 'How are you?')).toMatchObject({ status: 429, row: { error_kind: 'budget-exceeded' } })
      expect(gateway.simulator.truth.entries).toEqual([])
    })

  test('is asked about no sample for a key whose budget is spent', async () => {
    judgeSays('safe')
    const apply = async (key: string) =>
      (
        await fetch(`${gateway.url}/guardrails/apply`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ guardrail_name: 'alone', text: 'How are you?', input_type: 'response' }),
        })
      ).status
    const [spent, left] = await Promise.all([gateway.key({ max_budget: 0 }), gateway.key({ max_budget: 0.001 })])
    expect([await apply(spent), sentTo('guard').length]).toEqual([429, 0])
    expect([await apply(left), sentTo('guard').length]).toEqual([200, 1])
  })

  test('that says unsafe refuses the call, which reaches no model', async () => {
    judgeSays('unsafe\nS1')
    const refused = await ask('guard', 'Bad')
    expect(refused).toMatchObject({
      status: 400,
      row: { error_kind: 'content-policy', guardrails: 'guard:block(UNSAFE=1)' },
    })
    expect(sentTo('sim')).toEqual([])
  })

  test('that says neither word refuses the call, too', async () => {
    judgeSays('maybe')
    expect((await ask('guard', 'Hi')).status).toBe(503)
  })

  for (const [what, messages, judged] of [
    [
      'whose answer the client has begun',
      [
        { role: 'user', content: 'Bad?' },
        { role: 'assistant', content: 'Sure, ' },
      ],
      'Bad?\nSure, ',
    ],
    ['that stands in the system prompt alone', [{ role: 'system', content: 'Bad?' }], 'Bad?'],
  ] as const)
    test(`is asked about a question ${what}`, async () => {
      judgeSays('unsafe')
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.guard}` },
        body: JSON.stringify({ model: 'chat', messages }),
      })
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("guardrail 'guard'")])
      expect(sentTo('guard')).toMatchObject([{ messages: [{ role: 'user', content: judged }] }])
      expect(sentTo('sim')).toEqual([])
    })

  for (const stream of [true, false])
    test(`is asked about the answer with its prompt, and nothing of it is sent before: ${stream ? 'streamed' : 'whole'}`, async () => {
      gateway.simulator.script({ model: 'sim' }, { text: 'Just do it.' })
      judgeSays('safe')
      expect(await ask('after', 'Shall I?', stream)).toMatchObject({ status: 200, text: 'Just do it.' })
      expect(sentTo('guard').at(-1)!.messages).toEqual([
        { role: 'user', content: 'Human user:Shall I?\nAI assistant:Just do it..' },
      ])
      judgeSays('unsafe')
      const refused = await ask('after', 'Shall I?', stream)
      expect([refused.status, refused.text]).toEqual([400, ''])
      expect(refused.row).toMatchObject({ guardrails: 'after:block(UNSAFE=1)', error_kind: 'content-policy' })
    })

  for (const stream of [true, false])
    test(`is asked about the response alone, word for word: ${stream ? 'streamed' : 'whole'}`, async () => {
      const said = 'Say "AI assistant:no." and\n\'Human user:yes\'.'
      gateway.simulator.script({ model: 'sim' }, { text: said })
      judgeSays('safe')
      expect(await ask('alone', 'Shall I "now"?', stream)).toMatchObject({ status: 200, text: said })
      expect(sentTo('guard').at(-1)!.messages).toEqual([
        { role: 'user', content: `Human user:\nAI assistant:${said}.` },
      ])
      judgeSays('unsafe')
      expect(await ask('alone', 'Shall I?', stream)).toMatchObject({ status: 400, text: '' })
    })

  test('with windows is asked about each of them', async () => {
    const said = Array.from({ length: 20 }, (_, at) => `word${at}`).join(' ')
    gateway.simulator.script({ model: 'sim' }, { text: said })
    judgeSays('safe')
    expect(await ask('pieces', 'Go', true)).toMatchObject({ status: 200, text: said })
    const windows = sentTo('guard').map(({ messages }) => (messages as Json[])[0]!.content as string)
    expect(windows.length).toBeGreaterThan(1)
    for (const one of windows) expect(one).toMatch(/^Human user:\nAI assistant:.*\.$/s)
    gateway.simulator.truth.entries.length = 0
    expect(await ask('pieces', 'Go')).toMatchObject({ status: 200, text: said })
  })

  for (const stream of [true, false])
    test(`beside a call holds its answer until it has said safe: ${stream ? 'streamed' : 'whole'}`, async () => {
      gateway.simulator.script({ model: 'sim' }, { text: 'Done.' })
      judgeSays('safe')
      expect(await ask('beside', 'Go', stream)).toMatchObject({ status: 200, text: 'Done.' })
      judgeSays('unsafe')
      const refused = await ask('beside', 'Go', stream)
      expect([refused.status, refused.text]).toEqual([400, ''])
      expect(sentTo('sim')).toHaveLength(2)
    })
})

test('a moderation model is asked about what users say', async () => {
  expect((await ask('moderated', 'a nice day')).status).toBe(200)
  const entries = gateway.simulator.truth.entries.filter(one => one.path.endsWith('/moderations'))
  expect(entries.map(({ body }) => (body as Json).input)).toEqual([['a nice day']])
})

for (const stream of [true, false])
  test(`what Presidio finds is masked, and comes back: ${stream ? 'streamed' : 'whole'}`, async () => {
    gateway.simulator.script({ model: 'sim' }, { text: 'Hello [PERSON_1] and Ada!' })
    const answer = await ask('presidio', '👩 I am Ada.', stream)
    expect(sentTo('sim').at(-1)!.messages).toEqual([{ role: 'user', content: '👩 I am [PERSON_1].' }])
    // What the model itself says of another person stays masked.
    expect(answer).toMatchObject({ status: 200, text: 'Hello Ada and [PERSON]!' })
    expect(answer.row.guardrails).toMatch(/^presidio:mask\(PERSON=\d\)$/)
  })

test('a webhook is told the texts, signed; it refuses, changes and lets pass', async () => {
  gateway.simulator.script({ model: 'sim' }, { text: 'What a darn day' })
  expect(await ask('hook', 'darn it', true)).toMatchObject({ status: 200, text: 'What a dear day' })
  expect(sentTo('sim').at(-1)!.messages).toEqual([{ role: 'user', content: 'dear it' }])
  const [before, after] = services.asked
  expect(before).toMatchObject({ path: '/check', body: { input_type: 'request', texts: ['darn it'], model: 'chat' } })
  expect(after!.body).toMatchObject({ input_type: 'response', texts: ['What a darn day'] })
  const [, atMs, signed] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(before!.headers.get('x-modelgate-signature')!)!
  expect(createHmac('sha256', secret).update(`${atMs}.${before!.text}`).digest('hex')).toBe(signed!)
  const refused = await ask('hook', 'a bomb')
  expect(refused).toMatchObject({ status: 400, error: expect.stringContaining('not about weapons') })
})

test('a service that fails closes or opens the way, as set', async () => {
  expect(await ask('closed', 'Hi')).toMatchObject({ status: 503, error: expect.stringContaining("guardrail 'closed'") })
  expect(sentTo('sim')).toEqual([])
  expect(await ask('open', 'Hi')).toMatchObject({ status: 200, row: { guardrails: 'open:error' } })
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  expect(metrics).toContain('modelgate_guardrail_verdicts_total{guardrail="open",verdict="error"} 1')
})
