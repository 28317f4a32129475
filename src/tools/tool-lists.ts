/** The tools of a server, as clients are offered them. */
import type { Tool } from '@modelcontextprotocol/client'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import type { OfferedTool, ToolAnnotations } from '../core/tools.ts'
import type { Clock } from '../lib/clock.ts'
import { CachedList } from './cached-list.ts'
import type { KnownList } from './cached-list.ts'
import type { ServerConnection } from './connection.ts'
import { offeredName } from './offered-names.ts'

/** One for each connection. */
export class ToolList {
  readonly #list: CachedList<OfferedTool>
  #byName = new Map<string, OfferedTool>()

  constructor(connection: ServerConnection, clock: Pick<Clock, 'monotonicMs'>) {
    const { server } = connection
    this.#list = new CachedList({
      server,
      clock,
      async load() {
        const { tools, ttlMs } = await connection.listTools({ timeoutMs: server.timeoutMs })
        return { items: tools.map(tool => offeredTool(server, tool)), ttlMs }
      },
      loaded: items => {
        this.#byName = new Map([
          ...items.map(tool => [tool.name, tool] as const),
          ...items.map(tool => [tool.offeredName, tool] as const),
        ])
      },
    })
  }

  /** The server says that its tools have changed. */
  expire(): void {
    this.#list.expire()
  }

  /** See `CachedList.get`. */
  get(waitMs: number): Promise<KnownList<OfferedTool>> {
    return this.#list.get(waitMs)
  }

  /** By the server's name of it or the offered one, in the list that is known. */
  find(name: string): OfferedTool | undefined {
    return this.#byName.get(name)
  }
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
