/** What would be lost or refused when a conversation moves between vendors. */
import { expect, test } from 'bun:test'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { anthropicMessages } from './index.ts'
import { noFieldRules } from '../../core/dialects/field-rules.ts'

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))
const plain = JsonBody.read(bytesOf({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] }))

test("a turn that held nothing but another model's thinking does not reach the upstream: it refuses empty ones", () => {
  const marked = { type: 'thinking', thinking: 'hm', signature: 'modelgate-unsigned' }
  const list = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [marked] },
    { role: 'user', content: 'b' },
    { role: 'assistant', content: [] },
  ]
  const body = JsonBody.read(bytesOf({ messages: list }))
  const { edits } = anthropicMessages.forward.edits(body, noFieldRules)
  expect(JSON.parse(Buffer.concat(body.edited(edits)).toString())).toEqual({ messages: [list[0], list[2], list[3]] })
})

test('a call ends with `tool_use`, also where the host says that it simply stopped', () => {
  const answer = (reason: 'stop' | 'length'): unknown => {
    const events: ChatEvent[] = [
      { type: 'start', id: 'a', model: 'up' },
      { type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'f' },
      { type: 'tool-call-end', choice: 0, index: 0 },
      { type: 'finish', choice: 0, reason },
    ]
    return anthropicMessages.encode(events, 'public', anthropicMessages.decode(plain))
  }
  expect(answer('stop')).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'tool_use', id: 'c', input: {} }] })
  expect(answer('length')).toMatchObject({ stop_reason: 'max_tokens' })
})

test('a message begins with the count of its input, which holds; that of its output is none at the end', () => {
  const events = [
    { type: 'message_start', message: { model: 'up', usage: { input_tokens: 472, output_tokens: 1 } } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a long text' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 89 } },
  ]
  const relay = anthropicMessages.forward.relay('public', plain)
  const usages = events.map(event => {
    relay.push(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
    return relay.usage
  })
  const begun = { inputTokens: 472, outputTokens: 1 }
  expect(usages).toEqual([begun, begun, { inputTokens: 472, outputTokens: 89 }])
  expect(relay.contentCharacters).toBe(11)
  const uncounted = anthropicMessages.forward.relay('public', plain)
  for (const event of [...events.slice(0, 2), { type: 'message_delta', delta: { stop_reason: 'end_turn' } }])
    uncounted.push(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
  expect(uncounted.usage).toEqual({ inputTokens: 472, outputTokens: 0 })
})
