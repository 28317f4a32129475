/** All tools of the gateway, as one caller may use them. See `ToolGateway`. */
import { toolRightsOf } from '../access/tools/tool-rights.ts'
import type { ServerRights, ToolRights } from '../access/tools/tool-rights.ts'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import { sessionIdOf } from '../core/ledger/session-id.ts'
import type { Settings } from '../core/settings.ts'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import type {
  ListedServer,
  OfferedTool,
  RunTool,
  ToolCallRequest,
  ToolCallResult,
  ToolContent,
  ToolGateway,
  ToolList,
  ToolRequestContext,
  ToolSelection,
  ToolServer,
  ToolUse,
} from '../core/tools.ts'
import type { ConnectionParts } from './connection.ts'
import { ServerFeatures } from './features.ts'
import { prefixOf } from './offered-names.ts'
import { ServerPool } from './server-pool.ts'
import type { PooledServer } from './server-pool.ts'

/** What the gateway of tools works with. */
export interface ToolGatewayParts extends ConnectionParts {
  settings(): Pick<Settings, 'toolServers'>
  readonly runTool: RunTool
}

const noServers: readonly ToolServerSettings[] = []
/** How long a list of several servers waits for one that was never listed. */
const coldWaitMs = 2000
const route = '/mcp'

/** Servers come and go with the settings, which each request reads once. */
export class Tools implements ToolGateway {
  readonly #parts: ToolGatewayParts
  readonly #pool: ServerPool
  /** Prompts, resources, templates and completions, of which only the protocol knows. */
  readonly features: ServerFeatures

  constructor(parts: ToolGatewayParts) {
    this.#parts = parts
    this.#pool = new ServerPool(parts)
    this.features = new ServerFeatures({
      clock: parts.clock,
      selected: ({ caller }, selection) => selectedServers(this.#rights(caller), selection),
      pooled: (rights, context) => this.#pooled(rights, context),
    })
  }

  get hasServers(): boolean {
    return this.#configured.length > 0
  }

  get #configured(): readonly ToolServerSettings[] {
    return this.#parts.settings().toolServers ?? noServers
  }

  /** The settings have changed. */
  reloaded(): void {
    this.#pool.keep(this.#configured)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  servers(caller: Caller): readonly ToolServer[] {
    return this.#rights(caller).servers.map(({ server }) => shown(server))
  }

