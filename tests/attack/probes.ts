/** What honest clients see of a gateway while it is attacked, and what the attack costs it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { cpuUs, memoryMb, percentile } from '../bench/machine.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import type { CallerMessage } from './caller.ts'
import { Client, smallCall } from './client.ts'

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

const newcomerGapMs = 100
const lookGapMs = 100

/** The process of `caller.ts`, kept over all attacks. */
export class Caller {
  /** From which honest clients have called: all others are the attacker's. */
  readonly ports = new Set<number>()
  readonly #child: Subprocess
  #seen: ((latenciesMs: readonly number[]) => void) | undefined

  /** `under`: the command it runs under. */
  constructor(port: number, key: string, under: readonly string[]) {
    this.#child = Bun.spawn([...under, process.execPath, join(import.meta.dir, 'caller.ts'), String(port), key], {
      stdio: ['ignore', 'inherit', 'inherit'],
      ipc: (message: CallerMessage) => {
        if ('localPort' in message) this.ports.add(message.localPort)
        else this.#seen?.(message.latenciesMs)
      },
    })
  }

  begin(): void {
    this.#child.send('begin')
  }

  /** Sorted. */
  async end(): Promise<readonly number[]> {
    const seen = new Promise<readonly number[]>(resolve => (this.#seen = resolve))
    this.#child.send('end')
    return (await seen).toSorted((one, other) => one - other)
  }

  stop(): void {
    this.#child.kill()
  }
}

/** Watches until `end` is called. */
export class Watch {
  readonly #gateway: GatewayProcess
  readonly #call: string
  readonly #startMs = performance.now()
  readonly #cpuFromUs: number
  readonly #caller: Caller
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

  /** `caller` calls meanwhile. */
  constructor(gateway: GatewayProcess, key: string, caller: Caller) {
    this.#gateway = gateway
    this.#caller = caller
    this.#call = smallCall(key)
    this.#cpuFromUs = cpuUs([gateway.pid])
    this.#before = new Set(socketsOf(gateway.port).map(({ inode }) => inode))
    caller.begin()
    this.#loops = [this.#knockAll(), this.#lookAll()]
  }

  async end(): Promise<Seen> {
    this.#over = true
    const sorted = await this.#caller.end()
    await Promise.all(this.#loops)
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
    const client = new Client(this.#gateway.port, localPort => this.#caller.ports.add(localPort))
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
      if (this.#caller.ports.has(remotePort) || this.#before.has(inode)) continue
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
