/**
 * The gateway as a server of MCP, by the official library: one instance a request, which answers in the generation of
 * the protocol that the request is written in. Its module is loaded with the first request.
 */
import type { Server, ServerContext } from '@modelcontextprotocol/server'
import packageJson from '../../package.json' with { type: 'json' }
import { GatewayError } from '../core/errors.ts'
import type {
  OfferedTool,
  ProtocolFeatures,
  ToolGateway,
  ToolList,
  ToolRequestContext,
  ToolSelection,
} from '../core/tools.ts'
import { protocolError } from './protocol-errors.ts'

/** One request of a client, beside what the protocol says. */
export interface ProtocolRequest extends ToolRequestContext {
  readonly selection: ToolSelection
  readonly sessionId: string | null
  readonly clientAddress: string
  readonly userAgent: string
  /** The body, parsed. */
  readonly message: unknown
}

type Sdk = typeof import('@modelcontextprotocol/server')

/** Answers requests at the endpoint of MCP. */
export type ProtocolServer = (request: Request, of: ProtocolRequest) => Promise<Response>

/** Lists are the caller's own: no other client may be given one. */
const listHint = { ttlMs: 5000, cacheScope: 'private' as const }

/** Loads the library. */
export async function createProtocolServer(tools: ToolGateway): Promise<ProtocolServer> {
  const sdk = await import('@modelcontextprotocol/server')
  const handler = sdk.createMcpHandler(
    ({ authInfo }) => {
      const of = authInfo!.extra!.request as ProtocolRequest
      const server = new sdk.Server(
        { name: packageJson.name, version: packageJson.version },
        {
          capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
          cacheHints: {
            'tools/list': listHint,
            'prompts/list': listHint,
            'resources/list': listHint,
            'resources/templates/list': listHint,
          },
        },
      )
      serveFeatures(sdk, server, tools.features, of)
      server.setRequestHandler('tools/list', async () => {
        const list = await inProtocol(sdk, () => tools.list(of, of.selection))
        return { tools: list.tools.map(protocolTool), ...listMeta(list) }
      })
      server.setRequestHandler('tools/call', ({ params }, context) =>
        inProtocol(sdk, () => callTool(tools, of, params as CallParams, context)),
      )
      return server
    },
    { legacy: 'stateless' },
  )
  return (request, of) =>
    handler.fetch(request, {
      authInfo: { token: '', clientId: of.caller.key.id, scopes: [], extra: { request: of } },
      parsedBody: of.message,
    })
}

function serveFeatures(sdk: Sdk, server: Server, features: ProtocolFeatures, of: ProtocolRequest): void {
  const { selection } = of
  const asked = <Value>(work: () => Promise<Value>) => inProtocol(sdk, work) as Promise<never>
  server.setRequestHandler('prompts/list', () =>
    asked(async () => ({ prompts: await features.list('prompts', of, selection) })),
  )
  server.setRequestHandler('resources/list', () =>
    asked(async () => ({ resources: await features.list('resources', of, selection) })),
  )
  server.setRequestHandler('resources/templates/list', () =>
    asked(async () => ({ resourceTemplates: await features.list('resourceTemplates', of, selection) })),
  )
  server.setRequestHandler('prompts/get', ({ params }) => asked(() => features.getPrompt(of, selection, { ...params })))
  server.setRequestHandler('resources/read', ({ params }) =>
    asked(() => features.readResource(of, selection, { ...params })),
  )
  server.setRequestHandler('completion/complete', ({ params }) =>
    asked(() => features.complete(of, selection, { ...params })),
  )
}

interface CallParams {
  readonly name: string
  readonly arguments?: Readonly<Record<string, unknown>>
  readonly _meta?: Readonly<Record<string, unknown>>
}

async function callTool(tools: ToolGateway, of: ProtocolRequest, params: CallParams, context: ServerContext) {
  const { mcpReq } = context
  const tool = await selectedTool(tools, of, params.name)
  const progressToken = mcpReq._meta?.progressToken
  const meta = passedMeta(params._meta)
  const result = await tools.call({
    caller: of.caller,
    headers: of.headers,
    server: tool.server,
    tool: tool.name,
    arguments: params.arguments ?? {},
    signal: of.signal,
    sessionId: of.sessionId,
    clientAddress: of.clientAddress,
    userAgent: of.userAgent,
    ...(meta && { meta }),
    ...(progressToken !== undefined && {
      onProgress: progress =>
        void mcpReq
          .notify({ method: 'notifications/progress', params: { progressToken, ...progress } })
          .catch(() => {}),
    }),
  })
  return {
    content: result.content as never,
    ...(result.structuredContent !== undefined && { structuredContent: result.structuredContent as never }),
    isError: result.isError,
    ...(result.meta && { _meta: result.meta }),
  }
}

/** By its offered name; where one server is selected alone also by the server's own name of it. */
async function selectedTool(tools: ToolGateway, of: ProtocolRequest, name: string): Promise<OfferedTool> {
  const { selection } = of
  const list = selection.servers || selection.accessGroups ? await tools.list(of, selection) : undefined
  const found = list
    ? (list.tools.find(one => one.offeredName === name) ??
      (list.servers.length === 1 ? list.tools.find(one => one.name === name) : undefined))
    : await tools.find(of, name)
  if (found) return found
  throw new GatewayError('tool-forbidden', `the tool '${name.slice(0, 256)}' is not among those that this key may use`)
}

/** What is said between client and server of MCP, and not to this gateway. */
function passedMeta(meta: CallParams['_meta']): Record<string, unknown> | undefined {
  const entries = Object.entries(meta ?? {}).filter(
    ([name]) => name !== 'progressToken' && !name.startsWith('io.modelcontextprotocol/'),
  )
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function protocolTool(tool: OfferedTool) {
  const { offeredName, title, description, inputSchema, outputSchema, annotations, protocolFields } = tool
  return {
    ...protocolFields,
    name: offeredName,
    ...(title !== undefined && { title }),
    ...(description !== '' && { description }),
    inputSchema: inputSchema as { type: 'object' },
    ...(outputSchema && { outputSchema: outputSchema as { type: 'object' } }),
    ...(annotations && { annotations }),
  }
}

const metaName = 'modelgate/servers'

/** Servers whose tools are those of before, or are missing. */
function listMeta({ servers }: ToolList): { readonly _meta?: Record<string, unknown> } {
  const unwell = servers.filter(one => one.state !== 'listed')
  return unwell.length === 0 ? {} : { _meta: { [metaName]: unwell } }
}

/** Refusals and failures as errors of JSON-RPC, with the status and code that the other routes have for them. */
async function inProtocol<Value>({ ProtocolError }: Sdk, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    const { code, message, data } = protocolError(thrown)
    throw new ProtocolError(code, message, data)
  }
}
