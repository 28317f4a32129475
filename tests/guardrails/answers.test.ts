/** Guardrails on answers in every dialect, streamed and whole, over every kind of upstream, cut at every place. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { clientDialects, readAnswer } from '../policies/client-dialects.ts'
import { upstreamAnswers } from '../policies/upstream-answers.ts'
import type { ModelAnswer, Split } from '../policies/upstream-answers.ts'

const config = `
model_list:
  - model_name: openai
    proxy_params: { model: custom_openai/up-openai, api_base: "{simulator}/v1", api_key: k }
  - model_name: claude
    proxy_params: { model: anthropic/up-claude, api_base: "{simulator}", api_key: k, drop_params: true }
  - model_name: gemini
    proxy_params: { model: gemini/gemini-2.5-flash, api_base: "{simulator}", api_key: k, drop_params: true }
  - model_name: prompted
    proxy_params: { model: hosted_vllm/up-prompted, api_base: "{simulator}/v1", api_key: k, drop_params: true }
    model_info: { tool_calling: prompted }
guardrails:
  - guardrail_name: names
    litellm_params: { guardrail: words, mode: post_call, words: [zanzibar], whole_words: false, action: mask }
  - guardrail_name: cards
    litellm_params: { guardrail: personal_data, mode: post_call, pii_entities_config: { CREDIT_CARD: BLOCK } }
  - guardrail_name: numbers
    litellm_params: { guardrail: personal_data, mode: post_call, pii_entities_config: { CREDIT_CARD: MASK } }
router_settings: { num_retries: 0 }
`

let gateway: Gateway
const keys: Record<string, string> = {}

beforeAll(async () => {
  gateway = await startGateway({ config })
  for (const name of ['names', 'cards', 'numbers']) keys[name] = await gateway.key({ guardrails: [name] })
})
afterAll(() => gateway?.stop())

interface Asked {
  readonly guardrail: string
  readonly dialect: string
  readonly upstream: string
  readonly stream: boolean
  readonly answer: ModelAnswer
  readonly split?: Split
}

function ask({ guardrail, dialect, upstream, stream, answer, split = text => [text] }: Asked): Promise<Response> {
  const made = upstreamAnswers[upstream]!
  gateway.simulator.script({}, { raw: stream ? made.stream(answer, split) : made.whole(answer), times: 1 })
  const client = clientDialects[dialect]!
  return fetch(`${gateway.url}${client.path(upstream, stream)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[guardrail] ?? masterKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(client.body(upstream, stream, 'Where to?')),
  })
}

/** Every single cut of the secret, and every character by itself. */
function splitsOf(secret: string): [string, Split][] {
  const cutAt = (cut: number): Split => {
    return text => {
      const pieces: string[] = []
      let from = 0
      for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
        pieces.push(text.slice(from, at + cut))
        from = at + cut
      }
      return [...pieces, text.slice(from)].filter(piece => piece !== '')
    }
  }
  const cuts = Array.from({ length: secret.length + 1 }, (_, cut): [string, Split] => [`cut at ${cut}`, cutAt(cut)])
  return [...cuts, ['single characters', text => [...text]]]
}

const word = 'zanzibar'
const named: ModelAnswer = {
  reasoning: `They ask for ${word}. zanziba, then`,
  text: `Go to ${word}${word}, é👩 ${word}`,
  args: JSON.stringify({ city: word, note: `a "${word}" zanzi\n${word}`, n: 1 }),
}
const masked = (text: string): string => text.replaceAll(word, '[WORD]')

async function expectMasked(asked: Asked): Promise<void> {
  const response = await ask(asked)
  const read = await readAnswer(clientDialects[asked.dialect]!, response)
  expect([response.status, read.error]).toEqual([200, undefined])
  const text = asked.dialect === 'completions' ? read.text.split('<tool_call>', 1)[0]! : read.text
  expect(JSON.stringify(read)).not.toContain(word)
  expect(text.trim()).toBe(masked(named.text))
  expect(['', masked(named.reasoning)]).toContain(read.reasoning)
  if (asked.dialect === 'completions') expect(read.args).toEqual([])
  else expect(read.args.map(one => JSON.parse(one))).toEqual([JSON.parse(masked(named.args))])
  expect(response.headers.get('x-proxy-applied-guardrails')).toBe('names')
  const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
  expect(row).toMatchObject({ outcome: 'success', guardrails: expect.stringMatching(/^names:mask\(WORD=\d+\)$/) })
}

