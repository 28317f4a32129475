/** Files that share a process are told apart: what fails, dies or is empty is said of the file that did it. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { groupsOf } from './test-groups.ts'
import { runTestFiles } from './test-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-test-process-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sources = {
  'good.test.ts': `test('one', () => {}); test('two', () => {}); test.skip('three', () => {})`,
  'bad.test.ts': `test('is right', () => {}); test('is wrong', () => expect(1).toBe(2))`,
  'broken.test.ts': `import './no-such-file.ts'`,
  'empty.test.ts': `console.log('nothing')`,
  'bound.timing.test.ts': `test('is late', () => expect(2).toBeLessThan(1)); test('is right', () => {})`,
  'late.timing.test.ts': `test('is late', () => expect(2).toBeLessThan(1)); test('is wrong', () => expect(1).toBe(2))`,
  'soon.timing.test.ts': `test('is in time', () => expect(1).toBeLessThan(2))`,
  'dies.test.ts': `test('lives', () => {}); test('dies', () => { process.kill(process.pid, 'SIGKILL'); return Bun.sleep(9000) })`,
}
for (const [file, source] of Object.entries(sources))
  writeFileSync(join(folder, file), `import { expect, test } from 'bun:test'\n${source}\n`)

/** Without what it prints of files that fail. */
async function runQuietly(...files: (keyof typeof sources)[]) {
  const { log } = console
  console.log = () => {}
  try {
    return await runTestFiles(files, folder, {})
  } finally {
    console.log = log
  }
}

const counts = ({ results }: Awaited<ReturnType<typeof runQuietly>>) =>
  results.map(({ file, passed, failed }) => [file, passed, failed])

test('what fails is said of its own file, also where files before and behind it pass', async () => {
  const ran = await runQuietly('good.test.ts', 'bad.test.ts', 'broken.test.ts', 'empty.test.ts')
  expect(counts(ran)).toEqual([
    ['good.test.ts', 2, 0],
    ['bad.test.ts', 1, 1],
    ['broken.test.ts', 0, 1],
    ['empty.test.ts', 0, 1],
  ])
  expect(ran.results.flatMap(({ failures }) => failures)).toEqual([
    expect.stringMatching(/^is wrong: error: expect\(received\)\.toBe\(expected\)/),
    expect.stringContaining("Cannot find module './no-such-file.ts'"),
    'it runs no test and does not say why',
  ])
  expect(ran.unreached).toEqual([])
})

test('a file in which the process dies has failed, and those behind it are named to run anew', async () => {
  const ran = await runQuietly('good.test.ts', 'dies.test.ts', 'bad.test.ts', 'empty.test.ts')
  expect(counts(ran)).toEqual([
    ['good.test.ts', 2, 0],
    ['dies.test.ts', 1, 1],
  ])
  expect(ran.results[1]!.failures).toEqual([expect.stringMatching(/^ended by SIGKILL after \d+ s, after lives$/)])
  expect(ran.unreached).toEqual(['bad.test.ts', 'empty.test.ts'])
})

test('files in which only bounds of time failed are named, to run again alone', async () => {
  const ran = await runQuietly('late.timing.test.ts', 'bound.timing.test.ts', 'soon.timing.test.ts')
  expect(ran.overBounds).toEqual(['bound.timing.test.ts'])
  const failed = ran.results.find(({ file }) => file === 'late.timing.test.ts')!
  expect([failed.passed, failed.failed, failed.missed]).toEqual([0, 2, 0])
})

test('files of a room share processes evenly; one that reaches its process has one of its own', () => {
  const files = Array.from({ length: 17 }, (_, at) => `tests/e2e/${at}.test.ts`)
  const alone = ['tests/e2e/memory.test.ts', 'src/lib/signals.test.ts']
  const texts = new Map([
    [alone[0]!, 'const before = process.memoryUsage().rss'],
    [alone[1]!, "process.on('SIGHUP', hear)"],
  ])
  const all = [alone[0]!, ...files, alone[1]!, 'src/lib/other.test.ts']
  expect(groupsOf(all, file => texts.get(file) ?? 'process.env.PATH')).toEqual([
    [alone[0]!],
    files.filter((_, at) => at % 2 === 0),
    files.filter((_, at) => at % 2 === 1),
    [alone[1]!],
    ['src/lib/other.test.ts'],
  ])
})

test('short files that measure share processes beyond their room', () => {
  const files = ['src/lib/a.timing.test.ts', 'src/formats/b.timing.test.ts', 'tests/e2e/c.timing.test.ts']
  expect(groupsOf(files, () => '')).toEqual([files.slice(0, 2), files.slice(2)])
})
