/** `bin/*.mjs`: finds Bun whether or not npm was allowed to run install scripts, and stands in for it exactly. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }

const root = join(import.meta.dir, '../..')
/** What npm names the platform's package that this test runs on. */
const platformPackage = /@oven\/([^/]+)\//.exec(process.execPath)?.[1]
const usual = `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-launcher-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let project: string
let projects = 0
beforeEach(() => {
  project = join(folder, `project-${++projects}`)
  mkdirSync(project)
  cpSync(join(root, 'bin'), join(project, 'bin'), { recursive: true })
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

function addPackage(name: string, file: string, make: (path: string) => void): void {
  const directory = join(project, 'node_modules', name)
  mkdirSync(join(directory, 'bin'), { recursive: true })
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name, version: '0.0.0' }))
  make(join(directory, 'bin', file))
}
const realBun = (path: string) => symlinkSync(process.execPath, path)
/** As npm leaves it while install scripts are blocked. */
const stub = (path: string) =>
  writeFileSync(path, 'echo "Error: Bun\'s postinstall script was not run." >&2\nexit 1\n', { mode: 0o755 })

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

async function node(words: readonly string[], environment: Record<string, string> = {}, cwd = project): Promise<Ended> {
  const child = Bun.spawn(['node', ...words], {
    cwd,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH!, HOME: folder, ...environment },
  })
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  await child.exited
  return { code: child.exitCode, out, error }
}
const found = async () =>
  (
    await node([
      '--input-type=module',
      '-e',
      "import('./bin/bun.mjs').then(({ findBun }) => process.stdout.write(String(findBun())))",
    ])
  ).out

test('install scripts blocked: the platform package has the binary, `bun` only a stub', async () => {
  addPackage('bun', 'bun.exe', stub)
  addPackage(usual, 'bun', realBun)
  expect(await found()).toBe(join(project, 'node_modules', usual, 'bin/bun'))
  expect((await node(['bin/bun.mjs', '-e', 'console.log(1 + 1)'])).out).toBe('2\n')
})

test('install scripts allowed: the binary was moved into `bun`, the platform package is empty or gone', async () => {
  addPackage('bun', 'bun.exe', realBun)
  const moved = join(project, 'node_modules/bun/bin/bun.exe')
  expect(await found()).toBe(moved)
  addPackage(usual, 'bun', () => {})
  expect(await found()).toBe(moved)
  expect((await node(['bin/bun.mjs', '-e', 'console.log(1 + 1)'])).out).toBe('2\n')
})

test('the baseline package will do', async () => {
  addPackage(`${usual}-baseline`, 'bun', realBun)
  expect(await found()).toEndWith(`${usual}-baseline/bin/bun`)
})

test('no Bun, or only the stub: the remedy and exit code 1', async () => {
  for (const add of [() => {}, () => addPackage('bun', 'bun.exe', stub)]) {
    add()
    const { code, out, error } = await node(['bin/modelgate.mjs', 'version'])
    expect([code, out]).toEqual([1, ''])
    expect(error).toContain('run `npm ci`')
  }
})

test('this very installation is found by the launcher', async () => {
  const { code, out } = await node(['bin/modelgate.mjs', 'version'], {}, root)
  expect([code, out]).toEqual([0, `modelgate ${packageJson.version} (bun ${Bun.version})\n`])
  if (platformPackage !== undefined)
    expect(usual === `@oven/${platformPackage}` || platformPackage.includes('musl')).toBe(true)
})

test('from any folder and by a link, as npm puts it into a path', async () => {
  const link = join(project, 'modelgate')
  symlinkSync(join(root, 'bin/modelgate.mjs'), link)
  expect((await node([link, 'version'], {}, folder)).out).toStartWith('modelgate ')
})

test('compilers wait while a gateway starts, unless the environment says something else; for commands they do not', async () => {
  addPackage(usual, 'bun', realBun)
  mkdirSync(join(project, 'program'))
  const print = 'console.log(process.env.BUN_JSC_startupJITDeferralScale)'
  writeFileSync(join(project, 'program/main.js'), print)
  const said = async (command: string, environment: Record<string, string> = {}) =>
    (await node(['bin/modelgate.mjs', command], { MODELGATE_WEB_DIRECTORY: project, ...environment })).out.trim()
  expect(await Promise.all([said('serve'), said('keys')])).toEqual(['30', 'undefined'])
  expect(await said('serve', { BUN_JSC_startupJITDeferralScale: '2' })).toBe('2')
})

test('arguments, exit codes and the environment go through', async () => {
  addPackage(usual, 'bun', realBun)
  writeFileSync(
    join(project, 'x.ts'),
    'console.log(JSON.stringify([process.argv.slice(2), process.env.BUN_CONFIG_MAX_HTTP_REQUESTS, process.env.MINE])); process.exit(7)',
  )
  const { code, out } = await node(['bin/bun.mjs', 'x.ts', '--flag', 'a b', ''], { MINE: 'yes' })
  expect([code, JSON.parse(out)]).toEqual([7, [['--flag', 'a b', ''], '5000', 'yes']])
  const given = await node(['bin/bun.mjs', 'x.ts'], { BUN_CONFIG_MAX_HTTP_REQUESTS: '9' })
  expect(JSON.parse(given.out)[1]).toBe('9')
})

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  test(`${signal} to the launcher reaches Bun, and its exit code comes back`, async () => {
    addPackage(usual, 'bun', realBun)
    writeFileSync(
      join(project, 'x.ts'),
      `process.on('${signal}', () => process.exit(9)); setInterval(() => {}, 1000); console.log('up')`,
    )
    const child = Bun.spawn(['node', 'bin/bun.mjs', 'x.ts'], { cwd: project, stdout: 'pipe' })
    await child.stdout.getReader().read()
    child.kill(signal)
    await child.exited
    expect([child.exitCode, child.signalCode]).toEqual([9, null])
  })

test('a Bun that dies by a signal takes the launcher with it by the same signal', async () => {
  addPackage(usual, 'bun', realBun)
  const child = Bun.spawn(
    ['node', 'bin/bun.mjs', '-e', "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)"],
    { cwd: project },
  )
  await child.exited
  expect(child.signalCode).toBe('SIGTERM')
})

test('kill -9 of the launcher takes Bun with it', async () => {
  const child = Bun.spawn(['node', join(root, 'bin/modelgate.mjs'), 'simulate', '--port', '0'], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH!, HOME: folder },
  })
  const { value } = await Promise.race([child.stdout.getReader().read(), child.stderr.getReader().read()])
  const [url] = /http:\/\/[\d.]+:\d+/.exec(new TextDecoder().decode(value)) ?? []
  const answers = () =>
    fetch(url!).then(
      () => true,
      () => false,
    )
  expect(await answers()).toBe(true)
  child.kill('SIGKILL')
  await child.exited
  for (const untilMs = performance.now() + 10_000; await answers(); await Bun.sleep(50))
    if (performance.now() > untilMs) throw new Error('Bun still serves ten seconds after its launcher was killed')
})
