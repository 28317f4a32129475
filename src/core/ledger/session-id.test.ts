import { expect, test } from 'bun:test'
import { sessionIdOf } from './session-id.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${trace}-00f067aa0ba902b7-01`

test.each([
  [{}, null],
  [{ 'x-litellm-session-id': 'mine', 'session-id': 'of-codex', traceparent }, 'mine'],
  [{ 'x-litellm-trace-id': 'mine' }, 'mine'],
  [{ 'x-claude-code-session-id': 'b7a1', traceparent }, 'b7a1'],
  [{ 'x-session-id': 'ses_1' }, 'ses_1'],
  [{ 'session-id': '0199' }, '0199'],
  [{ traceparent }, trace],
  [{ traceparent: '00-none-none-01' }, null],
  [{ 'session-id': 'a b' }, null],
  [{ 'session-id': 'x'.repeat(129) }, null],
] as [Record<string, string>, string | null][])('the session of a call with %p is %p', (headers, id) => {
  expect(sessionIdOf(new Headers(headers))).toBe(id)
})

test('a call of the gateway itself without headers has no session', () => {
  expect(sessionIdOf(undefined)).toBeNull()
})
