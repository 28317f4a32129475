/** Lists of inputs and of vectors, in OpenAI's and Gemini's words, and how tokens and costs are shared among them. */
import { expect, test } from 'bun:test'
import type { Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { formOf } from './embedding-forms.ts'
import type { Input } from './embedding-forms.ts'
import { cachedReply, mergedReply, shares, vectorOf, vectorsOf, weightOf } from './embedding-inputs.ts'
import type { RequestedInputs } from './embedding-inputs.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const form = (fields: object, dialect = 'openai-embeddings') =>
  formOf({ format: { dialect }, body: bodyOf(fields) } as unknown as Call)!
const inputsOf = (fields: object, dialect?: string) => form(fields, dialect).inputsOf(bodyOf(fields))
const gemini = 'gemini-named-inside'

test('the inputs of a body are a list, also of one text or one list of tokens', () => {
  expect(inputsOf({ input: 'a' })).toEqual(['a'])
  expect(inputsOf({ input: [1, 2] })).toEqual([[1, 2]])
  expect(inputsOf({ input: ['a', 'b'] })).toEqual(['a', 'b'])
  expect([inputsOf({ input: [] }), inputsOf({ input: 5 })]).toEqual([[], undefined])
  expect(inputsOf({ requests: [{ model: 'm', content: 1 }] }, gemini)).toEqual([{ content: 1 }])
  expect(inputsOf({ requests: { model: 'm', content: 1 } }, gemini)).toEqual([{ content: 1 }])
  expect(inputsOf({ requests: 'x' }, gemini)).toBeUndefined()
  expect(inputsOf({ model: 'm', content: 1 }, gemini)).toEqual([{ content: 1 }])
  expect(formOf({ format: { dialect: 'openai-chat' }, body: bodyOf({}) } as unknown as Call)).toBeUndefined()
})

test('vectors are read in the order of what was asked', () => {
  const { vectorsOf: read, tokensOf, isInput } = form({})
  expect(
    read({
      data: [
        { index: 1, embedding: 'b' },
        { index: 0, embedding: 'a' },
      ],
    }),
  ).toEqual(['a', 'b'])
  expect(read({ data: [{ embedding: 'a' }, { index: 1.5, embedding: 'b' }] })).toEqual(['a', 'b'])
  expect([read({}), read({ data: 'x' })]).toEqual([undefined, undefined])
  expect([tokensOf({ usage: { prompt_tokens: 5 } }), tokensOf({})]).toEqual([5, undefined])
  expect([isInput('input'), isInput('user')]).toEqual([true, false])
  const batch = form({ requests: [] }, gemini)
  expect([batch.vectorsOf({ embeddings: [1] }), batch.vectorsOf({})]).toEqual([[1], undefined])
  expect([
    batch.isInput('requests'),
    batch.isInput('x'),
    batch.tokensOf({ usageMetadata: { promptTokenCount: 3 } }),
  ]).toEqual([true, false, 3])
  const single = form({ content: 1 }, gemini)
  expect([single.vectorsOf({ embedding: 7 }), single.vectorsOf({}), single.isInput('x')]).toEqual([
    [7],
    undefined,
    true,
  ])
})

const twice: RequestedInputs = {
  form: form({}),
  key: 'list',
  keys: ['k1', 'k2', 'k1'],
  inputs: new Map<string, Input>([
    ['k1', 'a'],
    ['k2', [1, 2, 3]],
  ]),
}
const known = new Map([
  ['k1', { json: '[1]', tokens: 2 }],
  ['k2', { json: '[2]', tokens: 5 }],
])
const parsed = (reply: Reply) => JSON.parse(String(reply.body))

test('an answer of kept vectors has each in its places, and their tokens together', () => {
  const call = { model: 'm' } as Call
  const reply = cachedReply(call, twice, known)
  expect([reply.status, reply.contentType]).toEqual([200, 'application/json'])
  expect(parsed(reply)).toEqual({
    object: 'list',
    data: [1, 2, 1].map((value, index) => ({ object: 'embedding', index, embedding: [value] })),
    model: 'm',
    usage: { prompt_tokens: 9, total_tokens: 9 },
  })
  const batch = { ...twice, form: form({ requests: [] }, gemini) }
  expect(parsed(cachedReply(call, batch, known))).toEqual({
    embeddings: [[1], [2], [1]],
    usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
  })
  const none = new Map([['k1', { json: '[1]', tokens: 0 }]])
  const single = { ...twice, keys: ['k1'], form: form({ content: 1 }, gemini) }
  expect(parsed(cachedReply(call, single, none))).toEqual({ embedding: [1] })
})

test('a merged answer keeps the other fields of the upstream', () => {
  const reply = { status: 200, contentType: 'x', body: '' }
  const merged = mergedReply(reply, { model: 'up', data: [], usage: { cost: 1 } }, twice, known)
  expect(merged.contentType).toBe('x')
  expect(parsed(merged)).toMatchObject({ model: 'up', usage: { cost: 1, prompt_tokens: 9, total_tokens: 9 } })
})

test('vectors of an answer are those that were asked for, with their part of its tokens', () => {
  const asked = [...twice.inputs]
  const read = (body: unknown) =>
    vectorsOf({ status: 200, contentType: 'x', body: body as Reply['body'] }, twice, asked)
  const answer = (data: unknown, tokens: unknown = 8) => JSON.stringify({ data, usage: { prompt_tokens: tokens } })
  const both = [{ embedding: [1] }, { embedding: [2] }]
  for (const body of [answer(both), Buffer.from(answer(both))])
    expect(read(body)!.vectors).toEqual(
      new Map([
        ['k1', { json: '[1]', tokens: 2 }],
        ['k2', { json: '[2]', tokens: 6 }],
      ]),
    )
  for (const tokens of [0, -1, 1.5, '8'])
    expect([...read(answer(both, tokens))!.vectors.values()].map(one => one.tokens)).toEqual([0, 0])
  for (const body of [answer([{ embedding: [1] }]), answer([{ embedding: [1] }, 'x']), 'no JSON', answer('x'), {}])
    expect(read(body)).toBeUndefined()
})

test('a total is shared by weight, and its parts are the total', () => {
  expect(shares(10n, [1, 1, 1])).toEqual([3n, 3n, 4n])
  expect(shares(9n, [2, 1])).toEqual([6n, 3n])
  expect(shares(9n, [0, 0])).toEqual([0n, 0n])
  expect([weightOf([1, 2, 3]), weightOf(''), weightOf('one two three')]).toEqual([3, 1, 3])
})

test('of kept answers only embeddings have a vector', () => {
  const answer = (content: object) => ({ content, storedAtMs: 0, endMs: 0, costNanoUsd: null, bytes: 0 }) as never
  expect([vectorOf(undefined), vectorOf(answer({ kind: 'keys', keys: [] }))]).toEqual([undefined, undefined])
  expect(vectorOf(answer({ kind: 'vector', json: '[1]', tokens: 2 }))).toMatchObject({ json: '[1]', tokens: 2 })
})
