/** The end of the suite's output says what failed. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failuresIn, shortened } from './failures.ts'

const failing = `
import { beforeAll, describe, expect, test } from 'bun:test'
test('passes', () => {})
test('differs', () => { expect({ same: 1, other: 1 }).toEqual({ same: 1, other: 2 }) })
test('throws', () => { throw new TypeError('no such thing\\nCall log:\\n  - waited   for it') })
test('hangs', () => new Promise(() => {}), 20)
describe('a hook', () => {
  beforeAll(() => { throw new Error('not begun') })
  test('is not run', () => {})
})
test('is long', () => { throw new Error('x'.repeat(1000)) })
`

function outputOf(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-failures-'))
  const file = join(folder, 'some.test.ts')
  writeFileSync(file, source)
  const { stdout, stderr } = Bun.spawnSync([process.execPath, 'test', file])
  rmSync(folder, { recursive: true })
  return stdout.toString() + stderr.toString()
}

test('each failure is told with its name, what differs or was thrown, and its line', () => {
  expect(failuresIn(outputOf(failing))).toEqual([
    'differs: error: expect(received).toEqual(expected) | - "other": 2, | + "other": 1, (some.test.ts:4)',
    'throws: TypeError: no such thing | Call log: | - waited for it (some.test.ts:5)',
    'hangs: this test timed out after 20ms.',
    'a hook > (unnamed): error: not begun (some.test.ts:8)',
    `is long: error: ${'x'.repeat(253)}... (some.test.ts:11)`,
  ])
})

test('a file that cannot be loaded is told', () => {
  expect(failuresIn(outputOf("import './nothing.ts'"))).toEqual([
    expect.stringMatching(/^the first test: error: Cannot find module '\.\/nothing\.ts'/),
  ])
})

test('many failures are shortened, and their number is told', () => {
  expect(shortened(['a', 'b', 'c'], 3)).toEqual(['  a', '  b', '  c'])
  expect(shortened(['a', 'b', 'c', 'd'], 3)).toEqual(['  a', '  b', '  and 2 more'])
})
