import { expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { readCallId, readSignedCall, withoutCallSignatures, writeCallId } from './call-signature.ts'

test('a signature is written into an id and read from it, in the alphabet for URLs and without padding', () => {
  expect(writeCallId('call_1', 'a+/b')).toBe('call_1__thought__a-_b')
  expect(readCallId('call_1__thought__a-_b')).toEqual({ id: 'call_1', signature: 'a+/b' })
  expect(writeCallId('call_1', 'YQ==')).toBe('call_1__thought__YQ')
  for (const text of ['x__thought__YQ', 'x__thought__YQ=='])
    expect(readCallId(text)).toEqual({ id: 'x', signature: 'YQ==' })
  expect(readCallId('x__thought__YWI')).toEqual({ id: 'x', signature: 'YWI=' })
})

test('an id without a signature, or with something else in its place, is itself', () => {
  for (const id of ['call_1', '__thought__YQ', 'x__thought__', 'x__thought__a b', ''])
    expect(readCallId(id)).toEqual({ id })
  expect(readCallId('y__thought__YQ').id).toBe('y')
})

test('what would not come back as it was is not written', () => {
  expect(writeCallId('call_1', undefined)).toBe('call_1')
  expect(writeCallId('', 'YQ==')).toBe('')
  expect(writeCallId('call_1', 'a-b')).toBe('call_1')
})

test("Google's member wins over the signature in the id, whose own part stays", () => {
  const call = { extra_content: { google: { thought_signature: 'YWJj' } } }
  expect(readSignedCall(call, 'x__thought__YQ')).toEqual({ id: 'x', signature: 'YWJj' })
  expect(readSignedCall({}, 'x__thought__YQ')).toEqual({ id: 'x', signature: 'YQ==' })
  expect(readSignedCall({ extra_content: { google: 'x' } }, 'x')).toEqual({ id: 'x' })
})

test('hosts without signatures get ids as they were made, and no member of Google', () => {
  const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
  const plain = (fields: object) => JSON.parse(Buffer.from(withoutCallSignatures(bodyOf(fields)).bytes).toString())
  const signed = { id: 'x__thought__YQ', extra_content: { google: { thought_signature: 'YQ==' } } }
  expect(plain({ messages: [{ tool_calls: [signed] }, { tool_call_id: 'x__thought__YQ' }] })).toEqual({
    messages: [{ tool_calls: [{ id: 'x' }] }, { tool_call_id: 'x' }],
  })
  const { extra_content } = signed
  expect(plain({ messages: [{ tool_calls: [{ id: 'x', extra_content }] }] })).toEqual({
    messages: [{ tool_calls: [{ id: 'x' }] }],
  })
  expect(plain({ input: [{ call_id: 'x__thought__YQ' }] })).toEqual({ input: [{ call_id: 'x' }] })
  for (const fields of [{ prompt: 'x__thought__YQ' }, { messages: [{ content: 'a thought_ of mine' }] }]) {
    const body = bodyOf(fields)
    expect(withoutCallSignatures(body)).toBe(body)
  }
})
