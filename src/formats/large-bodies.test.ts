/** A field is judged by what it holds, not by the size of the body: in every dialect, before anything is sent. */
import { expect, test } from 'bun:test'
import type { Inspection } from '../core/format.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { anthropicMessages } from './anthropic/index.ts'
import { geminiGenerate } from './gemini/index.ts'
import { openaiChat } from './openai/chat/index.ts'
import { openaiEmbeddings } from './openai/embeddings.ts'
import { openaiResponses } from './openai/responses/index.ts'

const text = (size: number) => 'word '.repeat(size / 5)
interface Dialect {
  readonly format: { inspect(body: JsonBody): Inspection }
  /** A body with this part in its input, and a text of this size. */
  body(part: unknown, size: number): object
}
const dialects: Record<string, Dialect> = {
  chat: {
    format: openaiChat,
    body: (part, size) => ({ model: 'm', messages: [{ role: 'user', content: text(size) }, part] }),
  },
  messages: {
    format: anthropicMessages,
    body: (part, size) => ({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: text(size) }, part] }),
  },
  responses: {
    format: openaiResponses,
    body: (part, size) => ({ model: 'm', input: [{ role: 'user', content: text(size) }, part] }),
  },
  gemini: {
    format: geminiGenerate,
    body: (part, size) => ({ contents: [{ role: 'user', parts: [{ text: text(size) }] }, part] }),
  },
  embeddings: { format: openaiEmbeddings, body: (part, size) => ({ model: 'm', input: [text(size), part] }) },
}

const parts = [7, null, { role: 'nobody', content: 'x' }, { role: 'user', content: 5, parts: 5 }, { type: 'image' }]

test.each(Object.entries(dialects))('%s: a large body has the problems of a small one', (_name, { format, body }) => {
  let wrong = 0
  for (const part of parts) {
    const [small, large] = [10, 400_000].map(
      size => format.inspect(JsonBody.read(Buffer.from(JSON.stringify(body(part, size))))).problems,
    )
    expect(large).toEqual(small!)
    wrong += small!.length
  }
  expect(wrong).toBeGreaterThan(0)
})
