import { expect, test } from 'bun:test'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { decodeChat } from './decode.ts'
import { plainChat } from './plain.ts'

const bodyOf = (fields: object) =>
  JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields })))
const tool = { type: 'function', function: { name: 'f', parameters: {} } }

test('a chat of texts asks for what its hub request says', () => {
  for (const fields of [
    {},
    { max_tokens: 5 },
    { max_tokens: 5, max_completion_tokens: 7 },
    { max_tokens: 5, max_completion_tokens: null },
    { max_tokens: null, n: 3, tools: null, response_format: null, user: 'u', stop: ['x'] },
    { n: null, temperature: 1, messages: [{ role: 'system', content: '', name: 'y' }] },
  ]) {
    const { maxOutputTokens, choices = 1, tools, responseFormat } = decodeChat(bodyOf(fields))
    expect([fields, plainChat(bodyOf(fields))]).toEqual([fields, { maxOutputTokens, choices }])
    expect([tools, responseFormat]).toEqual([undefined, undefined])
  }
})

test('parts, tools, schemas and long bodies are for the decoder', () => {
  const parts = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }]
  for (const fields of [
    { messages: [{ role: 'user', content: parts }] },
    { messages: [{ role: 'assistant', content: null, tool_calls: [] }] },
    { messages: [{ role: 'assistant', content: 'x', audio: { id: 'a' } }] },
    { tools: [tool] },
    { functions: [{ name: 'f' }] },
    { response_format: { type: 'json_object' } },
    { messages: [{ role: 'user', content: 'x'.repeat(70_000) }] },
  ])
    expect(plainChat(bodyOf(fields))).toBeUndefined()
})
