/** Settings follow their file, and local model servers if no file lists models. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Provider } from '../core/provider.ts'
import { providers } from '../providers/index.ts'
import type { ReloadReport } from './serve-options.ts'
import { ConfigError, openSettings } from './settings-source.ts'
import type { SettingsSource } from './settings-source.ts'

let folder: string
let file: string
const open: SettingsSource[] = []
const params = '{ model: custom_openai/x, api_base: "http://127.0.0.1:1/v1" }'
const listOf = (...names: string[]) =>
  `model_list:\n${names.map(name => `  - { model_name: ${name}, proxy_params: ${params} }\n`).join('')}`

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-settings-'))
  file = join(folder, 'config.yaml')
})
afterEach(() => {
  for (const source of open.splice(0)) source.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Wish {
  readonly configFile?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly from?: ReadonlyMap<string, Provider>
  readonly discoverEveryMs?: number
  readonly leavesOut?: boolean
}

async function openSource({
  configFile,
  environment = { MODELGATE_DISCOVER: '0' },
  from = providers,
  ...others
}: Wish = {}): Promise<SettingsSource> {
  const source = await openSettings({ configFile, environment, providers: from, ...others })
  open.push(source)
  return source
}

const names = (source: SettingsSource) =>
  source
    .current()
    .deployments.filter(one => one.origin.kind !== 'built-in')
    .map(one => one.modelName)

/** The next reports of a watched source, one at a time. */
function reports(source: SettingsSource): () => Promise<ReloadReport> {
  const seen: ReloadReport[] = []
  source.watch(report => seen.push(report))
  return async () => {
    for (let turn = 0; turn < 250 && seen.length === 0; turn++) await Bun.sleep(20)
    const [report] = seen.splice(0, 1)
    if (!report) throw new Error('nothing was reported within 5 s')
    return report
  }
}

test('a broken entry is left out at the start; a change that breaks one more is not applied', async () => {
  const broken = (name: string) => `  - { model_name: ${name}, proxy_params: { model: nowhere/x } }\n`
  writeFileSync(file, listOf('a', 'b') + broken('c'))
  const source = await openSource({ configFile: file, leavesOut: true })
  expect(names(source)).toEqual(['a', 'b'])
  expect(source.current().leftOut).toEqual([expect.stringContaining(`${file}:4:`)])
  writeFileSync(file, listOf('a') + broken('b') + broken('c'))
  expect(await source.reload()).toMatchObject({ applied: false, problems: [expect.any(String), expect.any(String)] })
  expect(names(source)).toEqual(['a', 'b'])
  writeFileSync(file, `model_list:\n${broken('c')}${listOf('a', 'd').replace('model_list:\n', '')}`)
  expect((await source.reload()).applied).toBe(true)
  expect(names(source)).toEqual(['a', 'd'])
  writeFileSync(file, listOf('a', 'c'))
  await source.reload()
  expect([names(source), source.current().leftOut]).toEqual([['a', 'c'], undefined])
})

