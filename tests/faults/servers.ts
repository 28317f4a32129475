/** Servers of a fleet's own, which a test may kill: Redis, Postgres, and an upstream that knows the truth. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { until } from '../support/until.ts'

/** A server that can be killed, stopped and started again on its port and with its data. */
export interface KillableServer {
  readonly url: string
  start(): Promise<void>
  signal(signal: NodeJS.Signals): Promise<void>
  close(): Promise<void>
}

/** A port that was free a moment ago. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  return port
}

/** What is missing for servers of one's own; undefined = nothing. */
export function missingPrograms(): string | undefined {
  const missing = ['redis-server', 'initdb', 'postgres'].filter(name => !Bun.which(name))
  return missing.length === 0 ? undefined : `${missing.join(' and ')} in the path`
}

const startMsMax = 60_000

/** One process at a time; `isUp` says that it serves. */
function killable(url: string, words: readonly string[], isUp: () => Promise<unknown>): KillableServer {
  let child: Bun.Subprocess | undefined
  return {
    url,
    async start() {
      const spawn = () => Bun.spawn([...words], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
      child = spawn()
      await until(
        () => {
          // What a killed Postgres left ends a moment after it; until then no other starts.
          if (child!.exitCode !== null) child = spawn()
          return isUp().then(
            () => true,
            () => false,
          )
        },
        `${words[0]!} serves`,
        startMsMax,
      )
    },
    async signal(signal) {
      child?.kill(signal)
      if (signal === 'SIGKILL') await child?.exited
    },
    async close() {
      child?.kill('SIGKILL')
      await child?.exited
    },
  }
}

/** An empty Redis that keeps nothing on disk. */
export async function startRedis(): Promise<KillableServer & { flush(): Promise<void> }> {
  const port = freePort()
  const url = `redis://127.0.0.1:${port}`
  const asking = async (command: string) => {
    const client = new Bun.RedisClient(url, { autoReconnect: false, connectionTimeout: 1000 })
    try {
      await client.connect()
      return await client.send(command, [])
    } finally {
      client.close()
    }
  }
  const words = ['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const server = killable(url, words, () => asking('PING'))
  await server.start()
  return { ...server, flush: async () => void (await asking('FLUSHALL')) }
}

/** Postgres starts for no administrator of the system: one who is takes another account for it. */
function asPostgres(folder: string): readonly string[] {
  if (process.getuid?.() !== 0) return []
  const [user, group] = [Bun.spawnSync(['id', '-u', 'postgres']), Bun.spawnSync(['id', '-g', 'postgres'])].map(one =>
    Number(one.stdout.toString()),
  )
  chownSync(folder, user!, group!)
  return ['setpriv', `--reuid=${user}`, `--regid=${group}`, '--clear-groups']
}

/** An empty cluster with one database. What was committed survives a kill. */
export async function startPostgres(): Promise<KillableServer> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-postgres-'))
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  const under = asPostgres(data)
  const made = Bun.spawnSync([...under, 'initdb', '-D', data, '-U', 'postgres', '--no-sync', '-A', 'trust'])
  if (made.exitCode !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`)
  const port = freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const words = [...under, 'postgres', '-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', '']
  const server = killable(url, words, async () => {
    const sql = new SQL(url, { max: 1, connectionTimeout: 2 })
    try {
      await sql`select 1`
    } finally {
      await sql.close({ timeout: 0 })
    }
  })
  await server.start()
  return {
    ...server,
    async close() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** US dollars for a call of `startTruth`. */
export const callUsd = 0.00025
const callTokens = 250

/**
 * An upstream whose calls cost `callUsd` each. It notes the `user` of each request that it was asked for, and of each
 * that it answered. A streamed answer has `streamEvents` events, one each `streamEventMs`.
 */
export function startTruth({ streamEvents = 10, streamEventMs = 20 } = {}) {
  const asked = new Map<string, number>()
  const usage = { prompt_tokens: callTokens, completion_tokens: 0, total_tokens: callTokens }
  const frame = { id: 'chatcmpl-1', created: 1, model: 'm' }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { user = '', stream } = (await request.json()) as { user?: string; stream?: boolean }
      asked.set(user, (asked.get(user) ?? 0) + 1)
      if (!stream) {
        const choices = [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }]
        return Response.json({ ...frame, object: 'chat.completion', choices, usage })
      }
      const event = (fields: object) => {
        const chunk = { ...frame, object: 'chat.completion.chunk', ...fields }
        return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
      }
      const events = new ReadableStream<Uint8Array>({
        async start(controller) {
          for (let at = 0; at < streamEvents; at++) {
            const delta = { role: 'assistant', content: `${at} ` }
            controller.enqueue(event({ choices: [{ index: 0, delta, finish_reason: null }] }))
            await Bun.sleep(streamEventMs)
          }
          controller.enqueue(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
          controller.enqueue(event({ choices: [], usage }))
          controller.enqueue(Buffer.from('data: [DONE]\n\n'))
          controller.close()
        },
      })
      return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    /** Requests by the `user` of their bodies. */
    asked,
    close: () => server.stop(true),
  }
}