  async list(context: ToolRequestContext, selection: ToolSelection = {}): Promise<ToolList> {
    const rights = this.#rights(context.caller)
    const selected = selectedServers(rights, selection)
    const waitMs = selected.length === 1 ? selected[0]!.server.timeoutMs : coldWaitMs
    const lists = await Promise.all(
      selected.map(async one => ({ one, list: await this.#pooled(one, context).list.get(waitMs) })),
    )
    const wanted = selection.allowedTools && new Set(selection.allowedTools)
    const tools: OfferedTool[] = []
    const servers = lists.map(({ one, list }): ListedServer => {
      const own = list.items.filter(
        tool =>
          one.allows(tool.name, tool.offeredName) && (!wanted || wanted.has(tool.name) || wanted.has(tool.offeredName)),
      )
      tools.push(...own)
      const { state, error } = list
      return { name: one.server.name, state, tools: own.length, ...(error && { reason: error.message }) }
    })
    return {
      tools,
      servers,
      emptyBecause: tools.length > 0 ? undefined : whyEmpty(this.hasServers, servers, selection),
    }
  }

  async find(context: ToolRequestContext, offered: string): Promise<OfferedTool | undefined> {
    const rights = this.#rights(context.caller).find(prefixOf(offered) ?? '')
    return rights && (await this.#tool(rights, offered, context))
  }

  async call(request: ToolCallRequest): Promise<ToolCallResult> {
    const rights = this.#rights(request.caller).find(request.server)
    if (!rights) throw forbiddenServer(request.server)
    const tool = await this.#tool(rights, request.tool, request)
    if (!tool) throw forbiddenTool(request.tool)
    const use = useOf(request, tool)
    const { connection } = this.#pooled(rights, request)
    const { result, callId } = await this.#parts.runTool(
      {
        caller: request.caller,
        tool: use,
        route,
        headers: request.headers,
        signal: request.signal,
        clientAddress: request.clientAddress ?? '',
        userAgent: request.userAgent ?? '',
      },
      async signal => {
        const answer = await connection.callTool(
          { name: tool.name, inputSchema: { ...tool.inputSchema, type: 'object' } },
          { arguments: request.arguments, ...(request.meta && { _meta: request.meta }) },
          {
            signal,
            timeoutMs: rights.server.timeoutMs,
            ...(request.onProgress && { onProgress: progress => request.onProgress!(progress) }),
          },
        )
        if (asksForInput(answer))
          throw new GatewayError(
            'upstream-failed',
            `the tool '${tool.offeredName}' asks for input of a person, which this gateway does not pass on yet`,
          )
        use.isToolError = answer.isError === true
        use.answerBytes = Buffer.byteLength(JSON.stringify([answer.content, answer.structuredContent]))
        return answer
      },
    )
    const { content = [], structuredContent, isError = false, _meta: meta } = result
    return {
      content: content as readonly ToolContent[],
      ...(structuredContent !== undefined && { structuredContent }),
      isError,
      ...(meta && { meta: withoutProtocol(meta) }),
      callId,
      costNanoUsd: use.costNanoUsd,
    }
  }

  #rights(caller: Caller): ToolRights {
    return toolRightsOf(caller, this.#configured)
  }

  #pooled({ server }: ServerRights, { headers }: ToolRequestContext): PooledServer {
    return this.#pool.of(server, headers)
  }

  /** By either name; undefined = it does not exist or the caller may not use it. Rejects with its server's error. */
  async #tool(rights: ServerRights, name: string, context: ToolRequestContext): Promise<OfferedTool | undefined> {
    const { list } = this.#pooled(rights, context)
    const known = list.find(name)
    const found = known ?? (await this.#listed(rights, list, name))
    return found && rights.allows(found.name, found.offeredName) ? found : undefined
  }

  async #listed({ server }: ServerRights, list: PooledServer['list'], name: string): Promise<OfferedTool | undefined> {
    const { state, error } = await list.get(server.timeoutMs)
    if (state === 'failed') throw error!
    return list.find(name)
  }
}

const shown = ({ name, description, transport, accessGroups }: ToolServerSettings): ToolServer => ({
  name,
  description,
  transport,
  accessGroups,
})

/** Without a selection all servers of the caller. */
function selectedServers(rights: ToolRights, { servers, accessGroups }: ToolSelection): readonly ServerRights[] {
  if (!servers && !accessGroups) return rights.servers
  const selected = new Set<ServerRights>()
  for (const name of servers ?? []) {
    const found = rights.find(name)
    const ofName = found ? [found] : rights.inGroup(name)
    if (ofName.length === 0) throw forbiddenServer(name)
    for (const one of ofName) selected.add(one)
  }
  for (const group of accessGroups ?? []) {
    const found = rights.inGroup(group)
    if (found.length === 0)
      throw new GatewayError('tool-forbidden', `no tool server of the access group '${group}' may be used by this key`)
    for (const one of found) selected.add(one)
  }
  return [...selected]
}

const forbiddenServer = (name: string) =>
  new GatewayError(
    'tool-forbidden',
    `the tool server '${name}' is not among those that this key may use; GET /v1/mcp/server lists them`,
  )

const forbiddenTool = (name: string) =>
  new GatewayError('tool-forbidden', `the tool '${name}' is not among those that this key may use`)

function whyEmpty(hasServers: boolean, servers: readonly ListedServer[], { allowedTools }: ToolSelection): string {
  if (!hasServers) return 'this gateway has no tool server; its operator can add one to `mcp_servers`'
  if (servers.length === 0)
    return 'this key may use no tool server; who manages it can name some in `object_permission.mcp_servers`'
  const failed = servers.filter(one => one.state === 'failed')
  if (failed.length > 0) return failed.map(one => one.reason).join('; ')
  const names = servers.map(one => `'${one.name}'`).join(', ')
  return allowedTools
    ? `none of the tools that \`allowed_tools\` names is offered by ${names} to this key`
    : `${names} offer no tool to this key`
}

function useOf(request: ToolCallRequest, tool: OfferedTool): ToolUse {
  return {
    server: tool.server,
    tool: tool.name,
    offeredName: tool.offeredName,
    costNanoUsd: tool.costNanoUsd,
    parentCallId: request.parentCallId ?? null,
    sessionId: request.sessionId === undefined ? sessionIdOf({ headers: request.headers }) : request.sessionId,
    requestBytes: Buffer.byteLength(JSON.stringify(request.arguments)),
    answerBytes: null,
    isToolError: false,
    isSent: false,
  }
}

/** It has done nothing yet, and waits for an answer (2026-07-28, multi round-trip requests). */
const asksForInput = (answer: object): boolean => 'resultType' in answer && answer.resultType === 'input_required'

/** What the protocol says of itself between two parties. */
function withoutProtocol(meta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(meta).filter(([name]) => !name.startsWith('io.modelcontextprotocol/')))
}