test('the first reading reports every mistake with its line', async () => {
  writeFileSync(
    file,
    'model_list:\n  - model_name: a\n    proxy_params: { model: nobody/x }\n  - model_name: b\n    proxy_params: { ' +
      'model: 5 }\n',
  )
  let thrown: unknown
  try {
    await openSource({ configFile: file })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(ConfigError)
  expect((thrown as ConfigError).message).toContain(`${file}:5:`)
  await expect(openSource({ configFile: join(folder, 'missing.yaml') })).rejects.toThrow('no such file')
})

test('a reload applies the whole file or nothing', async () => {
  writeFileSync(file, listOf('a'))
  const source = await openSource({ configFile: file })
  const before = source.current()
  writeFileSync(file, `${listOf('a', 'b')}unknown_section: 1\n`)
  const refused = await source.reload()
  expect(refused.applied).toBe(false)
  expect(refused.problems.join()).toContain('unknown_section')
  expect(source.current()).toBe(before)
  writeFileSync(file, listOf('a', 'b'))
  expect(await source.reload()).toEqual({ applied: true, problems: [] })
  expect(names(source)).toEqual(['a', 'b'])
  rmSync(file)
  expect((await source.reload()).problems[0]).toContain('no such file')
  expect(names(source)).toEqual(['a', 'b'])
})

test('a change is noticed when the file is written, replaced or linked again', async () => {
  writeFileSync(file, listOf('a'))
  const source = await openSource({ configFile: file })
  const next = reports(source)
  writeFileSync(file, listOf('a', 'b'))
  expect(await next()).toEqual({ applied: true, problems: [] })
  expect(names(source)).toEqual(['a', 'b'])
  // As editors do.
  writeFileSync(`${file}.new`, listOf('c'))
  renameSync(`${file}.new`, file)
  expect((await next()).applied).toBe(true)
  expect(names(source)).toEqual(['c'])
  writeFileSync(file, 'model_list: 7\n')
  expect((await next()).applied).toBe(false)
  expect(names(source)).toEqual(['c'])
})

test('a Kubernetes config map is followed: the file is a link into a replaced directory', async () => {
  for (const [version, name] of [
    ['1', 'a'],
    ['2', 'b'],
  ] as const) {
    mkdirSync(join(folder, `..${version}`))
    writeFileSync(join(folder, `..${version}`, 'config.yaml'), listOf(name))
  }
  symlinkSync('..1', join(folder, '..data'))
  symlinkSync('..data/config.yaml', file)
  const source = await openSource({ configFile: file })
  const next = reports(source)
  expect(names(source)).toEqual(['a'])
  symlinkSync('..2', join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  expect((await next()).applied).toBe(true)
  expect(names(source)).toEqual(['b'])
})

test('other files and a write of the same text change nothing', async () => {
  writeFileSync(file, listOf('a'))
  const source = await openSource({ configFile: file })
  const seen: ReloadReport[] = []
  source.watch(report => seen.push(report))
  const before = source.current()
  writeFileSync(join(folder, 'other.yaml'), 'x')
  writeFileSync(file, listOf('a'))
  await Bun.sleep(300)
  expect(seen).toEqual([])
  source.close()
  writeFileSync(file, listOf('b'))
  await Bun.sleep(300)
  expect(seen).toEqual([])
  expect(source.current()).toBe(before)
})

test('a file that is briefly empty, as during a copy, removes no model', async () => {
  writeFileSync(file, listOf('a'))
  const source = await openSource({ configFile: file })
  const next = reports(source)
  writeFileSync(file, '')
  const refused = await next()
  expect([refused.applied, refused.problems]).toEqual([false, [expect.stringContaining('the file is empty')]])
  expect(names(source)).toEqual(['a'])
  writeFileSync(file, '# being written\n')
  expect((await next()).applied).toBe(false)
  writeFileSync(file, listOf('a', 'b'))
  expect((await next()).applied).toBe(true)
  expect(names(source)).toEqual(['a', 'b'])
  writeFileSync(file, 'model_list: []\n')
  expect((await next()).applied).toBe(true)
  expect(names(source)).toEqual([])
})

test('a file that is written in pieces is read when the last one has come', async () => {
  writeFileSync(file, listOf('a'))
  const source = await openSource({ configFile: file })
  const seen: ReloadReport[] = []
  source.watch(report => seen.push(report))
  for (let count = 1; count <= 8; count++) {
    writeFileSync(file, listOf(...Array.from({ length: count }, (_, at) => `m${at}`)))
    await Bun.sleep(20)
  }
  for (let turn = 0; turn < 100 && seen.length === 0; turn++) await Bun.sleep(20)
  await Bun.sleep(150)
  expect(seen).toEqual([{ applied: true, problems: [] }])
  expect(names(source).length).toBe(8)
})

test('changed start-only settings are reported, unless the environment overrides them', async () => {
  const withSettings = (key: string, database: string) =>
    writeFileSync(file, `${listOf('a')}general_settings: { master_key: ${key}, database_url: "${database}" }\n`)
  const [one, two] = ['sk-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJab', 'sk-8xQ2wE5rT7yU9iO1pA3sD4fG6hJ0kLcd']
  withSettings(one, 'sqlite:a.db')
  const source = await openSource({ configFile: file })
  const withDatabase = await openSource({
    configFile: file,
    environment: { MODELGATE_DISCOVER: '0', DATABASE_URL: 'sqlite:c.db' },
  })
  expect(await source.reload()).toEqual({ applied: true, problems: [] })
  withSettings(two, 'sqlite:b.db')
  for (let round = 0; round < 2; round++)
    expect((await source.reload()).atNextStart).toEqual([
      'general_settings.master_key',
      'general_settings.database_url',
    ])
  expect((await withDatabase.reload()).atNextStart).toEqual(['general_settings.master_key'])
  withSettings(one, 'sqlite:a.db')
  expect(await source.reload()).toEqual({ applied: true, problems: [] })
  writeFileSync(file, listOf('a'))
  expect((await source.reload()).atNextStart?.length).toBe(2)
})

/** A model server on loopback whose list the test changes. */
function modelServer() {
  let listed = ['one']
  let asked = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      asked++
      return Response.json({ object: 'list', data: listed.map(id => ({ id })) })
    },
  })
  const from = new Map<string, Provider>(providers)
  for (const name of ['ollama', 'lm_studio', 'llamafile'])
    from.set(name, { ...providers.get(name)!, defaultBaseUrl: 'http://127.0.0.1:1' })
  from.set('hosted_vllm', { ...providers.get('hosted_vllm')!, defaultBaseUrl: `${server.url.href}v1` })
  return {
    from,
    asked: () => asked,
    list: (...ids: string[]) => (listed = ids),
    [Symbol.dispose]: () => void server.stop(true),
  }
}

