import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hardTexts } from '../../scripts/token-ratios/hard-texts.ts'
import { chatRequest } from '../../tests/support/provider-rig.ts'
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Part } from '../core/hub/chat.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import type { Encoding } from '../lib/tokens/tokenizer.ts'
import { Tokenizer } from '../lib/tokens/tokenizer.ts'
import { measureInput } from './measure-input.ts'

const tokenizer = new Tokenizer()
// Reading the vocabularies takes a busy machine longer than a call waits.
beforeAll(() => Promise.all(encodings.map(([, encoding]) => tokenizer.count(encoding, ['a'], 'k'))))
afterAll(() => tokenizer.stop())

const deploymentOf = (model: string, base?: string): Deployment =>
  ({ target: { model }, info: base === undefined ? {} : { base_model: base } }) as unknown as Deployment

function callOf(content: unknown, parts: Part[], models: readonly Deployment[]): Call {
  const body = { model: 'm', messages: [{ role: 'user', content }] }
  return {
    body: JsonBody.read(Buffer.from(JSON.stringify(body))),
    edits: [],
    candidates: models,
    fallbacksInOrder: [],
    contextWindowFallbacks: [],
    contentPolicyFallbacks: [],
    caller: { key: { id: 'k' } },
    input: () => ({ kind: 'chat', request: chatRequest({ messages: [{ role: 'user', parts }] }) }),
  } as unknown as Call
}

const ofText = (text: string, models: readonly Deployment[]): Call => callOf(text, [{ type: 'text', text }], models)

const gpt = deploymentOf('gpt-4o')
const older = deploymentOf('my-deployment', 'gpt-4')
const claude = deploymentOf('claude-opus-4-7')
const encodings: readonly (readonly [Deployment, Encoding])[] = [
  [gpt, 'o200k_base'],
  [older, 'cl100k_base'],
]

/** Without white space, of characters that merge and of some that do not. */
const runs = ['a', 'ab', '的一是', '🦊', 'Zq9', '=-', ' ', 'der', 'é', '한국'].map(unit => unit.repeat(700))

describe('the bound of hard texts', () => {
  const measure = (call: Call) => measureInput(tokenizer, call)
  test.each([...hardTexts(), ...runs.map(text => ({ name: `a run of ${text.slice(0, 6)}`, text }))])(
    '$name',
    async ({ text }) => {
      const measured = (await measure(ofText(text, [gpt, older, claude])))!
      const rest = (await measure(ofText('', [gpt, older, claude])))!
      for (const [model, encoding] of encodings) {
        const [exact] = (await tokenizer.count(encoding, [text], 'k'))!
        const bound = measured.tokensAt(model) - rest.tokensAt(model)
        expect(bound).toBeGreaterThanOrEqual(exact!)
        // And close: a cut of a long run costs a token or two.
        expect(bound).toBeLessThanOrEqual(exact! * 1.05 + text.length / 64 + 2)
        // Where the vocabulary is not here, the ratios are above those that are.
        expect(measured.tokensAt(claude) - rest.tokensAt(claude)).toBeGreaterThanOrEqual(exact!)
      }
    },
  )
})

test('what is drawn is no text, and what is a text in base64 is read', async () => {
  const data = Buffer.alloc(30_000, 'pixels').toString('base64')
  const source = { data, mediaType: 'image/png' }
  const content = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }]
  const picture = (await measureInput(tokenizer, callOf(content, [{ type: 'image', source }], [gpt])))!
  expect(picture.tokensAt(gpt)).toBeLessThan(1000)
  // The same letters in a text count.
  const text = (await measureInput(tokenizer, ofText(data, [gpt])))!
  expect(text.tokensAt(gpt)).toBeGreaterThan(4000)
})

test('a thread that has no time leaves the bytes', async () => {
  const waits = new Tokenizer({ waitingMax: 0 })
  expect(await measureInput(waits, ofText('Hi', [gpt]))).toBeUndefined()
  waits.stop()
  expect(await measureInput(waits, ofText('Hi', [gpt]))).toBeUndefined()
})

test('an input that cannot be decoded is measured by all of its texts, one that is no JSON by none', async () => {
  const call = ofText('word '.repeat(2000), [gpt])
  const unread = {
    ...call,
    input: () => {
      throw new GatewayError('unprocessable', 'a video')
    },
  } as unknown as Call
  expect((await measureInput(tokenizer, unread))!.tokensAt(gpt)).toBeWithin(2000, 2800)
  expect(await measureInput(tokenizer, { ...call, body: undefined } as Call)).toBeUndefined()
})

test('fallbacks count too, each by its own vocabulary', async () => {
  const text = 'The quick brown fox. '.repeat(500)
  const call = { ...ofText(text, [claude]), fallbacksInOrder: [{ name: 'spare', deployments: [gpt] }] } as Call
  const measured = (await measureInput(tokenizer, call))!
  expect(measured.tokensAt(gpt)).toBeLessThan(measured.tokensAt(claude))
})
