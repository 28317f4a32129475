/** The tools of servers, as these listed them last: kept for as long as each says, asked for again behind requests. */
import type { Tool } from '@modelcontextprotocol/client'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import type { OfferedTool, ToolAnnotations } from '../core/tools.ts'
import type { Clock } from '../lib/clock.ts'
import type { ServerConnection } from './connection.ts'
import { offeredName } from './offered-names.ts'

/** The list of a server, and what it is worth. */
export interface KnownList {
  readonly tools: readonly OfferedTool[]
  readonly state: 'listed' | 'stale' | 'failed'
  /** Of a list that is not `listed`. */
  readonly error?: GatewayError
}

/** An expired list is waited for only so long: there is one to go on with. */
const refreshWaitMs = 150
/** A day: what a server may ask for at most. */
const ttlMsMax = 86_400_000
const toolsMax = 5000

/** One for each connection. */
export class ToolList {
  readonly #connection: ServerConnection
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #tools: readonly OfferedTool[] | undefined
  #byName = new Map<string, OfferedTool>()
  #untilMs = 0
  #loading: Promise<void> | undefined
  #error: GatewayError | undefined

  constructor(connection: ServerConnection, clock: Pick<Clock, 'monotonicMs'>) {
    this.#connection = connection
    this.#clock = clock
  }

  /** The server says that its tools have changed. */
  expire(): void {
    this.#untilMs = 0
  }

  /** Waits `waitMs` at most where nothing is known, and moments where there is a list of before. Never rejects. */
  async get(waitMs: number): Promise<KnownList> {
    if (this.#tools && this.#clock.monotonicMs() < this.#untilMs) return { tools: this.#tools, state: 'listed' }
    this.#loading ??= this.#load()
    await within(this.#loading, this.#tools ? Math.min(refreshWaitMs, waitMs) : waitMs)
    if (this.#tools && this.#clock.monotonicMs() < this.#untilMs) return { tools: this.#tools, state: 'listed' }
    const error = this.#error ?? tooSlow(this.#connection.server, waitMs)
    return this.#tools ? { tools: this.#tools, state: 'stale', error } : { tools: [], state: 'failed', error }
  }

  /** By the server's name of it or the offered one, in the list that is known. */
  find(name: string): OfferedTool | undefined {
    return this.#byName.get(name)
  }

  async #load(): Promise<void> {
    const { server } = this.#connection
    try {
      const { tools, ttlMs = server.listTtlMs } = await this.#connection.listTools({ timeoutMs: server.timeoutMs })
      if (tools.length > toolsMax)
        throw new GatewayError(
          'upstream-broken',
          `the tool server '${server.name}': it lists more than ${toolsMax} tools`,
        )
      const offered = tools.map(tool => offeredTool(server, tool))
      this.#byName = new Map([
        ...offered.map(tool => [tool.name, tool] as const),
        ...offered.map(tool => [tool.offeredName, tool] as const),
      ])
      this.#tools = offered
      this.#error = undefined
      // One that is "immediately stale" still answers the requests that waited for it.
      this.#untilMs = this.#clock.monotonicMs() + Math.min(Math.max(ttlMs, 50), ttlMsMax)
    } catch (thrown) {
      this.#error = toGatewayError(thrown)
    } finally {
      this.#loading = undefined
    }
  }
}

const tooSlow = (server: ToolServerSettings, waitMs: number) =>
  new GatewayError(
    'upstream-timeout',
    `the tool server '${server.name}': it has not listed its tools within ${waitMs / 1000} s`,
  )

function within(promise: Promise<void>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>(resolve => (timer = setTimeout(resolve, ms)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Fields of MCP that have a place of their own in `OfferedTool`. */
const placed = new Set(['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'execution'])

function offeredTool(server: ToolServerSettings, tool: Tool): OfferedTool {
  const { name, description = '', inputSchema, outputSchema, annotations } = tool
  const title = own(server.titles, name) ?? tool.title
  const others = Object.entries(tool).filter(([field, value]) => !placed.has(field) && value !== undefined)
  return {
    server: server.name,
    name,
    offeredName: offeredName(server.prefix, name),
    ...(title !== undefined && { title }),
    description: own(server.descriptions, name) ?? description,
    inputSchema: inputSchema as OfferedTool['inputSchema'],
    ...(outputSchema && { outputSchema: outputSchema as OfferedTool['inputSchema'] }),
    ...(annotations && { annotations: annotations as ToolAnnotations }),
    ...(others.length > 0 && { protocolFields: Object.fromEntries(others) }),
    costNanoUsd: own(server.toolCosts, name) ?? server.defaultCostNanoUsd,
  }
}

const own = <Value>(map: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(map, name) ? map[name] : undefined
