/** The connections to tool servers: one for each server and each set of headers that clients send along. */
import { createHash } from 'node:crypto'
import type { RequestHeaders } from '../core/request.ts'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import type { ItemKind, ProtocolItem } from '../core/tools.ts'
import { Secret } from '../lib/secret.ts'
import { CachedList } from './cached-list.ts'
import { ServerConnection } from './connection.ts'
import type { ConnectionParts } from './connection.ts'
import { ToolList } from './tool-lists.ts'

/** A connection, and the list that comes over it: a server may list other tools to other people. */
export interface PooledServer {
  readonly connection: ServerConnection
  readonly list: ToolList
  /** Made when they are first asked for. */
  readonly items: Map<ItemKind, CachedList<ProtocolItem>>
}

/** The list of prompts, resources or templates. */
export function itemsOf({ connection, items }: PooledServer, kind: ItemKind, clock: ConnectionParts['clock']) {
  const { server } = connection
  let list = items.get(kind)
  if (!list) {
    const load = () => connection.listItems(kind, { timeoutMs: server.timeoutMs })
    items.set(kind, (list = new CachedList({ server, clock, load })))
  }
  return list
}

const fingerprints = new WeakMap<ToolServerSettings, string>()

/** Equal for equal settings, secrets included: what was not changed keeps its connections when others are. */
function fingerprintOf(server: ToolServerSettings): string {
  let known = fingerprints.get(server)
  if (known === undefined) {
    const plain = JSON.stringify(server, function (this: Record<string, unknown>, name: string, value: unknown) {
      // A secret says nothing of itself in JSON.
      const given = this[name]
      if (given instanceof Secret) return given.reveal()
      if (given instanceof Set) return [...(given as Set<unknown>)]
      return typeof value === 'bigint' ? String(value) : value
    })
    fingerprints.set(server, (known = createHash('sha256').update(plain).digest('base64url')))
  }
  return known
}

/** Connections beyond those of the servers' own credentials. */
const personalMax = 1000
const idleMsMax = 10 * 60_000
const sweepMs = 60_000

/** Closes what is not used any more. */
export class ServerPool {
  readonly #parts: ConnectionParts
  readonly #servers = new Map<string, Map<string, PooledServer>>()
  #sweeper: ReturnType<typeof setInterval> | undefined

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  /** `headers` = of the client's request. */
  of(server: ToolServerSettings, headers: RequestHeaders | undefined): PooledServer {
    const forwarded = forwardedHeaders(server, headers)
    const identity = identityOf(forwarded)
    const key = fingerprintOf(server)
    let connections = this.#servers.get(key)
    if (!connections) this.#servers.set(key, (connections = new Map()))
    let found = connections.get(identity)
    if (!found) {
      found = this.#open(server, forwarded)
      if (connections.size >= personalMax) this.#closeOldest(connections)
      connections.set(identity, found)
    }
    this.#sweeper ??= setInterval(() => this.#sweep(), sweepMs).unref()
    return found
  }

  #open(server: ToolServerSettings, forwarded: Readonly<Record<string, string>>): PooledServer {
    const connection = new ServerConnection(this.#parts, server, forwarded, () => list.expire())
    const list = new ToolList(connection, this.#parts.clock)
    return { connection, list, items: new Map() }
  }

  /** Servers that are configured no more, or otherwise, lose their connections; requests under way end first. */
  keep(servers: readonly ToolServerSettings[]): void {
    const kept = new Set(servers.map(fingerprintOf))
    for (const [server, connections] of this.#servers)
      if (!kept.has(server)) {
        this.#servers.delete(server)
        for (const { connection } of connections.values()) void closeWhenIdle(connection)
      }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    const all = [...this.#servers.values()].flatMap(one => [...one.values()])
    this.#servers.clear()
    await Promise.all(all.map(({ connection }) => connection.close()))
  }

  /** The first that is not busy. */
  #closeOldest(connections: Map<string, PooledServer>): void {
    for (const [identity, { connection }] of connections)
      if (connection.busy === 0) {
        connections.delete(identity)
        void connection.close()
        return
      }
  }

  #sweep(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    for (const connections of this.#servers.values())
      for (const [identity, { connection }] of connections)
        if (identity !== '' && connection.busy === 0 && nowMs - connection.usedAtMs > idleMsMax) {
          connections.delete(identity)
          void connection.close()
        }
  }
}

const drainMsMax = 60_000

async function closeWhenIdle(connection: ServerConnection): Promise<void> {
  for (let waited = 0; connection.busy > 0 && waited < drainMsMax; waited += 100)
    await new Promise(resolve => setTimeout(resolve, 100))
  await connection.close()
}

function forwardedHeaders(server: ToolServerSettings, headers: RequestHeaders | undefined): Record<string, string> {
  if (!headers || server.command) return {}
  const own: Record<string, string> = {}
  for (const name of server.forwardedHeaders) {
    const value = headers.get(name)
    if (value !== null) own[name] = value
  }
  return own
}

/** Empty = nothing of the client is sent along. */
function identityOf(forwarded: Readonly<Record<string, string>>): string {
  const entries = Object.entries(forwarded)
  return entries.length === 0 ? '' : createHash('sha256').update(JSON.stringify(entries)).digest('base64url')
}
