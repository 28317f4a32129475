import { expect, test } from 'bun:test'
import { CallNumbers } from './call-numbers.ts'

const made = /^call_[\da-f]{24}$/

test('calls with an index are numbered in the order of their beginnings, and carried on by it', () => {
  const numbers = new CallNumbers()
  expect(numbers.seen).toBe(false)
  expect(numbers.read({ index: 3, id: 'a' }, { name: 'f' })).toMatchObject({
    call: { number: 0, id: 'a' },
    begins: true,
    endsOthers: false,
  })
  expect(numbers.seen).toBe(true)
  expect(numbers.read({ index: 1, id: 'b' }, { name: 'g' }).call).toMatchObject({ number: 1, id: 'b' })
  expect(numbers.read({ index: 3 }, {})).toMatchObject({ call: { number: 0 }, begins: false, endsOthers: false })
  expect(numbers.read({ index: 3, id: 'a' }, { name: 'f' })).toMatchObject({ call: { number: 0 }, begins: false })
  expect(numbers.read({ index: 3, id: 'z' }, {})).toMatchObject({ call: { number: 0 }, begins: false })
})

test('an index that is used again by another id and name begins another call, and ends those before', () => {
  const numbers = new CallNumbers()
  numbers.read({ index: 0, id: 'a' }, { name: 'f' })
  expect(numbers.read({ index: 0, id: 'b' }, { name: 'g' })).toMatchObject({
    call: { number: 1, id: 'b' },
    begins: true,
    endsOthers: true,
  })
})

test('without an index an id or a name begins a call, and what has neither carries the last one on', () => {
  const numbers = new CallNumbers()
  expect(numbers.read({ id: 'a' }, {})).toMatchObject({ call: { number: 0 }, begins: true, endsOthers: true })
  expect(numbers.read({}, { name: 'g' })).toMatchObject({ call: { number: 1 }, begins: true, endsOthers: true })
  expect(numbers.read({}, {})).toMatchObject({ call: { number: 1 }, begins: false })
  expect(new CallNumbers().read({}, {})).toMatchObject({ call: { number: 0 }, begins: true })
})

test('an id that a client cannot use is replaced: missing, given twice, too long, or not printable', () => {
  const idOf = (...given: unknown[]) => {
    const numbers = new CallNumbers()
    return given.map((id, index) => numbers.read({ index, id }, { name: 'f' }).call.id).at(-1)
  }
  for (const given of [[undefined], [''], [5], ['a', 'a'], ['x'.repeat(65)], ['a b'], ['é']])
    expect(idOf(...given)).toMatch(made)
  expect(idOf('x'.repeat(64))).toBe('x'.repeat(64))
  const signed = `x__thought__${'Y'.repeat(80)}`
  expect(idOf(signed)).toBe(signed)
})
