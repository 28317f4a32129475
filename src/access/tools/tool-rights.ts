/** Which tools a caller may use: what was granted to it, narrowed by each of its objects. Compiled once for each. */
import { isAdministrator, isMaster } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { ToolPermission } from '../../core/tenancy/tool-permission.ts'
import type { ToolServerSettings } from '../../core/tool-servers.ts'

/** What one server offers to one caller. */
export interface ServerRights {
  readonly server: ToolServerSettings
  /** `tool` = its server's name of it. */
  allows(tool: string, offeredName: string): boolean
}

const known = new WeakMap<Caller, { readonly of: readonly ToolServerSettings[]; readonly rights: ToolRights }>()

/** The rights of a caller at these servers, which is a list that stays the same object until one of them changes. */
export function toolRightsOf(caller: Caller, servers: readonly ToolServerSettings[]): ToolRights {
  let found = known.get(caller)
  if (found?.of !== servers) known.set(caller, (found = { of: servers, rights: new ToolRights(caller, servers) }))
  return found.rights
}

/** The servers of one caller, in the order of the configuration. */
export class ToolRights {
  readonly servers: readonly ServerRights[]
  readonly #byPrefix: ReadonlyMap<string, ServerRights>
  readonly #byName: ReadonlyMap<string, ServerRights>

  constructor(caller: Caller, servers: readonly ToolServerSettings[]) {
    const permissions = permissionsOf(caller)
    const mayAll = isMaster(caller) || isAdministrator(caller)
    this.servers = servers
      .filter(server => isGranted(server, permissions, mayAll))
      .map(server => ({ server, allows: toolFilter(server, permissions) }))
    this.#byName = new Map(this.servers.map(one => [one.server.name, one]))
    this.#byPrefix = new Map(this.servers.map(one => [one.server.prefix, one]))
  }

  /** By its name or the prefix of its tools; undefined = there is none, or the caller may not use it. */
  find(name: string): ServerRights | undefined {
    return this.#byName.get(name) ?? this.#byPrefix.get(name)
  }

  /** Those of a group of which the caller may use one at least. */
  inGroup(group: string): readonly ServerRights[] {
    return this.servers.filter(({ server }) => server.accessGroups.includes(group))
  }
}

/** What the objects of a caller say, and what its derivations say, which may only narrow it. */
interface Permissions {
  readonly granting: readonly ToolPermission[]
  readonly narrowing: readonly ToolPermission[]
}

/** The master key is bound by none. */
function permissionsOf(caller: Caller): Permissions {
  if (isMaster(caller)) return { granting: [], narrowing: [] }
  const { key, user, team, organization, derived = [] } = caller
  const said = (list: readonly ({ readonly objectPermission?: ToolPermission | null | undefined } | undefined)[]) =>
    list.flatMap(one => one?.objectPermission ?? [])
  return { granting: said([organization, team, user, key]), narrowing: said(derived) }
}

/** The list says which servers may be used; else it says nothing of servers. */
export const namesServers = ({ mcp_servers: servers = [], mcp_access_groups: groups = [] }: ToolPermission): boolean =>
  servers.length + groups.length > 0

/**
 * A list that names no server says nothing. Each one that names some must name this one; a server that lets all keys
 * use it needs no list, and of administrators none is needed.
 */
function isGranted(server: ToolServerSettings, { granting, narrowing }: Permissions, mayAll: boolean): boolean {
  const lists = granting.filter(namesServers)
  if (lists.length === 0 && !mayAll && !server.allowsAllKeys) return false
  return [...lists, ...narrowing.filter(namesServers)].every(
    ({ mcp_servers: servers = [], mcp_access_groups: groups = [] }) =>
      servers.includes(server.name) ||
      servers.includes(server.id) ||
      server.accessGroups.some(group => groups.includes(group)),
  )
}

function toolFilter(server: ToolServerSettings, { granting, narrowing }: Permissions): ServerRights['allows'] {
  const permissions = [...granting, ...narrowing]
  const { allowedTools, disallowedTools } = server
  const lists = permissions.flatMap(({ mcp_tool_permissions: byServer = {} }) => {
    const list = own(byServer, server.name) ?? own(byServer, server.id)
    return list ? [new Set(list)] : []
  })
  const blocked = new Set(permissions.flatMap(one => one.blocked_tools ?? []))
  const has = (names: ReadonlySet<string>, tool: string, offered: string) => names.has(tool) || names.has(offered)
  return (tool, offered) => {
    if (allowedTools && !has(allowedTools, tool, offered)) return false
    if (has(disallowedTools, tool, offered) || has(blocked, tool, offered)) return false
    return lists.every(list => has(list, tool, offered))
  }
}

const own = (map: Readonly<Record<string, readonly string[]>>, name: string) =>
  Object.hasOwn(map, name) ? map[name] : undefined
