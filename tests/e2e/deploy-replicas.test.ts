/**
 * The shipped files as they are: the gateways of compose.yaml as processes with its environment, nginx with its file, of
 * which only ports, paths and the servers' addresses are replaced. One gateway is stopped, another time killed, under
 * load.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Subprocess } from 'bun'
import { parse } from 'yaml'
import { runtimeSettings } from '../../bin/bun.mjs'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { freePort, gatewayProgram } from '../support/gateway-process.ts'
import { localhostOnly } from '../support/network/certificates.ts'
import { until } from '../support/until.ts'
import { backends, masterKey } from './harness.ts'

const deployed = (name: string): string => readFileSync(resolve(import.meta.dir, '../../deploy', name), 'utf8')

interface Service {
  readonly environment?: Readonly<Record<string, string>>
  readonly command?: readonly string[]
  readonly ports?: readonly string[]
}

/** The gateways of compose.yaml, in its order, with the variables of its example filled in. */
function gatewayServices(filledIn: Readonly<Record<string, string>>): Service[] {
  const text = deployed('compose.yaml').replace(/\$\{(\w+)[^}]*\}/g, (_all, name: string) => {
    expect(deployed('compose.env.example')).toMatch(new RegExp(`^${name}=$`, 'm'))
    return filledIn[name] ?? ''
  })
  const { services } = parse(text, { merge: true }) as { services: Record<string, Service> }
  return Object.keys(services)
    .filter(name => name.startsWith('gateway'))
    .map(name => services[name]!)
}

const chatPath = '/v1/chat/completions'
const backend = backends().find(one => one.name !== 'SQLite')
const hasPrograms = Bun.which('nginx') !== null && Bun.which('curl') !== null
if (!hasPrograms) console.log('skipped: replicas behind nginx (nginx or curl is not installed)')

interface Replica {
  readonly port: number
  readonly child: Subprocess
}

