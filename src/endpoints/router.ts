/** The front door: one parsed path, one match, authentication before the body, one place that answers errors. */
import { randomUUIDv7 } from 'bun'
import type { Server } from 'bun'
import type { Caller } from '../core/call.ts'
import type { Endpoint, HttpRequest, Services } from '../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import { openaiErrorBody } from '../formats/openai-error.ts'
import { PathTable } from '../lib/path-table.ts'
import { presentedKey } from './credentials.ts'

export interface FrontDoorParts {
  readonly endpoints: readonly Endpoint[]
  readonly services: Services
  /** The caller of a key text; undefined = nobody. Synchronous when the key is known here. */
  identify(keyText: string): Caller | undefined | Promise<Caller | undefined>
  /** Failures that are the gateway's own; the client sees only that there was one. */
  reportInternal(error: GatewayError, request: { method: string; path: string; id: string }): void
  metricsRequireKey(): boolean
}

type Handler = (request: Request, server: Server<unknown>) => Response | Promise<Response>

/** The request as endpoints see it. A class, so that its lazy parts cost nothing when nobody asks. */
class RoutedRequest implements HttpRequest {
  readonly raw: Request
  readonly method: string
  readonly path: string
  readonly id: string
  readonly params: Readonly<Record<string, string>>
  readonly #server: Server<unknown>
  readonly #queryText: string
  #query: URLSearchParams | undefined
  #held = false

  constructor(raw: Request, server: Server<unknown>, found: { path: string; query: string; params: Record<string, string> }) {
    this.raw = raw
    this.#server = server
    this.method = raw.method
    this.path = found.path
    this.params = found.params
    this.#queryText = found.query
    this.id = randomUUIDv7()
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.#queryText))
  }

  get clientAddress(): string {
    return this.#server.requestIP(this.raw)?.address ?? ''
  }

  holdOpen(hold: boolean): void {
    if (hold === this.#held) return
    this.#held = hold
    this.#server.timeout(this.raw, hold ? 0 : 255)
  }
}

export function createFrontDoor(parts: FrontDoorParts): Handler {
  const table = new PathTable<Map<string, Endpoint>>()
  for (const endpoint of parts.endpoints)
    for (const path of endpoint.paths) {
      const methods = table.at(path) ?? new Map<string, Endpoint>()
      methods.set(endpoint.method, endpoint)
      table.add(path, methods)
    }
  return (raw, server) => {
    const { url } = raw
    const pathStart = url.indexOf('/', 8)
    // A Host that is none leaves only the path in `url`.
    if (!url.startsWith('http') || pathStart < 0)
      return answerError(raw, new GatewayError('invalid-request', 'the Host header is not valid'))
    const queryStart = url.indexOf('?', pathStart)
    const path = queryStart < 0 ? url.slice(pathStart) : url.slice(pathStart, queryStart)
    const query = queryStart < 0 ? '' : url.slice(queryStart + 1)
    if (raw.method === 'OPTIONS') return preflight(raw)
    const found = table.find(path)
    if (!found) return notFound(raw, path)
    const endpoint = found.value.get(raw.method)
    if (!endpoint) return otherMethod(raw, found.value)
    const request = new RoutedRequest(raw, server, { path, query, params: found.params })
    return admit(parts, endpoint, request)
  }
}

/** Authenticates, then hands over. Stays synchronous as long as nothing has to be waited for. */
function admit(parts: FrontDoorParts, endpoint: Endpoint, request: RoutedRequest): Response | Promise<Response> {
  try {
    const open = endpoint.auth === 'none' && !(request.path === '/metrics' && parts.metricsRequireKey())
    if (open) return finish(parts, endpoint, request, endpoint.handle(request, parts.services, undefined))
    const keyText = presentedKey(request.raw, request)
    const caller = parts.identify(keyText)
    if (caller instanceof Promise) return enterLater(parts, endpoint, request, caller)
    return enter(parts, endpoint, request, caller)
  } catch (thrown) {
    return failed(parts, endpoint, request, thrown)
  }
}

/** A function of its own: closures would cost every call of a known key an environment for its variables. */
function enterLater(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  caller: Promise<Caller | undefined>,
): Promise<Response> {
  return caller
    .then(known => enter(parts, endpoint, request, known))
    .catch(thrown => failed(parts, endpoint, request, thrown))
}

function enter(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  caller: Caller | undefined,
): Response | Promise<Response> {
  if (!caller) throw new GatewayError('unauthenticated', 'the API key is not known, was revoked, or has expired')
  if (endpoint.auth === 'admin' && caller.role !== 'admin')
    throw new GatewayError('forbidden', 'this operation needs the master key')
  return finish(parts, endpoint, request, endpoint.handle(request, parts.services, caller))
}

function finish(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  response: Response | Promise<Response>,
): Response | Promise<Response> {
  if (response instanceof Promise)
    return response.then(
      answer => withCors(request.raw, answer),
      thrown => failed(parts, endpoint, request, thrown),
    )
  return withCors(request.raw, response)
}

function failed(parts: FrontDoorParts, endpoint: Endpoint, request: RoutedRequest, thrown: unknown): Response {
  const error = toGatewayError(thrown)
  if (error.kind === 'internal') parts.reportInternal(error, request)
  return answerError(request.raw, error, { id: request.id, body: endpoint.errorBody })
}

interface ErrorDress {
  readonly id?: string
  /** The body in the path's dialect. */
  readonly body?: Endpoint['errorBody']
}

function answerError(raw: Request, error: GatewayError, { id = randomUUIDv7(), body = openaiErrorBody }: ErrorDress = {}): Response {
  const headers: Record<string, string> = { 'x-request-id': id }
  if (error.retryAfterMs !== undefined) headers['retry-after'] = String(Math.ceil(error.retryAfterMs / 1000))
  if (error.kind === 'unauthenticated') headers['www-authenticate'] = 'Bearer'
  return withCors(raw, Response.json(body(error, id), { status: error.status, headers }))
}

function notFound(raw: Request, path: string): Response {
  if (raw.method === 'HEAD' && (path === '/' || path === '/api/hello')) return withCors(raw, new Response(null))
  const doubled = path.startsWith('/v1/v1/') ? '; the path has /v1 twice: leave one out of the base URL' : ''
  return answerError(
    raw,
    new GatewayError('not-found', `there is no ${raw.method} ${path.slice(0, 200)}${doubled}; see /docs for the API`),
  )
}

function otherMethod(raw: Request, methods: ReadonlyMap<string, Endpoint>): Response {
  if (raw.method === 'HEAD' && methods.has('GET')) return withCors(raw, new Response(null))
  const allowed = [...methods.keys()].join(', ')
  const response = answerError(
    raw,
    new GatewayError('method-not-allowed', `${raw.method} is not allowed here; use ${allowed}`),
  )
  response.headers.set('allow', allowed)
  return response
}

/** Browsers may call from anywhere: there are no cookies here, only keys. A fixed list of headers breaks clients. */
function preflight(raw: Request): Response {
  const asked = raw.headers.get('access-control-request-headers')
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers': asked ?? '*',
      'access-control-max-age': '86400',
    },
  })
}

/** Only for browsers: everyone else saves the work. */
function withCors(raw: Request, response: Response): Response {
  if (!raw.headers.has('origin')) return response
  response.headers.set('access-control-allow-origin', '*')
  response.headers.set('access-control-expose-headers', [...response.headers.keys()].join(', '))
  return response
}
