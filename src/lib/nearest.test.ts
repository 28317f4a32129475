import { expect, test } from 'bun:test'
import { nearest } from './nearest.ts'

test('letters inserted, left out, changed or swapped are seen through; what is further away is not guessed', () => {
  const names = ['api_key', 'api_base', 'model', 'weight']
  const cases: [string, string | undefined][] = [
    ['api_kye', 'api_key'], ['apikey', 'api_key'], ['Model', 'model'], ['models', 'model'], ['wieght', 'weight'], ['temperature', undefined], ['', undefined],
  ]
  for (const [word, meant] of cases) expect([word, nearest(word, names)]).toEqual([word, meant])
})

test('a long list costs little', () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `vendor-${at}/a-model-with-a-long-name`)
  const started = performance.now()
  expect(nearest('x'.repeat(200), [...names, 'y'])).toBeUndefined()
  expect(performance.now() - started).toBeLessThan(100)
})
