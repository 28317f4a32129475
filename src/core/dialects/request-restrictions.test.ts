import { describe, expect, test } from 'bun:test'
import { restrictingPart, restricts } from './request-restrictions.ts'

const does = (path: string, value: unknown) => restricts(path, field => (path.startsWith(field) ? value : undefined))

describe('what restricts passes to a host, and nothing else of its field', () => {
  test("OpenRouter's `provider`", () => {
    const kept = (provider: unknown) => restrictingPart('provider', provider)
    expect(kept({ data_collection: 'deny', sort: 'price' })).toEqual({ data_collection: 'deny' })
    expect(kept({ dataCollection: 'deny' })).toEqual({ dataCollection: 'deny' })
    expect(kept({ data_collection: 'allow', dataCollection: 'allow' })).toBeUndefined()
    expect(kept({ allow_fallbacks: true, allowFallbacks: true })).toBeUndefined()
    expect(kept({ order: ['a'] })).toBeUndefined()
    for (const no of [{ allow_fallbacks: false }, { allowFallbacks: false }])
      expect(kept({ order: ['a'], ...no })).toEqual({ order: ['a'], ...no })
    expect(kept({ order: [], allow_fallbacks: false })).toEqual({ allow_fallbacks: false })
    expect(kept('text')).toBeUndefined()
    expect(kept({ constructor: 'x' })).toBeUndefined()
  })

  test('nothing is asked for by null, false, an empty text, list or object', () => {
    for (const zdr of [null, undefined, false, '', [], {}]) expect(restrictingPart('provider', { zdr })).toBeUndefined()
    for (const zdr of [true, 'x', ['x'], { a: 1 }, 0]) expect(restrictingPart('provider', { zdr })).toEqual({ zdr })
  })

  test("Vercel's options for its gateway, by both names", () => {
    for (const field of ['providerOptions', 'provider_options']) {
      expect(restrictingPart(field, { gateway: { only: ['a'], order: ['b'] } })).toEqual({ gateway: { only: ['a'] } })
      expect(restrictingPart(field, { gateway: { order: ['b'] } })).toBeUndefined()
      expect(restrictingPart(field, 'text')).toBeUndefined()
    }
  })

  test('other fields have no such part', () => {
    expect([restrictingPart('route', { only: ['a'] }), restrictingPart('toString', {})]).toEqual([undefined, undefined])
  })
})

describe('whether a field restricts', () => {
  test.each([
    ['provider', { only: ['a'] }, true],
    ['provider', { sort: 'price' }, false],
    ['inference_geo', 'us', true],
    ['inference_geo', 'global', false],
    ['inference_geo', null, false],
    ['search_mode', 'academic', true],
    ['search_settings', { country: 'de' }, true],
    ['search_settings', { other: 'de' }, false],
    ['search_parameters', { mode: 'off' }, true],
    ['search_parameters', { mode: 'on' }, false],
    ['search_parameters', { sources: ['x'] }, true],
    ['search_parameters', { from_date: '2026' }, true],
    ['search_parameters', { to_date: '2026' }, true],
    ['search_parameters', 'off', false],
    ['web_search_options.filters', { filters: { a: 1 } }, true],
    ['web_search_options.filters', { other: { a: 1 } }, false],
    ['web_search_options.filters', 'text', false],
    ['route', 'x', false],
    ['toString', 'x', false],
  ] as const)('%s: %j is %p', (path, value, expected) => expect(does(path, value)).toBe(expected))
})
