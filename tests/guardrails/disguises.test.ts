/**
 * What is written so that rules would not see it, in questions and in answers: all of it is read as a model reads it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { clientDialects, readAnswer } from '../policies/client-dialects.ts'
import { upstreamAnswers } from '../policies/upstream-answers.ts'

type Json = Record<string, any>

let gateway: Gateway
const keys: Record<string, string> = {}

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - { model_name: openai, proxy_params: { model: custom_openai/up-openai, api_base: "{simulator}/v1", api_key: k } }
guardrails:
  - { guardrail_name: words, litellm_params: { guardrail: words, mode: pre_call, words: [zanzibar], action: mask } }
  - { guardrail_name: said, litellm_params: { guardrail: words, mode: post_call, words: [zanzibar, 東京タワー, Ｗｉｄｅ], action: mask } }
  - guardrail_name: cards
    litellm_params: { guardrail: personal_data, mode: pre_call, pii_entities_config: { CREDIT_CARD: BLOCK, EMAIL_ADDRESS: MASK } }
router_settings: { num_retries: 0 }
`,
  })
  for (const name of ['words', 'said', 'cards']) keys[name] = await gateway.key({ guardrails: [name] })
})
afterAll(() => gateway?.stop())
beforeEach(() => gateway.simulator.reset())

async function ask(name: string, messages: Json[], more: Json = {}) {
  const before = gateway.simulator.truth.entries.length
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[name]}` },
    body: JSON.stringify({ model: 'openai', messages, ...more }),
  })
  const sent = gateway.simulator.truth.entries.slice(before).map(({ body }) => body as Json)
  return { status: response.status, text: await response.text(), sent: sent[0] }
}
const halves = (text: string, at: number): string[] => [text.slice(0, at), text.slice(at)].filter(one => one !== '')
const user = (content: unknown): Json[] => [{ role: 'user', content }]

const base64 = (text: string): string => Buffer.from(text).toString('base64')
/** The base64 of "we all go to zanzibar soon", with the word masked. */
const masked64 = (mask: string): string => `d2UgYWxsIGdvIHRvI${mask}IHNvb24=`
const disguised: Record<string, [text: string, sent: string]> = {
  'zero-width signs': ['to zan\u200bzi\u2060bar!', 'to [WORD_1]!'],
  'a soft hyphen': ['to zanzi\u00adbar!', 'to [WORD_1]!'],
  'wide letters': ['to ｚａｎｚｉｂａｒ!', 'to [WORD_1]!'],
  'mathematical letters': ['to 𝕫𝕒𝕟𝕫𝕚𝕓𝕒𝕣!', 'to [WORD_1]!'],
  'Cyrillic letters': ['to zаnzibаr!', 'to [WORD_1]!'],
  'tags of planes beyond the basic one': ['to zan\u{e0041}zibar!', 'to [WORD_1]!'],
  'base64, of which the rest stays': [
    `read ${base64('we all go to zanzibar soon')} now`,
    `read ${masked64('[WORD_1]')} now`,
  ],
  'base64 behind other digits of base64': [
    `get /path/to/${base64('we all go to zanzibar soon')}`,
    `get /path/to/${masked64('[WORD_1]')}`,
  ],
  'base64 of an address': [
    `x data:text/plain;base64,${base64('we all go to zanzibar soon')}`,
    `x data:text/plain;base64,${masked64('[WORD_1]')}`,
  ],
}

describe('a word is masked where it is written with', () => {
  for (const [what, [text, sent]] of Object.entries(disguised))
    test(what, async () => {
      const asked = await ask('words', user(text))
      expect([asked.status, asked.sent!.messages[0].content]).toEqual([200, sent])
    })

  test('any of them in the arguments of a tool, which stay JSON', async () => {
    for (const [text, sent] of Object.values(disguised)) {
      const call = {
        id: 'call_1',
        type: 'function',
        function: { name: 'go', arguments: JSON.stringify({ where: text }) },
      }
      const asked = await ask('words', [
        ...user('hi'),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      ])
      expect(asked.status).toBe(200)
      expect(JSON.parse(asked.sent!.messages[1].tool_calls[0].function.arguments)).toEqual({ where: sent })
    }
  })
})

