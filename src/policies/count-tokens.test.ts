import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import type { ChatRequest } from '../core/hub/chat.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import { estimateInput } from '../core/hub/input-tokens.ts'
import type { Provider } from '../core/provider.ts'
import { countTokens } from './count-tokens.ts'

const counter = {
  request: () => ({ head: { url: 'u', headers: {} }, body: {}, dropped: [] }),
  result: () => ({ inputTokens: 1 }),
}
const deployment = (name: string, more: Partial<Provider> = {}) =>
  ({ id: name, target: { provider: { name, ...more }, model: 'up' } }) as unknown as Deployment
const plain = deployment('plain')
const counting = deployment('counting', { countTokens: counter })
const request: ChatRequest = {
  model: 'm',
  stream: false,
  includeUsage: true,
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello, Claude' }] }],
  extra: { format: 'x', fields: {} },
}

/** The candidates of calls that used nothing. */
const used: Deployment[][] = []

function callOf(candidates: Deployment[], more: Partial<Call> = {}): Call {
  return {
    operation: 'count-tokens',
    format: {},
    candidates,
    options: {},
    progress: { fallbacks: 0 },
    usedNothing: () => void used.push(candidates),
    responseHeaders: {},
    input: () => ({ kind: 'chat', request }),
    reply: (answer: object) => ({ status: 200, contentType: 'application/json', body: JSON.stringify(answer) }),
    ...more,
  } as unknown as Call
}
const estimate = JSON.stringify({ inputTokens: estimateInput(request) })

test("the vendor's own counter wins; other operations pass untouched", () => {
  const call = callOf([plain, counting])
  expect(countTokens().admit!(call)).toBeUndefined()
  expect(call.candidates).toEqual([counting])
  const chat = callOf([plain], { operation: 'chat' })
  expect(countTokens().admit!(chat)).toBeUndefined()
  expect(chat.candidates).toEqual([plain])
})

test('without one the call is answered with an estimate, which says that it is one and costs nothing', () => {
  const call = callOf([plain])
  expect(countTokens().admit!(call)).toMatchObject({ status: 200, body: estimate })
  expect(call.responseHeaders).toEqual({ 'x-token-count-source': 'estimate' })
  expect(used).toEqual([[plain]])
})

test('a counter that fails is replaced by an estimate, unless the request is what is wrong', () => {
  const { failed } = countTokens()
  const answer = (status: number, more: Partial<Call> = {}) =>
    failed!(callOf([counting], more), new GatewayError('upstream-failed', 'no', { status }))?.body
  expect([500, 529, 404, 408, 429].map(status => answer(status))).toEqual(Array(5).fill(estimate))
  expect([400, 401, 422].map(status => answer(status))).toEqual([undefined, undefined, undefined])
  expect(answer(400, { progress: { fallbacks: 1 } as Call['progress'] })).toBe(estimate)
  expect(answer(500, { options: { exactCount: true } })).toBeUndefined()
  expect(answer(500, { operation: 'chat' })).toBeUndefined()
})
