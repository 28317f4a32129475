/** `npm run package`: what is installed where the gateway runs is small, whole, and needs Bun alone. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { startGatewayProcess } from './support/gateway-process.ts'

const root = join(import.meta.dir, '..')
const installed = mkdtempSync(join(tmpdir(), 'modelgate-package-'))
const folder = join(installed, 'node_modules/modelgate')
const launcher = join(folder, 'bin/modelgate.mjs')
const makeMsMax = 180_000
/** The bar of an installation, Bun included. */
const installedBytesMax = 130_000_000

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  const made = Bun.spawnSync([process.execPath, join(root, 'scripts/package.ts'), folder], { cwd: root })
  if (!made.success) throw new Error(made.stderr.toString())
  const { dependencies } = readManifest()
  // As npm installs what it depends on: Bun, and with it the binary for this platform.
  for (const name of [...Object.keys(dependencies), '@oven'])
    symlinkSync(realpathSync(join(root, 'node_modules', name)), join(installed, 'node_modules', name))
}, makeMsMax)
afterAll(() => rmSync(installed, { recursive: true, force: true }))

const readManifest = () =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
    scripts?: object
    bin: Record<string, string>
  }

function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
}

const bytesOf = (files: readonly string[]) => files.reduce((sum, file) => sum + statSync(file).size, 0)

test('it holds the program, its launcher, its documents, and nothing else', () => {
  const allowed =
    /^(package\.json|README\.md|LICENSE|NOTICE|CHANGELOG\.md|bin\/[\w-]+\.(mjs|json|toml)|program\/(web\/(assets\/)?)?[\w.-]+|docs\/[\w-]+\.md|examples\/[\w.-]+|deploy\/\w[\w./-]*)$/
  const files = filesBelow(folder).map(file => file.slice(folder.length + 1))
  expect(files.filter(file => !allowed.test(file))).toEqual([])
  expect(files).toEqual(expect.arrayContaining(['program/main.js', 'program/web/index.html', 'program/web/files.json']))
  const notes = readFileSync(join(folder, 'program/LICENSES.txt'), 'utf8')
  for (const name of Object.keys(packageJson.dependencies)) if (name !== 'bun') expect(notes).toContain(`${name}\n`)
})

test('an installation has at most 130 MB and runs no script', () => {
  const { dependencies, scripts, bin } = readManifest()
  expect(dependencies).toEqual({ bun: packageJson.dependencies.bun })
  expect([scripts, bin]).toEqual([undefined, packageJson.bin])
  const [binary] = readdirSync(join(root, 'node_modules/@oven')).map(name => join(root, 'node_modules/@oven', name))
  const bytes = bytesOf([...filesBelow(folder), ...filesBelow(join(root, 'node_modules/bun')), ...filesBelow(binary!)])
  expect(bytes).toBeLessThan(installedBytesMax)
})

/** A question about a file of `tests/data/files/readable`, for the guardrail that reads it. */
function askAbout(name: string): object {
  const bytes = readFileSync(join(root, 'tests/data/files/readable', name))
  const file = { filename: name, file_data: `data:application/pdf;base64,${bytes.toString('base64')}` }
  return { messages: [{ role: 'user', content: [{ type: 'file', file }] }], guardrails: ['words'] }
}

