/** The rules of the house, as tests: who may import whom, what has to be registered, what is banned. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { existsSync, readFileSync } from 'node:fs'
import ts from 'typescript'

// Parsing all sources takes a second, and many times that on a loaded machine.

const root = `${import.meta.dir}/..`

/**
 * Who may import whom: the last column of the table of rooms in ARCHITECTURE.md. `src/lib` and the own room go without
 * saying; "everything but x, y" is all rooms of `src` but these. A room without a row may not exist.
 */
const mayImport: ReadonlyMap<string, readonly string[]> = readRooms()

function readRooms(): Map<string, string[]> {
  const document = readFileSync(`${root}/ARCHITECTURE.md`, 'utf8')
  const rows = [...document.matchAll(/^\| `([\w./-]+)` \|.*\| ([\w ,.-]+) \|$/gm)].map(
    ([, room, imports]) => [room!, imports!.trim()] as const,
  )
  const isRoom = (name: string) => rows.some(([room]) => room === name)
  const roomsOf = (words: string) => words.split(', ').map(word => (isRoom(word) ? word : `src/${word}`))
  return new Map(
    rows.map(([room, imports]) => {
      const [, exceptions] = /^everything but (.*)$/.exec(imports) ?? []
      if (exceptions === undefined) return [room, imports === '-' ? [] : roomsOf(imports)]
      const others = rows.map(([other]) => other).filter(other => other.startsWith('src/') && other !== room)
      return [room, others.filter(other => !roomsOf(exceptions).includes(other))]
    }),
  )
}

/** `src/core` of `src/core/call.ts`, `rules` of `rules/hosts.ts`. */
const roomOf = (path: string) =>
  path
    .split('/')
    .slice(0, path.startsWith('src/') ? 2 : 1)
    .join('/')

/** Relative imports of a file, as paths below the root. */
const importsOf = (path: string, text: string) =>
  [...text.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g)].map(([, to]) =>
    new URL(to!, `file:///${path}`).pathname.slice(1),
  )

const sources = [...new Glob('**/*.ts').scanSync(`${root}/src`)].filter(file => !file.endsWith('.test.ts')).sort()
const texts = new Map(sources.map(file => [file, readFileSync(`${root}/src/${file}`, 'utf8')]))
const top = (path: string) => path.split('/')[0]!

test('the table of imports names rooms that exist, and has no circle', () => {
  const placed = new Set<string>(['src/lib'])
  for (let before = -1; before !== placed.size; ) {
    before = placed.size
    for (const [room, uses] of mayImport) if (uses.every(use => placed.has(use))) placed.add(room)
  }
  expect([...mayImport.keys()].filter(room => !placed.has(room))).toEqual([])
  expect([...mayImport.keys()].filter(room => !existsSync(`${root}/${room}`))).toEqual([])
})

test('there is no folder of src outside the table', () => {
  expect([...new Set(sources.map(file => roomOf(`src/${file}`)))].filter(room => !mayImport.has(room))).toEqual([])
})

test('imports only go where the table lets them', () => {
  const wrong = [...trees].flatMap(([path, { text }]) => {
    const from = roomOf(path)
    const allowed = mayImport.get(from)
    if (!allowed) return []
    const known = new Set([from, 'package.json', ...allowed, ...(from.startsWith('src/') ? ['src/lib'] : [])])
    return importsOf(path, text).flatMap(to => (known.has(roomOf(to)) ? [] : [`${path} -> ${to}`]))
  })
  expect(wrong).toEqual([])
})

test('no module is part of a circle of imports, also not of types alone', () => {
  const uses = new Map([...trees].map(([path, { text }]) => [path, importsOf(path, text)]))
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

test('every provider, policy and endpoint is registered', () => {
  const helpers = new Set([
    'providers/catalog.ts',
    'endpoints/router.ts',
    'endpoints/endpoint-table.ts',
    'endpoints/unknown-path.ts',
  ])
  const missing: string[] = []
  // Endpoints stand in groups; `common`, and deeper folders, hold what endpoints need.
  const depths = { providers: 2, policies: 2, endpoints: 3 }
  for (const [folder, depth] of Object.entries(depths)) {
    // What an index loads when it is first asked for stands in lazy/.
    const lists = [...texts].filter(([file]) => file === `${folder}/index.ts` || file.startsWith(`${folder}/lazy/`))
    const index = lists.map(([, text]) => text).join('\n')
    const isPart = (file: string) =>
      top(file) === folder && file.split('/').length <= depth && !/^endpoints\/(openapi|common)\//.test(file)
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
  // Model lists say `owned_by: 'openai'` because clients of the peer compare it; a cloud has the name of its provider.
  const meant = ['formats/openai/models.ts names openai', 'core/cloud-identity.ts names azure']
  expect(wrong.filter(line => !meant.includes(line))).toEqual([])
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

/** A line of a page's declaration that is one text of the page, which is not cut. */
const isPageText = (path: string, line: string): boolean =>
  path.endsWith('.page.ts') && /^\s*(?:'[\w.]+': )?(['"]).*\1,?$/.test(line)

test(`lines have at most ${lineLengthMax} columns`, () => {
  const find = (tree: ts.SourceFile) =>
    tree.text.split('\n').flatMap((text, at) => {
      const isLong = text.length > lineLengthMax && !isPageText(tree.fileName, text)
      return isLong ? [{ line: at + 1, what: `${text.length} columns` }] : []
    })
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

test('each file of ours that a comment names exists', () => {
  const folders = '{bin,docs,rules,scripts,simulator,src,tests,web}'
  const files = [...new Glob(`${folders}/**/*.{ts,tsx,mjs}`).scanSync(root)]
    .filter(file => !file.includes('node_modules/'))
    .map(file => `/${file}`)
  const named = /(?<![\w./-])[\w][\w./-]*\.(?:tsx?|mjs)\b/g
  const find = (tree: ts.SourceFile) =>
    commentsOf(tree).flatMap(({ at, text }) =>
      [...text.matchAll(named)].flatMap(({ index, 0: name }) =>
        /\.d\.ts$|\.(com|org)\//.test(name) || files.some(file => file.endsWith(`/${name}`))
          ? []
          : [{ line: lineOf(tree, at + index), what: name }],
      ),
    )
  expect(problems(find)).toEqual([])
})

/** Found by their marks, once the texts and patterns that may hold such marks are left out. */
function commentsOf(tree: ts.SourceFile): { at: number; text: string }[] {
  const code: string[] = []
  let end = 0
  const visit = (node: ts.Node): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      const from = node.getStart()
      code.push(tree.text.slice(end, from), ' '.repeat(node.end - from))
      end = node.end
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  code.push(tree.text.slice(end))
  return [...code.join('').matchAll(/\/\*[\s\S]*?\*\/|\/\/.*/g)].map(({ index, 0: text }) => ({ at: index, text }))
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
  // One library's warning is silenced.
  { pattern: /\bconsole\./, instead: 'telemetry/log', except: ['clouds/google.ts'] },
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
    file =>
      !file.includes('node_modules/') &&
      !/\.(timing|load)\.test\.ts$/.test(file) &&
      bound.test(readFileSync(`${root}/${file}`, 'utf8')),
  )
  expect(wrong).toEqual([])
})
