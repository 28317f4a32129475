/** What `npm pack` packs in a checkout: the sources that run, documents, and nothing else. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'

const root = join(import.meta.dir, '..')

/** npm starts slowly on a loaded machine. */
const packMsMax = 60_000

interface Packed {
  readonly files: readonly { readonly path: string }[]
}

function packedFiles(): string[] {
  const { stdout, stderr, success } = Bun.spawnSync(['npm', 'pack', '--dry-run', '--json'], { cwd: root })
  if (!success) throw new Error(stderr.toString())
  // npm 11 gives a list, npm 12 an object by package.
  const packages = Object.values(JSON.parse(stdout.toString()) as Record<string, Packed>)
  expect(packages).toHaveLength(1)
  return packages[0]!.files.map(({ path }) => path).sort()
}

/** The file and all that it imports, statically or not, by relative paths. */
function withImports(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known
  known.add(file)
  if (file.endsWith('.json')) return known
  const text = readFileSync(join(root, file), 'utf8')
  for (const [, path] of text.matchAll(/(?:from|import|import\()\s*'(\.[^']+)'/g))
    withImports(normalize(join(file, '..', path!)), known)
  return known
}

const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { bin: Record<string, string> }
/** The commands of the package, what the program starts as threads, and what policies of an embedding program use. */
const entries = [
  ...Object.values(bin),
  'src/main.ts',
  'src/config/reading/config-worker.ts',
  'src/store/ledger/ledger-worker.ts',
  'src/store/ledger/reads/ledger-read-worker.ts',
  'src/store/bodies/bodies-worker.ts',
  'src/lib/tokens/tokenizer-worker.ts',
  'src/sign-in/password-worker.ts',
  'src/core/hub/text-window.ts',
]
const settings = ['bin/bunfig.toml', 'bin/bun-tsconfig.json', 'package.json']
const documents =
  /^(README\.md|LICENSE|NOTICE|CHANGELOG\.md|docs\/[\w-]+\.md|examples\/[\w.-]+\.(yaml|json)|deploy\/\w[\w.-]*)$/

test(
  'the package holds what runs, its documents, and nothing else',
  () => {
    const runs = new Set(settings)
    for (const entry of entries) withImports(entry, runs)
    const packed = packedFiles()
    expect(packed.filter(path => !documents.test(path))).toEqual([...runs].sort())
    for (const path of ['LICENSE', 'NOTICE', 'README.md', 'examples/minimal.yaml']) expect(packed).toContain(path)
  },
  packMsMax,
)
