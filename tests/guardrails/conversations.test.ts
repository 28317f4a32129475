/** What is masked in a question comes back in its answer: 1,000 random conversations, streamed and not. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { clientDialects, readAnswer } from '../policies/client-dialects.ts'

type Json = Record<string, any>

setDefaultTimeout(120_000)

/** A generator with a seed (mulberry32): the same conversations in every run. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Says the question again, in pieces cut at random, as content and as the arguments of a tool. */
class EchoUpstream {
  readonly seen: string[] = []
  readonly #random = generator(7)
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => this.#answer((await request.json()) as Json),
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  #pieces(text: string): string[] {
    const pieces: string[] = []
    for (let at = 0; at < text.length; ) {
      const end = at + 1 + Math.floor(this.#random() * 9)
      pieces.push(text.slice(at, end))
      at = end
    }
    return pieces
  }

  #answer({ messages, stream }: Json): Response {
    const question = messages.at(-1).content as string
    this.seen.push(question)
    const args = JSON.stringify({ city: question, note: `"${question}"` })
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const head = { id: 'x', created: 1, model: 'up' }
    const call = (args: string) => ({
      index: 0,
      id: 'c',
      type: 'function',
      function: { name: 'look_up', arguments: args },
    })
    if (!stream) {
      const message = { role: 'assistant', content: question, tool_calls: [call(args)] }
      const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
      return Response.json({ ...head, object: 'chat.completion', choices, usage })
    }
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const body = [
      ...this.#pieces(question).map(content => chunk({ content })),
      chunk({ tool_calls: [call('')] }),
      ...this.#pieces(args).map(piece => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ]
    return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } })
  }
}

const upstream = new EchoUpstream()
let gateway: Gateway

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: echo
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k }
guardrails:
  - guardrail_name: pii
    litellm_params: { guardrail: personal_data, mode: pre_call, default_on: true }
router_settings: { num_retries: 0 }
`,
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream.stop()
})

const values: readonly string[] = [
  'ada.lovelace@example.org',
  'grüße@beispiel.de',
  '4111 1111 1111 1111',
  'DE89 3704 0044 0532 0130 00',
  '+49 30 1234567',
  '(212) 555-0134',
  '192.0.2.77',
  '2001:db8::8a2e:370:7334',
  '078-05-1120',
  'sk-proj-a8F3kLm29QzX7bTn4Wc1Yd6H',
  'AKIAIOSFODNN7EXAMPLE',
]
const words: readonly string[] = [
  'write',
  'to',
  'call',
  'é👩',
  'or',
  '"quoted"',
  'line\nbreak',
  '[EMAIL_ADDRESS_1]',
  'ok.',
]

test('1,000 conversations: no value reaches the upstream, and every answer has it again', async () => {
  const random = generator(42)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const key = await gateway.key({})
  const client = clientDialects.chat!
  const converse = async (stream: boolean, question: string): Promise<void> => {
    const response = await fetch(`${gateway.url}${client.path('echo', stream)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(client.body('echo', stream, question)),
    })
    const read = await readAnswer(client, response)
    expect([response.status, read.error, read.text]).toEqual([200, undefined, question])
    expect(JSON.parse(read.args[0]!)).toEqual({ city: question, note: `"${question}"` })
  }
  for (let batch = 0; batch < 50; batch++) {
    const questions = Array.from({ length: 20 }, () =>
      Array.from({ length: 2 + Math.floor(random() * 8) }, () => pick(random() < 0.4 ? values : words)).join(' , '),
    )
    await Promise.all(questions.map((question, at) => converse(at % 2 === 0, question)))
  }
  expect(upstream.seen).toHaveLength(1000)
  const all = upstream.seen.join('\n')
  expect(values.filter(value => all.includes(value))).toEqual([])
})
