/** Files that run at the same time are told apart: what fails, dies or is empty is said of the file that did it. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTestFiles } from './bun-test.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-bun-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sources = {
  'good.test.ts': `test('one', () => {}); test('two', () => {}); test.skip('three', () => {})`,
  'bad.test.ts': `test('is right', () => {}); test('is wrong', () => expect({ a: 1 }).toEqual({ a: '<2> & "3"' }))`,
  'broken.test.ts': `import './no-such-file.ts'`,
  'empty.test.ts': `console.log('nothing')`,
  'says-why.test.ts': `console.log('skipped: all of it (needs a server)'); test.skip('one', () => {})`,
  'says-nothing.test.ts': `test.skip('one', () => {})`,
  'hook.test.ts': `import { beforeAll, describe } from 'bun:test'
    describe('a hook', () => { beforeAll(() => { throw new Error('not begun') }); test('is not run', () => {}) })`,
  'hangs.test.ts': `test('hangs', () => new Promise(() => {}), 20)`,
  'long.test.ts': `test('is long', () => { throw new Error('x'.repeat(1000)) })`,
  'bound.timing.test.ts': `test('is late', () => expect(2).toBeLessThan(1)); test('is right', () => {})`,
  'late.timing.test.ts': `test('is late', () => expect(2).toBeLessThan(1)); test('is wrong', () => expect(1).toBe(2))`,
  'dies.test.ts': `test('lives', () => {}); test('dies', () => { process.kill(process.pid, 'SIGKILL'); return Bun.sleep(9000) })`,
  'exits.test.ts': `test('lives', () => {}); test('exits', () => process.exit(0))`,
  'leaves.test.ts': `test('leaves', () => { process.env.LEFT = '1'; Object.assign(globalThis, { left: 1 }) })`,
  'looks.test.ts': `test('looks', () => expect([process.env.LEFT, globalThis.left]).toEqual([undefined, undefined]))`,
}
for (const [file, source] of Object.entries(sources))
  writeFileSync(join(folder, file), `import { expect, test } from 'bun:test'\n${source}\n`)

const run = (...files: (keyof typeof sources)[]) =>
  runTestFiles(files, { root: folder, environment: process.env, atOnce: 2 })
const counts = ({ results }: Awaited<ReturnType<typeof run>>) =>
  results.map(({ file, passed, failed }) => [file, passed, failed])
const failures = ({ results }: Awaited<ReturnType<typeof run>>) => results.flatMap(result => result.failures)

test('what fails is said of its own file, with its test and what differs', async () => {
  const ran = await run('good.test.ts', 'bad.test.ts', 'broken.test.ts', 'empty.test.ts', 'hook.test.ts')
  expect(counts(ran)).toEqual([
    ['good.test.ts', 2, 0],
    ['bad.test.ts', 1, 1],
    ['broken.test.ts', 0, 1],
    ['empty.test.ts', 0, 1],
    ['hook.test.ts', 0, 1],
  ])
  expect(failures(ran)).toEqual([
    expect.stringMatching(/^is wrong: expect\(received\)\.toEqual\(expected\) \| .*"<2> & \\?"3\\?""/),
    expect.stringContaining("Cannot find module './no-such-file.ts'"),
    'it runs no test and does not say why',
    'a hook > (unnamed): not begun',
  ])
})

test('a file that skips all of its tests says why, or has failed', async () => {
  const ran = await run('says-why.test.ts', 'says-nothing.test.ts')
  expect(counts(ran)).toEqual([
    ['says-why.test.ts', 0, 0],
    ['says-nothing.test.ts', 0, 1],
  ])
  expect(ran.skipped).toEqual(['skipped: all of it (needs a server)'])
})

test('a file in which its process ends has failed, and the others run', async () => {
  const ran = await run('dies.test.ts', 'exits.test.ts', 'good.test.ts', 'hangs.test.ts', 'long.test.ts')
  expect(counts(ran)).toEqual([
    ['dies.test.ts', 1, 1],
    ['exits.test.ts', 1, 1],
    ['good.test.ts', 2, 0],
    ['hangs.test.ts', 0, 1],
    ['long.test.ts', 0, 1],
  ])
  expect(failures(ran).slice(0, 3)).toEqual([
    '(worker crashed): worker process crashed before reporting results',
    '(worker crashed): worker process crashed before reporting results',
    'hangs: test timed out',
  ])
  expect(failures(ran)[3]!.length).toBeLessThan(300)
})

test('files in which only bounds of time failed are told from others', async () => {
  const { results } = await run('late.timing.test.ts', 'bound.timing.test.ts', 'good.test.ts')
  expect(results.map(({ isOverBounds }) => isOverBounds)).toEqual([false, true, false])
})

test('a file finds nothing that another one left in its process', async () => {
  const files = ['leaves.test.ts', 'looks.test.ts']
  const { results } = await runTestFiles(files, { root: folder, environment: process.env, atOnce: 1 })
  expect(results.map(({ passed }) => passed)).toEqual([1, 1])
})
