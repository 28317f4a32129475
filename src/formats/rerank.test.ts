import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../core/errors.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { cohereRerank, jinaRerank } from './rerank.ts'
import { fieldRules, noFieldRules } from '../core/dialects/field-rules.ts'

const bodyOf = (value: unknown): JsonBody => JsonBody.read(Buffer.from(JSON.stringify(value)))
const problems = (value: unknown) =>
  jinaRerank.inspect(bodyOf(value)).problems.map(({ loc, type }) => `${loc.slice(1).join('.')} ${type}`)
const base = { model: 'm', query: 'q', documents: ['a', 'b'] }

test.each([
  [base, []],
  [
    {
      ...base,
      documents: [{ text: 'a' }, 'b'],
      top_n: 1,
      return_documents: true,
      rank_fields: ['text'],
      max_tokens_per_doc: 9,
    },
    [],
  ],
  [{}, ['query missing', 'documents missing']],
  [{ ...base, query: '', documents: [] }, ['query out_of_range', 'documents out_of_range']],
  [
    { ...base, documents: ['a', 5, {}], top_n: 0, return_documents: 'yes', rank_fields: 'text' },
    [
      'documents.1 wrong_type',
      'documents.2 wrong_type',
      'top_n out_of_range',
      'return_documents wrong_type',
      'rank_fields wrong_type',
    ],
  ],
  [{ ...base, documents: 'a' }, ['documents wrong_type']],
])('%j', (body, expected) => {
  expect(problems(body)).toEqual(expected)
})

test('documents become texts: their own, their chosen fields, or all of them', () => {
  const documents = ['plain', { text: 'own' }, { title: 'T', text: 'x' }, { title: 'T', year: 1990 }]
  expect(jinaRerank.decode(bodyOf({ ...base, documents })).documents).toEqual([
    'plain',
    'own',
    'x',
    'title: T\nyear: 1990',
  ])
  expect(jinaRerank.decode(bodyOf({ ...base, documents, rank_fields: ['title', 'text'] })).documents).toEqual([
    'plain',
    'own',
    'title: T\ntext: x',
    'T',
  ])
})

test('what is not understood stays for its own dialect', () => {
  const request = cohereRerank.decode(
    bodyOf({ ...base, top_n: 1, max_tokens_per_doc: 5, user: 'u', priority: 3, api_base: 'http://evil' }),
  )
  expect(request).toMatchObject({
    model: 'm',
    query: 'q',
    topN: 1,
    maxTokensPerDocument: 5,
    user: 'u',
    extra: { format: 'cohere-rerank', fields: { priority: 3 } },
  })
  expect(request.extra.fields).toEqual({ priority: 3 })
})

const result = {
  results: [
    { index: 1, score: 0.9 },
    { index: 0, score: 0.1 },
  ],
  usage: { inputTokens: 12, outputTokens: 0 },
}

test('an answer for Jina and for version 1 of Cohere', () => {
  const request = jinaRerank.decode(bodyOf({ ...base, documents: ['a', { title: 'B' }], return_documents: true }))
  expect(jinaRerank.encode(result, 'public', request)).toEqual({
    id: expect.any(String),
    model: 'public',
    results: [
      { index: 1, relevance_score: 0.9, document: { title: 'B' } },
      { index: 0, relevance_score: 0.1, document: { text: 'a' } },
    ],
    usage: { prompt_tokens: 12, total_tokens: 12 },
    meta: {
      api_version: { version: '1' },
      billed_units: { input_tokens: 12 },
      tokens: { input_tokens: 12, output_tokens: 0 },
    },
  })
})

test('an answer for version 2', () => {
  const request = cohereRerank.decode(bodyOf(base))
  const billed = { ...result, usage: { inputTokens: 0, outputTokens: 0, searchUnits: 1 } }
  expect(cohereRerank.encode(billed, 'public', request)).toEqual({
    id: expect.any(String),
    results: [
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.1 },
    ],
    meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
  })
})

describe('forwarded', () => {
  test('to Cohere: version 2 takes texts only, and gives no documents back', () => {
    const body = bodyOf({
      ...base,
      documents: [{ title: 'A', text: 'x' }],
      rank_fields: ['title'],
      return_documents: true,
      timeout: 5,
    })
    const { edits, dropped } = cohereRerank.forward.edits(body, noFieldRules)
    expect(JSON.parse(Buffer.concat(body.edited(edits)).toString())).toEqual({
      model: 'm',
      query: 'q',
      documents: ['A'],
    })
    expect(dropped).toEqual(['return_documents'])
    expect(cohereRerank.forward.edits(bodyOf(base), noFieldRules)).toEqual({ edits: [], dropped: [] })
  })

  test('to a host of the same words: as it is, but for what the host refuses', () => {
    const body = bodyOf({ ...base, documents: [{ text: 'x' }], truncation: true, user: 'u' })
    expect(jinaRerank.forward.edits(body, { fields: fieldRules(['user']) })).toEqual({
      edits: [{ remove: 'user' }],
      dropped: ['user'],
    })
  })

  test.each([
    [
      { results: [], usage: { total_tokens: 815 } },
      { inputTokens: 815, outputTokens: 0 },
    ],
    [
      { results: [], meta: { billed_units: { search_units: 2 } } },
      { inputTokens: 0, outputTokens: 0, searchUnits: 2 },
    ],
    [
      { results: [], meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 30 } } },
      { inputTokens: 30, outputTokens: 0, searchUnits: 1 },
    ],
    [{ results: [], usage: { total_tokens: -1 } }, undefined],
    [{ results: [] }, undefined],
  ])('usage of %j', (answer, usage) => {
    expect(jinaRerank.forward.answer(Buffer.from(JSON.stringify(answer)), 'public').usage).toEqual(usage)
  })

  test('the public name is restored; what is no answer is refused', () => {
    const { body } = jinaRerank.forward.answer(Buffer.from('{"model":"up","results":[]}'), 'public')
    expect(Buffer.from(body as Uint8Array).toString()).toBe('{"model":"public","results":[]}')
    for (const text of ['', '[]', '{"results"', '{}'])
      expect(() => jinaRerank.forward.answer(Buffer.from(text), 'p')).toThrow('upstream')
  })
})

test("errors are OpenAI's, with the message where Cohere's clients look for it", () => {
  expect(cohereRerank.errorBody(new GatewayError('unprocessable', 'no'))).toMatchObject({
    message: 'no',
    error: { message: 'no', name: 'UnprocessableEntityError' },
  })
})
