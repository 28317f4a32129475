/** What a gateway loads when it starts stays in its memory: what most never need is loaded when it is needed. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

const source = join(import.meta.dir, '../src')
const transpiler = new Bun.Transpiler({ loader: 'ts' })

/** The modules that are loaded with `entry`, relative to `src`, and the packages; not what is imported later. */
function loadedWith(entry: string): Set<string> {
  const found = new Set([entry])
  for (const module of found)
    if (module.endsWith('.ts'))
      for (const { kind, path } of transpiler.scanImports(readFileSync(join(source, module), 'utf8')))
        if (kind === 'import-statement') found.add(path.startsWith('.') ? join(dirname(module), path) : path)
  return found
}

test('neither YAML nor the schema of the configuration file is loaded by a gateway, but by its process for that', () => {
  const parts = ['yaml', 'config/reading/parse.ts', 'config/sections/file.ts', 'config/sent-objects.ts']
  const gateway = loadedWith('cli/serve.ts')
  expect(gateway).toContain('app/assemble.ts')
  expect(parts.filter(one => gateway.has(one))).toEqual([])
  expect(parts.slice(0, 3).filter(one => !loadedWith('config/reading/config-worker.ts').has(one))).toEqual([])
})

test('the declarations of keys, which a gateway loads, make their schemas when a file is read', () => {
  const gateway = loadedWith('cli/serve.ts')
  const declarations = [...gateway].filter(one => one.startsWith('config/sections/') || one === 'guardrails/params.ts')
  expect(declarations.length).toBeGreaterThan(20)
  const made = declarations.flatMap(module => {
    const tree = ts.createSourceFile(module, readFileSync(join(source, module), 'utf8'), ts.ScriptTarget.Latest)
    return callsAtLoading(tree).filter(call => /^z\./.test(call))
  })
  expect(made).toEqual([])
})

/** What is called while a module is loaded: outside of functions. */
function callsAtLoading(tree: ts.SourceFile): string[] {
  const found: string[] = []
  const look = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) return
    if (ts.isCallExpression(node)) found.push(node.expression.getText(tree))
    ts.forEachChild(node, look)
  }
  look(tree)
  return found
}

test('what counts limits over Redis is not loaded without a Redis', () => {
  const gateway = loadedWith('cli/serve.ts')
  expect(gateway).toContain('store/limits/limiter-memory.ts')
  expect(['limiter-redis', 'grant-script', 'redis-link'].filter(one => gateway.has(`store/limits/${one}.ts`))).toEqual(
    [],
  )
})

test('what compiles guardrails and searches texts is not loaded without a guardrail', () => {
  const gateway = loadedWith('cli/serve.ts')
  expect(gateway).toContain('guardrails/policies.ts')
  const parts = ['guardrails/call-guards.ts', 'guardrails/compile.ts', 'lib/linear-regex/index.ts']
  expect(parts.filter(one => gateway.has(one))).toEqual([])
})

test('threads of the ledger and of bodies do not load node:util, which takes each 2 ms of the processor', () => {
  for (const thread of ['ledger/ledger-worker', 'ledger/reads/ledger-read-worker', 'bodies/bodies-worker']) {
    const loaded = loadedWith(`store/${thread}.ts`)
    expect(loaded).toContain('node:fs')
    expect([thread, loaded.has('node:util')]).toEqual([thread, false])
  }
})

test('a command does not load the others, nor what reads the configuration file unless it does so itself', () => {
  const token = loadedWith('cli/agents/token.ts')
  expect(token).toContain('cli/agents/access.ts')
  const parts = ['providers/index.ts', 'config/settings-source.ts', 'app/index.ts']
  expect(parts.filter(one => token.has(one))).toEqual([])
  expect(loadedWith('main.ts')).not.toContain('cli/serve.ts')
})
