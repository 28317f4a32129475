/** What honest clients see of a gateway while it is attacked, and what the attack costs it. */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { cpuUs, memoryMb, percentile } from '../bench/machine.ts'
import type { GatewayProcess } from '../gateway-process.ts'

/** What was seen from `watch` to `end`. */
export interface Seen {
  readonly seconds: number
  /** Of calls with a key on a connection that is kept. */
  readonly p99Ms: number
  readonly calls: number
  /** Calls with a key on new connections: answered with 200, of all. */
  readonly newcomers: { readonly served: number; readonly all: number }
  /** Health checks on new connections that were not answered with 200. */
  readonly unhealthy: number
  readonly healthChecks: number
  readonly cpuSeconds: number
  readonly peakMb: number
  /** The longest time for which one attacking connection held a socket of the gateway, in ms. */
  readonly heldMs: number
  /** The slowest call, or the longest time between two looks: so long the machine may have stood still. */
  readonly stallMs: number
}

const callGapMs = 4
const newcomerGapMs = 100
const lookGapMs = 100
const answerMs = 5000

/** Asks one request after another on one connection. */
class Client {
  readonly #socket: Socket
  #heard = ''
  #waiting: ((status: number) => void) | undefined

  constructor(port: number, ports: Set<number>) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('connect', () => ports.add(this.#socket.localPort!))
    this.#socket.on('data', bytes => this.#data(bytes.toString('latin1')))
    for (const event of ['error', 'close', 'end']) this.#socket.on(event, () => this.#answered(0))
  }

  /** The status of the answer; 0 = the connection was cut, or nothing came. */
  ask(request: string): Promise<number> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#answered(0), answerMs)
      this.#waiting = status => {
        clearTimeout(timer)
        resolve(status)
      }
      this.#heard = ''
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #data(text: string): void {
    this.#heard += text
    const head = this.#heard.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/.exec(this.#heard)?.[1] ?? 0)
    if (this.#heard.length >= head + 4 + length) this.#answered(Number(this.#heard.slice(9, 12)))
  }

  #answered(status: number): void {
    this.#waiting?.(status)
    this.#waiting = undefined
  }
}

/** Watches until `end` is called. */
export class Watch {
  readonly #gateway: GatewayProcess
  readonly #call: string
  readonly #startMs = performance.now()
  readonly #cpuFromUs: number
  readonly #latencies: number[] = []
  /** Ports of its own connections: all others are the attacker's. */
  readonly #ownPorts = new Set<number>()
  /** Sockets that were open before the attack. */
  readonly #before: ReadonlySet<string>
  readonly #held = new Map<string, { fromMs: number; toMs: number }>()
  readonly #newcomers = { served: 0, all: 0 }
  #unhealthy = 0
  #healthChecks = 0
  #peakMb = 0
  #lookGapMs = 0
  #over = false
  readonly #loops: Promise<void>[]

  constructor(gateway: GatewayProcess, key: string) {
    this.#gateway = gateway
    const body = '{"model":"small","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}'
    this.#call =
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    this.#cpuFromUs = cpuUs([gateway.pid])
    this.#before = new Set(socketsOf(gateway.port).map(({ inode }) => inode))
    this.#loops = [this.#callAll(), this.#knockAll(), this.#lookAll()]
  }

  async end(): Promise<Seen> {
    this.#over = true
    await Promise.all(this.#loops)
    const sorted = this.#latencies.toSorted((one, other) => one - other)
    return {
      seconds: (performance.now() - this.#startMs) / 1000,
      p99Ms: percentile(sorted, 0.99),
      calls: sorted.length,
      newcomers: this.#newcomers,
      unhealthy: this.#unhealthy,
      healthChecks: this.#healthChecks,
      cpuSeconds: (cpuUs([this.#gateway.pid]) - this.#cpuFromUs) / 1e6,
      peakMb: this.#peakMb,
      stallMs: Math.max(this.#lookGapMs, sorted.at(-1) ?? 0),
      heldMs: Math.max(0, ...[...this.#held.values()].map(({ fromMs, toMs }) => toMs - fromMs)),
    }
  }

  async #callAll(): Promise<void> {
    let client = new Client(this.#gateway.port, this.#ownPorts)
    while (!this.#over) {
      const fromMs = performance.now()
      const status = await client.ask(this.#call)
      if (status === 200) this.#latencies.push(performance.now() - fromMs)
      else {
        // Counts as slow as a client would wait: a call that fails is not a fast one.
        this.#latencies.push(answerMs)
        client.close()
        client = new Client(this.#gateway.port, this.#ownPorts)
      }
      await Bun.sleep(callGapMs)
    }
    client.close()
  }

  async #knockAll(): Promise<void> {
    while (!this.#over) {
      this.#healthChecks++
      if ((await this.#knock('GET /health/liveliness HTTP/1.1\r\nhost: localhost\r\n\r\n')) !== 200) this.#unhealthy++
      this.#newcomers.all++
      if ((await this.#knock(this.#call)) === 200) this.#newcomers.served++
      await Bun.sleep(newcomerGapMs)
    }
  }

  async #knock(request: string): Promise<number> {
    const client = new Client(this.#gateway.port, this.#ownPorts)
    const status = await client.ask(request)
    client.close()
    return status
  }

  async #lookAll(): Promise<void> {
    let lastMs = performance.now()
    while (!this.#over) {
      this.#lookGapMs = Math.max(this.#lookGapMs, performance.now() - lastMs)
      lastMs = performance.now()
      this.#peakMb = Math.max(this.#peakMb, memoryMb([this.#gateway.pid], 'now'))
      this.#lookAtPlaces()
      await Bun.sleep(lookGapMs)
    }
  }

  #lookAtPlaces(): void {
    const nowMs = performance.now()
    for (const { inode, remotePort } of socketsOf(this.#gateway.port)) {
      if (this.#ownPorts.has(remotePort) || this.#before.has(inode)) continue
      const held = this.#held.get(inode)
      if (held) held.toMs = nowMs
      else this.#held.set(inode, { fromMs: nowMs, toMs: nowMs })
    }
  }
}

/** The sockets that a process holds on its port, by /proc/net/tcp (proc_net_tcp(5)); remote ports are used again. */
function socketsOf(port: number): { inode: string; remotePort: number }[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(([, local, , state, , , , , , inode]) => local?.endsWith(ending) && state !== '0A' && inode !== '0')
    .map(([, , remote, , , , , , , inode]) => ({ inode: inode!, remotePort: parseInt(remote!.slice(-4), 16) }))
}
