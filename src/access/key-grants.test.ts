/** No key grants more than its maker holds: what restricts a key, and which change allows more. */
import { describe, expect, test } from 'bun:test'
import { bareKey } from '../core/caller.ts'
import type { VirtualKey } from '../core/caller.ts'
import * as grants from './key-grants.ts'

const keyOf = (more: Partial<VirtualKey> | object = {}): VirtualKey => ({ ...bareKey, id: 'k', ...more }) as VirtualKey
const budget = { maxBudgetNanoUsd: 5n, budgetDuration: '1d' }
/** Each restriction by itself, with the name by which it is told. */
const restrictions: [string, object][] = [
  ['requestsPerMinute', { requestsPerMinute: 0 }],
  ['tokensPerMinute', { tokensPerMinute: 1 }],
  ['parallelRequests', { parallelRequests: 1 }],
  ['maxBudgetNanoUsd', { maxBudgetNanoUsd: 0n }],
  ['expiresAtMs', { expiresAtMs: 9 }],
  ['modelRequestsPerMinute', { modelRequestsPerMinute: { a: 1 } }],
  ['modelTokensPerMinute', { modelTokensPerMinute: { a: 1 } }],
  ['modelMaxBudget', { modelMaxBudget: { a: budget } }],
  ['models', { models: ['a'] }],
  ['allowedRoutes', { allowedRoutes: ['llm_api_routes'] }],
  ['enforcedParams', { enforcedParams: ['user'] }],
  ['guardrails', { guardrails: ['pii'] }],
  ['tags', { tags: ['t'] }],
  ['tags', { metadata: { tags: ['t'] } }],
  ['budgetId', { budgetId: 'b' }],
]

describe('a restriction', () => {
  test('is any limit, list, tag or budget of the key', () => {
    expect(grants.restrictionOf(keyOf())).toBeUndefined()
    for (const [name, fields] of restrictions) expect([name, grants.restrictionOf(keyOf(fields))]).toEqual([name, name])
  })

  test('is no end of the text before, whose grace runs out', () => {
    expect(grants.restrictionOf(keyOf({ expiresAtMs: 5, ownEndMs: null }))).toBeUndefined()
    expect(grants.restrictionOf(keyOf({ expiresAtMs: 5, ownEndMs: 9 }))).toBe('expiresAtMs')
  })

  test('keeps a key from managing, but for routes that it names, until its end', () => {
    expect(grants.managingBar(keyOf())).toBeUndefined()
    expect(grants.managingBar(keyOf({ requestsPerMinute: 1 }))).toBe('requestsPerMinute')
    expect(grants.managingBar(keyOf({ expiresAtMs: 9 }))).toBe('expiresAtMs')
    expect(grants.managingBar(keyOf({ allowedRoutes: ['/key/generate'], expiresAtMs: 9, ownEndMs: 9 }))).toBeUndefined()
    expect(grants.managingBar(keyOf({ allowedRoutes: ['/key/generate'], models: ['a'] }))).toBe('models')
    expect(grants.managingBar(keyOf({ allowedRoutes: ['llm_api_routes'] }))).toBe('allowedRoutes')
  })

  test('to calls is one where every route is of calls', () => {
    const callsOnly = (allowedRoutes: string[]) => grants.callsOnly({ allowedRoutes })
    expect(callsOnly(['llm_api_routes', 'openai_routes', 'anthropic_routes'])).toBe(true)
    expect(callsOnly(['llm_api_routes', '/key/info'])).toBe(false)
    expect(callsOnly([])).toBe(false)
  })
})

