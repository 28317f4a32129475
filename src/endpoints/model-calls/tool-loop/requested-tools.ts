/** The tools in a request of a model that the gateway runs itself: whose they are, and which are offered. */
import type { Caller } from '../../../core/caller.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { exactObject } from '../../../lib/json/exact-json.ts'
import type { ExactNames } from '../../../lib/json/exact-json.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import type { OfferedTool, ToolGateway } from '../../../core/tools.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'

/** One entry of `tools` (or of `mcp_servers`) that names the gateway, and what it stands for. */
export interface RequestedServer {
  /** The client's name of it, in the items of the answer. */
  readonly label: string
  /** In the order in which they are offered to the model. */
  readonly tools: readonly OfferedTool[]
  /** Whether a person has to agree before this tool is called. */
  needsApproval(tool: OfferedTool): boolean
}

/** Addresses that mean the gateway: its own name and LiteLLM's, each alone or with a server or group behind it. */
const ownAddress = /^(?:modelgate|litellm_proxy)(?:\/(?:mcp\/)?([A-Za-z0-9_.-]+))?\/?$/

/** Whether the address of a server stands for this gateway's own servers. */
export const isOwnAddress = (address: unknown): boolean => typeof address === 'string' && ownAddress.test(address)

interface ToolRequest {
  readonly tools: ToolGateway
  readonly caller: Caller
  readonly request: HttpRequest
}

/** What an entry asks for, in the words of its dialect. */
export interface ServerWish {
  readonly label: string
  readonly address: string
  /** Absent = all. */
  readonly allowedTools?: readonly string[] | undefined
  readonly needsApproval: (toolName: string) => boolean
  /** Of the entry, for errors. */
  readonly param: string
}

/** Throws 400 or 403 where the entry would offer nothing: a model without its tools answers from thin air. */
export async function requestedServer(
  { tools, caller, request }: ToolRequest,
  wish: ServerWish,
): Promise<RequestedServer> {
  const [, name] = ownAddress.exec(wish.address) ?? []
  if (!tools.hasServers)
    throw new GatewayError(
      'invalid-request',
      `'${wish.label}' names tools of this gateway, which has no tool server; add one under \`mcp_servers\`, or ` +
        'leave the tool out',
      { param: wish.param },
    )
  const selection = {
    ...(name !== undefined && selectionOf(tools, caller, name)),
    ...(wish.allowedTools && { allowedTools: wish.allowedTools }),
  }
  const list = await tools.list({ caller, headers: request.headers }, selection)
  if (list.tools.length === 0)
    throw new GatewayError(
      'invalid-request',
      `'${wish.label}' offers no tool: ${list.emptyBecause ?? 'none of its tools is among `allowed_tools`'}`,
      { param: wish.param },
    )
  const { label } = wish
  const needsApproval = (tool: OfferedTool) => wish.needsApproval(tool.name) && wish.needsApproval(tool.offeredName)
  return { label, tools: list.tools, needsApproval }
}

/** A server of this name, else the access group. */
function selectionOf(tools: ToolGateway, caller: Caller, name: string) {
  const isGroup = tools.servers(caller).some(server => server.accessGroups.includes(name))
  return tools.servers(caller).some(server => server.name === name) || !isGroup
    ? { servers: [name] }
    : { accessGroups: [name] }
}

/**
 * `require_approval` of OpenAI: `always` (the default), `never`, or lists of names under `always` and `never`, each as
 * `{ tool_names: [...] }`. Throws 400 for other values.
 */
function approvalOf(value: unknown, param: string): (toolName: string) => boolean {
  if (value === undefined || value === null || value === 'always') return () => true
  if (value === 'never') return () => false
  if (!isObject(value))
    throw new GatewayError('invalid-request', '`require_approval` must be always, never, or lists of tool names', {
      param,
    })
  const [always, never] = ['always', 'never'].map(kind => namesIn(value[kind]))
  return name => !never!.includes(name) || always!.includes(name)
}

const namesIn = (filter: unknown): readonly unknown[] =>
  isObject(filter) && Array.isArray(filter.tool_names) ? filter.tool_names : []

/** `allowed_tools`: names, or a filter with `tool_names`. */
function allowedToolsOf(value: unknown): readonly string[] | undefined {
  const names = Array.isArray(value) ? value : isObject(value) ? value.tool_names : undefined
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === 'string') : undefined
}

/** The tool of a name that a model has called, and whose it is. */
export interface FoundTool {
  readonly server: RequestedServer
  readonly tool: OfferedTool
}

/** All tools that a request has of this gateway, by the names under which they are offered. Throws for a name twice. */
export function byOfferedName(
  servers: readonly RequestedServer[],
  ownNames: ReadonlySet<string>,
): ReadonlyMap<string, FoundTool> {
  const found = new Map<string, FoundTool>()
  for (const server of servers)
    for (const tool of server.tools) {
      if (ownNames.has(tool.offeredName))
        throw new GatewayError(
          'invalid-request',
          `the tool '${tool.offeredName}' of '${server.label}' has the name of a function of the request; give the ` +
            'function another name',
          { param: 'tools' },
        )
      if (!found.has(tool.offeredName)) found.set(tool.offeredName, { server, tool })
    }
  return found
}

/** The body to be changed, with its digits and the order of its keys under these names. */
export const wholeBody = (body: JsonBody, names: ExactNames): Json =>
  exactObject(Buffer.from(body.bytes).toString('utf8'), names) ?? body.parse()

/** The tools of a body that are the client's own, or its vendor's. */
export function otherTools(tools: unknown): readonly Json[] {
  const all = (Array.isArray(tools) ? tools : []).filter(isObject)
  const own = new Set(ownEntries(all).map(({ entry }) => entry))
  return all.filter(tool => !own.has(tool))
}

/** The entries of `tools` that are of type `mcp` and name the gateway, with their places. */
export function ownEntries(tools: unknown): readonly { readonly entry: Json; readonly at: number }[] {
  const list = Array.isArray(tools) ? (tools as unknown[]) : []
  return list.flatMap((entry, at) =>
    isObject(entry) && entry.type === 'mcp' && isOwnAddress(entry.server_url) ? [{ entry, at }] : [],
  )
}

/** The servers of OpenAI's entries, in their order. */
export function serversOf(
  entries: ReturnType<typeof ownEntries>,
  request: ToolRequest,
): Promise<readonly RequestedServer[]> {
  return Promise.all(
    entries.map(({ entry, at }) =>
      requestedServer(request, {
        label: labelOf(entry, at),
        address: String(entry.server_url),
        allowedTools: allowedToolsOf(entry.allowed_tools),
        needsApproval: approvalOf(entry.require_approval, `tools[${at}].require_approval`),
        param: `tools[${at}]`,
      }),
    ),
  )
}

function labelOf({ server_label: label }: Json, at: number): string {
  if (typeof label === 'string' && label !== '') return label
  throw new GatewayError('invalid-request', 'a tool of type mcp needs a `server_label`, the name of it in the answer', {
    param: `tools[${at}].server_label`,
  })
}
