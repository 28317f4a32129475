/** Documents name what exists: the test of each promise, the files of ARCHITECTURE.md, the targets of their links. */
import { decisionRecords, decisionsPage } from '../scripts/decisions-page.ts'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import packageJson from '../package.json'

const root = join(import.meta.dir, '..')

/** A test as the tables name it: its file, and beginnings of test names in it or in the table of cases beside it. */
interface NamedTest {
  readonly path: string
  readonly names: readonly string[]
}

/** `path`: "name", "name"; `npm run SCRIPT` */
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

/** More rows are a sign that names do not lead to where things are. */
const placesMax = 60

test('the table of places in ARCHITECTURE.md has what names do not say', () => {
  const [, places] = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split('## Where to look')
  const rows = places!.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('| question'))
  expect(rows.length).toBeGreaterThan(40)
  expect(rows.length).toBeLessThanOrEqual(placesMax)
})

test('each file that ARCHITECTURE.md names exists', () => {
  const missing: string[] = []
  for (const line of readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split('\n')) {
    // A name without a folder stands in that of the path before it.
    let folder = ''
    for (const [, path] of line.matchAll(/`([\w./*<>-]+(?:\.(?:ts|tsx|md|json)|\/)|src\/[\w-]+)`/g)) {
      if (/[<*]/.test(path!) || path!.startsWith('/')) continue
      const found = [path!, `src/${path}`, join(folder, path!)].find(one => existsSync(join(root, one)))
      if (found === undefined) missing.push(`${path}: ${line.slice(0, 80)}`)
      else folder = /\.\w+$/.test(found) ? dirname(found) : found
    }
  }
  expect(missing).toEqual([])
})

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

/** Those that people read; model-rules.md is made of tables of patterns, which look like links. */
const documents = ['*.md', 'docs/*.md', 'docs/decisions/*.md', 'web/*.md']
  .flatMap(pattern => [...new Glob(pattern).scanSync(root)])
  .filter(file => file !== 'docs/model-rules.md')

test('links between documents lead to a file and to a heading', () => {
  const wrong: string[] = []
  expect(documents.length).toBeGreaterThan(60)
  for (const file of documents) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, path, anchor] of text.matchAll(/\]\(([\w./-]*)(#[\w-]+)?\)/g)) {
      const target = path === '' ? join(root, file) : join(root, dirname(file), path!)
      if (!existsSync(target)) wrong.push(`${file}: ${path}`)
      else if (anchor !== undefined) {
        const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(
          ([, heading]) => `#${anchorOf(heading!)}`,
        )
        if (!headings.includes(anchor)) wrong.push(`${file}: ${path}${anchor}`)
      }
    }
  }
  expect(wrong).toEqual([])
})

test('each decision record has a status that names records that are there, and stands in the index', () => {
  const records = decisionRecords()
  const numbers = new Set(records.map(({ number }) => number))
  expect(records.length).toBeGreaterThan(60)
  expect(numbers.size).toBe(records.length)
  const form = /^(holds(; .+)?|replaced by \d+|replaced in part by \d+: .+|obsolete: .+)$/
  expect(records.filter(({ status }) => !form.test(status)).map(({ file, status }) => `${file}: ${status}`)).toEqual([])
  const named = records.flatMap(({ file, number, status }) => {
    const by = Number(/^replaced (?:in part )?by (\d+)/.exec(status)?.[1] ?? NaN)
    return Number.isNaN(by) || (numbers.has(by) && by !== number) ? [] : [`${file}: ${by}`]
  })
  expect(named).toEqual([])
  expect(readFileSync(join(root, 'docs/decisions/README.md'), 'utf8')).toBe(decisionsPage(records))
})

test('source files that decision records name are there', () => {
  const sources = [...new Glob('{bin,rules,scripts,simulator,src,tests,web}/**/*.{ts,tsx,mjs}').scanSync(root)]
  const missing = decisionRecords()
    .filter(({ status }) => !/^(obsolete|replaced by)/.test(status))
    .flatMap(({ file }) => {
      const text = readFileSync(join(root, 'docs/decisions', file), 'utf8')
      const names = [...text.matchAll(/`([\w./-]+\.(?:tsx?|mjs))`/g)].map(([, name]) => name!)
      return names
        .filter(name => !sources.some(path => `/${path}`.endsWith(`/${name}`)))
        .map(name => `${file}: ${name}`)
    })
  expect(missing).toEqual([])
})

test('each document of docs is found from its index, and the index from the README', () => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8')
  const pages = [...new Glob('*.md').scanSync(join(root, 'docs'))].filter(file => file !== 'README.md')
  expect(pages.length).toBeGreaterThan(25)
  expect(pages.filter(file => !index.includes(`](${file})`))).toEqual([])
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('](docs/README.md)')
})

test('each npm script that a document or a source names exists', () => {
  const files = [...new Glob('**/*.{md,ts,tsx}').scanSync(root)].filter(
    file => !/(^|\/)node_modules\/|^(dist|docs\/decisions)\//.test(file),
  )
  const named = files.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bnpm run ([a-z][\w:-]*)/g)].map(([, name]) => ({
      file,
      name,
    })),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(({ name }) => !(name! in packageJson.scripts))).toEqual([])
})
