import { expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { sessionFields, sessionHeaders, sessionIdOf } from './session-id.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${trace}-00f067aa0ba902b7-01`
const uuid = '0199d1a4-7c1e-7b2a-9c3d-1f2e3d4c5b6a'

const bodyOf = (fields: object): JsonBody => JsonBody.read(new TextEncoder().encode(JSON.stringify(fields)))

test.each([
  [{}, null],
  [{ 'x-litellm-session-id': 'mine', 'session-id': 'of-codex', traceparent }, 'mine'],
  [{ 'x-proxy-session-id': 'ours', 'x-litellm-session-id': 'mine' }, 'ours'],
  [{ 'x-litellm-trace-id': 'mine' }, 'mine'],
  [{ 'x-claude-code-session-id': 'b7a1', traceparent }, 'b7a1'],
  [{ 'x-session-id': 'ses_1', 'x-session-affinity': 'ses_1' }, 'ses_1'],
  [{ 'session-id': '0199' }, '0199'],
  [{ 'x-task-id': 'task-1' }, 'task-1'],
  [{ traceparent }, trace],
  [{ traceparent: '00-none-none-01' }, null],
  [{ 'session-id': 'a b' }, null],
  [{ 'session-id': 'a b', traceparent }, trace],
  [{ 'session-id': 'x'.repeat(129) }, null],
] as [Record<string, string>, string | null][])('the session of a call with %p is %p', (headers, id) => {
  expect(sessionIdOf({ headers: new Headers(headers) })).toBe(id)
})

test.each([
  [{ session_id: 's-1', prompt_cache_key: 'k' }, 's-1'],
  [{ litellm_session_id: 's-2' }, 's-2'],
  [{ prompt_cache_key: 'k-1' }, 'k-1'],
  [{ prompt_cache_key: 'k-1', conversation: 'conv_1' }, 'conv_1'],
  [{ conversation: { id: 'conv_2' } }, 'conv_2'],
  [{ metadata: { session_id: 's-3' } }, 's-3'],
  [{ metadata: { user_id: `user_${'a'.repeat(64)}_account__session_${uuid}` } }, uuid],
  [{ metadata: { user_id: JSON.stringify({ device_id: 'd', account_uuid: '', session_id: uuid }) } }, uuid],
  [{ metadata: { user_id: 'someone' } }, null],
  [{ metadata: null, conversation: 7, prompt_cache_key: null }, null],
  [{ prompt_cache_key: 'not for an address' }, null],
  [{ previous_response_id: 'resp_1' }, null],
] as [object, string | null][])('the session of a call with the body %p is %p', (fields, id) => {
  expect(sessionIdOf({ headers: undefined, body: bodyOf(fields) })).toBe(id)
})

test('a header of a client counts before a field, and a field before a trace', () => {
  const body = bodyOf({ prompt_cache_key: 'key' })
  expect(sessionIdOf({ headers: new Headers({ 'session-id': 'head' }), body })).toBe('head')
  expect(sessionIdOf({ headers: new Headers({ traceparent }), body })).toBe('key')
})

test('a call of the gateway itself without headers has no session', () => {
  expect(sessionIdOf({ headers: undefined })).toBeNull()
})

test('each header and each field stands once in its table', () => {
  for (const table of [sessionHeaders, sessionFields])
    expect(new Set(table.map(({ name }) => name)).size).toBe(table.length)
})
