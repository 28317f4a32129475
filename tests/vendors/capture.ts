/** What leaves a real gateway: calls of clients go in at its front, and an upstream that records them stands behind. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { clientCalls } from './client-bodies.ts'
import type { ClientCall, ClientDialect } from './client-bodies.ts'
import type { VendorRow } from './rows.ts'

/** What the upstream of a row was sent for one call. */
export interface Capture {
  readonly provider: string
  readonly model: string
  readonly dialect: ClientDialect
  readonly shape: string
  readonly stream: boolean
  /** The client's body. */
  readonly asked: unknown
  /** Path and query at the upstream, without the row's prefix. */
  readonly path: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** A call that the gateway refused, or that reached no upstream. */
export interface Refusal {
  readonly provider: string
  readonly model: string
  readonly dialect: ClientDialect
  readonly shape: string
  readonly status: number
  readonly message: string
}

/** All of one run. */
export interface Captured {
  readonly sent: readonly Capture[]
  readonly refused: readonly Refusal[]
}

const masterKey = 'sk-vendors-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJ'
/** Rows that are asked at a time; the calls of a row follow one another, so that each finds its own record. */
const rowsAtOnce = 8
/** Refuses, so that a call ends at once and no deployment cools down. */
const refusal = JSON.stringify({ error: { message: 'recorded', type: 'invalid_request_error' } })

/** Sends every golden shape of the dialects through a gateway with one deployment a row. */
export async function capture(rows: readonly VendorRow[], dialects: readonly ClientDialect[]): Promise<Captured> {
  const recorder = new Recorder()
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-vendors-'))
  const configFile = join(folder, 'config.json')
  writeFileSync(configFile, JSON.stringify(configOf(rows, recorder.url)))
  const server = await startServer({
    configFile,
    host: '127.0.0.1',
    port: 0,
    dataDirectory: join(folder, 'data'),
    masterKey: new Secret(masterKey),
    databaseUrl: `sqlite:${join(folder, 'modelgate.sqlite')}`,
    redisUrl: undefined,
    environment: { MODELGATE_LOG_LEVEL: 'off', MODELGATE_DRAIN_DELAY_MS: '0' },
  })
  try {
    const waiting = rows.map((row, index) => ({ row, index }))
    const sent: Capture[] = []
    const refused: Refusal[] = []
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        for (const dialect of dialects)
          for (const call of clientCalls(dialect, `row-${next.index}`)) {
            const { provider, model } = next.row
            const about = { provider, model, dialect, shape: call.shape }
            const { status, message } = await ask(server.url.replace(/\/$/, ''), call)
            const record = recorder.take(next.index)
            if (record) sent.push({ ...about, stream: call.stream, asked: call.body, ...record })
            else refused.push({ ...about, status, message })
          }
    }
    await Promise.all(Array.from({ length: rowsAtOnce }, work))
    return { sent, refused }
  } finally {
    await server.stop()
    recorder.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function configOf(rows: readonly VendorRow[], upstream: string): object {
  return {
    model_list: rows.map(({ provider, model, params }, index) => ({
      model_name: `row-${index}`,
      proxy_params: {
        model: `${provider}/${model}`,
        ...(!('aws_access_key_id' in params) && { api_key: 'upstream-key-canary-1' }),
        ...Object.fromEntries(
          Object.entries(params).map(([name, value]) => [name, value.replace('{upstream}', `${upstream}/${index}`)]),
        ),
      },
      model_info: { mode: 'chat' },
    })),
    router_settings: { num_retries: 0, allowed_fails: 1_000_000, cooldown_time: 0 },
  }
}

async function ask(gateway: string, { path, body }: ClientCall): Promise<{ status: number; message: string }> {
  const response = await fetch(gateway + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, message: (await response.text()).slice(0, 1000) }
}

type Recorded = Pick<Capture, 'path' | 'headers' | 'body'>

/** The upstream of all rows; a row's calls come under its number. */
class Recorder {
  readonly #last = new Map<number, Recorded>()
  readonly #server: ReturnType<typeof Bun.serve>

  constructor() {
    this.#server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: request => this.#record(request) })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  async #record(request: Request): Promise<Response> {
    const url = new URL(request.url)
    const [, index, ...path] = url.pathname.split('/')
    this.#last.set(Number(index), {
      path: `/${path.join('/')}${url.search}`,
      headers: Object.fromEntries(request.headers),
      body: await request.json(),
    })
    return new Response(refusal, { status: 400, headers: { 'content-type': 'application/json' } })
  }

  /** What was recorded of the row since it was last asked. */
  take(index: number): Recorded | undefined {
    const record = this.#last.get(index)
    this.#last.delete(index)
    return record
  }

  stop(): void {
    void this.#server.stop(true)
  }
}
