import { expect, test } from 'bun:test'
import { closestMatch } from './closest-match.ts'

test('a long list costs little', () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `vendor-${at}/a-model-with-a-long-name`)
  const started = performance.now()
  expect(closestMatch('x'.repeat(200), [...names, 'y'])).toBeUndefined()
  expect(performance.now() - started).toBeLessThan(100)
})

test('long names that differ only at their end cost little, too', () => {
  const names = Array.from({ length: 2000 }, (_, at) => `${at}`.padStart(5, '0') + '-the-same-long-name'.repeat(10))
  const started = performance.now()
  expect(closestMatch(`xxxxx${names[0]!.slice(5, -9)}yyyyyyyyy`, names)).toBeUndefined()
  expect(closestMatch(`${names[7]!.slice(0, -2)}ab`, names)).toBe(names[7])
  expect(performance.now() - started).toBeLessThan(250)
})
