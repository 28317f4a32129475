/** Fields that a vendor's dialect and the gateway both have: the vendor's wins on its dialect. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { chatTable } from '../../src/formats/openai/chat/fields.ts'
import { messagesTable } from '../../src/formats/anthropic/fields.ts'
import { gatewayFields } from '../../src/formats/common/gateway-fields.ts'
import { generateTable } from '../../src/formats/gemini/fields.ts'
import { responsesTable } from '../../src/formats/openai/responses/fields.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

const sent: { body: Json; beta: string | null }[] = []
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    sent.push({ body: (await request.json()) as Json, beta: request.headers.get('anthropic-beta') })
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('count_tokens')) return Response.json({ input_tokens: 3 })
    if (pathname.endsWith('messages'))
      return Response.json({
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'hi' }] },
        ...{ stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } },
      })
    return Response.json({
      ...{ id: 'c', object: 'chat.completion', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    })
  },
})

let gateway: Gateway
beforeAll(async () => {
  const entry = (name: string, params: string, more = '') =>
    `  - { model_name: ${name}, litellm_params: { ${params}, api_key: k }${more} }\n`
  const base = `"http://127.0.0.1:${upstream.port}`
  gateway = await startGateway({
    config: `model_list:
${entry('claude', `model: anthropic/claude-fable-5, api_base: ${base}"`)}
${entry('claude-tagged', `model: anthropic/claude-fable-5, api_base: ${base}"`, ', model_info: { thinking: tags }')}
${entry('other', `model: custom_openai/gpt, api_base: ${base}/v1"`)}
${entry('other-strict', `model: custom_openai/gpt, api_base: ${base}/v1", drop_params: false`)}
router_settings: { num_retries: 0 }
`,
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream.stop(true)
})
beforeEach(() => {
  sent.length = 0
})

const beta = 'server-side-fallback-2026-07-01'
const list = [{ model: 'claude-opus-4-8', max_tokens: 5 }]

async function send(fields: Json, { key, path = '/v1/messages' }: { key?: string; path?: string } = {}) {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key ?? (await gateway.key())}`, 'anthropic-beta': beta },
    body: JSON.stringify({ max_tokens: 9, messages: [{ role: 'user', content: 'x' }], ...fields }),
  })
  const text = await response.text()
  return { status: response.status, dropped: response.headers.get('x-proxy-dropped-params'), text }
}

describe("Anthropic's `fallbacks` on /v1/messages", () => {
  test('reach Anthropic with their beta, forwarded and translated, and where tokens are counted', async () => {
    for (const model of ['claude', 'claude-tagged'])
      for (const fallbacks of ['default', list])
        for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
          const body = path.endsWith('tokens') ? { model, fallbacks, max_tokens: undefined } : { model, fallbacks }
          expect(await send(body, { path })).toMatchObject({ status: 200, dropped: null })
          expect(sent.pop()).toMatchObject({ body: { fallbacks }, beta })
        }
  })

  test('are dropped by name where another vendor answers, or refused where nothing may be dropped', async () => {
    for (const fallbacks of ['default', list]) {
      expect(await send({ model: 'other', fallbacks })).toMatchObject({ status: 200, dropped: 'fallbacks' })
      expect(sent.pop()!.body).not.toHaveProperty('fallbacks')
      expect(await send({ model: 'other-strict', fallbacks })).toMatchObject({ status: 422 })
    }
    expect(sent).toEqual([])
  })

  test('name only what the key may call itself', async () => {
    const narrow = await gateway.key({ models: ['claude'] })
    const refused = await send({ model: 'claude', fallbacks: list }, { key: narrow })
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('fallbacks.0.model')])
    expect(sent).toEqual([])
    for (const models of [
      ['claude', 'claude-opus-4-8'],
      ['claude', 'anthropic/*'],
    ]) {
      const key = await gateway.key({ models })
      expect(await send({ model: 'claude', fallbacks: list }, { key })).toMatchObject({ status: 200 })
    }
    expect(await send({ model: 'claude', fallbacks: 'default' }, { key: narrow })).toMatchObject({ status: 200 })
  })

  test('of a wrong shape are refused with the field and the remedy', async () => {
    for (const [fallbacks, words] of [
      ['other', 'must be "default"'],
      [['other'], 'router_settings'],
      [[{}], 'fallbacks[0].model'],
      [5, 'must be "default"'],
    ] as const) {
      const { status, text } = await send({ model: 'claude', fallbacks })
      expect([status, JSON.parse(text).error.message]).toEqual([422, expect.stringContaining(words)])
    }
    expect(sent).toEqual([])
  })

  test("are the gateway's on its other paths", async () => {
    const refused = await send({ model: 'other', fallbacks: 'default' }, { path: '/v1/chat/completions' })
    expect(refused.status).toBe(422)
    const chat = await send({ model: 'other', fallbacks: ['claude'] }, { path: '/v1/chat/completions' })
    expect(chat).toMatchObject({ status: 200, dropped: null })
    expect(sent.pop()!.body).not.toHaveProperty('fallbacks')
  })
})

/** The fields of an interface in the types of a vendor's own package. */
function fieldsOf(file: string, name: string): string[] {
  const text = readFileSync(`tests/node_modules/${file}`, 'utf8')
  const found = new RegExp(`export interface ${name}(?: extends [^{]*)? \\{\\n([\\s\\S]*?)\\n\\}`).exec(text)
  const fields = [...found![1]!.matchAll(/^ {4}(\w+)\??:/gm)].map(([, field]) => field!)
  expect(fields.length).toBeGreaterThan(15)
  return fields
}

test("no other field of a vendor's dialect has the name of one of the gateway's", () => {
  const messages = fieldsOf('@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', 'MessageCreateParamsBase')
  const chat = fieldsOf('openai/resources/chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase')
  const responses = fieldsOf('openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase')
  const content = generateTable.fields.map(({ name }) => name)
  const shared = (fields: readonly string[]) => fields.filter(name => gatewayFields.has(name))
  expect([messages, chat, responses, content].map(shared)).toEqual([['fallbacks'], [], [], []])
  const own = (table: { gatewayFields: ReadonlySet<string> }) =>
    [...gatewayFields].filter(name => !table.gatewayFields.has(name))
  const tables = [messagesTable, chatTable, responsesTable, generateTable]
  expect(tables.map(own)).toEqual([['fallbacks'], [], [], []])
})
