/** Tools by REST, for programs that do not speak MCP. Paths and fields as those of LiteLLM. */
import { z } from 'zod'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { clientClosed } from '../../core/request.ts'
import type { HttpRequest } from '../../core/request.ts'
import type { ListedServer, OfferedTool } from '../../core/tools.ts'
import { lazy } from '../../lib/lazy.ts'
import { readJsonAs } from '../common/checked-input.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'
import {
  anyObject,
  boolean,
  described,
  integer,
  listOf,
  named,
  number,
  oneOf,
  open,
  shape,
  text,
} from '../openapi/schema.ts'

/** A tool in lists. */
const toolSchema = named('Tool', () =>
  shape(
    {
      name: described('The name by which it is called.', text),
      tool_name: described('As its server calls it.', text),
      server: text,
      description: text,
      inputSchema: anyObject,
      cost: described('Dollars that a call costs.', number),
      mcp_info: shape({ server_name: text }),
    },
    { title: text, outputSchema: anyObject, annotations: anyObject },
  ),
)

/** What became of a server that was asked. */
export const listedServerSchema = named('ListedToolServer', () =>
  shape({ name: text, state: oneOf('listed', 'stale', 'failed'), tools: integer }, { reason: text }),
)

const toolListSchema = named('ToolList', () =>
  shape({
    tools: listOf(toolSchema),
    servers: described('What became of each server that was asked.', listOf(listedServerSchema)),
    error: described('Why the list is empty; an empty text where it is not.', text),
    message: text,
  }),
)

const nanoUsdPerUsd = 1e9

/** A tool as answers show it. */
function shownTool(tool: OfferedTool) {
  const { offeredName, name, server, title, description, inputSchema, outputSchema, annotations, costNanoUsd } = tool
  return {
    name: offeredName,
    tool_name: name,
    server,
    ...(title !== undefined && { title }),
    description,
    inputSchema: { ...inputSchema },
    ...(outputSchema && { outputSchema: { ...outputSchema } }),
    ...(annotations && { annotations: { ...annotations } }),
    cost: Number(costNanoUsd) / nanoUsdPerUsd,
    mcp_info: { server_name: server },
  }
}

/** A server of a list as answers show it. */
export const shownListed = ({ name, state, tools, reason }: ListedServer) => ({
  name,
  state,
  tools,
  ...(reason !== undefined && { reason }),
})

const listQuery = lazy(() =>
  z.object({
    server_id: z
      .string()
      .optional()
      .describe('The servers or access groups that are asked, with commas between; without it all are.'),
  }),
)

async function listFor(request: HttpRequest, { tools }: Services, caller: Caller) {
  const servers = (request.query.get('server_id') ?? '').split(',').filter(one => one !== '')
  return tools.list({ caller, headers: request.headers }, servers.length > 0 ? { servers } : {})
}

/** GET /mcp-rest/tools/list: the tools that the key may call. */
const restToolList = jsonEndpoint(toolListSchema, {
  method: 'GET',
  paths: ['/mcp-rest/tools/list', '/v1/mcp/tools'],
  auth: 'key',
  doc: {
    operationId: 'listTools',
    summary: 'List the tools that the key may call',
    tag: 'Tools',
    query: listQuery,
    failures: [403],
  },
  async handle(request, services, caller) {
    const { tools, servers, emptyBecause } = await listFor(request, services, caller!)
    return {
      tools: tools.map(shownTool),
      servers: servers.map(shownListed),
      error: tools.length > 0 ? '' : 'no_tools',
      message: emptyBecause ?? `${tools.length} tools`,
    }
  },
})

const callBody = lazy(() =>
  z.strictObject({
    name: z.string().min(1).max(400).describe('The name that the list has, or the one that the server has.'),
    arguments: z.record(z.string(), z.unknown()).nullish(),
    server_id: z
      .string()
      .min(1)
      .max(255)
      .nullish()
      .describe('The name of the server; the name of the tool tells it too.'),
    server_name: z.string().min(1).max(255).nullish().describe('It is the same as `server_id`.'),
  }),
)

const toolResultSchema = named('ToolResult', () =>
  shape(
    {
      content: listOf(open(shape({ type: text }))),
      isError: boolean,
      call_id: described('The `request_id` that its row in the ledger has.', text),
      cost: described('Dollars that it has cost.', number),
    },
    { structuredContent: described('Any JSON that fits the output schema of the tool.', anyObject), _meta: anyObject },
  ),
)

/** POST /mcp-rest/tools/call: calls one tool. */
const restToolCall = jsonEndpoint(toolResultSchema, {
  method: 'POST',
  paths: ['/mcp-rest/tools/call'],
  auth: 'key',
  doc: {
    operationId: 'callTool',
    summary: 'Call a tool',
    tag: 'Tools',
    request: callBody,
    failures: [400, 403, 408, 502],
  },
  async handle(request, { tools }, caller) {
    const { name, arguments: given, server_id: id, server_name: serverName } = await readJsonAs(request, callBody())
    const context = { caller: caller!, headers: request.headers }
    const named = id ?? serverName
    const server = named ?? (await tools.find(context, name))?.server
    if (server === undefined)
      throw new GatewayError('tool-forbidden', `the tool '${name}' is not among those that this key may use`)
    const ending = new AbortController()
    request.onLeft(why => ending.abort(why.kind === 'client-closed' ? clientClosed() : why))
    const { content, structuredContent, isError, meta, callId, costNanoUsd } = await tools.call({
      ...context,
      server,
      tool: name,
      arguments: given ?? {},
      signal: ending.signal,
      clientAddress: request.clientAddress,
      userAgent: request.headers.get('user-agent') ?? '',
    })
    return {
      content: content.map(part => ({ ...part })),
      isError,
      ...(structuredContent !== undefined && { structuredContent: structuredContent as Record<string, unknown> }),
      ...(meta && { _meta: { ...meta } }),
      call_id: callId,
      cost: Number(costNanoUsd) / nanoUsdPerUsd,
    }
  },
})

/** All of them. */
export const restToolEndpoints: readonly Endpoint[] = [restToolList, restToolCall]