for (const upstream of Object.keys(upstreamAnswers))
  describe(`a word that is masked, over ${upstream}`, () => {
    for (const dialect of Object.keys(clientDialects)) {
      const asked = { guardrail: 'names', dialect, upstream, answer: named }
      test(`${dialect}, whole`, () => expectMasked({ ...asked, stream: false }))
      test(`${dialect}, streamed, cut at every position`, async () => {
        await Promise.all(splitsOf(word).map(([, split]) => expectMasked({ ...asked, stream: true, split })))
      })
    }
  })

const card = '4111 1111 1111 1111'
/** As words: the digits of an id may be the same by chance. */
const groupsIn = (text: string): string[] => text.match(/\b(4111|1111)\b/g) ?? []
const quiet = (text: string): ModelAnswer => ({ reasoning: 'Hm.', text: 'Look it up.', args: text })
const places: Record<string, ModelAnswer> = {
  text: { ...quiet('{"city":"Rome"}'), text: `It is ${card}, I think.` },
  reasoning: { ...quiet('{"city":"Rome"}'), reasoning: `Their card is ${card}.` },
  'tool arguments': quiet(JSON.stringify({ city: `${card}` })),
}

describe('a card number that is refused', () => {
  for (const [place, answer] of Object.entries(places))
    for (const dialect of ['chat', 'responses', 'messages', 'gemini events'])
      test(`${dialect}, ${place}: not one group of its digits is sent, wherever the stream is cut`, async () => {
        for (const [cut, split] of splitsOf(card)) {
          const response = await ask({ guardrail: 'cards', dialect, upstream: 'openai', stream: true, answer, split })
          const text = await response.text()
          expect([cut, groupsIn(text)]).toEqual([cut, []])
          expect(text).toContain("guardrail 'cards'")
          const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
          expect(row).toMatchObject({ error_kind: 'content-policy', guardrails: 'cards:block(CREDIT_CARD=1)' })
        }
        const whole = await ask({ guardrail: 'cards', dialect, upstream: 'openai', stream: false, answer })
        expect([whole.status, groupsIn(await whole.text())]).toEqual([400, []])
      })
})

test('a number in tool arguments is masked by a text, so that they stay JSON, wherever they are cut', async () => {
  const args = `{"pay":{"card":4111111111111111,"note":"or 4111\\u00201111 1111 1111"},"amount":-12.5}`
  const answer = { reasoning: '', text: 'Paying.', args }
  for (let cut = 1; cut < args.length; cut++) {
    const split: Split = text => (text === args ? [text.slice(0, cut), text.slice(cut)] : [text])
    const asked = { guardrail: 'numbers', dialect: 'chat', upstream: 'openai', stream: true, answer, split }
    const read = await readAnswer(clientDialects.chat!, await ask(asked))
    expect(JSON.parse(read.args[0]!)).toEqual({
      pay: { card: '[CREDIT_CARD]', note: 'or [CREDIT_CARD]' },
      amount: -12.5,
    })
  }
})

test('a card number that goes on after thinking came between is found as a whole', async () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const body = [
    chunk({ content: 'It is 4111 1111' }),
    chunk({ reasoning_content: 'hm' }),
    chunk({ content: ' 1111 1111.' }),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ].join('')
  gateway.simulator.script({}, { raw: { headers: { 'content-type': 'text/event-stream' }, body }, times: 1 })
  const client = clientDialects.chat!
  const response = await fetch(`${gateway.url}${client.path('openai', true)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.cards}` },
    body: JSON.stringify(client.body('openai', true, 'Hi')),
  })
  const text = await response.text()
  expect(groupsIn(text)).toEqual([])
  expect(text).toContain("guardrail 'cards'")
})
