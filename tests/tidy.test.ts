/** The rules of the house, as tests: who may import whom, what has to be registered, what is banned. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFileSync } from 'node:fs'
import ts from 'typescript'

// Parsing all sources takes a second, and many times that on a loaded machine.

const root = `${import.meta.dir}/..`

/** Who may import whom. A folder not named here may not exist; `lib` and its own folder go without saying. */
const mayImport: Record<string, string[]> = {
  lib: [],
  core: [],
  formats: ['core'],
  providers: ['core'],
  accounts: ['core'],
  platform: [],
  cache: ['core'],
  recording: ['core'],
  store: ['core', 'accounts', 'platform'],
  telemetry: ['core'],
  emulation: ['core'],
  pipeline: ['core', 'emulation'],
  policies: ['core', 'accounts'],
  assistants: ['core', 'formats', 'accounts'],
  conversations: ['core', 'formats', 'accounts', 'assistants'],
  files: ['core', 'formats', 'accounts'],
  'sign-in': ['core', 'accounts', 'platform'],
  endpoints: ['core', 'formats', 'accounts', 'assistants', 'conversations', 'files', 'sign-in'],
  http: ['core'],
  guardrails: ['core'],
  config: ['core', 'providers', 'policies', 'accounts', 'guardrails'],
  app: [
    'core',
    'cache',
    'recording',
    'formats',
    'providers',
    'accounts',
    'store',
    'telemetry',
    'pipeline',
    'policies',
    'guardrails',
    'files',
    'sign-in',
    'endpoints',
    'config',
    'http',
    'platform',
  ],
  cli: ['core', 'accounts', 'config', 'store', 'providers', 'telemetry', 'app'],
  'main.ts': ['cli'],
}

/** Who may read the tables of `/rules`, beside the simulator. */
const readsRules = new Set(['providers', 'config', 'pipeline'])

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
        const known =
          (file.startsWith('cli/') && target.startsWith('/simulator/')) ||
          (readsRules.has(top(file)) && target.startsWith('/rules/'))
        if (!known && !target.endsWith('/package.json')) wrong.push(`${file} -> ${target}`)
        continue
      }
      const [from, to] = [top(file), top(target.slice('/src/'.length))]
      if (from !== to && to !== 'lib' && !mayImport[from]?.includes(to)) wrong.push(`${file} -> ${target}`)
    }
  expect(wrong).toEqual([])
})

test('the tables of /rules import nothing but each other', () => {
  const wrong = [...new Glob('*.ts').scanSync(`${root}/rules`)].flatMap(file =>
    file.endsWith('.test.ts')
      ? []
      : [...readFileSync(`${root}/rules/${file}`, 'utf8').matchAll(/from '([^']+)'/g)].flatMap(([, path]) =>
          path!.startsWith('./') ? [] : [`${file} -> ${path}`],
        ),
  )
  expect(wrong).toEqual([])
})

