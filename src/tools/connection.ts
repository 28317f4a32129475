/**
 * One connection to one tool server, by the official client: whichever generation of the protocol the server speaks.
 * Its module is loaded with the first connection.
 */
import type { Client, Progress, RequestMethod, Tool, Transport as McpTransport } from '@modelcontextprotocol/client'
import packageJson from '../../package.json' with { type: 'json' }
import { GatewayError } from '../core/errors.ts'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import type { ItemKind, ProtocolItem } from '../core/tools.ts'
import type { Transport } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import type { GivenList } from './cached-list.ts'
import { checkedAddress } from './egress.ts'
import type { Resolve } from './egress.ts'
import { serverError } from './server-errors.ts'
import { fetchOver } from './server-fetch.ts'
import { ProgramTransport } from './program.ts'

/** What connections are made with. */
export interface ConnectionParts {
  readonly transport: Pick<Transport, 'send'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Absent = that of the system. */
  readonly resolve?: Resolve | undefined
  /** Writes what a program says on its error output. */
  programSays(server: string, line: string): void
}

/** How one request to a server is made. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
  onProgress?(progress: Progress): void
}

interface ListOptions extends ReturnType<typeof sdkOptions> {
  readonly cacheMode: 'bypass'
}
const itemKinds = {
  prompts: { capability: 'prompts', list: (client: Client, how: ListOptions) => client.listPrompts(undefined, how) },
  resources: {
    capability: 'resources',
    list: (client: Client, how: ListOptions) => client.listResources(undefined, how),
  },
  resourceTemplates: {
    capability: 'resources',
    list: (client: Client, how: ListOptions) => client.listResourceTemplates(undefined, how),
  },
} as const

const answerBytesMax = 64 * 1024 * 1024
/** How long the address of a host is used that was checked. */
const addressMs = 30_000

const loadClient = () => import('@modelcontextprotocol/client')

/** Connects with the first request; again after it was lost. */
export class ServerConnection {
  readonly server: ToolServerSettings
  /** When a request of it ended last, on the monotonic clock. */
  usedAtMs: number
  /** Requests under way. */
  busy = 0
  readonly #parts: ConnectionParts
  readonly #headers: Readonly<Record<string, string>>
  readonly #listChanged: () => void
  #client: Promise<Client> | undefined
  #address: { readonly host: string; readonly value: Promise<string>; readonly untilMs: number } | undefined
  #closed = false
  /** Connections that have failed one after another, the last error, and until when none is made. */
  #failures = 0
  #failed: { readonly error: unknown; readonly untilMs: number } | undefined

  /** `forwarded` = headers of the client's request, beside those of the server. */
  constructor(
    parts: ConnectionParts,
    server: ToolServerSettings,
    forwarded: Readonly<Record<string, string>>,
    listChanged: () => void,
  ) {
    this.#parts = parts
    this.server = server
    this.#headers = forwarded
    this.#listChanged = listChanged
    this.usedAtMs = parts.clock.monotonicMs()
  }

