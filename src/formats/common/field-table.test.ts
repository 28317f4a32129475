import { describe, expect, test } from 'bun:test'
import * as type from '../../core/dialects/fields.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, ProblemList } from './field-checks.ts'
import type { CheckedField } from './field-checks.ts'
import { checkRequired, fieldTable, readFields } from './field-table.ts'

interface Request {
  warmth?: number
  label?: string
}

const warmth: CheckedField<Request> = {
  name: 'warmth',
  schema: type.number(0, 2),
  property: 'warmth',
  description: 'd',
}

function problemsOf(fields: readonly CheckedField<Request>[], body: object): string[] {
  const table = fieldTable(fields)
  const list = new ProblemList()
  const read = JsonBody.read(Buffer.from(JSON.stringify(body)))
  checkFields(read, table.checks, list)
  checkRequired(read, table, list)
  return list.problems.map(({ loc, msg, type: kind }) => `${loc.join('.')} ${kind}: ${msg}`)
}

describe('a plain field is one row', () => {
  test('its check and its words', () => {
    expect(problemsOf([warmth], { warmth: 3 })).toEqual([
      'body.warmth out_of_range: `warmth` must be a number between 0 and 2; got 3',
    ])
    expect(problemsOf([warmth], { warmth: 'x' })).toEqual([
      'body.warmth wrong_type: `warmth` must be a number between 0 and 2; got "x"',
    ])
    expect(problemsOf([warmth], { warmth: null })).toEqual([])
    expect(problemsOf([{ ...warmth, required: 'a number' }], { warmth: null })).toEqual([
      'body.warmth missing: `warmth` is missing; send a number',
    ])
  })

  test('its place in the hub; what is in no row is extra, but for fields of the gateway', () => {
    const [request, extra]: [Request, Record<string, unknown>] = [{}, {}]
    const body = { warmth: 1, label: null, api_base: 'x', other: [1], ['__proto__']: {} }
    readFields(body, fieldTable([warmth, { name: 'label', schema: type.text, property: 'label' }]), request, extra)
    expect([request, extra]).toEqual([{ warmth: 1 }, { other: [1] }])
  })

  test('its schema in the API document', () => {
    expect(type.bodySchema([warmth, { name: 'label', schema: type.oneOf('a', 'b'), required: true }])).toEqual({
      type: 'object',
      properties: {
        warmth: { type: ['number', 'null'], minimum: 0, maximum: 2, description: 'd' },
        label: { type: 'string', enum: ['a', 'b'] },
      },
      required: ['label'],
    })
  })
})

test('a second spelling is the same field, and named by the first', () => {
  const table = fieldTable([{ name: 'topWarmth', schema: type.boolean }], {
    alias: () => 'top_warmth',
    within: ['config'],
  })
  const list = new ProblemList()
  table.checks.get('top_warmth')!(1, list)
  expect(list.problems[0]).toEqual({
    loc: ['body', 'config', 'topWarmth'],
    msg: '`config.topWarmth` must be true or false; got 1',
    type: 'wrong_type',
  })
})

test('a form holds texts', () => {
  const table = fieldTable([warmth], { form: true })
  const taken = (value: unknown) => {
    const list = new ProblemList()
    table.checks.get('warmth')!(value, list)
    return list.problems.length === 0
  }
  expect(['1.5', '2.5', 1.5, 'x'].map(taken)).toEqual([true, false, false, false])
})

test('a field that would silently stay unchecked is refused when the table is made', () => {
  expect(() => fieldTable([{ name: 'list', schema: type.objects }])).toThrow('the field list needs a check')
  expect(() => fieldTable([{ name: 'list', schema: type.anything }])).not.toThrow()
})
