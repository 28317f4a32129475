/** `bin/program.mjs`: what `npm start` runs is one file, made anew whenever its sources changed, and complete. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import type { Subprocess } from 'bun'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }

const root = join(import.meta.dir, '../..')
const masterKey = `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`

/** What is common to every program: modules, one that is loaded late, a thread of its own, and the version. */
const smallProgram = {
  'main.ts': `
    import { version } from './cli/version.ts'
    if (process.argv[2] === 'prices') console.log((await import('./prices.ts')).prices)
    else console.log(version())
  `,
  'cli/version.ts': "export const version = () => 'modelgate 0'\n",
  'prices.ts': 'export const prices = { input: 1 }\n',
  'store/some-worker.ts': 'export {}\n',
}

let project: string
/** Makes the folder of the project; `program`: its sources, absent = those of the gateway. */
function makeProject(program?: Readonly<Record<string, string>>): void {
  project = mkdtempSync(join(tmpdir(), 'modelgate-bundle-'))
  const folders = program ? ['bin', 'rules'] : ['bin', 'src', 'rules', 'simulator']
  for (const name of [...folders, 'package.json', 'package-lock.json'])
    cpSync(join(root, name), join(project, name), { recursive: true, preserveTimestamps: true })
  if (program) mkdirSync(join(project, 'simulator'))
  for (const [path, text] of Object.entries(program ?? {})) {
    mkdirSync(dirname(join(project, 'src', path)), { recursive: true })
    writeFileSync(join(project, 'src', path), text)
  }
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
}
/** A test that fails leaves no gateway behind. */
const children = new Set<Subprocess>()
function removeProject(): void {
  for (const child of children) child.kill()
  children.clear()
  rmSync(project, { recursive: true, force: true })
}

const dist = () => join(project, 'dist')
const bundles = () => (existsSync(dist()) ? readdirSync(dist()).sort() : [])
/** The packages it needs, one by one, as npm lays them out. */
function linkPackages(folder: string): void {
  for (const name of [
    ...Object.keys(packageJson.dependencies),
    ...readdirSync(join(root, 'node_modules/@oven')).map(name => `@oven/${name}`),
  ]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    symlinkSync(realpathSync(join(root, 'node_modules', name)), join(folder, name))
  }
}
let changes = 0
const changeSource = () => appendFileSync(join(project, 'src/main.ts'), `// change ${++changes}\n`)

/** Only what a new user has. */
const environment = () => ({
  PATH: process.env.PATH!,
  HOME: project,
  MODELGATE_MASTER_KEY: masterKey,
  MODELGATE_DISCOVER: '0',
})