  /** Tools of all pages, and how long the server lets the list be kept; undefined = it does not say. */
  async listTools(options: RequestOptions): Promise<{ readonly tools: readonly Tool[]; readonly ttlMs?: number }> {
    const list = await this.#run(options, async client => {
      if (!client.getServerCapabilities()?.tools) return { tools: [] }
      return client.listTools(undefined, { ...sdkOptions(options), cacheMode: 'bypass' })
    })
    const { ttlMs } = list as { ttlMs?: unknown }
    return { tools: list.tools, ...(typeof ttlMs === 'number' && ttlMs >= 0 && { ttlMs }) }
  }

  /** Prompts, resources or templates of all pages; empty where the server has none of the kind. */
  async listItems(kind: ItemKind, options: RequestOptions): Promise<GivenList<ProtocolItem>> {
    const { capability, list } = itemKinds[kind]
    const answer = await this.#run(options, async client => {
      if (!client.getServerCapabilities()?.[capability]) return { [kind]: [] }
      return list(client, { ...sdkOptions(options), cacheMode: 'bypass' }) as Promise<object>
    })
    const { ttlMs, [kind]: items } = answer as Record<string, unknown>
    return {
      items: items as readonly ProtocolItem[],
      ttlMs: typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : undefined,
    }
  }

  /** The result as the server gives it. `tool` is its definition, for headers that mirror arguments. */
  callTool(
    tool: Pick<Tool, 'name' | 'inputSchema'>,
    params: {
      readonly arguments: Readonly<Record<string, unknown>>
      readonly _meta?: Readonly<Record<string, unknown>>
    },
    options: RequestOptions,
  ) {
    // Without an output schema the result is not judged here: that is for who reads it.
    const definition = { name: tool.name, inputSchema: tool.inputSchema }
    return this.#run(options, client =>
      client.callTool({ name: tool.name, ...params } as Parameters<Client['callTool']>[0], {
        ...sdkOptions(options),
        toolDefinition: definition,
        allowInputRequired: true,
      }),
    )
  }

  /** Any other request of a client: prompts, resources, completions. */
  request(method: RequestMethod, params: Readonly<Record<string, unknown>>, options: RequestOptions): Promise<object> {
    return this.#run(options, client => client.request({ method, params } as never, sdkOptions(options)) as never)
  }

  /** Ends it; a session at the server is ended too, as far as the server listens. */
  async close(): Promise<void> {
    this.#closed = true
    const client = this.#client
    this.#client = undefined
    await client?.then(one => end(one)).catch(() => {})
  }

  async #run<Result>(options: RequestOptions, work: (client: Client) => Promise<Result>): Promise<Result> {
    this.busy++
    try {
      return await this.#attempt(options, work, true)
    } catch (thrown) {
      throw await serverError(this.server, thrown, options.signal)
    } finally {
      this.busy--
      this.usedAtMs = this.#parts.clock.monotonicMs()
    }
  }

  /** A server that does not know the session has run nothing of the request: it is sent once more, in a new one. */
  async #attempt<Result>(
    options: RequestOptions,
    work: (client: Client) => Promise<Result>,
    mayRepeat: boolean,
  ): Promise<Result> {
    options.signal?.throwIfAborted()
    const connecting = (this.#client ??= this.#connect())
    const client = await until(connecting, options)
    try {
      return await work(client)
    } catch (thrown) {
      if (!mayRepeat || !isLostSession(client, thrown)) throw thrown
      if (this.#client === connecting) this.#client = undefined
      void end(client)
      return this.#attempt(options, work, false)
    }
  }

  #connect(): Promise<Client> {
    if (this.#closed) throw new GatewayError('overloaded', `the tool server '${this.server.name}' was taken away`)
    const nowMs = this.#parts.clock.monotonicMs()
    if (this.#failed && nowMs < this.#failed.untilMs) return Promise.reject(this.#failed.error as Error)
    const connecting = this.#open()
    connecting.then(
      () => {
        this.#failed = undefined
        // A program that ends at once has started all the same.
        if (!this.server.command) this.#failures = 0
      },
      (error: unknown) => {
        if (this.#client === connecting) this.#client = undefined
        this.#holdOff(error)
      },
    )
    return connecting
  }

  #holdOff(error: unknown): void {
    const waitMs = Math.min(waitMsMin * 2 ** this.#failures++, waitMsMax)
    this.#failed = { error, untilMs: this.#parts.clock.monotonicMs() + waitMs }
  }

  /** The server, or the program, has closed it. */
  #lost(sinceMs: number): void {
    if (this.#closed || !this.#client) return
    this.#client = undefined
    if (!this.server.command) return
    if (this.#parts.clock.monotonicMs() - sinceMs > steadyMs) this.#failures = 0
    else this.#holdOff(new GatewayError('upstream-closed', 'the program has ended soon after its start'))
  }

  async #open(): Promise<Client> {
    const { server } = this
    const sdk = await loadClient()
    const client = new sdk.Client(
      { name: packageJson.name, version: packageJson.version },
      { capabilities: {}, versionNegotiation: { mode: server.transport === 'sse' ? 'legacy' : 'auto' } },
    )
    client.setNotificationHandler('notifications/tools/list_changed', () => this.#listChanged())
    const sinceMs = this.#parts.clock.monotonicMs()
    client.onclose = () => this.#lost(sinceMs)
    // What concerns a request is told to it; the rest concerns the stream beside, which is opened again.
    client.onerror = () => {}
    await client.connect(this.#transport(sdk), { timeout: Math.min(server.timeoutMs, connectMsMax) })
    return client
  }

  #transport(sdk: typeof import('@modelcontextprotocol/client')): McpTransport {
    const { server } = this
    if (server.command) return new ProgramTransport(sdk, server, line => this.#parts.programSays(server.name, line))
    const url = new URL(server.url!)
    const own = Object.entries(server.headers).map(([name, value]) => [name, value.reveal()])
    const headers = { ...this.#headers, ...(Object.fromEntries(own) as Record<string, string>) }
    const fetch = fetchOver({
      transport: this.#parts.transport,
      addressOf: target => this.#addressOf(target),
      bytesMax: answerBytesMax,
    })
    if (server.transport === 'sse') return new sdk.SSEClientTransport(url, { fetch, requestInit: { headers } })
    return new sdk.StreamableHTTPClientTransport(url, { fetch, requestInit: { headers } })
  }

  /** A server may lead to another path of its own, and nowhere else: its credentials are for its host alone. */
  #addressOf(target: URL): Promise<string> {
    const { server } = this
    const own = new URL(server.url!)
    if (target.origin !== own.origin)
      throw new GatewayError('upstream-broken', `the tool server '${server.name}' leads to another host`)
    const nowMs = this.#parts.clock.monotonicMs()
    if (!this.#address || this.#address.host !== target.host || this.#address.untilMs < nowMs) {
      const value = checkedAddress(target, server.mayBePrivate, this.#parts.resolve)
      value.catch(() => (this.#address = undefined))
      this.#address = { host: target.host, value, untilMs: nowMs + addressMs }
    }
    return this.#address.value
  }
}

const connectMsMax = 30_000
/** How long no further connection is made after a failure: twice as long after each. */
const waitMsMin = 500
const waitMsMax = 30_000
/** A program that has lived so long is started again at once. */
const steadyMs = 10_000

const sdkOptions = ({ signal, timeoutMs, onProgress }: RequestOptions) => ({
  timeout: timeoutMs,
  resetTimeoutOnProgress: true,
  ...(signal && { signal }),
  ...(onProgress && { onprogress: (progress: Progress) => onProgress(progress) }),
})

/** The connection goes on being made for others. */
function until<Value>(promise: Promise<Value>, { signal, timeoutMs }: RequestOptions): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => over(() => reject(signal?.reason as Error))
    const timer = setTimeout(
      () => over(() => reject(new GatewayError('upstream-timeout', 'the connection took too long'))),
      timeoutMs,
    )
    const over = (then: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      then()
    }
    signal?.addEventListener('abort', abort, { once: true })
    promise.then(
      value => over(() => resolve(value)),
      (error: unknown) => over(() => reject(error as Error)),
    )
  })
}

/** 404 with a session is what a server says that has forgotten it (2025-11-25, transports, session management). */
function isLostSession(client: Client, thrown: unknown): boolean {
  const { status } = thrown as { status?: unknown }
  const { code } = thrown as { code?: unknown }
  const hadSession = client.transport?.sessionId !== undefined
  return (hadSession && (status === 404 || status === 400)) || code === 'NOT_CONNECTED'
}

async function end(client: Client): Promise<void> {
  const { transport } = client
  if (transport && 'terminateSession' in transport && transport.sessionId !== undefined)
    await Promise.race([
      (transport as { terminateSession(): Promise<void> }).terminateSession().catch(() => {}),
      new Promise(resolve => setTimeout(resolve, 1000)),
    ])
  await client.close().catch(() => {})
}