describe.skipIf(!backend || !hasPrograms)('compose.yaml behind nginx.conf', () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-replicas-'))
  let simulator: Simulator
  let store: Awaited<ReturnType<NonNullable<typeof backend>['open']>>
  let services: Service[]
  let replicas: Replica[]
  let nginx: Subprocess
  let url: string

  /** A service as its container runs it: nothing of this machine's environment but where programs are. */
  function launch(service: Service, at: number, port: number): Replica {
    const environment = { ...service.environment, DATABASE_URL: store.databaseUrl!, REDIS_URL: store.redisUrl! }
    const command = service.command!.map(word => word.replace('/etc/modelgate/', `${folder}/`))
    const child = Bun.spawn([process.execPath, gatewayProgram, ...command], {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: Bun.file(join(folder, `gateway-${at}.log`)),
      env: {
        PATH: process.env.PATH,
        ...runtimeSettings,
        // Of the Dockerfile.
        ...{
          NODE_ENV: 'production',
          HOST: '127.0.0.1',
          PORT: String(port),
          MODELGATE_DATA_DIR: `${folder}/data-${at}`,
        },
        ...environment,
      },
    })
    return { port, child }
  }

  const ready = ({ port, child }: Replica) =>
    until(async () => {
      const at = replicas.findIndex(one => one.child === child)
      if (child.exitCode !== null) throw new Error(readFileSync(join(folder, `gateway-${at}.log`), 'utf8'))
      const answer = await fetch(`http://127.0.0.1:${port}/health/readiness`).catch(() => undefined)
      return answer?.status === 200
    })

  const admin = (path: string, body?: object) =>
    fetch(url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${masterKey}` },
      ...(body && { body: JSON.stringify(body) }),
      tls: { rejectUnauthorized: false },
    })

  beforeAll(async () => {
    store = await backend!.open()
    simulator = await startSimulator({ seed: 1 })
    services = gatewayServices({
      MODELGATE_MASTER_KEY: masterKey,
      MODELGATE_ENCRYPTION_KEY: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64'),
      POSTGRES_PASSWORD: 'p',
    })
    writeFileSync(join(folder, 'config.yaml'), deployed('config.yaml'))
    replicas = services.map((service, at) => launch(service, at, freePort()))
    const port = freePort()
    url = `https://127.0.0.1:${port}`
    const published = services.map(({ ports }) => ports![0]!.replace(/:4000$/, ''))
    let server = deployed('nginx.conf').replace('listen 443', `listen 127.0.0.1:${port}`)
    published.forEach((address, at) => {
      expect(server).toContain(`server ${address} `)
      server = server.replace(`server ${address} `, `server 127.0.0.1:${replicas[at]!.port} `)
    })
    writeFileSync(join(folder, 'gateway.crt'), localhostOnly.cert)
    writeFileSync(join(folder, 'gateway.key'), localhostOnly.key)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      kind => `${kind}_temp_path ${folder}/${kind};\n`,
    )
    const main = `daemon off;\npid ${folder}/pid;\nerror_log ${folder}/nginx.log;\nevents {}\nhttp {\naccess_log off;\n`
    mkdirSync(join(folder, 'logs'))
    writeFileSync(
      join(folder, 'nginx.conf'),
      `${main}${temporary.join('')}${server.replaceAll('/etc/nginx/gateway', `${folder}/gateway`)}}\n`,
    )
    nginx = Bun.spawn(['nginx', '-p', folder, '-c', `${folder}/nginx.conf`], { stderr: 'ignore' })
    for (const one of replicas) await ready(one)
    const made = await admin('/model/new', {
      model_name: 'entered',
      litellm_params: {
        model: 'custom_openai/sim-chat',
        api_base: new URL('/v1', simulator.url).href,
        api_key: 'of-the-vendor',
      },
    })
    expect([made.status, await made.text()]).toEqual([200, expect.stringContaining('entered')])
  }, 60_000)

  afterAll(async () => {
    nginx?.kill('SIGTERM')
    for (const { child } of replicas ?? []) child.kill('SIGKILL')
    await Promise.all([nginx?.exited, ...(replicas ?? []).map(({ child }) => child.exited)])
    await simulator?.stop()
    await store?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const chat = (stream: boolean) =>
    admin(chatPath, { model: 'entered', stream, messages: [{ role: 'user', content: 'hello' }] })

  /** Calls, half of them streams, by four clients until `work` is done; what failed. */
  async function failuresDuring(work: () => Promise<void>): Promise<{ calls: number; failures: string[] }> {
    const failures: string[] = []
    let calls = 0
    let over = false
    const client = async (): Promise<void> => {
      while (!over) {
        const stream = calls++ % 2 === 0
        const answer = await chat(stream)
        const text = await answer.text()
        if (answer.status !== 200 || (stream && !text.includes('[DONE]'))) failures.push(`${answer.status} ${text}`)
      }
    }
    const clients = [1, 2, 3, 4].map(() => client())
    await Bun.sleep(500)
    await work()
    await Bun.sleep(500)
    over = true
    await Promise.all(clients)
    return { calls, failures }
  }

  test('a model that was entered by API, with its key, is served by each gateway', async () => {
    for (const { port } of replicas)
      await until(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}${chatPath}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${masterKey}` },
          body: JSON.stringify({ model: 'entered', messages: [{ role: 'user', content: 'hello' }] }),
        })
        return answer.status === 200
      })
  })

  test('one gateway is stopped and comes back under load: no call fails', async () => {
    const { calls, failures } = await failuresDuring(async () => {
      const [first] = replicas
      first!.child.kill('SIGTERM')
      expect(await first!.child.exited).toBe(0)
      await Bun.sleep(500)
      replicas[0] = launch(services[0]!, 0, first!.port)
      await ready(replicas[0])
    })
    expect(failures).toEqual([])
    expect(calls).toBeGreaterThan(20)
  }, 60_000)

  test('while one gateway is gone no call fails', async () => {
    const second = replicas[1]!
    second.child.kill('SIGKILL')
    await second.child.exited
    const { failures } = await failuresDuring(() => Bun.sleep(1000))
    expect(failures).toEqual([])
    replicas[1] = launch(services[1]!, 1, second.port)
    await ready(replicas[1])
  }, 60_000)

  test("the ledger holds the client's address, whatever the client itself says", async () => {
    // One of this machine's that is not a trusted proxy's.
    const client = '127.0.0.2'
    const said = ['-H', 'x-forwarded-for: 203.0.113.9', '-H', `authorization: Bearer ${masterKey}`]
    const body = JSON.stringify({ model: 'entered', messages: [{ role: 'user', content: 'whose?' }] })
    const called = Bun.spawn(['curl', '-skf', '--interface', client, ...said, '-d', body, `${url}${chatPath}`])
    expect(await called.exited).toBe(0)
    const found = async (): Promise<string[]> => {
      const answer = await admin('/spend/logs/v2?page_size=100')
      const { data } = (await answer.json()) as { data: { client_address: string }[] }
      return data.map(row => row.client_address)
    }
    await until(async () => (await found()).includes(client))
    // Every other call came from the address that nginx trusts as its own.
    expect(new Set(await found())).toEqual(new Set([client, '127.0.0.1']))
  })
})
