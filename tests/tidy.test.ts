/** The rules of the house, as tests: who may import whom, what has to be registered, what is banned. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFileSync } from 'node:fs'
import ts from 'typescript'

const root = `${import.meta.dir}/..`

/** Who may import whom. A folder not named here may not exist; `lib` and its own folder go without saying. */
const mayImport: Record<string, string[]> = {
  lib: [],
  core: [],
  formats: ['core'],
  providers: ['core'],
  accounts: ['core'],
  platform: [],
  store: ['core', 'accounts', 'platform'],
  telemetry: ['core'],
  emulation: ['core'],
  pipeline: ['core', 'emulation'],
  policies: ['core', 'accounts'],
  endpoints: ['core', 'formats', 'accounts'],
  http: ['core'],
  config: ['core', 'providers', 'policies', 'accounts'],
  app: [
    'core',
    'formats',
    'providers',
    'accounts',
    'store',
    'telemetry',
    'pipeline',
    'policies',
    'endpoints',
    'config',
    'http',
    'platform',
  ],
  cli: ['core', 'accounts', 'config', 'store', 'providers', 'telemetry', 'app'],
  'main.ts': ['cli'],
}

const sources = [...new Glob('**/*.ts').scanSync(`${root}/src`)].filter(file => !file.endsWith('.test.ts')).sort()
const texts = new Map(sources.map(file => [file, readFileSync(`${root}/src/${file}`, 'utf8')]))
const top = (path: string) => path.split('/')[0]!

test('the table of imports has no circle', () => {
  const placed = new Set<string>(['lib'])
  for (let before = -1; before !== placed.size; ) {
    before = placed.size
    for (const [folder, uses] of Object.entries(mayImport)) if (uses.every(use => placed.has(use))) placed.add(folder)
  }
  expect(Object.keys(mayImport).filter(folder => !placed.has(folder))).toEqual([])
})

test('there is no folder outside the table', () => {
  expect([...new Set(sources.map(top))].filter(folder => !(folder in mayImport))).toEqual([])
})

test('imports only point down', () => {
  const wrong: string[] = []
  for (const [file, text] of texts)
    for (const [, path] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const target = new URL(path!, `file:///src/${file}`).pathname
      if (!target.startsWith('/src/')) {
        const known = file.startsWith('cli/') && target.startsWith('/simulator/')
        if (!known && !target.endsWith('/package.json')) wrong.push(`${file} -> ${target}`)
        continue
      }
      const [from, to] = [top(file), top(target.slice('/src/'.length))]
      if (from !== to && to !== 'lib' && !mayImport[from]?.includes(to)) wrong.push(`${file} -> ${target}`)
    }
  expect(wrong).toEqual([])
})

test('no module is part of a circle of imports, also not of types alone', () => {
  const uses = new Map(
    sources.map(file => [
      file,
      [...texts.get(file)!.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g)].map(([, path]) =>
        new URL(path!, `file:///${file}`).pathname.slice(1),
      ),
    ]),
  )
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(' -> '))
    else if (!done.has(file)) {
      for (const next of uses.get(file) ?? []) visit(next, [...trail, file])
      done.add(file)
    }
  }
  for (const file of sources) visit(file, [])
  expect(circles).toEqual([])
})

test('every provider, policy and endpoint is registered', () => {
  const helpers = new Set([
    'providers/fault.ts',
    'providers/json.ts',
    'providers/catalog.ts',
    'endpoints/router.ts',
    'endpoints/credentials.ts',
    'endpoints/checked-input.ts',
    'endpoints/kept-objects.ts',
    'endpoints/openapi-schemas.ts',
  ])
  const missing: string[] = []
  for (const folder of ['providers', 'policies', 'endpoints']) {
    const index = texts.get(`${folder}/index.ts`)!
    for (const file of sources.filter(one => top(one) === folder && one.split('/').length === 2))
      if (!file.endsWith('/index.ts') && !helpers.has(file) && !index.includes(`'./${file.split('/')[1]}'`))
        missing.push(`${file}: add it to ${folder}/index.ts`)
  }
  expect(missing).toEqual([])
})

test('no file outside providers/ names a provider', async () => {
  const { providers } = await import('../src/providers/index.ts')
  // Names that are also plain words or dialect labels of their own.
  const words = new Set(['local', 'custom', 'vllm', 'github'])
  const wrong: string[] = []
  for (const [file, text] of texts) {
    if (['providers', 'config', 'cli'].includes(top(file))) continue
    for (const name of providers.keys())
      if (!words.has(name) && new RegExp(`[=(:\\[] ?['"\`]${name}['"\`]`).test(text))
        wrong.push(`${file} names ${name}`)
  }
  // Model lists say `owned_by: 'openai'` because clients of the peer compare it.
  expect(wrong.filter(line => line !== 'formats/openai/models.ts names openai')).toEqual([])
})

test('functions fit on a screen, files on ten', () => {
  const long: string[] = []
  for (const [file, text] of texts) {
    const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    const line = (position: number) => tree.getLineAndCharacterOfPosition(position).line
    if (line(text.length) > 520) long.push(`${file}: ${line(text.length)} lines`)
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) && 'body' in node && node.body) {
        const lines = line(node.end) - line(node.getStart()) + 1
        if (lines > 90) long.push(`${file}:${line(node.getStart()) + 1}: ${lines} lines`)
      }
      ts.forEachChild(node, visit)
    }
    visit(tree)
  }
  expect(long).toEqual([])
})

test('what is exported says what name and type do not', () => {
  const silent: string[] = []
  for (const [file, text] of texts) {
    const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    for (const statement of tree.statements) {
      const isExported =
        ts.canHaveModifiers(statement) &&
        ts.getModifiers(statement)?.some(one => one.kind === ts.SyntaxKind.ExportKeyword)
      if (isExported && ts.getJSDocCommentsAndTags(statement).length === 0)
        silent.push(`${file}:${tree.getLineAndCharacterOfPosition(statement.getStart()).line + 1}`)
    }
  }
  expect(silent).toEqual([])
})

const bans: { pattern: RegExp; instead: string; except?: string[] }[] = [
  { pattern: /\bDate\.now\(/, instead: 'lib/clock', except: ['lib/clock.ts'] },
  { pattern: /(?<![.\w])fetch\(/, instead: 'http/client' },
  { pattern: /\bconsole\./, instead: 'telemetry/log' },
  { pattern: /\bObject\.assign\(/, instead: 'a spread: Object.assign copies __proto__' },
  { pattern: /AbortSignal\.(any|timeout)\(/, instead: 'lib/timer-wheel' },
  { pattern: /type: 'direct'/, instead: 'core/answer, a stream with backpressure' },
  { pattern: /\bBun\.serve\(/, instead: 'http/server' },
  { pattern: /\b(TODO|FIXME|XXX)\b/, instead: 'doing it, or an issue' },
  { pattern: /(: any\b|\bas any\b|<any>)/, instead: '`unknown` and a check' },
]

test('banned calls name their replacement', () => {
  const wrong: string[] = []
  for (const [file, text] of texts)
    for (const { pattern, instead, except } of bans)
      if (!except?.includes(file) && pattern.test(text)) wrong.push(`${file}: ${pattern.source}; use ${instead}`)
  expect(wrong).toEqual([])
})

test('only the store speaks SQL or Redis', () => {
  const wrong = [...texts]
    .filter(
      ([file, text]) => !['store', 'platform'].includes(top(file)) && /\b(new SQL|RedisClient|bun:sqlite)\b/.test(text),
    )
    .map(([file]) => file)
  expect(wrong).toEqual([])
})
