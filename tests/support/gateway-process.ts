/** A gateway in a process of its own, for tests that look at its memory and CPU time or kill it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runtimeSettings } from '../../bin/bun.mjs'
import { placeSqliteTemplate } from '../../src/store/database/database-fixture.ts'

/** A random one, so that it is not in the repository. */
const newMasterKey = (): string => `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`

export interface GatewayProcess {
  readonly url: string
  readonly port: number
  /** Of the present process. */
  readonly pid: number
  readonly masterKey: string
  /** A request with the master key. */
  admin(path: string, body?: unknown): Promise<Response>
  /** A new virtual key; fields as of POST /key/generate. */
  key(fields?: object): Promise<string>
  /** Replaces its configuration; it holds a moment later. */
  configure(config: string): void
  /** kill -9. Its data stay. */
  kill(): Promise<void>
  /** Once it is killed: another process with its port and its data. */
  revive(): Promise<void>
  stop(): Promise<void>
}

const startMs = 60_000

/**
 * The program: one file where the run of the tests has joined it, as in an installation, which saves each process a
 * tenth of a second of the processor; else the sources.
 */
export const gatewayProgram = process.env.TEST_GATEWAY_PROGRAM ?? join(import.meta.dir, '../../src/main.ts')

/**
 * Starts it on a free port, with an empty database in a data directory of its own, and waits until it serves. `under`:
 * a command that it runs under (`taskset -c 0`). `program`: another command in place of Bun with `gatewayProgram`.
 */
export async function startGatewayProcess(
  config: string,
  environment: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
  program: readonly string[] = [process.execPath, gatewayProgram],
): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-process-'))
  const configFile = join(folder, 'config.yaml')
  writeFileSync(configFile, config)
  placeSqliteTemplate(join(folder, 'data/modelgate.sqlite'))
  const masterKey = environment.MODELGATE_MASTER_KEY ?? newMasterKey()
  const port = freePort()
  const serve = ['serve', '--host', '127.0.0.1', '--port', String(port), '--config', configFile]
  const launch = () =>
    Bun.spawn([...under, ...program, ...serve, '--data-dir', join(folder, 'data')], {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'inherit',
      env: {
        ...process.env,
        ...runtimeSettings,
        MODELGATE_MASTER_KEY: masterKey,
        DATABASE_URL: '',
        REDIS_URL: '',
        MODELGATE_LOG_LEVEL: 'off',
        MODELGATE_DRAIN_MS: '0',
        MODELGATE_DRAIN_DELAY_MS: '0',
        MODELGATE_DRAIN_IDLE_MS: '0',
        ...environment,
      },
    })
  let child = launch()
  const url = `http://127.0.0.1:${port}`
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await child.exited
  }
  const stop = async (): Promise<void> => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await serving(url, () => child.exitCode)
  } catch (error) {
    await stop()
    throw error
  }
  const admin = (path: string, body?: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  return {
    url,
    port,
    get pid() {
      return child.pid
    },
    masterKey,
    admin,
    async key(fields = {}) {
      const made = await admin('/key/generate', fields)
      if (made.status !== 200) throw new Error(await made.text())
      return ((await made.json()) as { key: string }).key
    },
    configure(text) {
      writeFileSync(configFile, text)
      child.kill('SIGHUP')
    },
    kill,
    revive() {
      child = launch()
      return serving(url, () => child.exitCode)
    },
    stop,
  }
}

export function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  return port
}

async function serving(url: string, exitCode: () => number | null): Promise<void> {
  const untilMs = performance.now() + startMs
  for (;;) {
    try {
      await (await fetch(`${url}/health/liveliness`)).arrayBuffer()
      return
    } catch (error) {
      if (exitCode() !== null) throw new Error(`the gateway ended with ${exitCode()}`)
      if (performance.now() > untilMs) throw error
      await Bun.sleep(20)
    }
  }
}