function run(...words: string[]) {
  const child = Bun.spawn(['node', join(project, 'bin/modelgate.mjs'), ...words], {
    cwd: project,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  children.add(child)
  return child
}

async function outputOf(...words: string[]): Promise<string> {
  const child = run(...words)
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect([await child.exited, error]).toEqual([0, ''])
  return out
}

/** The words of the process that Bun runs the program by. */
function programOf(launcherPid: number): string[] {
  const words = (pid: number | string) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter(word => !word.startsWith('--'))
  const children = readFileSync(`/proc/${launcherPid}/task/${launcherPid}/children`, 'utf8').trim()
  return words(children === '' ? launcherPid : children.split(' ')[0]!)
}

describe('of any program', () => {
  beforeAll(() => makeProject(smallProgram))
  afterAll(removeProject)

  test('the first command makes the bundle, the next one finds it, a change of the sources makes another', async () => {
    const version = await outputOf('version')
    const [first] = bundles()
    expect([version.startsWith('modelgate '), bundles().length]).toEqual([true, 1])
    expect(readdirSync(join(dist(), first!))).toContain('some-worker.js')
    const madeAt = 1_700_000_000
    utimesSync(join(dist(), first!, 'main.js'), madeAt, madeAt)
    await outputOf('version')
    expect(readdirSync(dist())).toEqual([first!])
    for (let round = 0; round < 4; round++) {
      changeSource()
      expect(await outputOf('version')).toBe(version)
    }
    // A gateway may still run from one of the last.
    expect([bundles().length, bundles().includes(first!)]).toEqual([3, false])
  })

  test('a bundle that lost a part is made anew', async () => {
    changeSource()
    const before = bundles()
    await outputOf('version')
    const bundle = join(dist(), bundles().find(name => !before.includes(name))!)
    const main = join(bundle, 'main.js')
    const whole = readFileSync(main)
    const prices = readdirSync(bundle).find(name => name.startsWith('prices-'))!
    const damages: (() => void)[] = [
      () => writeFileSync(main, ''),
      () => writeFileSync(main, whole.subarray(0, whole.length / 2)),
      () => rmSync(join(bundle, prices)),
      () => readdirSync(bundle).forEach(name => rmSync(join(bundle, name))),
      () => (rmSync(bundle, { recursive: true }), writeFileSync(bundle, 'a file')),
    ]
    for (const damage of damages) {
      damage()
      expect(await outputOf('version')).toStartWith('modelgate ')
      expect([readFileSync(main).equals(whole), readdirSync(bundle).includes(prices)]).toEqual([true, true])
    }
  })

  test('what else lies in dist stays; drafts of makers that were killed go', async () => {
    const mine = ['mine', 'mine too', 'photos', 'README'].map(name => join(dist(), name))
    for (const path of mine) mkdirSync(path)
    const draft = join(dist(), '0123456789abcdef.6f2b0d52-5f0b-4d4e-9c9e-3d0f1f0f6a11')
    const fresh = join(dist(), '0123456789abcdef.6f2b0d52-5f0b-4d4e-9c9e-3d0f1f0f6a12')
    for (const path of [draft, fresh]) mkdirSync(path)
    const longAgo = 1_700_000_000
    for (const path of [draft, ...mine]) utimesSync(path, longAgo, longAgo)
    changeSource()
    await outputOf('version')
    // Of a fresh one the maker may be at work.
    expect([...mine, draft, fresh].filter(path => existsSync(path))).toEqual([...mine, fresh])
    for (const path of [...mine, fresh]) rmSync(path, { recursive: true })
  })

  test('a bundle that is used counts as younger than one that is not', async () => {
    const file = join(project, 'src/main.ts')
    changeSource()
    const before = bundles()
    const original = readFileSync(file)
    await outputOf('version')
    // Not in one that is made anew.
    const mark = join(dist(), bundles().find(name => !before.includes(name))!, 'mark')
    writeFileSync(mark, '')
    for (let round = 0; round < 3; round++) {
      changeSource()
      await outputOf('version')
      writeFileSync(file, original)
      await outputOf('version')
    }
    expect(existsSync(mark)).toBe(true)
  })

  test('other packages make another bundle, also where the lock file stays as it is', async () => {
    const packages = join(project, 'node_modules')
    rmSync(packages)
    linkPackages(packages)
    try {
      await outputOf('version')
      const before = bundles()
      // `npm ci` after a start, which had bundled what was there.
      cpSync(realpathSync(join(packages, 'yaml')), join(project, 'yaml'), { recursive: true })
      rmSync(join(packages, 'yaml'))
      renameSync(join(project, 'yaml'), join(packages, 'yaml'))
      await outputOf('version')
      expect(bundles()).toEqual(before)
      const manifest = join(packages, 'yaml/package.json')
      writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, '"version": "9.9.9"'))
      await outputOf('version')
      expect(bundles().filter(name => !before.includes(name))).toHaveLength(1)
    } finally {
      rmSync(packages, { recursive: true })
      symlinkSync(join(root, 'node_modules'), packages)
    }
  })

  test('the environment is read by the program, not by who joins it', async () => {
    const file = join(project, 'src/main.ts')
    const original = readFileSync(file)
    appendFileSync(file, 'console.log(`as ${process.env.NODE_ENV}`)\n')
    for (const name of ['production', 'else']) {
      const child = Bun.spawn(['node', join(project, 'bin/modelgate.mjs'), 'version'], {
        cwd: project,
        env: { ...environment(), NODE_ENV: name },
        stdout: 'pipe',
      })
      expect(await new Response(child.stdout).text()).toContain(`as ${name}\n`)
    }
    writeFileSync(file, original)
    // Meant for the program. The one who joins modules would never come to an end with it.
    changeSource()
    const child = Bun.spawn(['node', join(project, 'bin/modelgate.mjs'), 'version'], {
      cwd: project,
      env: { ...environment(), BUN_OPTIONS: '--watch' },
      stdout: 'pipe',
    })
    const first = await Promise.race([child.stdout.getReader().read(), Bun.sleep(8000)])
    child.kill()
    await child.exited
    expect(new TextDecoder().decode(first?.value)).toContain('modelgate ')
  })

  test('many that start at once share one bundle, and nobody sees half of it', async () => {
    changeSource()
    const before = bundles()
    const versions = await Promise.all(Array.from({ length: 6 }, () => outputOf('version')))
    expect(new Set(versions).size).toBe(1)
    expect(bundles().filter(name => !before.includes(name))).toHaveLength(1)
  })

  test('a project that cannot be written runs from its sources', async () => {
    rmSync(dist(), { recursive: true })
    writeFileSync(dist(), 'no folder')
    expect(await outputOf('version')).toStartWith('modelgate ')
    rmSync(dist())
    // What the bundler cannot read is told by who runs it then.
    mkdirSync(join(project, 'src/cli'), { recursive: true })
    const help = readFileSync(join(project, 'src/cli/version.ts'), 'utf8')
    writeFileSync(join(project, 'src/cli/version.ts'), 'this is no module')
    const child = run('version')
    expect([await new Response(child.stderr).text(), await child.exited]).toEqual([
      expect.stringContaining('version.ts'),
      1,
    ])
    writeFileSync(join(project, 'src/cli/version.ts'), help)
    expect([bundles(), await outputOf('version')]).toEqual([[], expect.stringContaining('modelgate ')])
  })

  test('a dist that is a link to a folder elsewhere is left alone', async () => {
    rmSync(dist(), { recursive: true })
    const elsewhere = mkdtempSync(join(tmpdir(), 'modelgate-elsewhere-'))
    symlinkSync(elsewhere, dist())
    // From there the bundle would not find its packages.
    expect([await outputOf('version'), readdirSync(elsewhere)]).toEqual([expect.stringContaining('modelgate '), []])
    rmSync(dist())
    rmSync(elsewhere, { recursive: true })
  })
})

