/**
 * Three replicas, each a process, over a Redis and a Postgres of their own, before an upstream that knows the truth.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { endAll } from '../../src/lib/end-all.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import type { TcpProxy } from '../support/network/tcp-proxy.ts'
import { freePort, startPostgres, startRedis, startTruth } from './servers.ts'
import { until } from '../support/until.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

const startMsMax = 60_000
/** Replicas ask twice a second what has changed; a busy machine is later. */
const heardMs = 1500
const prices = 'input_cost_per_token: 0.000001, output_cost_per_token: 0'

/** One gateway of the fleet; started again it has the port and the data that it had. */
export class Replica {
  readonly name: string
  readonly url: string
  readonly #port = freePort()
  readonly #folder: string
  readonly #environment: Readonly<Record<string, string>>
  #child: Bun.Subprocess | undefined

  constructor(name: string, folder: string, environment: Readonly<Record<string, string>>) {
    this.name = name
    this.url = `http://127.0.0.1:${this.#port}`
    this.#folder = folder
    this.#environment = environment
  }

  async start(): Promise<void> {
    const flags = ['--host', '127.0.0.1', '--port', String(this.#port), '--data-dir', join(this.#folder, this.name)]
    const child = Bun.spawn(
      [process.execPath, gatewayProgram, 'serve', ...flags, '--config', join(this.#folder, 'config.yaml')],
      { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore', env: { ...process.env, ...this.#environment } },
    )
    this.#child = child
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`${this.name} ended with ${child.exitCode}`)
        return fetch(`${this.url}/health/readiness`).then(
          answer => answer.status === 200,
          () => false,
        )
      },
      `${this.name} is ready`,
      startMsMax,
    )
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** The exit code, once it has ended. */
  ended(): Promise<number> {
    return this.#child?.exited ?? Promise.resolve(0)
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#child?.exited
  }
}

/** What runs, and how to ask it. */
export interface Fleet {
  readonly replicas: readonly Replica[]
  readonly redis: Awaited<ReturnType<typeof startRedis>>
  readonly postgres: Awaited<ReturnType<typeof startPostgres>>
  /** Through it the replicas reach Postgres. */
  readonly wire: TcpProxy
  readonly truth: ReturnType<typeof startTruth>
  readonly sql: SQL
  /** With the master key, at the first replica unless another is named. */
  admin(path: string, body?: object, replica?: Replica): Promise<Response>
  /** A new key, of which every replica has heard; fields as of POST /key/generate. */
  key(fields?: object): Promise<{ key: string; id: string }>
  close(): Promise<void>
}

/** Everything is up when it resolves. */
export async function startFleet(
  streams: Parameters<typeof startTruth>[0] = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-fleet-'))
  const opened: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const close = () => endAll(opened.toReversed().map(end => async () => void (await end())))
  try {
    const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
    opened.push(
      () => redis.close(),
      () => postgres.close(),
    )
    const there = new URL(postgres.url)
    const wire = await startTcpProxy('127.0.0.1', Number(there.port))
    opened.push(() => wire.close())
    there.port = String(wire.port)
    const truth = startTruth(streams)
    opened.push(() => truth.close())
    const model = `{ model: custom_openai/m, api_base: "${truth.url}", api_key: none, ${prices} }`
    const config = `model_list: [{ model_name: m, proxy_params: ${model} }]\nrouter_settings: { num_retries: 0 }\n`
    writeFileSync(join(folder, 'config.yaml'), config)
    const masterKey = `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`
    const replicas = ['a', 'b', 'c'].map(
      name =>
        new Replica(name, folder, {
          MODELGATE_MASTER_KEY: masterKey,
          DATABASE_URL: there.href,
          REDIS_URL: redis.url,
          MODELGATE_DISCOVER: '0',
          MODELGATE_LOG_LEVEL: 'off',
          MODELGATE_DRAIN_DELAY_MS: '0',
          ...environment,
        }),
    )
    for (const replica of replicas) opened.push(() => replica.close())
    await Promise.all(replicas.map(replica => replica.start()))
    const sql = new SQL(postgres.url, { max: 2 })
    opened.push(() => sql.close({ timeout: 0 }))
    const admin: Fleet['admin'] = (path, body, replica = replicas[0]!) =>
      fetch(`${replica.url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${masterKey}` },
        ...(body && { body: JSON.stringify(body) }),
      })
    const key: Fleet['key'] = async (fields = {}) => {
      const made = await admin('/key/generate', fields)
      if (made.status !== 200) throw new Error(await made.text())
      const { key: text, token_id: id } = (await made.json()) as { key: string; token_id: string }
      // A key that is used before its replica has heard of it is read again when it does: then without a database.
      await Bun.sleep(heardMs)
      return { key: text, id }
    }
    return { replicas, redis, postgres, wire, truth, sql, admin, key, close }
  } catch (error) {
    await close().catch(() => {})
    throw error
  }
}
