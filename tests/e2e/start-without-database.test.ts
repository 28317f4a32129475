/** A start while Postgres is away: known keys are served, the rest waits, and no start is lost for it. */
import { afterEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSimulator } from '../../simulator/index.ts'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import type { TcpProxy } from '../support/network/tcp-proxy.ts'
import { backends, masterKey, standardConfig } from './harness.ts'
import { startKeyUpstream } from './key-upstream.ts'
import { until } from '../support/until.ts'

const real = backends().find(one => one.name !== 'SQLite')
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Place {
  readonly databaseUrl: string
  readonly wire: TcpProxy
  readonly dataDirectory: string
  readonly snapshot: string
  readonly configFile: string
}

async function makePlace(): Promise<Place> {
  const opened = await real!.open()
  cleanups.push(() => opened.close())
  const url = new URL(opened.databaseUrl!)
  const wire = await startTcpProxy(url.hostname, Number(url.port || 5432))
  cleanups.push(() => wire.close())
  url.hostname = '127.0.0.1'
  url.port = String(wire.port)
  const simulator = await startSimulator({ seed: 1 })
  cleanups.push(() => simulator.stop())
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-away-'))
  cleanups.push(() => rmSync(folder, { recursive: true }))
  const configFile = join(folder, 'config.yaml')
  writeFileSync(configFile, standardConfig.replaceAll('{simulator}', simulator.url.replace(/\/$/, '')))
  const dataDirectory = join(folder, 'data')
  return { databaseUrl: url.href, wire, dataDirectory, snapshot: join(dataDirectory, 'known-keys.json'), configFile }
}

async function start({ databaseUrl, dataDirectory, configFile }: Place) {
  const server = await startServer({
    configFile,
    host: '127.0.0.1',
    port: 0,
    dataDirectory,
    masterKey: new Secret(masterKey),
    databaseUrl,
    environment: {
      MODELGATE_LOG_LEVEL: 'off',
      MODELGATE_DRAIN_DELAY_MS: '0',
      MODELGATE_ENCRYPTION_KEY: 'the key of this test, more than 32 characters',
    },
  })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= server.stop())
  cleanups.push(stop)
  const ask = (path: string, key: string, body?: unknown) =>
    fetch(server.url.replace(/\/$/, '') + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  const chat = { model: 'chat-model', messages: [{ role: 'user', content: 'tokens: 3' }] }
  return {
    stop,
    ask,
    call: (key: string) => ask('/v1/chat/completions', key, chat),
    async makeKey(): Promise<string> {
      return ((await (await ask('/key/generate', masterKey, {})).json()) as { key: string }).key
    },
    rows: async () => ((await (await ask('/spend/logs/v2', masterKey)).json()) as { data?: object[] }).data,
  }
}

/** Keys that the snapshot holds. */
const keptIn = (path: string): number => {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { keys: { callers: unknown[] } }).keys.callers.length
  } catch {
    return 0
  }
}

describe.skipIf(!real)('a start while Postgres is away', () => {
  /** A gateway that has served two keys, one of them revoked, and has stopped; the database is away since. */
  async function stopped() {
    const place = await makePlace()
    const first = await start(place)
    const [known, revoked, unused] = [await first.makeKey(), await first.makeKey(), await first.makeKey()]
    // A key that has just been made or changed is read anew by its next call.
    const work = async (...keys: string[]) => {
      for (const key of keys) expect((await first.call(key)).status).toBe(200)
      return keptIn(place.snapshot) === keys.length
    }
    await until(() => work(known, revoked))
    await first.ask('/key/delete', masterKey, { keys: [revoked] })
    await until(() => work(known))
    await first.stop()
    place.wire.cut()
    return { place, known, revoked, unused }
  }

  test('serves known keys and the master key, waits for the rest, and loses no row', async () => {
    const { place, known, revoked, unused } = await stopped()
    expect(statSync(place.snapshot).mode & 0o777).toBe(0o600)
    for (const key of [known, revoked, unused, masterKey])
      expect(readFileSync(place.snapshot, 'utf8')).not.toContain(key)
    const gateway = await start(place)
    const statuses = []
    for (const key of [known, masterKey, revoked, unused]) statuses.push((await gateway.call(key)).status)
    expect(statuses).toEqual([200, 200, 503, 503])
    expect(await (await gateway.ask('/health/readiness', masterKey)).json()).toMatchObject({ db: 'disconnected' })
    place.wire.restore()
    await until(async () => (await gateway.call(unused)).status === 200)
    expect((await gateway.call(revoked)).status).toBe(401)
    await until(async () => ((await gateway.rows())?.length ?? 0) >= 5)
    expect((await gateway.ask('/key/generate', masterKey, {})).status).toBe(200)
  }, 60_000)

  test('keys that were known too long ago wait as well; the master key is served', async () => {
    const { place, known } = await stopped()
    const content = JSON.parse(readFileSync(place.snapshot, 'utf8')) as { savedAtMs: number }
    writeFileSync(place.snapshot, JSON.stringify({ ...content, savedAtMs: content.savedAtMs - 16 * 60_000 }))
    const gateway = await start(place)
    expect([(await gateway.call(known)).status, (await gateway.call(masterKey)).status]).toEqual([503, 200])
    place.wire.restore()
    await until(async () => (await gateway.call(known)).status === 200)
  }, 60_000)

  test('serves models that were made by API, and keeps no secret of theirs in plain text', async () => {
    const place = await makePlace()
    const first = await start(place)
    const upstream = startKeyUpstream()
    cleanups.push(() => upstream.stop())
    const params = { model: 'custom_openai/x', api_base: upstream.url, api_key: 'sk-made-by-api' }
    const made = await first.ask('/model/new', masterKey, { model_name: 'made', litellm_params: params })
    const { model_id: id } = (await made.json()) as { model_id: string }
    const kept = () => (existsSync(place.snapshot) ? readFileSync(place.snapshot, 'utf8') : '')
    await until(() => kept().includes(id))
    expect(kept()).not.toContain('sk-made-by-api')
    await first.stop()
    place.wire.cut()
    const gateway = await start(place)
    const body = { model: 'made', messages: [{ role: 'user', content: 'hi' }] }
    expect((await gateway.ask('/v1/chat/completions', masterKey, body)).status).toBe(200)
    expect(upstream.keys).toEqual(['Bearer sk-made-by-api'])
    expect((await gateway.ask('/model/delete', masterKey, { id })).status).toBe(503)
    place.wire.restore()
    await until(async () => (await gateway.ask('/model/delete', masterKey, { id })).status === 200)
  }, 60_000)

  test('is refused where nothing is known: a first start, another database, another schema', async () => {
    const { place } = await stopped()
    const content = JSON.parse(readFileSync(place.snapshot, 'utf8')) as { database: string; migration: number }
    for (const changed of [{ database: 'other' }, { migration: content.migration - 1 }]) {
      writeFileSync(place.snapshot, JSON.stringify({ ...content, ...changed }))
      await expect(start(place)).rejects.toThrow()
    }
    rmSync(place.snapshot)
    await expect(start(place)).rejects.toThrow()
  }, 60_000)
})
