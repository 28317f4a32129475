import { expect, test } from 'bun:test'
import { endAll } from './end-all.ts'

test('every step is tried, in order, and the first error is thrown', async () => {
  const done: string[] = []
  const step = (name: string, error?: string) => async () => {
    await Bun.sleep(1)
    done.push(name)
    if (error) throw new Error(error)
  }
  await expect(
    endAll([
      step('a'),
      step('b', 'first'),
      () => {
        throw new Error('second')
      },
      step('c'),
    ]),
  ).rejects.toThrow('first')
  expect(done).toEqual(['a', 'b', 'c'])
  await endAll([step('d')])
  expect(done.at(-1)).toBe('d')
})
