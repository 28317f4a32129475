/** What `npm pack` packs in a checkout: the sources that run, documents, and nothing else. */
import { Glob } from 'bun'
import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import testsPackageJson from './package.json' with { type: 'json' }
import { freePort } from './support/gateway-process.ts'

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

/** The commands of the package, what the program starts as threads, and what policies of an embedding program use. */
const entries = [
  ...Object.values(packageJson.bin),
  'src/main.ts',
  ...new Glob('src/**/*-worker.ts').scanSync(root),
  'src/core/hub/text-window.ts',
]
const settings = ['bin/bunfig.toml', 'bin/bun-tsconfig.json', 'package.json']
const documents =
  /^(README\.md|LICENSE|NOTICE|CHANGELOG\.md|docs\/[\w-]+\.md|examples\/[\w.-]+\.(yaml|json)|deploy\/\w[\w./-]*)$/

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

/** An empty folder in which the packed file is installed, as npm does it: what it depends on beside it, and its command. */
function installPacked(): string {
  const place = mkdtempSync(join(tmpdir(), 'modelgate-packed-'))
  const { stdout, stderr, success } = Bun.spawnSync(['npm', 'pack', '--pack-destination', place], { cwd: root })
  if (!success) throw new Error(stderr.toString())
  const modules = join(place, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  const file = join(place, stdout.toString().trim().split('\n').at(-1)!)
  const unpacked = Bun.spawnSync(['tar', '-xzf', file, '-C', modules])
  if (!unpacked.success) throw new Error(unpacked.stderr.toString())
  symlinkSync('package', join(modules, 'modelgate'))
  symlinkSync('../modelgate/bin/modelgate.mjs', join(modules, '.bin/modelgate'))
  for (const name of [...Object.keys(packageJson.dependencies), ...binaries()]) {
    mkdirSync(join(modules, name, '..'), { recursive: true })
    symlinkSync(realpathSync(join(root, 'node_modules', name)), join(modules, name))
  }
  return place
}

/** Packages of Bun's binary for this platform, which npm installs with it. */
const binaries = (): string[] => readdirSync(join(root, 'node_modules/@oven')).map(name => `@oven/${name}`)

test(
  'the packed file is one that npm publishes; npx modelgate starts from it and answers a call',
  async () => {
    expect(packageJson).not.toHaveProperty('private')
    expect(packageJson).toMatchObject({ name: 'modelgate', license: 'MIT', engines: { node: '>=20' } })
    const names = Object.keys(packageJson.dependencies)
    expect(names.filter(name => name in testsPackageJson.dependencies)).toEqual([])
    const place = installPacked()
    const url = `http://127.0.0.1:${freePort()}`
    const key = 'sk-of-the-packed-program-0123456789'
    const child = Bun.spawn(['npx', '--no-install', 'modelgate', 'serve', '--port', new URL(url).port], {
      cwd: place,
      detached: true,
      stdout: 'ignore',
      stderr: 'ignore',
      env: { PATH: process.env.PATH, HOME: place, MODELGATE_MASTER_KEY: key, MODELGATE_DISCOVER: '0' },
    })
    try {
      const untilMs = performance.now() + packMsMax
      const isReady = () =>
        fetch(`${url}/health/readiness`).then(
          ({ ok }) => ok,
          () => false,
        )
      while (!(await isReady()) && child.exitCode === null && performance.now() < untilMs) await Bun.sleep(100)
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'local/simulated-chat', messages: [{ role: 'user', content: 'Hello' }] }),
      })
      expect([answer.status, await answer.json()]).toEqual([
        200,
        expect.objectContaining({ object: 'chat.completion', choices: [expect.anything()] }),
      ])
      // It has no sources of the pages: that is said, without a path of this machine.
      const page = await fetch(`${url}/ui/`)
      const words = await page.text()
      expect([page.status, words]).toEqual([404, expect.stringContaining('npm run package')])
      expect(words).not.toContain(place)
    } finally {
      // npx, its shell and the gateway.
      process.kill(-child.pid, 'SIGKILL')
      await child.exited
      rmSync(place, { recursive: true, force: true })
    }
  },
  3 * packMsMax,
)
