/** Servers of MCP for tests, by the official libraries of both generations, with a log of what they were asked. */
import { createMcpHandler, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { McpServer as OldMcpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { z } from 'zod'

/** What a server was asked: one entry a call of a tool. */
export interface ToolCallSeen {
  readonly tool: string
  readonly arguments: unknown
  readonly meta: unknown
  readonly headers: Readonly<Record<string, string>>
}

export interface ToolTestServer {
  readonly url: string
  readonly calls: ToolCallSeen[]
  /** Lists that were asked for. */
  lists: number
  /** Calls whose client has cancelled them. */
  cancelled: number
  /** Milliseconds before each answer. */
  delayMs: number
  /** Forgets all sessions, as a server does that was started anew. */
  forget(): void
  stop(): Promise<void>
}

export interface ToolTestServerOptions {
  readonly generation: 'stateless' | 'sessions'
  /** Names of further tools. */
  readonly more?: readonly string[]
  /** Has a tool that asks a person, by multi round trips. */
  readonly asks?: boolean
}

interface Shared {
  readonly log: ToolTestServer
  readonly more: readonly string[]
  readonly asks: boolean
  headers: Readonly<Record<string, string>>
}

const textOf = (text: string) => ({ content: [{ type: 'text' as const, text }] })

interface CallContext {
  readonly signal: AbortSignal
  readonly meta: { readonly progressToken?: unknown } | undefined
  progress(done: number): Promise<void>
}

async function slow(shared: Shared, seconds: number, context: CallContext) {
  for (let at = 1; at <= 4; at++) {
    await context.progress(at)
    await Bun.sleep((seconds * 1000) / 4)
    if (context.signal.aborted) {
      shared.log.cancelled++
      break
    }
  }
  return textOf('done')
}

const seen = (shared: Shared, tool: string, args: unknown, meta: unknown) =>
  void shared.log.calls.push({ tool, arguments: args, meta, headers: shared.headers })

const annotations = { readOnlyHint: true }

function stateless(shared: Shared): McpServer {
  const server = new McpServer({ name: 'stateless-test', version: '1.0.0' })
  const object = (properties: object, required: string[]) =>
    fromJsonSchema({ type: 'object', properties, required } as never)
  const contextOf = (context: {
    mcpReq: { signal: AbortSignal; _meta?: object; notify(one: never): Promise<void> }
  }) => ({
    signal: context.mcpReq.signal,
    meta: context.mcpReq._meta,
    progress: async (progress: number) => {
      const { progressToken } = (context.mcpReq._meta ?? {}) as { progressToken?: unknown }
      if (progressToken === undefined) return
      await context.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 4 },
      } as never)
    },
  })
  const register = server.registerTool.bind(server) as (name: string, config: object, handler: unknown) => void
  register(
    'echo',
    {
      description: 'Says what it is told',
      annotations,
      inputSchema: object({ text: { type: 'string', 'x-mcp-header': 'Text' } }, ['text']),
    },
    (args: { text?: string }, context: never) => {
      seen(shared, 'echo', args, contextOf(context).meta)
      return textOf(`stateless: ${args.text}`)
    },
  )
  register('fail', { description: 'Fails' }, () => ({ ...textOf('it went wrong'), isError: true }))
  register(
    'slow',
    { description: 'Takes a while', inputSchema: object({ seconds: { type: 'number' } }, ['seconds']) },
    (args: { seconds?: number }, context: never) => {
      seen(shared, 'slow', args, undefined)
      return slow(shared, args.seconds!, contextOf(context))
    },
  )
  if (shared.asks)
    register('ask', { description: 'Asks a person' }, () =>
      inputRequired({
        inputRequests: {
          name: inputRequired.elicit({
            message: 'What is your name?',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
          }),
        },
      }),
    )
  for (const name of shared.more) register(name, { description: `The tool ${name}` }, () => textOf(name))
  return server
}

function withSessions(shared: Shared): OldMcpServer {
  const server = new OldMcpServer({ name: 'session-test', version: '1.0.0' })
  server.registerTool(
    'echo',
    { description: 'Says what it is told', annotations, inputSchema: { text: z.string() } as never },
    ((args: { text: string }, extra: { _meta?: unknown }) => {
      seen(shared, 'echo', args, extra._meta)
      return textOf(`session: ${args.text}`)
    }) as never,
  )
  server.registerTool('fail', { description: 'Fails' }, (() => ({
    ...textOf('it went wrong'),
    isError: true,
  })) as never)
  server.registerTool('slow', { description: 'Takes a while', inputSchema: { seconds: z.number() } as never }, ((
    args: { seconds: number },
    extra: { signal: AbortSignal; _meta?: { progressToken?: unknown }; sendNotification(one: unknown): Promise<void> },
  ) => {
    seen(shared, 'slow', args, undefined)
    return slow(shared, args.seconds, {
      signal: extra.signal,
      meta: extra._meta,
      progress: async progress => {
        const progressToken = extra._meta?.progressToken
        if (progressToken === undefined) return
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 4 },
        })
      },
    })
  }) as never)
  for (const name of shared.more)
    server.registerTool(name, { description: `The tool ${name}` }, (() => textOf(name)) as never)
  return server
}

/** Starts one on a free port. */
export function startToolServer({ generation, more = [], asks = false }: ToolTestServerOptions): ToolTestServer {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const modern = createMcpHandler(() => stateless(shared), { legacy: 'reject' })
  const http = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      shared.headers = Object.fromEntries(request.headers)
      if (request.method === 'POST' && (await request.clone().text()).includes('"tools/list"')) log.lists++
      if (log.delayMs > 0) await Bun.sleep(log.delayMs)
      return generation === 'stateless' ? modern.fetch(request) : ofSession(request)
    },
  })
  async function ofSession(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null) return sessions.get(id)?.handleRequest(request) ?? new Response('no such session', { status: 404 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: made => void sessions.set(made, transport),
    })
    await withSessions(shared).connect(transport as never)
    return transport.handleRequest(request)
  }
  const log: ToolTestServer = {
    url: `http://127.0.0.1:${http.port}/mcp`,
    calls: [],
    lists: 0,
    cancelled: 0,
    delayMs: 0,
    forget: () => sessions.clear(),
    async stop() {
      await modern.close()
      await http.stop(true)
    },
  }
  const shared: Shared = { log, more, asks, headers: {} }
  return log
}