describe('a change allows more', () => {
  const loosened = (before: object, after: object) => grants.loosenedField(keyOf(before), keyOf(after))

  test('where any restriction is taken away, and not where one is added', () => {
    for (const [name, fields] of restrictions) {
      expect([name, loosened(fields, {})]).toEqual([name, name])
      expect([name, loosened(fields, fields)]).toEqual([name, undefined])
    }
    for (const [name, fields] of restrictions.slice(0, 5))
      expect([name, loosened({}, fields)]).toEqual([name, undefined])
    for (const fields of [{ models: ['a'] }, { guardrails: ['g'] }, { tags: ['t'] }, { blocked: true }])
      expect(loosened({}, fields)).toBeUndefined()
  })

  test('where a number is raised, by one, and not where it is lowered', () => {
    for (const name of ['requestsPerMinute', 'tokensPerMinute', 'parallelRequests', 'expiresAtMs']) {
      expect(loosened({ [name]: 5 }, { [name]: 6 })).toBe(name as never)
      expect(loosened({ [name]: 5 }, { [name]: 4 })).toBeUndefined()
    }
    expect(loosened({ maxBudgetNanoUsd: 5n }, { maxBudgetNanoUsd: 6n })).toBe('maxBudgetNanoUsd')
  })

  test('where a list gains an entry, or loses one that demands something', () => {
    expect(loosened({ models: ['a'] }, { models: ['a', 'b'] })).toBe('models')
    expect(loosened({ models: ['a', 'b'] }, { models: ['b'] })).toBeUndefined()
    expect(loosened({ guardrails: ['a', 'b'] }, { guardrails: ['b'] })).toBe('guardrails')
    expect(loosened({ guardrails: ['b'] }, { guardrails: ['a', 'b'] })).toBeUndefined()
    expect(loosened({ tags: ['a'] }, { tags: ['a', 'b'] })).toBeUndefined()
    expect(loosened({ tags: ['a'] }, { metadata: { tags: ['a'] } })).toBeUndefined()
  })

  test('where a limit of a model is another, in whatever order they stand', () => {
    const limits = (a: number, b: number) => ({ modelTokensPerMinute: { a, b } })
    expect(loosened(limits(1, 2), { modelTokensPerMinute: { b: 2, a: 1 } })).toBeUndefined()
    expect(loosened(limits(1, 2), limits(1, 3))).toBe('modelTokensPerMinute')
    const ofModel = (more: object) => ({ modelMaxBudget: { a: { ...budget, ...more } } })
    expect(loosened(ofModel({}), ofModel({}))).toBeUndefined()
    expect(loosened(ofModel({}), ofModel({ maxBudgetNanoUsd: 6n }))).toBe('modelMaxBudget')
    expect(loosened(ofModel({}), ofModel({ budgetDuration: '1h' }))).toBe('modelMaxBudget')
  })

  test('where its budget, its rotation, its stored bodies or its block is another', () => {
    for (const [name, before, after] of [
      ['budgetId', 'a', 'b'],
      ['budgetDuration', '1d', '1h'],
      ['budgetResetAtMs', 1, 2],
      ['budgetIncreaseNanoUsd', null, 5n],
      ['rotationInterval', '30d', null],
      ['storesBodies', false, true],
      ['blocked', true, false],
    ] as const)
      expect(loosened({ [name]: before }, { [name]: after })).toBe(name)
    expect(loosened({ rotationInterval: null }, { rotationInterval: '30d' })).toBeUndefined()
    expect(loosened({ storesBodies: null }, { storesBodies: true })).toBeUndefined()
    expect(loosened({ blocked: true }, { blocked: true })).toBeUndefined()
  })
})

test('an empty list allows everything, and is part of none', () => {
  expect([grants.isPart(['a'], ['a', 'b']), grants.isPart(['a', 'c'], ['a', 'b']), grants.isPart([], ['a'])]).toEqual([
    true,
    false,
    false,
  ])
})

test('metadata that decides on money is told by the beginning of its name', () => {
  expect(grants.reservedName({ note: 1, 'Price-list': 2 })).toBe('Price-list')
  for (const name of ['cost_center', 'margin', 'discounts', 'budget'])
    expect(grants.reservedName({ [name]: 1 })).toBe(name)
  expect(grants.reservedName({ project: 1, low_cost: 2 })).toBeUndefined()
})

test('a key of a member ends no later than the team lets it', () => {
  const end = (memberKeyDuration: string | null, requested: number | null) =>
    grants.memberKeyEnd({ team: { memberKeyDuration } } as never, requested, 1000)
  expect([end('1s', null), end('1s', 1999), end('1s', 2001)]).toEqual([2000, 1999, 2000])
  expect([end(null, null), end(null, 5000), end('soon', 5000)]).toEqual([null, 5000, 5000])
  expect(grants.memberKeyEnd({}, null, 1000)).toBeNull()
})
