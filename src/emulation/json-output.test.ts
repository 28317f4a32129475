import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../core/hub/chat.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { ChatAdapter, Target } from '../core/provider.ts'
import { emulate, validateJson } from './index.ts'

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    age: { type: 'integer', minimum: 0 },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' }, maxItems: 2 },
  },
  required: ['name', 'age'],
  additionalProperties: false,
  $defs: { tag: { enum: ['a', 'b'] } },
}
const outputSchema = { format: { type: 'json-schema' as const, name: 'person', schema: person }, schema: person }

describe('answers', () => {
  const good: [string, string, string][] = [
    [
      'as it is, digits and all',
      ' {"name":"Ada","age":12345678901234567890} ',
      '{"name":"Ada","age":12345678901234567890}',
    ],
    ['in a fence', 'Here:\n```json\n{"name":"Ada","age":1}\n```\nDone.', '{"name":"Ada","age":1}'],
    ['in Python', "{'name': 'Ada', 'age': 1, 'tags': ['a',],}", '{"name":"Ada","age":1,"tags":["a"]}'],
    ['in prose', 'Sure {here}: {"name":"Ada","age":1} as asked', '{"name":"Ada","age":1}'],
  ]
  for (const [name, text, json] of good) test(name, () => expect(validateJson(text, outputSchema)).toEqual({ json }))

  test('what is cut or wrong is a problem in words', () => {
    expect(validateJson('{"name":"Ada","age":', outputSchema)).toEqual({ problem: 'it is not one complete JSON value' })
    expect(validateJson('', outputSchema)).toEqual({ problem: 'it is not one complete JSON value' })
    expect(validateJson('{"name":"Ada"}', outputSchema)).toEqual({ problem: '`$.age` is missing' })
    expect(validateJson('[1]', { format: { type: 'json-object' }, schema: { type: 'object' } })).toEqual({
      problem: '`$` must be of type object',
    })
  })
})

describe('what the model is asked', () => {
  const request: ChatRequest = {
    model: 'm',
    stream: false,
    includeUsage: false,
    extra: { format: 'openai-chat', fields: {} },
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Who?' }] }],
    responseFormat: { ...outputSchema.format, strict: true, description: 'a person' },
  }
  const asked = (structuredOutput: ModelProfile['structuredOutput'], more: Partial<ChatRequest> = {}) => {
    let seen: ChatRequest | undefined
    const adapter: ChatAdapter = {
      request: one => ((seen = one), { head: { url: '', headers: {} }, body: {}, dropped: [] }),
      result: () => [],
      reader: () => () => [],
    }
    const emulated = emulate(adapter, { ...nativeProfile, structuredOutput }, { ...request, ...more })
    emulated?.adapter.request({ ...request, ...more }, {} as Target)
    return seen
  }

  test('the schema is in the prompt, and JSON is still asked of the host that can', () => {
    expect(asked('native')).toBeUndefined()
    expect(asked('json-object', { responseFormat: { type: 'json-object' } })).toBeUndefined()
    expect(asked('json-object')).toMatchObject({ responseFormat: { type: 'json-object' } })
    expect(asked('none')!.responseFormat).toBeUndefined()
    const text = JSON.stringify(asked('none')!.messages[0])
    expect(text).toContain(JSON.stringify(JSON.stringify(person)).slice(1, -1))
    expect(text).toContain('a person')
    expect(asked('json-object', { tools: [{ name: 'f' }] })!.responseFormat).toBeUndefined()
  })

  test('keywords that are not checked are named as lost', () => {
    const schema = { type: 'object', nullable: true, properties: { a: { type: 'string', pattern: '(?=a)b' } } }
    const adapter: ChatAdapter = {
      request: () => ({ head: { url: '', headers: {} }, body: {}, dropped: ['seed'] }),
      result: () => [],
      reader: () => () => [],
    }
    const changed: ChatRequest = { ...request, responseFormat: { type: 'json-schema', name: 'x', schema } }
    const emulated = emulate(adapter, { ...nativeProfile, structuredOutput: 'none' }, changed)
    expect(emulated!.adapter.request(changed, {} as Target).dropped).toEqual([
      'seed',
      'response_format.json_schema.schema.nullable',
      'response_format.json_schema.schema.pattern',
    ])
  })

  test('a schema that refers elsewhere is refused by its field', () => {
    const format = { type: 'json-schema' as const, name: 'x', schema: { $ref: 'http://x/y' } }
    expect(() => asked('none', { responseFormat: format })).toThrow('response_format.json_schema.schema')
  })
})
