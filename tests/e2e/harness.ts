/** A real gateway in front of a real simulator, in this process, on free ports, with a data directory of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { startServer } from '../../src/app/index.ts'
import type { RunningServer } from '../../src/config/serve-options.ts'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import type { Policy } from '../../src/core/policy.ts'
import { Secret } from '../../src/lib/secret.ts'
import { createFromTemplate, placeSqliteTemplate } from '../../src/store/database/database-fixture.ts'
import { checkAnswers, throwAnswerFaults } from '../support/checked-answers.ts'

export const masterKey = 'sk-master-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ'

/**
 * Where a suite runs: the embedded store always, Postgres and Redis where they are at hand. On both run suites whose
 * tests look at what is stored, listed, summed, shared or limited; those about dialects, official clients and answers
 * store rows like all others, and run on the embedded store alone.
 */
export interface Backend {
  readonly name: string
  open(): Promise<{ databaseUrl?: string; redisUrl?: string; close(): Promise<void> }>
}

export function backends(): Backend[] {
  const list: Backend[] = [{ name: 'SQLite', open: async () => ({ close: async () => {} }) }]
  const { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl } = process.env
  if (databaseUrl && redisUrl)
    list.push({ name: 'Postgres and Redis', open: () => openPostgres(databaseUrl, redisUrl) })
  else console.log('skipped: suites on Postgres and Redis (set TEST_DATABASE_URL and TEST_REDIS_URL)')
  return list
}

/** A database of its own for each suite, dropped at the end. */
async function openPostgres(url: string, redisUrl: string) {
  const name = `modelgate_test_${crypto.randomUUID().replaceAll('-', '')}`
  const admin = new SQL(url, { max: 1 })
  await admin.unsafe(createFromTemplate(name))
  const own = new URL(url)
  own.pathname = `/${name}`
  return {
    databaseUrl: own.href,
    redisUrl,
    async close() {
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.close()
    },
  }
}

export interface Gateway {
  readonly url: string
  readonly server: RunningServer
  readonly simulator: Simulator
  readonly dataDirectory: string
  readonly configFile: string
  admin(path: string, body?: unknown): Promise<Response>
  /** A new virtual key; fields as of POST /key/generate. Its team and organization are made where they are not there. */
  key(fields?: object): Promise<string>
  rows(query?: string): Promise<LedgerRow[]>
  stop(): Promise<void>
}

const groupFields = [
  ['/team/new', 'team_id'],
  ['/organization/new', 'organization_id'],
] as const

/** Two are written at each start; room for the calls of most tests. */
const journalSegmentBytes = 256 * 1024

/** `{simulator}` in the text stands for the simulator's address. */
export const standardConfig = `
model_list:
  - model_name: chat-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: upstream-key-canary-1, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
    model_info: { id: chat-deployment }
  - model_name: claude-model
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: upstream-key-canary-2, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
    model_info: { id: claude-deployment }
  - model_name: embedding-model
    proxy_params: { model: custom_openai/sim-embedding, api_base: "{simulator}/v1", api_key: upstream-key-canary-1, input_cost_per_token: 0.0000001, output_cost_per_token: 0 }
    model_info: { mode: embedding, id: embedding-deployment }
  - model_name: nobody
    proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1" }
  - model_name: fault/*
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: upstream-key-canary-1, timeout: 2, stream_timeout: 2, idle_timeout: 2 }
  - model_name: claude-fault/*
    proxy_params: { model: "anthropic/*", api_base: "{simulator}", api_key: upstream-key-canary-2, timeout: 2, stream_timeout: 2, idle_timeout: 2 }
router_settings: { num_retries: 0 }
`

export interface GatewayOptions {
  readonly backend?: Backend
  readonly config?: string
  readonly seed?: number
  readonly policies?: readonly Policy[]
  /** Beside those that every gateway of a test has. */
  readonly environment?: Readonly<Record<string, string>>
  readonly rootPath?: string
  /** Absent = a free one. */
  readonly port?: number
  /** The secret that replicas of one installation share. */
  readonly keyPepper?: string
}

export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  await checkAnswers()
  const store = await (options.backend ?? backendsQuiet()).open()
  const simulator = await startSimulator({ seed: options.seed ?? 1 })
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-test-'))
  const configFile = join(folder, 'config.yaml')
  writeFileSync(
    configFile,
    (options.config ?? standardConfig).replaceAll('{simulator}', simulator.url.replace(/\/$/, '')),
  )
  const dataDirectory = join(folder, 'data')
  const databaseFile = join(dataDirectory, 'modelgate.sqlite')
  if (!store.databaseUrl) placeSqliteTemplate(databaseFile)
  const server = await startServer({
    configFile,
    host: '127.0.0.1',
    port: options.port ?? 0,
    dataDirectory,
    masterKey: new Secret(masterKey),
    databaseUrl: store.databaseUrl ?? `sqlite:${databaseFile}`,
    redisUrl: store.redisUrl,
    environment: {
      MODELGATE_LOG_LEVEL: 'off',
      MODELGATE_DRAIN_DELAY_MS: '0',
      MODELGATE_DRAIN_IDLE_MS: '0',
      ...options.environment,
    },
    rootPath: options.rootPath,
    journalSegmentBytes,
    ...(options.policies && { policies: options.policies }),
    ...(options.keyPepper && { keyPepper: new Secret(options.keyPepper) }),
  })
  const url = server.url.replace(/\/$/, '')
  const admin = (path: string, body?: unknown) =>
    fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  return {
    url,
    server,
    simulator,
    dataDirectory,
    configFile,
    admin,
    async key(fields = {}) {
      for (const [path, field] of groupFields)
        if (Object.hasOwn(fields, field)) {
          const id = (fields as Record<string, unknown>)[field]
          await admin(path, { [field]: id, ...(path.startsWith('/org') && { organization_alias: id }) })
        }
      const made = await admin('/key/generate', fields)
      if (made.status !== 200) throw new Error(await made.text())
      return ((await made.json()) as { key: string }).key
    },
    async rows(query = '') {
      const rows: LedgerRow[] = []
      let cursor = ''
      do {
        const page = (await (await admin(`/spend/logs/v2?page_size=1000${query}${cursor}`)).json()) as {
          data: (LedgerRow & { http_status: number })[]
          next_cursor: string | null
        }
        rows.push(...page.data.map(row => ({ ...row, status: row.http_status })))
        cursor = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : ''
      } while (cursor)
      return rows
    },
    async stop() {
      await server.stop()
      await simulator.stop()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
      throwAnswerFaults()
    },
  }
}

function backendsQuiet(): Backend {
  return { name: 'SQLite', open: async () => ({ close: async () => {} }) }
}
