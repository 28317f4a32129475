import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import type { ChatRequest } from '../core/chat.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Provider } from '../core/provider.ts'
import { estimateInput } from '../core/input-tokens.ts'
import { countLocally } from './count-locally.ts'

const provider = (name: string, more: Partial<Provider> = {}) =>
  ({
    name,
    apiKeyEnv: [],
    speaks: { 'openai-chat': () => ({ url: '', headers: {} }) },
    ...more,
  }) as Provider
const deployment = (of: Provider) => ({ id: of.name, target: { provider: of, model: 'up' } }) as unknown as Deployment
const counter = {
  request: () => ({ head: { url: 'u', headers: {} }, body: {}, dropped: [] }),
  result: () => ({ inputTokens: 1 }),
}
const plain = deployment(provider('plain', { authorization: { headers: () => ({}) } }))
const counting = deployment(provider('counting', { countTokens: counter }))

function admitted(candidates: Deployment[], operation = 'count-tokens', policy = countLocally()) {
  const call = { operation, candidates, responseHeaders: {} } as unknown as Call
  void policy.admit!(call)
  return call
}

test("the vendor's own counter wins; other operations pass untouched", () => {
  expect(admitted([plain, counting])).toMatchObject({ candidates: [counting], responseHeaders: {} })
  expect(admitted([plain], 'chat').candidates).toEqual([plain])
})

test('without one the same deployment answers by itself, and says that it guessed', () => {
  const policy = countLocally()
  const call = admitted([plain], 'count-tokens', policy)
  const [made] = call.candidates
  const { provider: estimating } = made!.target
  expect([made!.id, made!.target.model, estimating.name, estimating.authorization]).toEqual([
    'plain',
    'up',
    'plain',
    undefined,
  ])
  expect(call.responseHeaders).toEqual({ 'x-token-count-source': 'estimate' })
  // One for each deployment, not one for each call.
  expect(admitted([plain], 'count-tokens', policy).candidates[0]).toBe(made!)
  const request = requestOf([{ type: 'text', text: 'Hello, Claude' }])
  const { head, body } = estimating.countTokens!.request(request, made!.target)
  const answer = estimating.answer!(head, body)
  const result = estimating.countTokens!.result(JSON.parse(answer.pieces.join('')), request)
  expect(result).toEqual({ inputTokens: estimateInput(request) })
})

const requestOf = (parts: ChatRequest['messages'][0]['parts'], more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  stream: false,
  includeUsage: true,
  messages: [{ role: 'user', parts }],
  extra: { format: 'x', fields: {} },
  ...more,
})
