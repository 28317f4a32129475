/** Every answer against OpenAI's own schema. */
import { describe, expect, test } from 'bun:test'
import { deviations } from '../../../tests/support/openai-conformance.ts'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { openaiChat, openaiCompletions, openaiEmbeddings } from '../index.ts'

/** Deviations of what would be sent: a member that is undefined is not. */
const problemsOf = (schema: string) => (value: unknown) => deviations(schema, JSON.parse(JSON.stringify(value)))

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const chatRequest = (fields: object) =>
  openaiChat.decode(bodyOf({ model: 'm', messages: [{ role: 'user', content: 'x' }], stream: true, ...fields }))
const token = {
  token: 'a',
  logprob: -1,
  bytes: [97],
  top_logprobs: [{ token: 'a', logprob: -1, bytes: null }],
}

const events: ChatEvent[] = [
  { type: 'start', id: 'x', model: 'u' },
  { type: 'reasoning', choice: 0, text: 'hmm', signature: 's' },
  { type: 'text', choice: 0, text: 'Hi' },
  { type: 'logprobs', choice: 0, content: [token] },
  { type: 'citation', choice: 0, citation: { url: 'https://a/b' } },
  { type: 'image', choice: 0, source: { url: 'https://a/b.png' } },
  { type: 'audio', choice: 0, id: 'a', data: 'AAEC', transcript: 't', expiresAtS: 5 },
  { type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'f' },
  { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{}' },
  { type: 'tool-call-end', choice: 0, index: 0 },
  { type: 'finish', choice: 0, reason: 'tool-calls' },
  { type: 'refusal', choice: 1, text: 'no' },
  { type: 'logprobs', choice: 1, refusal: [token] },
  { type: 'finish', choice: 1, reason: 'content-filter' },
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 4, cachedInputTokens: 1, cacheWriteTokens: 1 } },
]

const requests = {
  plain: chatRequest({}),
  'with usage': chatRequest({ stream_options: { include_usage: true } }),
  'of old functions': chatRequest({ functions: [{ name: 'f' }], stream_options: { include_usage: true } }),
}

const chunksOf = (text: string) =>
  text
    .split('\n\n')
    .filter(frame => frame.startsWith('data: {'))
    .map(frame => JSON.parse(frame.slice(6)))

describe("OpenAI's schema", () => {
  test('finds what is wrong, so that it can find nothing', () => {
    const check = problemsOf('CreateChatCompletionResponse')
    const whole: any = openaiChat.encode(events, 'm', requests.plain)
    expect(check({ ...whole, choices: [{ ...whole.choices[0], finish_reason: 'tool-calls' }] })).not.toEqual([])
    expect(check({ ...whole, usage: { ...whole.usage, prompt_tokens: '3' } })).not.toEqual([])
    expect(problemsOf('CreateChatCompletionStreamResponse')(whole)).not.toEqual([])
  })

  for (const [what, request] of Object.entries(requests)) {
    test(`accepts whole chat answers ${what}`, () => {
      expect(problemsOf('CreateChatCompletionResponse')(openaiChat.encode(events, 'm', request))).toEqual([])
    })

    test(`accepts every chunk ${what}`, () => {
      const writer = openaiChat.writer('m', request)
      const chunks = chunksOf(events.map(event => writer.write(event)).join('') + writer.end())
      expect(chunks.length).toBeGreaterThan(10)
      const check = problemsOf('CreateChatCompletionStreamResponse')
      for (const chunk of chunks) expect(check(chunk)).toEqual([])
    })
  }

  test('accepts text completions, whole and streamed', () => {
    const check = problemsOf('CreateCompletionResponse')
    const request = openaiCompletions.decode(bodyOf({ prompt: 'x', logprobs: 1 }))
    expect(check(openaiCompletions.encode(events, 'm', request))).toEqual([])
    const writer = openaiCompletions.writer('m', request)
    const [first, ...others] = chunksOf(events.map(event => writer.write(event)).join('') + writer.end())
    // The schema has no word for a chunk that is not the last: there the reason is null.
    first.choices[0].finish_reason = 'stop'
    expect(check(first)).toEqual([])
    expect(others.length).toBeGreaterThan(2)
  })

  test('accepts embeddings', () => {
    const request = openaiEmbeddings.decode(bodyOf({ input: 'a' }))
    const result = { vectors: [new Float32Array([0.5])], usage: { inputTokens: 1, outputTokens: 0 } }
    expect(problemsOf('CreateEmbeddingResponse')(openaiEmbeddings.encode(result, 'm', request))).toEqual([])
  })
})
