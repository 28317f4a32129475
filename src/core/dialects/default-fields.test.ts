import { expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import type { Dialect } from '../provider.ts'
import { fieldDefaults, restrictionsIn, withDefaults } from './default-fields.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const given = (defaults: object, dialect: Dialect, fields: object) =>
  JSON.parse(Buffer.from(withDefaults(bodyOf(fields), dialect, fieldDefaults(defaults)!).bytes).toString())

test('a call gets what it lacks, and keeps what it says', () => {
  const defaults = { temperature: 0.5, seed: 7 }
  expect(given(defaults, 'openai-chat', { n: 1 })).toEqual({ n: 1, temperature: 0.5, seed: 7 })
  expect(given(defaults, 'openai-chat', { temperature: 1 })).toEqual({ temperature: 1, seed: 7 })
  expect(given(defaults, 'openai-responses', {})).toEqual({ temperature: 0.5 })
  const whole = bodyOf({ temperature: 1, seed: 1 })
  expect(withDefaults(whole, 'openai-chat', fieldDefaults(defaults)!)).toBe(whole)
  expect(withDefaults(whole, 'gemini-generate', fieldDefaults(defaults)!)).toBe(whole)
})

test('an effort and a stop are said in the words of each dialect', () => {
  const effort = (reasoning_effort: string) => given({ reasoning_effort }, 'anthropic-messages', {})
  expect(effort('none')).toEqual({ thinking: { type: 'disabled' } })
  expect(effort('minimal')).toEqual({ output_config: { effort: 'low' } })
  expect(effort('high')).toEqual({ output_config: { effort: 'high' } })
  expect(given({ reasoning_effort: 'low' }, 'openai-responses', {})).toEqual({ reasoning: { effort: 'low' } })
  expect(given({ stop: 'x' }, 'anthropic-messages', {})).toEqual({ stop_sequences: ['x'] })
  expect(given({ stop: ['x', 'y'] }, 'anthropic-messages', {})).toEqual({ stop_sequences: ['x', 'y'] })
})

test('a body that says in any words how it reasons is left as it is', () => {
  for (const own of [{ thinking: {} }, { reasoning: {} }, { output_config: {} }, { reasoning_effort: 'low' }])
    expect(given({ reasoning_effort: 'high' }, 'openai-chat', own)).toEqual(own)
  expect(given({ reasoning_effort: 'high' }, 'openai-chat', { n: 1 })).toEqual({ n: 1, reasoning_effort: 'high' })
})

test('fields beyond the dialect go where it has them, those that restrict to Responses too', () => {
  const extra_body = { top_a: 1, provider: { only: ['x'] } }
  for (const dialect of ['openai-chat', 'openai-completions', 'openai-embeddings'] as const)
    expect(given({ extra_body }, dialect, {})).toEqual(extra_body)
  expect(given({ extra_body }, 'openai-responses', {})).toEqual({ provider: { only: ['x'] } })
  expect(given({ extra_body }, 'anthropic-messages', {})).toEqual({})
})

test('an entry that gives nothing has no defaults, and one without restrictions none of them', () => {
  expect([fieldDefaults({}), fieldDefaults({ temperature: undefined })]).toEqual([undefined, undefined])
  expect([restrictionsIn(), restrictionsIn({ top_a: 1 })]).toEqual([undefined, undefined])
  expect(restrictionsIn({ top_a: 1, search_mode: 'web' })).toEqual({ search_mode: 'web' })
})
