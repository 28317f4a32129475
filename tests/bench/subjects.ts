/** What the bench measures, and what stands behind it: nginx as a plain proxy, gateways, their upstreams. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerBody, foreignAnswerBody, model } from './fixtures.ts'
import { coreOfLoad, coreUnderTest, familyOf, memoryMb, startPinned, waitFor } from './machine.ts'

/** Ports of the bench; another checkout to compare with has `other`. */
export const ports = {
  upstream: 18301,
  streams: 18302,
  nginx: 18303,
  gateway: 18304,
  bodies: 18305,
  foreignStreams: 18306,
  other: 18307,
  guarded: 18308,
  paced: 18309,
  pattern: 18310,
}

/** Before the idle memory of a gateway is read: garbage of its start is collected by then. */
export const quietMs = 4000

/** One proxy under load. `pids` = the processes whose CPU time and memory count; empty = not on this machine. */
export interface Subject {
  readonly name: string
  readonly base: string
  readonly key: string
  /** Further headers of its calls: `name: value`. */
  readonly headers?: readonly string[]
  readonly streamPath: string
  readonly bodyPath: string
  readonly pids: number[]
  readonly idleMb: number
  /** Of a gateway that the bench started: a request to its management API. Throws where it is refused. */
  readonly administer?: (path: string, body: object) => Promise<Record<string, unknown>>
}

function nginxConfig(folder: string, name: string, body: string): string {
  const path = join(folder, `${name}.conf`)
  const scratch = (what: string) => `${what}_temp_path ${folder}/${name}-${what}`
  writeFileSync(
    path,
    `worker_processes 1; daemon off; pid ${folder}/${name}.pid; error_log ${folder}/${name}.log warn; user root;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000; client_max_body_size 64m;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(scratch).join('; ')};
  ${body}
}`,
  )
  return path
}

const location = (path: string, answer: string) =>
  `location ${path} { default_type application/json; client_body_buffer_size 16k; return 200 '${answer}'; }`

/** Starts what answers the calls: fixed answers by nginx, paced streams, and a reader of large bodies. */
export async function startUpstreams(folder: string): Promise<void> {
  const streams = (port: number, ...more: string[]) =>
    startPinned(coreOfLoad, [
      process.execPath,
      join(import.meta.dir, 'stream-upstream.ts'),
      String(port),
      '100000',
      '20',
      ...more,
    ])
  streams(ports.streams)
  streams(ports.foreignStreams, 'foreign')
  startPinned(coreOfLoad, [process.execPath, join(import.meta.dir, 'body-upstream.ts'), String(ports.bodies)])
  const answers = `${location('/', answerBody)} ${location('/v1/messages', foreignAnswerBody)}`
  const config = nginxConfig(folder, 'upstream', `server { listen 127.0.0.1:${ports.upstream} reuseport; ${answers} }`)
  startPinned(coreOfLoad, ['nginx', '-c', config])
  for (const port of [ports.bodies, ports.upstream]) await waitFor(`http://127.0.0.1:${port}/`)
}

/** nginx as a plain proxy: the yardstick. */
export async function startNginx(folder: string): Promise<Subject> {
  const config = nginxConfig(
    folder,
    'proxy',
    `upstream fixed { server 127.0.0.1:${ports.upstream}; keepalive 128; keepalive_requests 1000000; }
  upstream reading { server 127.0.0.1:${ports.bodies}; keepalive 64; }
  upstream paced { server 127.0.0.1:${ports.streams}; keepalive 600; keepalive_requests 1000000; }
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering off; client_body_buffer_size 64k;
  server { listen 127.0.0.1:${ports.nginx};
    location / { proxy_pass http://fixed; }
    location /bodies { proxy_pass http://reading; }
    location /streams { proxy_buffering off; proxy_pass http://paced; } }`,
  )
  const child = startPinned(coreUnderTest, ['nginx', '-c', config])
  await waitFor(`http://127.0.0.1:${ports.nginx}/`)
  const pids = familyOf(child.pid)
  return {
    name: 'nginx',
    base: `http://127.0.0.1:${ports.nginx}`,
    key: 'none',
    streamPath: '/streams/v1/chat/completions',
    bodyPath: '/bodies/v1/chat/completions',
    pids,
    idleMb: memoryMb(pids, 'now'),
  }
}

