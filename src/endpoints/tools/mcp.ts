/** The endpoint of MCP: all tools that a key may use at `/mcp`, those of single servers at `/mcp/{server}`. */
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import { anyObject, named } from '../openapi/schema.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { sessionIdOf } from '../../core/ledger/session-id.ts'
import { clientClosed, readBody } from '../../core/request.ts'
import type { HttpRequest } from '../../core/request.ts'
import type { ToolGateway, ToolSelection } from '../../core/tools.ts'
import { protocolErrorBody as errorBody } from '../../tools/protocol-errors.ts'
import { createProtocolServer } from '../../tools/protocol-server.ts'
import type { ProtocolServer } from '../../tools/protocol-server.ts'
import { newSessionToken, readSessionToken } from '../../tools/session-token.ts'
import { RunningRequests } from '../../tools/running-requests.ts'

const bodyBytesMax = 4 * 1024 * 1024
const sessionHeader = 'mcp-session-id'

const paths = ['/mcp', '/mcp/{server}', '/{server}/mcp']

const servers = new WeakMap<ToolGateway, Promise<ProtocolServer>>()
const running = new RunningRequests()

/** Loaded with the first request. */
function serverOf(tools: ToolGateway): Promise<ProtocolServer> {
  let server = servers.get(tools)
  if (!server) {
    server = createProtocolServer(tools)
    server.catch(() => servers.delete(tools))
    servers.set(tools, server)
  }
  return server
}

const messageSchema = named('McpMessage', () => ({
  ...anyObject,
  description: 'It is a message of JSON-RPC 2.0 by MCP 2026-07-28, 2025-11-25 or an earlier version.',
}))
const doc = {
  tag: 'Tools',
  query: {
    servers: {
      schema: { type: 'string' },
      description:
        'The servers or access groups that are asked, with commas between; it says the same as the header ' +
        '`x-mcp-servers`.',
    },
  },
}

/** POST /mcp: one message of a client. */
const mcpPost: Endpoint = {
  method: 'POST',
  paths,
  auth: 'key',
  errorBody,
  doc: {
    ...doc,
    operationId: 'sendMcpMessage',
    summary: 'List and call tools by the Model Context Protocol (streamable HTTP)',
    request: messageSchema,
    success: { 'application/json': messageSchema, 'text/event-stream': messageSchema },
    failures: [403, 404, 413],
    headers: ['x-accel-buffering', 'mcp-session-id'],
  },
  handle: (request, services, caller) => post(request, services, caller!),
}

/** DELETE /mcp: the end of a session, which holds nothing. */
const mcpDelete: Endpoint = {
  method: 'DELETE',
  paths,
  auth: 'key',
  errorBody,
  doc: {
    ...doc,
    operationId: 'endMcpSession',
    summary: 'End a session of the Model Context Protocol',
    success: {},
    successStatus: 204,
    failures: [404],
  },
  handle(request, services, caller) {
    const id = sessionOf(request, services, caller!)
    if (id !== undefined) running.endSession(id)
    return { status: 204, headers: {}, body: null }
  },
}

/** GET is 405: messages of the server come with the answers of requests. */
export const mcpEndpoints: readonly Endpoint[] = [mcpPost, mcpDelete]

async function post(request: HttpRequest, services: Services, caller: Caller): Promise<Answer> {
  const message = await readMessage(request)
  const session = sessionOf(request, services, caller)
  const ending = new AbortController()
  request.onLeft(why => ending.abort(why.kind === 'client-closed' ? clientClosed() : why))
  const owner = session ?? null
  const cancelled = cancelledRequest(message)
  if (cancelled !== undefined && owner !== null) running.cancel(owner, cancelled)
  const ended = owner === null ? undefined : running.begin(owner, message, ending)
  const server = await serverOf(services.tools)
  const response = await server(webRequest(request, ending.signal), {
    caller,
    headers: request.headers,
    signal: ending.signal,
    selection: selectionOf(request),
    sessionId: sessionIdOf({ headers: request.headers }) ?? session ?? null,
    clientAddress: request.clientAddress,
    userAgent: request.headers.get('user-agent') ?? '',
    message,
  })
  return answerOf(response, {
    ...(beginsSession(message) && response.ok && { [sessionHeader]: newSessionToken(caller.key.id, services.sign) }),
    ended,
  })
}

async function readMessage({ body }: HttpRequest): Promise<unknown> {
  const bytes = await readBody(body, bodyBytesMax)
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown
  } catch (cause) {
    throw new GatewayError('invalid-request', 'the body is no JSON; a message of JSON-RPC 2.0 is expected', { cause })
  }
}

/** undefined = the client has named none. Throws 404 for one that is not its own, upon which it begins another. */
function sessionOf({ headers }: HttpRequest, { sign }: Services, caller: Caller): string | undefined {
  const token = headers.get(sessionHeader)
  if (token === null) return undefined
  const id = readSessionToken(token, caller.key.id, sign)
  if (id === undefined) throw new GatewayError('not-found', 'this session is not one of this key; begin another')
  return id
}

const methodOf = (message: unknown): unknown => (message as { method?: unknown } | null)?.method
const beginsSession = (message: unknown): boolean => methodOf(message) === 'initialize'

/** The id of the request that a notification cancels. */
function cancelledRequest(message: unknown): string | number | undefined {
  if (methodOf(message) !== 'notifications/cancelled') return undefined
  const { params } = message as { params?: { requestId?: unknown } }
  const id = params?.requestId
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

const listed = (text: string | null): string[] =>
  (text ?? '')
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '')

/** By path, query and headers: the path narrows what headers name. Names may be those of groups. */
function selectionOf({ params, query, headers }: HttpRequest): ToolSelection {
  const ofPath = listed(params.server ?? null)
  const named = ofPath.length > 0 ? ofPath : [...listed(query.get('servers')), ...listed(headers.get('x-mcp-servers'))]
  const groups = ofPath.length > 0 ? [] : listed(headers.get('x-mcp-access-groups'))
  return {
    ...(named.length > 0 && { servers: named }),
    ...(groups.length > 0 && { accessGroups: groups }),
  }
}

/** What the library reads of a request; its body is parsed already. */
function webRequest({ method, path, headers }: HttpRequest, signal: AbortSignal): Request {
  const own = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' })
  for (const name of ['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id']) {
    const value = headers.get(name)
    if (value !== null) own.set(name, value)
  }
  return new Request(`http://gateway${path}`, { method, headers: own, signal })
}

interface AnswerOptions {
  readonly [sessionHeader]?: string
  readonly ended: (() => void) | undefined
}

/** The others concern the connection, which is this server's. */
const passedHeaders = ['content-type', 'cache-control', 'allow', 'mcp-protocol-version']

async function answerOf(response: Response, { ended, ...extra }: AnswerOptions): Promise<Answer> {
  const headers: Record<string, string> = { ...extra }
  for (const name of passedHeaders) {
    const value = response.headers.get(name)
    if (value !== null) headers[name] = value
  }
  const isStream = headers['content-type']?.startsWith('text/event-stream')
  if (!isStream || !response.body) {
    const text = await response.text().finally(() => ended?.())
    return { status: response.status, headers, body: text === '' ? null : text }
  }
  headers['x-accel-buffering'] = 'no'
  return { status: response.status, headers, body: ended ? response.body.pipeThrough(notifying(ended)) : response.body }
}

/** Calls `ended` when the stream has ended, however. */
function notifying(ended: () => void): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream<Uint8Array, Uint8Array>({ flush: ended, cancel: ended } as Transformer<
    Uint8Array,
    Uint8Array
  >)
}
