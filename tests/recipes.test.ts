/**
 * CONTRIBUTING.md's recipes for a provider row, a policy, an endpoint, a page, a field of a key and a
 * configuration key, followed to the letter in a copy of the sources.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSimulator } from '../simulator/index.ts'
import type { Simulator } from '../simulator/index.ts'

const root = join(import.meta.dir, '..')
const masterKey = 'sk-master-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ'
/** Copying, bundling and starting, on a loaded machine. */
const startMsMax = 60_000

/** The code blocks of CONTRIBUTING.md by the file that their first line names. */
const recipes = new Map(
  [
    ...readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').matchAll(/^```tsx?\n\/\/ ([^\s,]+).*\n([\s\S]*?)^```$/gm),
  ].map(([, file, code]) => [file!, code!]),
)

let simulator: Simulator
let project: string
let gateway: { url: string; stop(): Promise<void> }

beforeAll(async () => {
  simulator = await startSimulator()
  project = mkdtempSync(join(tmpdir(), 'modelgate-recipes-'))
  for (const name of ['bin', 'src', 'rules', 'simulator', 'web', 'package.json', 'tsconfig.json'])
    cpSync(join(root, name), join(project, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  addProvider()
  addPolicy()
  addEndpoint()
  addField()
  addKey()
  addPage()
  gateway = await startGateway()
}, startMsMax)
afterAll(async () => {
  await gateway?.stop()
  await simulator?.stop()
  if (project) rmSync(project, { recursive: true, force: true })
})

/** One row more in one file; its address is the simulator's. */
function addProvider(): void {
  const row = recipes.get('src/providers/catalog.ts')!
  expect(row).toContain('https://api.example.com/v1')
  const address = `${simulator.url.replace(/\/$/, '')}/v1`
  insertAfter(
    'src/providers/catalog.ts',
    /^export const catalog = \{\n/m,
    row.replace('https://api.example.com/v1', address),
  )
}

/** One file, and one line with its import. */
function addPolicy(): void {
  const policy = 'src/policies/reject-model.ts'
  writeFileSync(join(project, policy), recipes.get(policy)!)
  const index = 'src/policies/index.ts'
  insertAfter(index, /^ +modelAccess\(.*\),\n/m, recipes.get(index)!)
  insertAfter(index, /^import \{ modelAccess \}.*\n/m, "import { rejectModel } from './reject-model.ts'\n")
}

/** One file, and one line with its import. */
function addEndpoint(): void {
  const endpoint = 'src/endpoints/operation/model-count.ts'
  writeFileSync(join(project, endpoint), recipes.get(endpoint)!)
  const group = 'src/endpoints/lazy/operation.ts'
  insertAfter(group, /^export const endpoints.* = \[\n/m, recipes.get(group)!)
  insertAfter(group, /^import \{ modelHealth \}.*\n/m, "import { modelCount } from '../operation/model-count.ts'\n")
}

/** One line, and the step that makes its column. */
function addField(): void {
  const table = 'src/core/tenancy/field-tables.ts'
  insertAfter(table, /^export const keyFields = \{\n/m, recipes.get(table)!)
  const steps = 'src/store/database/migrations.ts'
  insertAfter(steps, /^export const migrations: .*\n(?: .*\n)+/m, recipes.get(steps)!)
}

/** A declaration and a line of its reader, both in one file, and what uses the setting. */
function addKey(): void {
  const section = 'src/config/sections/limits.ts'
  insertAfter(section, /^export const limitKeys = .*\{\n/m, recipes.get(section)!)
  insertAfter(section, /^ {4}keysPerUser: .*\n/m, recipes.get(`${section}:limitSettingsOf`)!)
  const settings = 'src/core/settings.ts'
  insertAfter(settings, /^export interface Settings \{\n/m, recipes.get(settings)!)
  const user = 'src/policies/model-access.ts'
  insertAfter(user, /^ +const \{ models \} = call\n/m, recipes.get(user)!)
}

/** Two files; the pages are built with them before the gateway starts. */
function addPage(): void {
  for (const file of ['web/pages/notes.page.ts', 'web/pages/notes.tsx'])
    writeFileSync(join(project, file), recipes.get(file)!)
  const { exitCode, stderr } = Bun.spawnSync(['node', join(project, 'bin/web.mjs')], {
    cwd: project,
    env: { PATH: process.env.PATH },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  if (exitCode !== 0) throw new Error(`the pages were not built: ${stderr.toString()}`)
}

function insertAfter(file: string, place: RegExp, text: string): void {
  const path = join(project, file)
  const before = readFileSync(path, 'utf8')
  const found = place.exec(before)
  if (!found) throw new Error(`${file} has no ${place}: the recipe in CONTRIBUTING.md does not fit any more`)
  const at = found.index + found[0].length
  writeFileSync(path, before.slice(0, at) + text + before.slice(at))
}

async function startGateway() {
  const config = join(project, 'config.yaml')
  const params = 'proxy_params: { model: example_host/sim-chat }'
  writeFileSync(
    config,
    `model_list:\n  - { model_name: allowed-model, ${params} }\n  - { model_name: forbidden-model, ${params} }\n` +
      'general_settings:\n  longest_model_name: 40\n',
  )
  const child = Bun.spawn(
    ['node', join(project, 'bin/modelgate.mjs'), 'serve', '--config', config, '--port', '0', '--data-dir', 'data'],
    {
      cwd: project,
      env: { PATH: process.env.PATH, MODELGATE_MASTER_KEY: masterKey, EXAMPLE_HOST_API_KEY: 'key-of-the-row' },
      stdout: 'ignore',
      stderr: 'pipe',
    },
  )
  let said = ''
  for await (const piece of child.stderr) {
    said += new TextDecoder().decode(piece)
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
    if (url === undefined) continue
    const stop = async () => {
      child.kill()
      await child.exited
    }
    return { url, stop }
  }
  throw new Error(`the gateway did not start: ${said}`)
}

async function ask(path: string, body?: object) {
  const response = await fetch(`${gateway.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

const chat = (model: string) =>
  ask('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'say: from the new row' }] })

test('a row in the catalogue is a provider that can be called', async () => {
  const { status, body } = await chat('allowed-model')
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { choices: [{ message: { content: 'from the new row' } }] },
  })
  expect(simulator.truth.entries.at(-1)).toMatchObject({ model: 'sim-chat' })
})

test('a file and a line are a policy that refuses before anything is sent', async () => {
  const sent = simulator.truth.entries.length
  expect(await chat('forbidden-model')).toMatchObject({
    status: 403,
    body: { error: { message: "the model 'forbidden-model' is not offered", code: 'model_not_allowed' } },
  })
  expect(simulator.truth.entries).toHaveLength(sent)
})

test('a file and a line are an endpoint that is served and in the API document', async () => {
  expect((await ask('/model/count')).body).toEqual({ count: expect.any(Number) })
  expect((await ask('/openapi.json')).body).toMatchObject({
    paths: { '/model/count': { get: { operationId: 'countModels' } } },
    components: { schemas: { ModelCount: { properties: { count: { type: 'integer' } } } } },
  })
})

test('two files are a page with an address, in the navigation, in both languages', async () => {
  const get = async (path: string) => (await fetch(`${gateway.url}/ui/${path}`)).text()
  const html = await get('notes')
  const [entry] = /assets\/first-[\w-]+\.js/.exec(html)!
  const file = /assets\/notes-[\w-]+\.js/.exec(html)![0]
  const [first, own] = [await get(entry!), await get(file)]
  const missing = (text: string, parts: readonly string[]) => parts.filter(part => !text.includes(part))
  // The router and the navigation are in the first file; the page has a file of its own, with its texts.
  expect(missing(first, ['pages/notes.page.ts', file.replace('assets/', './'), '`Notes`', '`Notizen`'])).toEqual([])
  const texts = ['There are no notes yet', 'Es gibt noch keine Notizen']
  expect(missing(own, texts)).toEqual([])
  expect(missing(first, texts)).toEqual(texts)
  expect(readdirSync(join(project, 'web/pages')).filter(name => name.startsWith('notes'))).toHaveLength(2)
})

test('a line and a step are a field that keys are made with, show, change and audit', async () => {
  const made = await ask('/key/generate', { key_alias: 'noted', notes: 'Ask the team before it is changed.' })
  expect(made).toMatchObject({ status: 200, body: { notes: 'Ask the team before it is changed.' } })
  const { token_id: id } = made.body
  const shown = async () => (await ask(`/key/info?key=${id}`)).body.info
  expect(await shown()).toMatchObject({ key_alias: 'noted', notes: 'Ask the team before it is changed.' })
  expect(await ask('/key/update', { key: id, notes: 7 })).toMatchObject({ status: 422 })
  expect(await ask('/key/update', { key: id, notes: null })).toMatchObject({ status: 200, body: { notes: null } })
  expect(await shown()).toMatchObject({ key_alias: 'noted', notes: null })
  const { audit_logs: changes } = (await ask(`/audit?object_id=${id}&action=updated`)).body
  expect(changes).toMatchObject([
    { before_value: { notes: 'Ask the team before it is changed.' }, updated_values: { notes: null } },
  ])
  const { paths, components } = (await ask('/openapi.json')).body
  const description = 'What people should know about the key.'
  expect(paths['/key/generate'].post.requestBody.content['application/json'].schema.properties.notes).toMatchObject({
    description,
  })
  expect(components.schemas.Key.properties.notes).toEqual({ type: ['string', 'null'], description })
})

test('a declaration is a key that is checked, shown, in the schema for editors, and used', async () => {
  const sent = simulator.truth.entries.length
  expect(await chat('a'.repeat(41))).toMatchObject({
    status: 400,
    body: { error: { message: 'the name of the model is too long', param: 'model' } },
  })
  expect(simulator.truth.entries).toHaveLength(sent)
  const description = 'How many characters the name of the model of a call may have.'
  const { values } = (await ask('/config/effective')).body
  const key = 'general_settings.longest_model_name'
  expect(values.find((one: { key: string }) => one.key === key)).toMatchObject({
    group: 'limits',
    value: 40,
    source: 'file',
    where: expect.stringMatching(/config\.yaml:5$/),
    description,
  })
  const schema = JSON.parse((await run('config', 'schema')).said)
  expect(schema.properties.general_settings.properties.longest_model_name).toMatchObject({
    type: 'integer',
    description,
    default: 200,
    examples: [200],
  })
  expect((await run('config', 'print', '--effective')).said).toContain('longest_model_name: 200')
  writeFileSync(join(project, 'wrong.yaml'), 'general_settings:\n  longest_model_name: long\n')
  expect(await run('check', 'wrong.yaml')).toMatchObject({
    code: 1,
    said: expect.stringContaining('wrong.yaml:2:23 general_settings.longest_model_name: must be a number; got "long"'),
  })
})

/** A command of the changed program, without a configuration file of its own. */
async function run(...words: string[]): Promise<{ code: number; said: string }> {
  const child = Bun.spawn(['node', join(project, 'bin/modelgate.mjs'), ...words], {
    cwd: project,
    env: { PATH: process.env.PATH },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, said: said.join('') }
}
