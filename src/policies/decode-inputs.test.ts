import { afterAll, expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { Tokenizer } from '../lib/tokens/tokenizer.ts'
import { decodeInputs } from './decode-inputs.ts'

const tokenizer = new Tokenizer()
afterAll(() => tokenizer.stop())

const decoderOf = (tokenizer: Tokenizer) => (call: Call) =>
  decodeInputs(tokenizer).admit!(call) as Promise<void> | undefined

const deployment = (embedsTextOnly?: true) => ({ target: { provider: { embedsTextOnly } } }) as unknown as Deployment
const ofTexts = deployment(true)
const ofIds = deployment()

function callOf(input: string, candidates: readonly Deployment[], more: Partial<Call> = {}): Call {
  return {
    operation: 'embeddings',
    format: { dialect: 'openai-embeddings' },
    model: 'm',
    body: JsonBody.read(Buffer.from(`{"dimensions":8,"input":${input},"model":"m"}`)),
    candidates,
    fallbacksInOrder: [],
    contextWindowFallbacks: [],
    contentPolicyFallbacks: [],
    caller: { key: { id: 'key' } },
    client: { left: false },
    ...more,
  } as unknown as Call
}

test('texts, upstreams that take ids, and other operations need no tokenizer and no promise', () => {
  const decode = decoderOf(tokenizer)
  for (const input of ['"a"', '["a"]', '[ "[1]" ]', '[]', 'null'])
    expect(decode(callOf(input, [ofTexts]))).toBeUndefined()
  expect(decode(callOf('[1]', [ofIds]))).toBeUndefined()
  expect(decode(callOf('[1]', [ofTexts], { operation: 'chat' }))).toBeUndefined()
  expect(tokenizer.loaded).toBe(false)
})

test('only the input is written anew, and the body of the client stays', async () => {
  const call = callOf('[[15339, 1917],[64]]', [ofTexts, ofIds])
  await decoderOf(tokenizer)(call)
  expect(Buffer.from(call.textBody!.bytes).toString()).toBe('{"dimensions":8,"input":["hello world","a"],"model":"m"}')
  expect(call.body!.get('input')).toEqual([[15339, 1917], [64]])
})

test('while the tokenizer has no time, the call is refused for now, or left to those that take ids', async () => {
  const busy = new Tokenizer({ waitingMax: 0 })
  const decode = decoderOf(busy)
  await expect(decode(callOf('[1]', [ofTexts]))!).rejects.toMatchObject({ kind: 'overloaded', retryAfterMs: 1000 })
  const more = { fallbacksInOrder: [{ name: 'x', deployments: [ofTexts] }] }
  const call = callOf('[1]', [ofTexts, ofIds], more)
  await decode(call)
  expect([call.candidates, call.fallbacksInOrder, call.textBody]).toEqual([[ofIds], [], undefined])
  busy.stop()
})

test('a client that leaves meanwhile ends the call', async () => {
  const call = callOf('[1]', [ofTexts], { client: { left: true } as Call['client'] })
  await expect(decoderOf(tokenizer)(call)!).rejects.toMatchObject({ kind: 'client-closed' })
})
