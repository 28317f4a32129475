/**
 * The schema of a field in `/openapi.json` against the check of the same row: what the one refuses, the other refuses.
 */
import { describe, expect, test } from 'bun:test'
import { bodySchema } from '../../src/core/dialects/fields.ts'
import { ProblemList } from '../../src/formats/common/field-checks.ts'
import type { CheckedField } from '../../src/formats/common/field-checks.ts'
import { messagesTable } from '../../src/formats/anthropic/fields.ts'
import { configTable, generateTable } from '../../src/formats/gemini/fields.ts'
import { chatTable } from '../../src/formats/openai/chat/fields.ts'
import { completionTable } from '../../src/formats/openai/completions/index.ts'
import { embeddingsTable } from '../../src/formats/openai/embeddings.ts'
import { generationTable } from '../../src/formats/openai/images.ts'
import { moderationTable } from '../../src/formats/openai/moderations.ts'
import { responsesTable } from '../../src/formats/openai/responses/fields.ts'
import { speechTable } from '../../src/formats/openai/speech.ts'
import { rerankTable } from '../../src/formats/rerank.ts'
import { isObject } from '../../src/lib/json/json-values.ts'
import { schemaProblems } from '../../src/lib/json/json-schema.ts'

const tables = {
  chat: chatTable,
  completions: completionTable,
  embeddings: embeddingsTable,
  images: generationTable,
  moderations: moderationTable,
  responses: responsesTable,
  speech: speechTable,
  messages: messagesTable,
  generate: generateTable,
  generationConfig: configTable,
  rerank: rerankTable,
} as const

const numbers = [-3, -2, -1, 0, 0.2, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 10, 11, 20, 21, 100, 101, 128, 129, 90_000]
const words = [
  '',
  'x',
  'none',
  'high',
  'max',
  'auto',
  'required',
  'disabled',
  'url',
  'float',
  'base64',
  'sse',
  'default',
]
const samples: readonly unknown[] = [
  ...numbers,
  ...words,
  true,
  false,
  [],
  ['a'],
  ['a', 1],
  [1],
  [[1]],
  [{}],
  [{ role: 'user', content: 'x' }],
  [{ type: 'text', text: 'x' }],
  {},
  { a: 'b' },
  { a: 1 },
  { 'no-cache': true },
  { id: 'v' },
  { parts: [{ text: 'x' }] },
  { type: 'text' },
  { type: 'json_object' },
  { type: 'enabled', budget_tokens: 2000 },
  { effort: 'low' },
]

const schemaOf = (fields: readonly CheckedField<never>[], name: string): Record<string, unknown> => {
  const schema = bodySchema(fields)
  if (!isObject(schema.properties)) throw new Error('no properties')
  return schema.properties[name] as Record<string, unknown>
}

describe.each(Object.entries(tables))('%s', (_name, table) => {
  const fields = table.fields as readonly CheckedField<never>[]
  const outcomes = fields.flatMap(field => {
    const check = table.checks.get(field.name)
    const schema = schemaOf(fields, field.name)
    return samples.map(value => {
      const problems = new ProblemList()
      check?.(value, problems)
      return {
        field,
        label: `${field.name} = ${JSON.stringify(value)}`,
        taken: problems.problems.length === 0,
        matches: schemaProblems(schema, value).length === 0,
      }
    })
  })

  test('a value that is taken matches the schema', () => {
    // `stream_options` of chat is checked last, by `checkStreamOptions`.
    const wrong = outcomes.filter(one => one.taken && !one.matches && one.field.name !== 'stream_options')
    expect(wrong.map(one => one.label)).toEqual([])
  })

  test('a value that matches the schema of a plain field is taken', () => {
    const plain = outcomes.filter(one => one.field.check === undefined)
    expect(plain.length).toBeGreaterThan(0)
    expect(plain.filter(one => one.matches && !one.taken).map(one => one.label)).toEqual([])
  })

  test('null is taken for absent where the field may be absent', () => {
    const refused = fields.filter(
      field => !field.required && schemaProblems(schemaOf(fields, field.name), null).length > 0,
    )
    expect(refused.map(field => field.name)).toEqual([])
  })
})