test('no module is part of a circle of imports, also not of types alone', () => {
  const uses = new Map(
    [...trees].map(([path, { text }]) => [
      path,
      [...text.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g)].map(([, to]) =>
        new URL(to!, `file:///${path}`).pathname.slice(1),
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
  for (const file of uses.keys()) visit(file, [])
  expect(circles).toEqual([])
})

test('the pages import nothing of the gateway, and the gateway nothing of the pages', () => {
  const wrong = [...trees].flatMap(([path, tree]) =>
    [...tree.text.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g)].flatMap(([, to]) => {
      const target = new URL(to!, `file:///${path}`).pathname.slice(1)
      return path.startsWith('web/') === target.startsWith('web/') ? [] : [`${path} -> ${target}`]
    }),
  )
  expect(wrong).toEqual([])
})

test('every provider, policy and endpoint is registered', () => {
  const helpers = new Set([
    'providers/fault.ts',
    'providers/json.ts',
    'providers/image-urls.ts',
    'providers/catalog.ts',
    'endpoints/router.ts',
    'endpoints/idempotency.ts',
    'endpoints/request-fingerprint.ts',
    'endpoints/checked-input.ts',
    'endpoints/endpoint-table.ts',
    'endpoints/unknown-path.ts',
  ])
  const missing: string[] = []
  // Endpoints stand in groups; deeper folders hold what the endpoints of their group need.
  const depths = { providers: 2, policies: 2, endpoints: 3 }
  for (const [folder, depth] of Object.entries(depths)) {
    // What an index loads when it is first asked for stands in lazy/.
    const lists = [...texts].filter(([file]) => file === `${folder}/index.ts` || file.startsWith(`${folder}/lazy/`))
    const index = lists.map(([, text]) => text).join('\n')
    const isPart = (file: string) =>
      top(file) === folder && file.split('/').length <= depth && !file.startsWith('endpoints/openapi/')
    for (const file of sources.filter(isPart))
      if (
        !file.endsWith('/index.ts') &&
        !helpers.has(file) &&
        !new RegExp(`'\\.\\.?/${file.slice(folder.length + 1)}'`).test(index)
      )
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

const lineLengthMax = 120
const functionLinesMax = 70
const fileLinesMax = 500

/** What is not a test, by path, parsed; all of it is held to the rules of length and wording. */
const trees = new Map<string, ts.SourceFile>()
for (const folder of ['src', 'rules', 'simulator', 'scripts', 'bin', 'web'])
  for (const file of [...new Glob('**/*.{ts,tsx,mjs}').scanSync(`${root}/${folder}`)].sort())
    if (!/\.(test|d)\.ts$/.test(file)) {
      const path = `${folder}/${file}`
      const text = readFileSync(`${root}/${path}`, 'utf8')
      trees.set(path, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
    }

const lineOf = (tree: ts.SourceFile, position: number) => tree.getLineAndCharacterOfPosition(position).line + 1

/** What `find` sees in all of these files, as `path:line: words`. */
function problems(find: (tree: ts.SourceFile) => { line: number; what: string }[]): string[] {
  return [...trees].flatMap(([path, tree]) => find(tree).map(({ line, what }) => `${path}:${line}: ${what}`))
}

test(`lines have at most ${lineLengthMax} columns`, () => {
  const find = (tree: ts.SourceFile) =>
    tree.text
      .split('\n')
      .flatMap((text, at) => (text.length > lineLengthMax ? [{ line: at + 1, what: `${text.length} columns` }] : []))
  expect(problems(find)).toEqual([])
})

test(`functions have at most ${functionLinesMax} lines`, () => {
  const find = (tree: ts.SourceFile) => {
    const long: { line: number; what: string }[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) && 'body' in node && node.body) {
        const line = lineOf(tree, node.getStart())
        const lines = lineOf(tree, node.end) - line + 1
        if (lines > functionLinesMax) long.push({ line, what: `${lines} lines` })
      }
      ts.forEachChild(node, visit)
    }
    visit(tree)
    return long
  }
  expect(problems(find)).toEqual([])
})

test(`files have at most ${fileLinesMax} lines`, () => {
  const find = (tree: ts.SourceFile) => {
    const lines = lineOf(tree, tree.text.trimEnd().length)
    return lines > fileLinesMax ? [{ line: lines, what: `${lines} lines` }] : []
  }
  expect(problems(find)).toEqual([])
})

test('comments are plain: no unnamed persons or things, no notes that are not in the repository', () => {
  const unclear = /\b(whoever|whomever|nobody|somebody|whatever)\b|\bresearch\//i
  const find = (tree: ts.SourceFile) =>
    commentsOf(tree).flatMap(({ at, text }) => {
      const [word] = unclear.exec(text) ?? []
      return word === undefined ? [] : [{ line: lineOf(tree, at + text.indexOf(word)), what: `'${word}'` }]
    })
  expect(problems(find)).toEqual([])
})

/** Found by their marks, once the texts and patterns that may hold such marks are blanked. */
function commentsOf(tree: ts.SourceFile): { at: number; text: string }[] {
  let code = tree.text
  const visit = (node: ts.Node): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      const from = node.getStart()
      code = code.slice(0, from) + ' '.repeat(node.end - from) + code.slice(node.end)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return [...code.matchAll(/\/\*[\s\S]*?\*\/|\/\/.*/g)].map(({ index, 0: text }) => ({ at: index, text }))
}

test('what is exported says what name and type do not', () => {
  const silent: string[] = []
  for (const [path, tree] of trees) {
    if (!path.startsWith('src/')) continue
    for (const statement of tree.statements) {
      const isExported =
        ts.canHaveModifiers(statement) &&
        ts.getModifiers(statement)?.some(one => one.kind === ts.SyntaxKind.ExportKeyword)
      if (isExported && ts.getJSDocCommentsAndTags(statement).length === 0)
        silent.push(`${path}:${lineOf(tree, statement.getStart())}`)
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

test('upper bounds of wall-clock time stand in *.timing.test.ts only', () => {
  const bound =
    /expect\([^;\n]*(?:performance\.now\(\) -|slowestMs|loop\.stop|\btook)[^;\n]*\)\.(?:toBeLessThan|toBeWithin)\w*\(/
  const tests = [...new Glob('{src,rules,simulator,tests}/**/*.test.ts').scanSync(root)]
  const wrong = tests.filter(
    file => !/\.(timing|load)\.test\.ts$/.test(file) && bound.test(readFileSync(`${root}/${file}`, 'utf8')),
  )
  expect(wrong).toEqual([])
})
