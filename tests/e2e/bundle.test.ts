/** `bin/program.mjs`: what `npm start` runs is one file, made anew whenever its sources changed, and complete. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')
const masterKey = `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`

let project: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'modelgate-bundle-'))
  for (const name of ['bin', 'src', 'simulator', 'package.json', 'package-lock.json']) cpSync(join(root, name), join(project, name), { recursive: true, preserveTimestamps: true })
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

const dist = () => join(project, 'dist')
const bundles = () => (existsSync(dist()) ? readdirSync(dist()).sort() : [])
let changes = 0
const changeSource = () => appendFileSync(join(project, 'src/main.ts'), `// change ${++changes}\n`)

function run(...words: string[]) {
  const env = { PATH: process.env.PATH!, HOME: project, MODELGATE_MASTER_KEY: masterKey, MODELGATE_DISCOVER: '0' }
  return Bun.spawn(['node', join(project, 'bin/modelgate.mjs'), ...words], { cwd: project, env, stdout: 'pipe', stderr: 'pipe' })
}

async function outputOf(...words: string[]): Promise<string> {
  const child = run(...words)
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect([await child.exited, error]).toEqual([0, ''])
  return out
}

/** The words of the process that Bun runs the program by. */
function programOf(launcherPid: number): string[] {
  const words = (pid: number | string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const children = readFileSync(`/proc/${launcherPid}/task/${launcherPid}/children`, 'utf8').trim()
  return words(children === '' ? launcherPid : children.split(' ')[0]!)
}

test('the first command makes the bundle, the next one finds it, a change of the sources makes another', async () => {
  const version = await outputOf('version')
  const [first] = bundles()
  expect([version.startsWith('modelgate '), bundles().length]).toEqual([true, 1])
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
}, 30_000)

test('many that start at once share one bundle, and nobody sees half of it', async () => {
  changeSource()
  const before = bundles()
  const versions = await Promise.all(Array.from({ length: 6 }, () => outputOf('version')))
  expect(new Set(versions).size).toBe(1)
  expect(bundles().filter(name => !before.includes(name))).toHaveLength(1)
}, 30_000)

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
  expect([await new Response(child.stderr).text(), await child.exited]).toEqual([expect.stringContaining('version.ts'), 1])
  writeFileSync(join(project, 'src/cli/version.ts'), help)
  expect([bundles(), await outputOf('version')]).toEqual([[], expect.stringContaining('modelgate ')])
}, 30_000)

test('what is loaded late is there as well: both threads, prices, documents', async () => {
  writeFileSync(join(project, 'config.yaml'), 'model_list:\n  - model_name: gpt-4o\n    proxy_params: { model: openai/gpt-4o, api_key: x, api_base: "http://127.0.0.1:9/v1" }\n')
  const child = run('serve', '--config', join(project, 'config.yaml'), '--data-dir', join(project, 'data'), '--port', '0')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) void (async () => { for await (const piece of stream) output += new TextDecoder().decode(piece) })()
  for (let waitedMs = 0; !/serves \d+ models? on http/.test(output); waitedMs += 10) {
    if (waitedMs > 5000) throw new Error(output)
    await Bun.sleep(10)
  }
  const url = /serves \d+ models? on (http:[^\s)]+)/.exec(output)![1]!
  expect(programOf(child.pid)[1]).toBe(join(dist(), bundles()[0]!, 'main.js'))
  const call = (path: string, body: unknown) =>
    fetch(url + path, { method: 'POST', headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' }, body: JSON.stringify(body) })
  expect((await call('/v1/chat/completions', { model: 'local/simulated-chat', messages: [{ role: 'user', content: 'Hello' }] })).status).toBe(200)
  expect(await (await call('/utils/token_counter', { model: 'gpt-4o-mini', prompt: 'hello world' })).json()).toMatchObject({ total_tokens: 2, tokenizer_type: 'openai_tokenizer' })
  const info = (await (await fetch(`${url}/v1/model/info`, { headers: { authorization: `Bearer ${masterKey}` } })).json()) as { data: { model_name: string; model_info: { input_cost_per_token: number } }[] }
  expect(info.data.find(one => one.model_name === 'gpt-4o')?.model_info.input_cost_per_token).toBe(0.0000025)
  expect(await (await fetch(`${url}/docs`)).text()).toContain('swagger')
  const script = /src="([^"]+swagger-ui-bundle[^"]*)"/.exec(await (await fetch(`${url}/docs`)).text())![1]!
  expect((await fetch(new URL(script, url))).status).toBe(200)
  expect(await (await fetch(`${url}/openapi.json`)).json()).toHaveProperty('paths')
  for (let waitedMs = 0; ; waitedMs += 20) {
    const rows = (await (await fetch(`${url}/spend/logs`, { headers: { authorization: `Bearer ${masterKey}` } })).json()) as { data?: unknown[] } | unknown[]
    if ((Array.isArray(rows) ? rows : rows.data!).length > 0) break
    if (waitedMs > 5000) throw new Error('no row in the ledger')
    await Bun.sleep(20)
  }
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
}, 30_000)
