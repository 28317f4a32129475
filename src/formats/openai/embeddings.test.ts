import { describe, expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { openaiEmbeddings } from './embeddings.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const pathsOf = (fields: object) =>
  openaiEmbeddings.inspect(bodyOf(fields)).problems.map(({ loc, type }) => `${loc.slice(1).join('.')}:${type}`)

const refused: [string, object, string[]][] = [
  ['an empty text', { input: '' }, ['input:out_of_range']],
  ['an empty text among others', { input: ['a', ''] }, ['input.1:out_of_range']],
  ['an object', { input: {} }, ['input:wrong_type']],
  ['texts mixed with token ids', { input: ['a', 1] }, ['input.1:wrong_type']],
  ['token ids mixed with texts', { input: [1, 'a'] }, ['input.1:wrong_type']],
  ['2049 texts', { input: Array(2049).fill('a') }, ['input:out_of_range']],
  ['an unknown encoding', { input: 'a', encoding_format: 'hex' }, ['encoding_format:unknown_value']],
  ['no dimensions', { input: 'a', dimensions: 0 }, ['dimensions:out_of_range']],
  ['a timeout of text', { input: 'a', timeout: '600' }, ['timeout:wrong_type']],
  ['a key of a number', { input: 'a', api_key: 5 }, ['api_key:wrong_type']],
  ['a base of an object', { input: 'a', api_base: {} }, ['api_base:wrong_type']],
  ['a caching of 0', { input: 'a', caching: 0 }, ['caching:wrong_type']],
  ['a provider of a number', { input: 'a', custom_llm_provider: 5 }, ['custom_llm_provider:wrong_type']],
  ['a log object of text', { input: 'a', proxy_logging_obj: 'x' }, ['proxy_logging_obj:wrong_type']],
]

describe('inspecting an embeddings body', () => {
  for (const [what, fields, problems] of refused)
    test(`refuses ${what}`, () => expect(pathsOf(fields)).toEqual(problems))
  for (const input of [null, [], 'a', ['a', 'b'], [1, 2], [[1], [2]], Array(2048).fill('a')])
    test(`accepts ${JSON.stringify(input).slice(0, 20)}`, () => expect(pathsOf({ input })).toEqual([]))

  test('accepts none, which is the same as an empty list', () => {
    expect(pathsOf({})).toEqual([])
    for (const fields of [{}, { input: null }, { input: [] }])
      expect(openaiEmbeddings.decode(bodyOf({ model: 'm', ...fields })).inputs).toEqual([])
  })

  test('more than 2048 token ids are one text, not too many', () => {
    expect(pathsOf({ input: Array(5000).fill(1) })).toEqual([])
  })

  test('a large input is checked as a small one', () => {
    expect(pathsOf({ input: ['x'.repeat(300 * 1024), ''] })).toEqual(pathsOf({ input: ['x', ''] }))
    expect(pathsOf({ input: ['x', ''] }).length).toBe(1)
  })
})

describe('decoding an embeddings body', () => {
  test('no field of the client names a host or a key', () => {
    const request = openaiEmbeddings.decode(
      bodyOf({
        model: 'm',
        input: 'a',
        timeout: 1,
        api_base: 'http://evil',
        api_key: 'sk-x',
        api_version: 'v',
        api_type: 't',
        caching: true,
        custom_llm_provider: 'x',
        proxy_call_id: 'x',
        proxy_logging_obj: {},
        logger_fn: 'x',
        user: 'u',
        dimensions: 8,
        input_type: 'query',
      }),
    )
    expect(request).toEqual({
      model: 'm',
      inputs: ['a'],
      encoding: 'float',
      user: 'u',
      dimensions: 8,
      extra: { format: 'openai-embeddings', fields: { input_type: 'query' } },
    })
  })

  test('one list of token ids is one input', () => {
    expect(openaiEmbeddings.decode(bodyOf({ input: [1, 2] })).inputs).toEqual([[1, 2]])
    expect(openaiEmbeddings.decode(bodyOf({ input: [[1], [2]] })).inputs).toEqual([[1], [2]])
  })
})

describe('encoding vectors', () => {
  const request = (encoding_format: string) => openaiEmbeddings.decode(bodyOf({ input: ['a', 'b'], encoding_format }))
  // A view into a larger buffer: only its own bytes may go out.
  const wide = new Float32Array([9, 0.5, -1.25, 9])
  const result = {
    vectors: [wide.subarray(1, 3), new Float32Array([1e-30, 2])],
    usage: { inputTokens: 4, outputTokens: 0 },
  }

  test('floats are numbers', () => {
    expect(openaiEmbeddings.encode(result, 'public', request('float'))).toEqual({
      id: expect.stringMatching(/^embd-\w{32}$/) as string,
      object: 'list',
      model: 'public',
      usage: { prompt_tokens: 4, total_tokens: 4 },
      data: [
        { object: 'embedding', index: 0, embedding: [0.5, -1.25] },
        { object: 'embedding', index: 1, embedding: [Math.fround(1e-30), 2] },
      ],
    })
  })

  test('base64 is little-endian float32', () => {
    const body: any = openaiEmbeddings.encode(result, 'public', request('base64'))
    const bytes = Buffer.from(body.data[0].embedding, 'base64')
    expect([bytes.length, bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([8, 0.5, -1.25])
  })

  test("vectors that are not numbers, or not one an input, are the upstream's fault", () => {
    const broken = { ...result, vectors: [new Float32Array([NaN]), new Float32Array([1])] }
    expect(() => openaiEmbeddings.encode(broken, 'm', request('float'))).toThrow('not a number')
    const short = { ...result, vectors: result.vectors.slice(1) }
    expect(() => openaiEmbeddings.encode(short, 'm', request('float'))).toThrow('1 vectors for 2 inputs')
  })
})

describe('answers of upstreams that write vectors in another way than they were asked', () => {
  const base64 = Buffer.from(new Float32Array([0.5, -1.25]).buffer).toString('base64')
  const answered = (data: unknown[], asked: object, more: object = {}): any => {
    const upstream = { object: 'list', data, model: 'up', usage: { prompt_tokens: 2, total_tokens: 2 }, ...more }
    const bytes = Buffer.from(JSON.stringify(upstream))
    const { body } = openaiEmbeddings.forward.answer(bytes, 'public', undefined, bodyOf({ input: 'a', ...asked }))
    return JSON.parse(Buffer.from(body as Uint8Array).toString('utf8'))
  }
  const entry = (embedding: unknown, index: unknown = 0) => ({ object: 'embedding', index, embedding })

  test.each([
    ['numbers for base64', [0.5, -1.25], { encoding_format: 'base64' }, base64],
    ['base64 for numbers', base64, { encoding_format: 'float' }, [0.5, -1.25]],
    ['base64 where nothing was asked', base64, {}, [0.5, -1.25]],
    ['base64 for null', base64, { encoding_format: null }, [0.5, -1.25]],
    ['what was asked', base64, { encoding_format: 'base64' }, base64],
    ['several vectors an input', [[1], [2]], { encoding_format: 'base64' }, [[1], [2]]],
  ])('%s', (_, embedding, asked, expected) => {
    const body = answered([entry(embedding)], asked)
    expect(body.data).toEqual([entry(expected)])
    expect([body.model, body.usage.prompt_tokens]).toEqual(['public', 2])
  })

  test('of more than 64 KiB, as a small one', () => {
    const vector = Array.from({ length: 30_000 }, (_, at) => at / 2)
    const text: string = answered([entry(vector)], { encoding_format: 'base64' }).data[0].embedding
    expect(Array.from(new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer))).toEqual(vector)
  })

  test('come in the order of their inputs, with what clients demand of each', () => {
    expect(answered([entry([2], 1), { embedding: [1], index: 0, more: 'x' }], {}).data).toEqual([
      { ...entry([1], 0), more: 'x' },
      entry([2], 1),
    ])
    expect(answered([{ embedding: [1] }, { embedding: [2] }], {}).data).toEqual([entry([1], 0), entry([2], 1)])
  })

  test('that clients could not decode are the fault of the upstream', () => {
    expect(() => answered([entry([1, null])], { encoding_format: 'base64' })).toThrow('no vector')
    expect(() => answered([entry([1], 1)], {})).toThrow('of no input')
    expect(() => answered([entry([1]), entry([2])], {})).toThrow('two embeddings of one input')
  })

  test('sound ones pass as the bytes that they are', () => {
    const text =
      '{"id":"e", "object":"list","data":[{"object":"embedding","index":0,"embedding":[1.0, 2e-1]}],"model":"p"}'
    const { body } = openaiEmbeddings.forward.answer(Buffer.from(text), 'p', undefined, bodyOf({ input: 'a' }))
    expect(Buffer.from(body as Uint8Array).toString()).toBe(text)
  })
})