test(
  'it serves without any other package: a call, its row, a PDF that is read, exact token counts, documentation, pages',
  async () => {
    const config = `model_list:
  - { model_name: sim, proxy_params: { model: local/simulated-chat } }
  - { model_name: counted, proxy_params: { model: openai/gpt-4o, api_key: none } }
guardrails:
  - { guardrail_name: words, litellm_params: { guardrail: words, mode: pre_call, words: [zanzibar], unreadable_files: block } }
`
    const gateway = await startGatewayProcess(config, {}, [], ['node', launcher])
    try {
      const ask = { model: 'sim', messages: [{ role: 'user', content: 'hello' }] }
      expect((await gateway.admin('/v1/chat/completions', ask)).status).toBe(200)
      const asked = await gateway.admin('/v1/chat/completions', { ...askAbout('reportlab-plain.pdf'), model: 'sim' })
      expect([asked.status, await asked.text()]).toEqual([400, expect.stringContaining('it holds WORD')])
      const counted = await gateway.admin('/utils/token_counter', { model: 'counted', prompt: 'hello world' })
      expect(await counted.json()).toMatchObject({ total_tokens: 2 })
      for (const part of ['swagger-ui.css', 'swagger-ui-bundle.js'])
        expect(await (await fetch(`${gateway.url}/docs/${part}`)).text()).toContain('swagger-ui')
      const page = await (await fetch(`${gateway.url}/ui/`)).text()
      expect(page).toContain('<base href="./">')
      const [, script] = /src="\.\/(assets\/first-[^"]+\.js)"/.exec(page)!
      const forms = ['identity', 'gzip', 'br'].map(async encoding => {
        const answer = await fetch(`${gateway.url}/ui/${script}`, { headers: { 'accept-encoding': encoding } })
        return [answer.status, (await answer.text()).length > 10_000]
      })
      expect(await Promise.all(forms)).toEqual([
        [200, true],
        [200, true],
        [200, true],
      ])
      const icon = await fetch(`${gateway.url}/ui/icon.svg`, { headers: { 'accept-encoding': 'identity' } })
      expect(await icon.text()).toStartWith('<svg')
      const rows = async () =>
        ((await (await gateway.admin('/spend/logs/v2')).json()) as { data: { model: string }[] }).data.map(
          row => row.model,
        )
      const untilMs = performance.now() + 10_000
      while (!(await rows()).includes('sim') && performance.now() < untilMs) await Bun.sleep(50)
      expect(await rows()).toContain('sim')
    } finally {
      await gateway.stop()
    }
  },
  makeMsMax,
)

/** Its output: of a gateway that serves, which is ended then, or of one that says why it does not. */
async function outputOf(...words: string[]): Promise<string> {
  const child = Bun.spawn(['node', launcher, ...words], {
    cwd: installed,
    env: { PATH: process.env.PATH!, HOME: installed, MODELGATE_DISCOVER: '0' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let output = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const piece of stream) if ((output += new TextDecoder().decode(piece)).includes(' serves ')) child.kill()
  }
  await Promise.all([read(child.stdout), read(child.stderr)])
  await child.exited
  return output
}

test(
  'the folder of the caller has no say; a .env beside the program does',
  async () => {
    // All of these Bun would take, from the folder it is called in.
    writeFileSync(join(installed, 'strange.ts'), "console.log('a stranger')\nexport const z = {}\nexport default {}\n")
    writeFileSync(join(installed, 'bunfig.toml'), 'preload = ["./strange.ts"]\n')
    const paths = { compilerOptions: { baseUrl: '.', paths: { '*': ['./strange.ts'] } } }
    writeFileSync(join(installed, 'tsconfig.json'), JSON.stringify(paths))
    writeFileSync(join(installed, '.env'), 'MODELGATE_MASTER_KEY=short\n')
    expect(await outputOf('version')).toMatch(/^modelgate \S+ \(bun \S+\)\n$/)
    const serve = ['serve', '--port', '0', '--data-dir', join(installed, 'data')]
    expect(await outputOf(...serve)).toContain(' serves ')
    writeFileSync(join(folder, '.env'), 'MODELGATE_MASTER_KEY=short\n')
    expect(await outputOf(...serve)).toContain('the master key is shorter')
  },
  makeMsMax,
)

test('npm says nothing of versions of Node: packages run on Bun, and Node >= 20 starts it', () => {
  expect(packageJson.engines.node).toBe('>=20')
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('Requires Node >= 20 and npm')
  const { stdout } = Bun.spawnSync(['npm', 'config', 'get', 'loglevel'], {
    cwd: root,
    env: { PATH: process.env.PATH!, HOME: installed },
  })
  expect(stdout.toString().trim()).toBe('error')
})
