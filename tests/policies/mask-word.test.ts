/** The policy `mask-word` in every dialect, streamed and whole, over every kind of upstream. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { clientDialects, readAnswer } from './client-dialects.ts'
import { maskWord } from './mask-word.ts'
import { reported, upstreamAnswers } from './upstream-answers.ts'
import type { ModelAnswer, Split } from './upstream-answers.ts'

const prices = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'
const config = `
model_list:
  - model_name: openai
    proxy_params: { model: custom_openai/up-openai, api_base: "{simulator}/v1", api_key: k, ${prices} }
  - model_name: claude
    proxy_params: { model: anthropic/up-claude, api_base: "{simulator}", api_key: k, ${prices}, drop_params: true }
  - model_name: gemini
    proxy_params: { model: gemini/gemini-2.5-flash, api_base: "{simulator}", api_key: k, ${prices}, drop_params: true }
  - model_name: prompted
    proxy_params: { model: hosted_vllm/up-prompted, api_base: "{simulator}/v1", api_key: k, ${prices}, drop_params: true }
    model_info: { tool_calling: prompted }
router_settings: { num_retries: 0 }
`

const word = 'zanzibar'
const answer: ModelAnswer = {
  reasoning: `They ask for ${word}. zanziba, then`,
  text: `Go to ${word}${word}, é👩 ${word}`,
  args: JSON.stringify({ city: word, note: `a "${word}" zanzi\n`, n: 1 }),
}
const masked = (text: string): string => text.replaceAll(word, '*'.repeat(word.length))

let gateway: Gateway
let plain: Gateway

beforeAll(async () => {
  gateway = await startGateway({ config, policies: [maskWord(word)] })
  plain = await startGateway({ config })
})
afterAll(async () => {
  await gateway?.stop()
  await plain?.stop()
})

interface Asked {
  readonly dialect: string
  readonly upstream: string
  readonly stream: boolean
  readonly split?: Split
  readonly answer?: ModelAnswer
}

function ask(at: Gateway, { dialect, upstream, stream, split = text => [text], answer: said = answer }: Asked) {
  const made = upstreamAnswers[upstream]!
  at.simulator.script({}, { raw: stream ? made.stream(said, split) : made.whole(said), times: 1 })
  const client = clientDialects[dialect]!
  return fetch(`${at.url}${client.path(upstream, stream)}`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-master-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ', 'content-type': 'application/json' },
    body: JSON.stringify(client.body(upstream, stream, 'Where to?')),
  })
}

/** Every single cut of the word, and every character by itself. */
const splits: [string, Split][] = [
  ...Array.from({ length: word.length + 1 }, (_, cut): [string, Split] => [
    `cut at ${cut}`,
    text => {
      const pieces: string[] = []
      let from = 0
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
        pieces.push(text.slice(from, at + cut))
        from = at + cut
      }
      return [...pieces, text.slice(from)].filter(piece => piece !== '')
    },
  ]),
  ['single characters', text => [...text]],
]

async function expectMasked(asked: Asked): Promise<void> {
  const response = await ask(gateway, asked)
  const read = await readAnswer(clientDialects[asked.dialect]!, response)
  expect([response.status, read.error]).toEqual([200, undefined])
  // A text completion has no tools: calls that the model writes as text are text.
  const text = asked.dialect === 'completions' ? read.text.split('<tool_call>', 1)[0]! : read.text
  expect(read.text).not.toContain(word)
  expect(text.trim()).toBe(masked(answer.text))
  expect(['', masked(answer.reasoning)]).toContain(read.reasoning)
  if (asked.dialect === 'completions') expect(read.args).toEqual([])
  else expect(read.args.map(one => JSON.parse(one))).toEqual([JSON.parse(masked(answer.args))])
  if (read.usage) expect(read.usage).toEqual([reported.input, reported.output])
  const rows = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
  expect(rows).toMatchObject([
    {
      outcome: 'success',
      stream: asked.stream,
      input_tokens: reported.input,
      output_tokens: reported.output,
      usage_source: 'upstream',
      cost_nano_usd: String(reported.input * 3000 + reported.output * 15_000),
    },
  ])
}

for (const upstream of Object.keys(upstreamAnswers))
  describe(`over ${upstream}`, () => {
    for (const dialect of Object.keys(clientDialects)) {
      test(`${dialect}, whole`, () => expectMasked({ dialect, upstream, stream: false }))
      test(`${dialect}, streamed, the word split at every position`, async () => {
        for (const [, split] of splits) await expectMasked({ dialect, upstream, stream: true, split })
      })
    }
  })

describe('refusals', () => {
  for (const stream of [true, false])
    for (const dialect of ['chat', 'cursor', 'responses', 'messages'])
      test(`${dialect}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const refusing = { ...answer, refusal: `No, not ${word}.` }
        const asked = { dialect, upstream: 'openai', stream, answer: refusing, split: (text: string) => [...text] }
        const read = await readAnswer(clientDialects[dialect]!, await ask(gateway, asked))
        expect(read.error).toBeUndefined()
        expect(read.refusal + read.text).toBe(masked(refusing.refusal))
      })
})

describe('lanes', () => {
  for (const stream of [true, false])
    test(`without a policy the bytes are the upstream's, with it they are translated: ${stream ? 'streamed' : 'whole'}`, async () => {
      const asked: Asked = { dialect: 'chat', upstream: 'openai', stream, split: text => [...text] }
      const { openai } = upstreamAnswers
      const sent = stream ? openai!.stream(answer, asked.split!) : openai!.whole(answer)
      const [untouched, changed] = [await ask(plain, asked), await ask(gateway, asked)]
      expect(await untouched.text()).toBe(sent.body.replaceAll('"model":"up"', '"model":"openai"'))
      expect(await changed.text()).not.toContain('x_unknown')
      const rowOf = async (at: Gateway, response: Response) => {
        const [row] = await at.rows(`&request_id=${response.headers.get('x-request-id')}`)
        const own = /^(request_id|deployment_id|model_id|.*(started|duration|first_byte|Time)\w*)$/
        return Object.fromEntries(Object.entries(row!).filter(([name]) => !own.test(name)))
      }
      expect(await rowOf(gateway, changed)).toEqual(await rowOf(plain, untouched))
    })
})
