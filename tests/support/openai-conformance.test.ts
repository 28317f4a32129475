/** The shapes of OpenAI's document that other tests check bodies against, and the script that extracts them. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { asText, extractShapes } from '../../scripts/extract-openai-shapes.ts'
import { deviations, expectConforms } from './openai-conformance.ts'

const text = readFileSync(`${import.meta.dir}/../data/openai-shapes.json`, 'utf8')
const stored = JSON.parse(text)

const whole = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    { index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant', content: 'x', refusal: null } },
  ],
}

test('a whole answer conforms, and each kind of fault is found', () => {
  const [choice] = whole.choices
  expect(deviations('CreateChatCompletionResponse', whole)).toEqual([])
  for (const broken of [
    { ...whole, object: 'x' },
    { ...whole, created: '1' },
    { ...whole, id: undefined },
    { ...whole, choices: [{ ...choice, finish_reason: 'end' }] },
    { ...whole, choices: [{ ...choice, message: { ...choice!.message, content: 1 } }] },
  ])
    expect(() => expectConforms('CreateChatCompletionResponse', JSON.parse(JSON.stringify(broken)))).toThrow('not a')
  expect(() => deviations('NoSuchSchema', {})).toThrow('has no schema NoSuchSchema')
})

test('every reference leads to a schema of the file, and no text of it is prose', () => {
  const wrong: string[] = []
  JSON.stringify(stored.schemas, (key, value) => {
    if (key === '$ref' && !(value.replace('#/schemas/', '') in stored.schemas)) wrong.push(value)
    if (typeof value === 'string' && (value.length > 80 || value.includes(' '))) wrong.push(`${key}: ${value}`)
    return value
  })
  expect(wrong).toEqual([])
  expect(text).toBe(asText(stored))
})

test('the script keeps shapes and drops prose', () => {
  const document = {
    info: { version: '1' },
    components: {
      schemas: {
        Root: {
          description: 'Prose.',
          type: 'object',
          required: ['title'],
          properties: {
            title: { type: 'string', example: 'prose', nullable: true },
            nullable: { $ref: '#/components/schemas/Leaf' },
            list: { type: 'array', items: { oneOf: [{ const: 1, 'x-mine': 'prose' }, { $recursiveRef: '#' }] } },
          },
          additionalProperties: { type: 'integer', maximum: 3, title: 'Prose' },
        },
        Leaf: { type: 'string', enum: ['a', 'b'], default: 'a' },
        Unused: { type: 'null' },
      },
    },
  }
  expect(extractShapes(document, ['Root']).schemas).toEqual({
    Leaf: { type: 'string', enum: ['a', 'b'] },
    Root: {
      type: 'object',
      required: ['title'],
      properties: {
        title: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        nullable: { $ref: '#/schemas/Leaf' },
        list: { type: 'array', items: { oneOf: [{ const: 1 }, { $ref: '#/schemas/Root' }] } },
      },
      additionalProperties: { type: 'integer', maximum: 3 },
    },
  })
  const strange = { ...document, components: { schemas: { Root: { type: 'object', dependentRequired: {} } } } }
  expect(() => extractShapes(strange, ['Root'])).toThrow('Root: unknown keyword dependentRequired')
})
