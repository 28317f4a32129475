import { expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { conversationHash } from './session-fingerprint.ts'

const hash = (fields: object, seed = 1) =>
  conversationHash(JsonBody.read(new TextEncoder().encode(JSON.stringify(fields))), seed)
const system = { role: 'system', content: 'You are an agent. '.repeat(500) }
const user = (content: unknown) => ({ role: 'user', content })
const answer = { role: 'assistant', content: 'a "user" said {this}' }

const asked = user('please mend } the "user" ] test \\')
const conversations: Record<string, (more: readonly object[], first?: object) => object> = {
  'chat completions': (more, first = asked) => ({ messages: [system, first, ...more] }),
  Messages: (more, first = asked) => ({ system: system.content, messages: [first, ...more] }),
  Responses: (more, first = asked) => ({ instructions: system.content, input: [first, ...more] }),
  'role behind the content': (more, first = asked) => ({
    system: system.content,
    messages: [{ content: (first as { content: string }).content, role: 'user' }, ...more],
  }),
  Gemini: (more, first = asked) => ({
    systemInstruction: { parts: [{ text: system.content }] },
    contents: [{ role: 'user', parts: [{ text: (first as { content: string }).content }] }, ...more],
  }),
}

test.each(Object.keys(conversations))('%s: all turns of a conversation have one hash, others another', name => {
  const body = conversations[name]!
  const first = hash(body([]))
  expect(first).toBeNumber()
  expect(hash(body([answer]))).toBe(first!)
  expect(hash(body([answer, user('and then?'), answer, user('x'.repeat(300_000))]))).toBe(first!)
  expect(hash(body([answer], user('please mend } the "user" ] test /')))).not.toBe(first!)
  expect(hash(body([]), 2)).not.toBe(first!)
})

test('without any role the first message is of the user', () => {
  const contents = [{ parts: [{ text: 'a'.repeat(5000) }] }]
  expect(hash({ contents: [...contents, { role: 'model', parts: [{ text: 'b' }] }] })).toBe(hash({ contents })!)
})

test('a long first message counts with its beginning', () => {
  const long = (end: string) => ({ messages: [user('a'.repeat(5000) + end)] })
  expect(hash(long('x'))).toBe(hash(long('y'))!)
})

test.each([
  [{ messages: [user('short')] }],
  [{ prompt: 'p'.repeat(5000) }],
  [{ input: 'p'.repeat(5000) }],
  [{ messages: [], tools: 't'.repeat(5000) }],
])('a call that is too short, or has no messages, is of no conversation', fields => {
  expect(hash(fields)).toBeUndefined()
})
