/** docs/threats.md and docs/faults.md: every promise names the test that shows it. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'bun:test'
import packageJson from '../package.json'

const root = join(import.meta.dir, '..')

/** A test as the tables name it: its file, and beginnings of test names in it or in the table of cases beside it. */
interface NamedTest {
  readonly path: string
  readonly names: readonly string[]
}

/** `path`: "name", "name"; `npm run script` */
function testsOf(cell: string): NamedTest[] {
  return [...cell.matchAll(/`([^`]+)`(?:: ("[^"]+"(?:, "[^"]+")*))?/g)].map(([, path, names]) => ({
    path: path!,
    names: [...(names ?? '').matchAll(/"([^"]+)"/g)].map(([, name]) => name!),
  }))
}

function rowsOf(file: string): string[][] {
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  return lines
    .filter(line => line.startsWith('| '))
    .slice(1)
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim()),
    )
}

function problem({ path, names }: NamedTest): string[] {
  const script = /^npm run ([\w-]+)$/.exec(path)?.[1]
  if (script !== undefined) return script in packageJson.scripts ? [] : [`no script: ${path}`]
  if (!existsSync(join(root, path))) return [`no file: ${path}`]
  const cases = join(root, path.replace(/\.test\.ts$/, '.ts'))
  const text = readFileSync(join(root, path), 'utf8') + (existsSync(cases) ? readFileSync(cases, 'utf8') : '')
  return names.filter(name => !text.includes(name)).map(name => `${path} has no test "${name}"`)
}

test.each(['docs/threats.md', 'docs/faults.md'])('each row of %s has a case, a promise and tests that exist', file => {
  const rows = rowsOf(file)
  expect(rows.length).toBeGreaterThan(40)
  for (const row of rows) {
    expect(row).toHaveLength(3)
    expect(row.every(cell => cell !== '')).toBe(true)
    expect(testsOf(row[2]!).length).toBeGreaterThan(0)
  }
  expect(rows.flatMap(row => testsOf(row[2]!)).flatMap(problem)).toEqual([])
})
