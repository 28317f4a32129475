/** What is made by API on one replica is in use on the others; secrets are encrypted anew while calls are served. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { startServer } from '../../src/app/index.ts'
import { main } from '../../src/cli/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { backends, masterKey } from './harness.ts'
import { startKeyUpstream } from './key-upstream.ts'
import { until } from '../support/until.ts'

type Json = Record<string, unknown>

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-replica-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function startUpstream() {
  const upstream = startKeyUpstream()
  cleanups.push(() => upstream.stop())
  return upstream
}

interface Place {
  readonly dataDirectory: string
  readonly databaseUrl: string
  readonly redisUrl?: string | undefined
  readonly environment?: Readonly<Record<string, string>>
  /** Further sections of the configuration file. */
  readonly settings?: string
  /** Its `model_list`; none unless given. */
  readonly models?: string
}

async function start({ environment, settings = '', models = '[]', ...place }: Place) {
  const configFile = join(newFolder(), 'config.yaml')
  writeFileSync(configFile, `model_list: ${models}\n${settings}`)
  const server = await startServer({
    configFile,
    host: '127.0.0.1',
    port: 0,
    masterKey: new Secret(masterKey),
    environment: { MODELGATE_LOG_LEVEL: 'off', MODELGATE_DRAIN_DELAY_MS: '0', ...environment },
    ...place,
  })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= server.stop())
  cleanups.push(stop)
  const send = async (method: string, path: string, body?: object): Promise<{ status: number; body: Json }> => {
    const response = await fetch(server.url.replace(/\/$/, '') + path, {
      method,
      headers: { authorization: `Bearer ${masterKey}` },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const chat = async (model: string) =>
    (await send('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }] })).status
  return { send, chat, stop }
}

const real = backends().find(one => one.name !== 'SQLite')
const environment = { MODELGATE_ENCRYPTION_KEY: 'the key of all replicas, more than 32 characters' }

test.skipIf(!real)('a model, a credential and a group reach the other replica, changes and deletions too', async () => {
  const store = await real!.open()
  cleanups.push(() => store.close())
  const place = { databaseUrl: store.databaseUrl!, redisUrl: store.redisUrl, environment }
  const one = await start({ ...place, dataDirectory: newFolder() })
  const two = await start({ ...place, dataDirectory: newFolder() })
  const upstream = startUpstream()
  const values = (api_key: string) => ({ credential_name: 'shared', credential_values: { api_key } })
  await one.send('POST', '/credentials', values('sk-first'))
  const params = { model: 'custom_openai/x', api_base: upstream.url, litellm_credential_name: 'shared' }
  const made = await one.send('POST', '/model/new', { model_name: 'everywhere', litellm_params: params })
  await until(async () => (await two.chat('everywhere')) === 200, 'the model is there')
  expect(upstream.keys.at(-1)).toBe('Bearer sk-first')
  await one.send('PATCH', '/credentials/shared', values('sk-second'))
  const usesSecond = async () => (await two.chat('everywhere')) === 200 && upstream.keys.at(-1) === 'Bearer sk-second'
  await until(usesSecond, 'the new key is used')
  await one.send('POST', '/access_group/new', { access_group: 'group', model_names: ['everywhere'] })
  const hasGroup = async () => (await two.send('GET', '/access_group/group/info')).status === 200
  await until(hasGroup, 'the group is there')
  // A change of one replica is seen by a change of the other: the version that it read is refused.
  const update = { model_info: { id: made.body.model_id }, model_name: 'everywhere', version: 1 }
  expect((await one.send('POST', '/model/update', update)).status).toBe(200)
  expect((await two.send('POST', '/model/update', update)).status).toBe(409)
  await two.send('POST', '/model/delete', { id: made.body.model_id })
  expect(await two.chat('everywhere')).toBe(404)
  await until(async () => (await one.chat('everywhere')) === 404, 'the model is gone')
})

test.skipIf(!real)('a block made on one replica holds on the other, and after a restart', async () => {
  const store = await real!.open()
  cleanups.push(() => store.close())
  const upstream = startUpstream()
  const models = `[{ model_name: m, proxy_params: { model: custom_openai/x, api_base: "${upstream.url}" }, model_info: { id: m } }]`
  const place = { databaseUrl: store.databaseUrl!, redisUrl: store.redisUrl, models }
  const one = await start({ ...place, dataDirectory: newFolder() })
  const two = await start({ ...place, dataDirectory: newFolder() })
  expect(await two.chat('m')).toBe(200)
  expect((await one.send('POST', '/model/block', { model_id: 'm', reason: 'broken' })).status).toBe(200)
  await until(async () => (await two.chat('m')) === 403, 'it holds')
  await two.stop()
  const again = await start({ ...place, dataDirectory: newFolder() })
  const calls = upstream.keys.length
  expect([await again.chat('m'), upstream.keys.length]).toEqual([403, calls])
  expect((await again.send('POST', '/model/unblock', { model_id: 'm' })).body.blocked).toBe(false)
  expect(await again.chat('m')).toBe(200)
  await until(async () => (await one.chat('m')) === 200, 'it is gone')
})

test.skipIf(!real)('a guardrail made, changed and deleted on one replica holds on the other', async () => {
  const store = await real!.open()
  cleanups.push(() => store.close())
  const place = { databaseUrl: store.databaseUrl!, redisUrl: store.redisUrl, environment }
  const one = await start({ ...place, dataDirectory: newFolder() })
  const two = await start({ ...place, dataDirectory: newFolder() })
  const upstream = startUpstream()
  const model = { model: 'custom_openai/x', api_base: upstream.url, api_key: 'k' }
  await one.send('POST', '/model/new', { model_name: 'm', litellm_params: model })
  await until(async () => (await two.chat('m')) === 200, 'the model is there')
  const words = (word: string) => ({ guardrail: 'words', mode: 'pre_call', words: [word], default_on: true })
  const guardrail = (word: string) => ({ guardrail: { guardrail_name: 'shared', litellm_params: words(word) } })
  const made = await one.send('POST', '/guardrails', guardrail('hi'))
  await until(async () => (await two.chat('m')) === 400, 'it holds')
  const path = `/guardrails/${made.body.guardrail_id}`
  await one.send('PUT', path, guardrail('ho'))
  await until(async () => (await two.chat('m')) === 200, 'its other word holds')
  expect((await two.send('DELETE', path)).status).toBe(200)
  await until(async () => (await one.send('GET', path)).status === 404, 'it is gone')
})

test.skipIf(!real)(
  'a replica without the key serves what needs none of it, and names what it cannot read',
  async () => {
    const store = await real!.open()
    cleanups.push(() => store.close())
    const place = { databaseUrl: store.databaseUrl!, redisUrl: store.redisUrl }
    const upstream = startUpstream()
    const one = await start({ ...place, environment, dataDirectory: newFolder() })
    const params = { model: 'custom_openai/x', api_base: upstream.url }
    await one.send('POST', '/model/new', { model_name: 'secret', litellm_params: { ...params, api_key: 'sk-x' } })
    await one.send('POST', '/model/new', { model_name: 'open', litellm_params: params })
    await one.send('POST', '/credentials', { credential_name: 'c', credential_values: { api_key: 'sk-y' } })
    const two = await start({ ...place, dataDirectory: newFolder() })
    expect([await two.chat('open'), await two.chat('secret')]).toEqual([200, 404])
    const { credentials } = (await two.send('GET', '/credentials')).body as { credentials: Json[] }
    expect(credentials[0]!.problem).toMatch(/is encrypted, and there is no key: set MODELGATE_ENCRYPTION_KEY/)
    const refused = await two.send('POST', '/model/new', {
      model_name: 'm',
      litellm_params: { ...params, api_key: 'k' },
    })
    expect(refused).toMatchObject({ status: 400 })
    expect(JSON.stringify(refused.body)).toContain('MODELGATE_ENCRYPTION_KEY')
  },
)

test('`credentials rotate` encrypts every secret under a new key while calls and changes go on', async () => {
  const dataDirectory = join(newFolder(), 'data')
  const databaseUrl = `sqlite:${join(dataDirectory, 'modelgate.sqlite')}`
  const upstream = startUpstream()
  const gateway = await start({ dataDirectory, databaseUrl })
  const params = (key: string) => ({ model: 'custom_openai/x', api_base: upstream.url, api_key: key })
  for (let at = 0; at < 20; at++)
    await gateway.send('POST', '/model/new', { model_name: `m${at}`, litellm_params: params(`sk-${at}`) })
  let isOver = false
  const statuses: number[] = []
  const load = async () => {
    for (let at = 0; !isOver; at++) {
      statuses.push(await gateway.chat(`m${at % 20}`))
      await Bun.sleep(10)
    }
  }
  const changes = async () => {
    for (let at = 20; !isOver; at++) {
      const body = { model_name: `m${at}`, litellm_params: params(`sk-${at}`) }
      statuses.push((await gateway.send('POST', '/model/new', body)).status)
      await Bun.sleep(20)
    }
  }
  const working = Promise.all([load(), load(), changes()])
  const keyFile = join(dataDirectory, 'encryption-key')
  const before = readFileSync(keyFile, 'utf8')
  const rotate = (...words: string[]) => main(['credentials', 'rotate', '--data-dir', dataDirectory, ...words], {})
  expect(await rotate('--new-key')).toBe(0)
  await Bun.sleep(1200)
  await until(() => statuses.length > 20, 'calls and changes go on')
  isOver = true
  await working
  // What was written with the key before, until the gateway saw the new one.
  expect(await rotate()).toBe(0)
  expect(statuses.filter(status => status !== 200)).toEqual([])
  const after = readFileSync(keyFile, 'utf8')
  expect(after.endsWith(before)).toBe(true)
  const sql = new SQL(databaseUrl)
  const rows = (await sql`select secrets from configured_objects`) as { secrets: string }[]
  await sql.close()
  expect(new Set(rows.map(row => row.secrets.split(':')[1])).size).toBe(1)
  await gateway.stop()
  // The key before is not needed any more.
  writeFileSync(keyFile, after.split('\n')[0]!)
  const again = await start({ dataDirectory, databaseUrl })
  expect(await again.chat('m7')).toBe(200)
  expect(upstream.keys.at(-1)).toBe('Bearer sk-7')
})

test('models whose secrets are kept elsewhere are served again after a restart, and follow a new value', async () => {
  const dataDirectory = join(newFolder(), 'data')
  const folder = newFolder()
  const secretFile = join(folder, 'key')
  writeFileSync(secretFile, 'sk-first\n')
  const upstream = startUpstream()
  const settings = `general_settings: { secret_file_directories: ["${folder}"], secret_refresh_seconds: 5 }\n`
  const place = { dataDirectory, databaseUrl: `sqlite:${join(dataDirectory, 'modelgate.sqlite')}`, settings }
  const first = await start(place)
  const params = { model: 'custom_openai/x', api_base: upstream.url, api_key: `file${secretFile}` }
  expect((await first.send('POST', '/model/new', { model_name: 'm', litellm_params: params })).status).toBe(200)
  await first.stop()
  const again = await start(place)
  expect([await again.chat('m'), upstream.keys.at(-1)]).toEqual([200, 'Bearer sk-first'])
  writeFileSync(secretFile, 'sk-second\n')
  await until(async () => {
    await again.chat('m')
    return upstream.keys.at(-1) === 'Bearer sk-second'
  }, 'the new key is used')
  // What was read last stays in use.
  rmSync(secretFile)
  await Bun.sleep(5500)
  expect([await again.chat('m'), upstream.keys.at(-1)]).toEqual([200, 'Bearer sk-second'])
}, 120_000)

test.skipIf(!real)(
  'the key of replicas is replaced by the environment: a replica that knows both keys goes on',
  async () => {
    const store = await real!.open()
    cleanups.push(() => store.close())
    const [oldKey, newKey] = ['the old key of more than 32 characters', 'the new key of more than 32 characters']
    const place = { databaseUrl: store.databaseUrl!, redisUrl: store.redisUrl, dataDirectory: newFolder() }
    const both = { MODELGATE_ENCRYPTION_KEY: oldKey, MODELGATE_DECRYPTION_KEYS: newKey }
    const gateway = await start({ ...place, environment: both })
    const upstream = startUpstream()
    const params = { model: 'custom_openai/x', api_base: upstream.url, api_key: 'sk-kept' }
    await gateway.send('POST', '/model/new', { model_name: 'm', litellm_params: params })
    const words = ['credentials', 'rotate', '--data-dir', place.dataDirectory]
    const environmentOf = (more: object) => ({ DATABASE_URL: place.databaseUrl, ...more })
    const rotating = { MODELGATE_ENCRYPTION_KEY: newKey, MODELGATE_DECRYPTION_KEYS: oldKey }
    // Without the key before, nothing is changed.
    expect(await main(words, environmentOf({ MODELGATE_ENCRYPTION_KEY: newKey }))).toBe(1)
    expect(await main([...words, '--new-key'], environmentOf(rotating))).toBe(1)
    expect(await main(words, environmentOf(rotating))).toBe(0)
    await Bun.sleep(1200)
    expect([await gateway.chat('m'), upstream.keys.at(-1)]).toEqual([200, 'Bearer sk-kept'])
    const next = await start({
      ...place,
      dataDirectory: newFolder(),
      environment: { MODELGATE_ENCRYPTION_KEY: newKey },
    })
    expect([await next.chat('m'), upstream.keys.at(-1)]).toEqual([200, 'Bearer sk-kept'])
  },
)