test('without a file, local models appear and disappear with each discovery', async () => {
  using server = modelServer()
  const source = await openSource({ environment: {}, from: server.from })
  expect(names(source)).toEqual([])
  const next = reports(source)
  expect(await next()).toEqual({ applied: true, problems: [] })
  expect(names(source)).toEqual(['hosted_vllm/one'])
  server.list('one', 'two')
  // They stay until discovery has finished.
  expect((await source.reload()).applied).toBe(true)
  expect(names(source)).toEqual(['hosted_vllm/one'])
  await next()
  expect(names(source)).toEqual(['hosted_vllm/one', 'hosted_vllm/two'])
  server.list()
  await source.reload()
  await next()
  expect(names(source)).toEqual([])
})

test('a model that is pulled while the gateway runs is served without a reload', async () => {
  using server = modelServer()
  const source = await openSource({ environment: {}, from: server.from, discoverEveryMs: 20 })
  const next = reports(source)
  await next()
  server.list('one', 'pulled')
  await next()
  expect(names(source)).toEqual(['hosted_vllm/one', 'hosted_vllm/pulled'])
})

test('a file without a model list keeps discovery on; a list, even an empty one, ends it', async () => {
  using server = modelServer()
  writeFileSync(file, 'router_settings: { num_retries: 1 }\n')
  const source = await openSource({ configFile: file, environment: {}, from: server.from })
  expect(await source.discover()).toBe(true)
  expect(await source.discover()).toBe(false)
  expect(names(source)).toEqual(['hosted_vllm/one'])
  writeFileSync(file, 'model_list: []\n')
  expect((await source.reload()).applied).toBe(true)
  expect(names(source)).toEqual([])
  const asked = server.asked()
  expect(await source.discover()).toBe(false)
  expect(server.asked()).toBe(asked)
})

test('no server is asked when discovery is off', async () => {
  using server = modelServer()
  const source = await openSource({ environment: { MODELGATE_DISCOVER: '0' }, from: server.from })
  expect(await source.discover()).toBe(false)
  expect(server.asked()).toBe(0)
})

test('a source closed during discovery does not call back', async () => {
  using server = modelServer()
  const source = await openSource({ environment: {}, from: server.from })
  const seen: ReloadReport[] = []
  source.watch(report => seen.push(report))
  source.close()
  const other = await openSource({ environment: {}, from: server.from })
  // What is found for this one would have been found for the first, which asked before it.
  await reports(other)()
  expect(seen).toEqual([])
})

test('a change before watching is noticed when watching begins', async () => {
  writeFileSync(file, listOf('a'))
  const source = await openSource({ configFile: file })
  writeFileSync(file, listOf('a', 'b'))
  const next = reports(source)
  expect(await next()).toMatchObject({ applied: true })
  expect(names(source)).toEqual(['a', 'b'])
})

test('a file behind a symbolic link and in a replaced directory is followed', async () => {
  const real = join(folder, 'real')
  mkdirSync(real)
  writeFileSync(join(real, 'actual.yaml'), listOf('a'))
  mkdirSync(join(folder, 'etc'))
  const linked = join(folder, 'etc', 'config.yaml')
  symlinkSync(join(real, 'actual.yaml'), linked)
  const source = await openSource({ configFile: linked })
  const next = reports(source)
  writeFileSync(join(real, 'actual.yaml'), listOf('a', 'b'))
  expect(await next()).toMatchObject({ applied: true })
  renameSync(join(folder, 'etc'), join(folder, 'old'))
  mkdirSync(join(folder, 'etc'))
  writeFileSync(linked, listOf('c'))
  expect(await next()).toMatchObject({ applied: true })
  expect(names(source)).toEqual(['c'])
})
