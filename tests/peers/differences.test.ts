import { describe, expect, test } from 'bun:test'
import { accepted, reasonFor } from './accepted.ts'
import type { Answer } from './answer.ts'
import { differences } from './differences.ts'
import { administrationScenarios } from './scenarios/administration.ts'
import { callScenarios } from './scenarios/calls.ts'
import { objectScenarios } from './scenarios/objects.ts'
import { refusalScenarios } from './scenarios/refusals.ts'

const answer = (body: unknown, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  headers: {},
  body,
  isStream: false,
  ...more,
})
const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })

describe('differences between two answers', () => {
  test('what only ours has is none', () => {
    expect(differences(answer({ id: 'a' }), answer({ id: 'b', more: 1 }))).toEqual([])
  })
  test('a field that is missing, of another type, or that programs decide by', () => {
    const theirs = answer({ a: 1, b: 'x', list: [{ object: 'model', gone: null }] })
    expect(differences(theirs, answer({ a: '1', list: [{ object: 'other' }] }))).toEqual([
      'body.a: number there, string here',
      'body.b: missing here',
      'body.list[].object: "model" there, "other" here',
      'body.list[].gone: missing here, empty there',
    ])
  })
  test('names that are data count by their first entry', () => {
    const theirs = answer({ models: { 'gpt-4o': { spend: 1, n: 2 } } })
    expect(differences(theirs, answer({ models: { other: { spend: 1 } } }))).toEqual(['body.models{}.n: missing here'])
  })
  test('another status, and the words of two refusals', () => {
    const refusal = (status: number, type: string) => answer({ error: { type } }, { status })
    expect(differences(refusal(400, 'a'), refusal(422, 'b'))).toEqual([
      'status: 400 there, 422 here',
      'body.error.type: "a" there, "b" here',
    ])
    expect(differences(answer({ a: 1 }), refusal(404, 'a'))).toEqual(['status: 200 there, 404 here'])
  })
  test('headers that programs read', () => {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'retry-after': '3', date: 'today' }
    expect(differences(answer({}, { headers }), answer({}, { headers: { 'content-type': 'text/plain' } }))).toEqual([
      'header content-type: application/json there, text/plain here',
      'header retry-after: missing here',
    ])
  })
  test('the order of the events of a stream, repetitions left out', () => {
    const content = chunk({ content: 'a' })
    const theirs = [chunk({ role: 'assistant' }), content, content, chunk({}, { finish_reason: 'stop' }), '[DONE]']
    const stream = (events: unknown[]) => answer(events, { isStream: true })
    expect(differences(stream(theirs), stream(theirs))).toEqual([])
    expect(differences(stream(theirs), stream(theirs.slice(0, 4)))).toEqual([
      'events: role content finish [DONE] there, role content finish here',
    ])
  })
})

describe('the comparison', () => {
  const scenarios = [...callScenarios, ...refusalScenarios, ...objectScenarios, ...administrationScenarios]
  test('names each scenario once', () => {
    const names = scenarios.map(one => one.name)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  })
  test('accepts for scenarios that there are, and says why', () => {
    for (const { scenario, why } of accepted) {
      expect(why).toMatch(/^[A-Z`].*\.$/)
      if (scenario) expect(scenarios.some(one => scenario.test(one.name))).toBe(true)
    }
    expect(reasonFor('chat: whole', 'body.choices: missing here')).toBeUndefined()
  })
})
