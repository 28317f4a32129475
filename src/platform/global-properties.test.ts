import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** How often compiled code was given up, in a process of its own. */
function timesGivenUp(...words: readonly string[]): number {
  const child = join(import.meta.dir, 'global-properties-child.ts')
  return Number(Bun.spawnSync([process.execPath, child, ...words]).stdout.toString())
}

test('code that reads globals stays compiled when others are read for the first time', () => {
  expect(timesGivenUp()).toBeGreaterThan(0)
  expect(timesGivenUp('read')).toBe(0)
})