describe('a card number is refused', () => {
  for (const [what, text] of Object.entries({
    'in digits of another script': '٤١١١ ١١١١ ١١١١ ١١١١',
    'in wide digits': '４１１１１１１１１１１１１１１１',
    'in mathematical digits': '𝟒𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏',
    'with other hyphens': '4111–1111–1111–1111',
    'with other spaces': '4111\u00a01111\u20091111\u30001111',
    'with signs that show nothing': [...'4111111111111111'].join('\u200d'),
  }))
    test(what, async () => {
      const asked = await ask('cards', user(`pay with ${text} please`))
      expect([asked.status, asked.text, asked.sent]).toEqual([400, expect.stringContaining('CREDIT_CARD'), undefined])
    })

  test('under a name that is given twice, of which upstreams may take the first', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.words}` },
      body: '{"model":"openai","messages":[{"role":"user","content":"to zanzibar","content":"Hi"}]}',
    })
    const { error } = (await response.json()) as Json
    expect([response.status, error.message]).toEqual([400, expect.stringContaining('"content" is given twice')])
    expect(gateway.simulator.truth.entries).toEqual([])
  })

  test('split over parts of a message, which upstreams join', async () => {
    const part = (text: string) => ({ type: 'text', text })
    const asked = await ask('cards', user([part('pay with 4111 1111 '), part('1111 1111 please')]))
    expect([asked.status, asked.text]).toEqual([400, expect.stringContaining('split over parts')])
    const mail = await ask('cards', user([part('write to ann@exa'), part('mple.com please')]))
    expect([mail.status, mail.text]).toEqual([400, expect.stringContaining('EMAIL_ADDRESS')])
    const call = { id: 'call_1', type: 'function', function: { name: 'go', arguments: '{}' } }
    const result = {
      role: 'tool',
      tool_call_id: 'call_1',
      content: [part('write to ann@exa'), part('mple.com please')],
    }
    const reported = await ask('cards', [...user('hi'), { role: 'assistant', tool_calls: [call] }, result])
    expect([reported.status, reported.text]).toEqual([400, expect.stringContaining('EMAIL_ADDRESS')])
    expect((await ask('cards', user([part('pay 4111'), part(' or 1111 of it')]))).status).toBe(200)
  })
})

test('texts of many scripts, emoji and hashes pass as they are', async () => {
  for (const text of [
    'Привет, мир: 42',
    '東京 – 100 ％',
    '👩‍🚀 ok ①',
    'sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'a\u00a0b',
  ])
    expect(await ask('cards', user(text))).toMatchObject({ status: 200, sent: { messages: [{ content: text }] } })
})

describe('in a stream, cut at every place,', () => {
  const made = upstreamAnswers.openai!
  const words: [what: string, word: string, left?: string][] = [
    ['zero-width signs', 'zan\u200bzi\u200d\u200bbar'],
    ['wide letters', 'ｚａｎｚｉｂａｒ'],
    ['mathematical letters', '𝕫𝕒𝕟𝕫𝕚𝕓𝕒𝕣'],
    ['Cyrillic letters', 'zаnzibаr'],
    ['base64', base64('we all go to zanzibar soon'), masked64('[WORD]')],
    ['a word of the operator in another script', '東京タワー'],
    ['a word of the operator in wide letters', 'Ｗｉｄｅ'],
    ['that word in plain letters', 'Wide'],
  ]
  for (const [what, word, masked = '[WORD]'] of words)
    test(`${what}: the word is masked, the rest stays as it was`, async () => {
      const text = `to ${word} – and ｂａｃｋ\u200b, ok`
      for (let cut = 0; cut <= word.length; cut++) {
        const at = 3 + cut
        const args = JSON.stringify({ to: text })
        const answer = { text, reasoning: '', args }
        gateway.simulator.script(
          {},
          { raw: made.stream(answer, one => halves(one, at + (one.startsWith('{') ? 7 : 0))), times: 1 },
        )
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${keys.said}` },
          body: JSON.stringify(clientDialects.chat!.body('openai', true, 'Where to?')),
        })
        const read = await readAnswer(clientDialects.chat!, response)
        const left = `to ${masked} – and ｂａｃｋ\u200b, ok`
        expect([cut, read.text.trim(), read.args.map(one => JSON.parse(one))]).toEqual([cut, left, [{ to: left }]])
      }
    })
})