const prices = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'

function gatewayConfig(): string {
  const deployment = (name: string, port: number, provider = 'custom_openai') => `
  - model_name: ${name}
    proxy_params:
      { model: ${provider}/${model}, api_base: "http://127.0.0.1:${port}/v1", api_key: bench, ${prices} }`
  return `model_list:${[
    deployment(model, ports.upstream),
    deployment('bench-stream', ports.streams),
    deployment('bench-body', ports.bodies),
    deployment('bench-foreign', ports.upstream, 'anthropic'),
    deployment('bench-paced', ports.paced),
    deployment('bench-foreign-stream', ports.foreignStreams, 'anthropic'),
  ].join('')}\n`
}

/** Starts the gateway of the checkout in `root` with everything on, and makes a key with limits. */
export async function startGateway(options: {
  readonly root: string
  readonly folder: string
  readonly port: number
  readonly name: string
  /** Further lines of its configuration. */
  readonly more?: string
}): Promise<Subject> {
  const { root, folder, port, name, more = '' } = options
  const config = join(folder, `${name}.yaml`)
  writeFileSync(config, gatewayConfig() + more)
  const masterKey = `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`
  const serve = ['serve', '--config', config, '--port', String(port), '--data-dir', join(folder, `${name}-data`)]
  const command = ['node', join(root, 'bin/modelgate.mjs'), ...serve]
  // The log goes through a pipe that is read, as a container's log is.
  const child = startPinned(coreUnderTest, command, { MODELGATE_MASTER_KEY: masterKey })
  void drain(child.stdout)
  const base = `http://127.0.0.1:${port}`
  await waitFor(`${base}/health/liveliness`)
  const administer = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${masterKey}` }
    const answer = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, unknown>
  }
  const limits = { rpm_limit: 1_000_000_000, tpm_limit: 1_000_000_000 }
  const { key } = await administer('/key/generate', { key_alias: 'bench', user_id: 'bench', ...limits })
  // The launcher is only a parent: what it costs is measured with the gateway, all the same.
  const pids = familyOf(child.pid)
  await Bun.sleep(quietMs)
  const gateway = pids.filter(pid => pid !== child.pid || pids.length === 1)
  return {
    name,
    base,
    key: String(key),
    administer,
    streamPath: '/engines/bench-stream/chat/completions',
    bodyPath: '/engines/bench-body/chat/completions',
    pids: gateway,
    idleMb: memoryMb(gateway, 'now'),
  }
}

/** Another gateway, which is running. Without `pid` its processes are not measured. */
export function runningPeer(options: {
  readonly base: string
  readonly key: string
  readonly pid: number | undefined
  readonly headers: readonly string[]
}): Subject {
  const { base, key, pid, headers } = options
  const pids = pid === undefined ? [] : familyOf(pid)
  return {
    name: 'peer',
    base,
    key,
    headers,
    streamPath: '/engines/bench-stream/chat/completions',
    bodyPath: '/engines/bench-body/chat/completions',
    pids,
    idleMb: pids.length > 0 ? memoryMb(pids, 'now') : Number.NaN,
  }
}

/** Until the rows of the load are in the database: that work is the load's too. Returns how long it took. */
export async function settled(gateway: Subject): Promise<number> {
  const from = performance.now()
  for (;;) {
    const text = await (
      await fetch(`${gateway.base}/metrics`, { headers: { authorization: `Bearer ${gateway.key}` } })
    ).text()
    const waiting = Number(/^modelgate_ledger_waiting_bytes (\d+)/m.exec(text)?.[1])
    if (waiting === 0) return performance.now() - from
    if (!(waiting > 0)) throw new Error(`the metrics do not say how much of the ledger waits:\n${text.slice(0, 300)}`)
    await Bun.sleep(250)
  }
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) void piece
}
