import { expect, test } from 'bun:test'
import { PromptIndex, unitVector } from './prompt-index.ts'

const v = (...values: number[]) => Float32Array.from(values)
const prompt = (key: string, vector: Float32Array, facts = 'f') => ({ key, facts, vector })

test('the nearest prompt is that of the highest cosine, with the same facts, in its own partition', () => {
  const index = new PromptIndex()
  index.add('p', prompt('far', v(0, 1)), 10)
  index.add('p', prompt('near', v(1, 0)), 10)
  index.add('p', prompt('other facts', v(0.8, 0.6), 'g'), 10)
  const nearest = (vector: Float32Array, min = 0, facts = 'f', partition = 'p') =>
    index.nearest(partition, vector, facts, min)?.key
  expect(index.nearest('p', v(1, 0), 'f', 1)).toEqual({ key: 'near', similarity: 1 })
  expect([nearest(v(0, 1)), nearest(v(0.8, 0.6)), nearest(v(0.8, 0.6), 0, 'g')]).toEqual(['far', 'near', 'other facts'])
  expect(nearest(v(0.5, 0.5), 0.5)).toBe('far')
  expect([nearest(v(0.5, 0.5), 0.51), nearest(v(1, 0), 0, 'h'), nearest(v(1, 0), 0, 'f', 'q')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(nearest(v(1, 0, 0))).toBeUndefined()
})

test('the oldest prompt makes room, and its key is known no more', () => {
  const index = new PromptIndex()
  for (const [at, key] of ['a', 'b', 'c'].entries())
    index.add('p', prompt(key, v(at === 0 ? 1 : 0, at === 0 ? 0 : 1)), 2)
  expect(index.nearest('p', v(1, 0), 'f', 0.9)).toBeUndefined()
  expect(index.nearest('p', v(0, 1), 'f', 0.9)?.key).toBe('c')
  index.add('p', prompt('d', v(1, 0)), 2)
  expect(index.nearest('p', v(1, 0), 'f', 0.9)?.key).toBe('d')
  index.forget('p', 'a')
  index.forget('p', 'c')
  expect(index.nearest('p', v(0, 1), 'f', 0.9)).toBeUndefined()
  expect(index.nearest('p', v(1, 0), 'f', 0.9)?.key).toBe('d')
})

test('a prompt that is added again is replaced where it stands', () => {
  const index = new PromptIndex()
  index.add('p', prompt('a', v(1, 0)), 2)
  index.add('p', prompt('a', v(0, 1)), 2)
  index.add('p', prompt('b', v(1, 0)), 2)
  expect([index.nearest('p', v(0, 1), 'f', 0.9)?.key, index.nearest('p', v(1, 0), 'f', 0.9)?.key]).toEqual(['a', 'b'])
})

test('many prompts keep their vectors while the list grows; another length begins anew', () => {
  const index = new PromptIndex()
  const at = (one: number) => v(Math.cos(one), Math.sin(one))
  for (let one = 0; one < 9; one++) index.add('p', prompt(`k${one}`, at(one / 10)), 9)
  for (let one = 0; one < 9; one++) expect(index.nearest('p', at(one / 10), 'f', 0)?.key).toBe(`k${one}`)
  index.add('p', prompt('long', v(1, 0, 0, 0, 0, 0, 0)), 9)
  expect(index.nearest('p', v(1, 0), 'f', 0)).toBeUndefined()
  index.forget('nothing', 'k')
  index.clear()
  expect(index.nearest('p', v(1, 0, 0, 0, 0, 0, 0), 'f', 0)).toBeUndefined()
})

test('a vector has the length 1, and none without a direction', () => {
  expect(unitVector(v(3, 4))).toEqual(v(0.6, 0.8))
  expect([unitVector(v(0, 0)), unitVector(v(Infinity, 1)), unitVector(v())]).toEqual([undefined, undefined, undefined])
})