const canUnshare = Bun.spawnSync(['unshare', '-p', '-f', '--mount-proc', 'true'], { stderr: 'ignore' }).exitCode === 0
if (!canUnshare) console.log('skipped: no right to make a process 1 (unshare -p)')

describe('of the gateway, which takes its time to be joined', () => {
  beforeAll(() => makeProject())
  afterAll(removeProject)

  test('a source that changes while the bundle is made leaves no bundle of it', async () => {
    const file = join(project, 'src/cli/version.ts')
    const original = readFileSync(file, 'utf8')
    for (const waitedMs of [0, 10]) {
      rmSync(dist(), { recursive: true, force: true })
      const child = run('version')
      while (bundles().length === 0) await Bun.sleep(1)
      await Bun.sleep(waitedMs)
      writeFileSync(file, `${original}\nconsole.log('changed')\n`)
      await child.exited
      writeFileSync(file, original)
      // Where there is none, the next start has nothing to take for the program.
      if (bundles().length > 0) expect(await outputOf('version')).not.toContain('changed')
    }
    expect(await outputOf('version')).not.toContain('changed')
  })

  test('what is loaded late is there as well: both threads, prices, documents', async () => {
    writeFileSync(
      join(project, 'config.yaml'),
      'model_list:\n  - model_name: gpt-4o\n    proxy_params: { model: openai/gpt-4o, api_key: x, api_base: "http://127.0.0.1:9/v1" }\n',
    )
    const threads = [...new Glob('src/**/*-worker.ts').scanSync(project)].map(path => basename(path, '.ts'))
    await outputOf('version')
    expect(readdirSync(join(dist(), bundles()[0]!))).toEqual(expect.arrayContaining(threads.map(name => `${name}.js`)))
    const child = run(
      'serve',
      '--config',
      join(project, 'config.yaml'),
      '--data-dir',
      join(project, 'data'),
      '--port',
      '0',
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      void (async () => {
        for await (const piece of stream) output += new TextDecoder().decode(piece)
      })()
    for (let waitedMs = 0; !/serves \d+ models? on http/.test(output); waitedMs += 10) {
      if (waitedMs > 5000) throw new Error(output)
      await Bun.sleep(10)
    }
    const url = /serves \d+ models? on (http:[^\s)]+)/.exec(output)![1]!
    expect(programOf(child.pid)[1]).toBe(join(dist(), bundles()[0]!, 'main.js'))
    const call = (path: string, body: unknown) =>
      fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect(
      (
        await call('/v1/chat/completions', {
          model: 'local/simulated-chat',
          messages: [{ role: 'user', content: 'Hello' }],
        })
      ).status,
    ).toBe(200)
    expect(
      await (await call('/utils/token_counter', { model: 'gpt-4o-mini', prompt: 'hello world' })).json(),
    ).toMatchObject({ total_tokens: 2, tokenizer_type: 'openai_tokenizer' })
    const info = (await (
      await fetch(`${url}/v1/model/info`, { headers: { authorization: `Bearer ${masterKey}` } })
    ).json()) as { data: { model_name: string; model_info: { input_cost_per_token: number } }[] }
    expect(info.data.find(one => one.model_name === 'gpt-4o')?.model_info.input_cost_per_token).toBe(0.0000025)
    expect(await (await fetch(`${url}/docs`)).text()).toContain('swagger')
    const script = /src="([^"]+swagger-ui-bundle[^"]*)"/.exec(await (await fetch(`${url}/docs`)).text())![1]!
    expect((await fetch(new URL(script, url))).status).toBe(200)
    expect(await (await fetch(`${url}/openapi.json`)).json()).toHaveProperty('paths')
    for (let waitedMs = 0; ; waitedMs += 20) {
      const rows = (await (
        await fetch(`${url}/spend/logs/v2`, { headers: { authorization: `Bearer ${masterKey}` } })
      ).json()) as { data?: unknown[] } | unknown[]
      if ((Array.isArray(rows) ? rows : rows.data!).length > 0) break
      if (waitedMs > 5000) throw new Error('no row in the ledger')
      await Bun.sleep(20)
    }
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  })

  test.skipIf(!canUnshare)(
    'process 1 that is told to end while it makes the bundle ends',
    async () => {
      changeSource()
      const before = bundles()
      const child = Bun.spawn(
        [
          'unshare',
          '-p',
          '-f',
          '--mount-proc',
          'node',
          join(project, 'bin/modelgate.mjs'),
          'serve',
          '--port',
          '0',
          '--data-dir',
          join(project, 'data-1'),
        ],
        { cwd: project, env: environment(), stdout: 'ignore', stderr: 'ignore' },
      )
      for (let waitedMs = 0; bundles().every(name => before.includes(name)); waitedMs += 2) {
        if (waitedMs > 5000) throw new Error('no draft')
        await Bun.sleep(2)
      }
      const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')
      process.kill(Number(first), 'SIGTERM')
      const code = await Promise.race([child.exited, Bun.sleep(5000).then(() => 'still there')])
      if (code === 'still there') process.kill(Number(first), 'SIGKILL')
      expect(code).toBe(143)
    },
    30_000,
  )
})
