/** The front door: one parsed path, one match, authentication before the body, one place that answers errors. */
import { randomUUIDv7 } from 'bun'
import { jsonAnswer } from '../core/answer.ts'
import type { Answer } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { Endpoint, Services } from '../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { CountedRequest } from '../core/policy.ts'
import type { Client, HttpRequest, RequestBody, RequestHeaders } from '../core/request.ts'
import { openaiErrorBody } from '../formats/openai/error.ts'
import { PathTable } from '../lib/path-table.ts'
import { presentedKey, unknownKey } from './credentials.ts'

/** What the door is made of. `endpoints` are laid out once; everything else is asked anew for each request. */
interface FrontDoorParts {
  readonly endpoints: readonly Endpoint[]
  readonly services: Services
  /** The caller of a key text; undefined = nobody. Synchronous when the key is known here. */
  identify(keyText: string): Caller | undefined | Promise<Caller | undefined>
  /** Failures that are the gateway's own; the client sees only that there was one. */
  reportInternal(error: GatewayError, request: { method: string; path: string; id: string }): void
  metricsRequireKey(): boolean
  /** Counts one request of this caller; undefined = requests as such are not limited. */
  countRequest(caller: Caller): CountedRequest | Promise<CountedRequest> | undefined
}

/** A request from the wire, as the server hands it over. */
export interface WireRequest extends Client {
  readonly head: RequestHeaders & { readonly method: string; readonly target: string }
  readonly body: RequestBody
}

/** Answers whatever comes in: requests, what could not be read as one, and clients for whom there is no room. */
export interface FrontDoor {
  /** Never throws and never rejects. */
  handle(request: WireRequest): Answer | Promise<Answer>
  /** For what could not be read as a request. */
  refuse(refusal: { readonly status: number; readonly message: string }): Answer
  /** Refuses a request for reasons outside of it, in its path's dialect; what needs no key is answered all the same. */
  turnAway(request: WireRequest, error: GatewayError): Answer | Promise<Answer>
}

/** The request as endpoints see it. A class, so that its lazy parts cost nothing when nobody asks. */
class RoutedRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly id: string
  readonly params: Readonly<Record<string, string>>
  readonly #wire: WireRequest
  readonly #queryText: string
  #query: URLSearchParams | undefined

  constructor(wire: WireRequest, found: { path: string; query: string; params: Record<string, string> }) {
    this.#wire = wire
    this.method = wire.head.method
    this.path = found.path
    this.params = found.params
    this.#queryText = found.query
    this.id = randomUUIDv7()
  }

  get headers(): RequestHeaders {
    return this.#wire.head
  }

  get body(): RequestBody {
    return this.#wire.body
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.#queryText))
  }

  get clientAddress(): string {
    return this.#wire.clientAddress
  }

  get left(): boolean {
    return this.#wire.left
  }

  onLeft(listener: (why: GatewayError) => void): void {
    this.#wire.onLeft(listener)
  }
}

/** Endpoints may share a path where their methods differ; of two with the same method the later one counts. */
export function createFrontDoor(parts: FrontDoorParts): FrontDoor {
  const table = new PathTable<Map<string, Endpoint>>()
  for (const endpoint of parts.endpoints)
    for (const path of endpoint.paths) {
      const methods = table.at(path) ?? new Map<string, Endpoint>()
      methods.set(endpoint.method, endpoint)
      table.add(path, methods)
    }
  return {
    handle(wire) {
      const { head } = wire
      const { target, method } = head
      const queryStart = target.indexOf('?')
      const path = queryStart < 0 ? target : target.slice(0, queryStart)
      const query = queryStart < 0 ? '' : target.slice(queryStart + 1)
      if (method === 'OPTIONS') return preflight(head)
      const found = table.find(path)
      if (!found) return notFound(head, path)
      const endpoint = found.value.get(method)
      if (!endpoint) return otherMethod(head, found.value)
      return admit(parts, endpoint, new RoutedRequest(wire, { path, query, params: found.params }))
    },
    turnAway(wire, error) {
      const { head } = wire
      const path = head.target.split('?', 1)[0]!
      const endpoint = table.find(path)?.value.get(head.method)
      // Whoever asks for the health of a gateway with too many clients would restart it if nobody answered.
      if (endpoint?.auth === 'none') return this.handle(wire)
      return withCors(head, errorAnswer(error, { body: endpoint?.errorBody }))
    },
    refuse: ({ status, message }) => ({ ...errorAnswer(new GatewayError('invalid-request', message)), status }),
  }
}

/** Authenticates, then hands over. Stays synchronous as long as nothing has to be waited for. */
function admit(parts: FrontDoorParts, endpoint: Endpoint, request: RoutedRequest): Answer | Promise<Answer> {
  try {
    const open = endpoint.auth === 'none' && !(request.path === '/metrics' && parts.metricsRequireKey())
    if (open) return finish(parts, endpoint, request, endpoint.handle(request, parts.services, undefined))
    const keyText = presentedKey(request)
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
): Promise<Answer> {
  return caller
    .then(known => enter(parts, endpoint, request, known))
    .catch(thrown => failed(parts, endpoint, request, thrown))
}

function enter(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  caller: Caller | undefined,
): Answer | Promise<Answer> {
  if (!caller) throw unknownKey(presentedKey(request))
  const counted = parts.countRequest(caller)
  if (counted === undefined) return perform(parts, endpoint, request, caller)
  return performCounted(parts, endpoint, request, { caller, counted })
}

function perform(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  caller: Caller,
): Answer | Promise<Answer> {
  if (endpoint.auth === 'admin' && caller.role !== 'admin')
    throw new GatewayError('forbidden', 'this operation needs the master key')
  return finish(parts, endpoint, request, endpoint.handle(request, parts.services, caller))
}

async function performCounted(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  { caller, counted }: { caller: Caller; counted: CountedRequest | Promise<CountedRequest> },
): Promise<Answer> {
  const { headers, refusal } = await counted
  const answered = async () => {
    if (refusal) throw refusal
    return perform(parts, endpoint, request, caller)
  }
  const answer = await answered().catch((thrown: unknown) => failed(parts, endpoint, request, thrown))
  // Again: a browser sees only those headers that are named.
  return withCors(request.headers, { ...answer, headers: { ...answer.headers, ...headers } })
}

function finish(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  answer: Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  if (answer instanceof Promise) return finishLater(parts, endpoint, request, answer)
  return withCors(request.headers, answer)
}

function finishLater(
  parts: FrontDoorParts,
  endpoint: Endpoint,
  request: RoutedRequest,
  answer: Promise<Answer>,
): Promise<Answer> {
  return answer.then(
    made => withCors(request.headers, made),
    thrown => failed(parts, endpoint, request, thrown),
  )
}

function failed(parts: FrontDoorParts, endpoint: Endpoint, request: RoutedRequest, thrown: unknown): Answer {
  const error = toGatewayError(thrown)
  if (error.kind === 'internal') parts.reportInternal(error, request)
  return withCors(request.headers, errorAnswer(error, { id: request.id, body: endpoint.errorBody }))
}

interface ErrorDress {
  readonly id?: string
  /** The body in the path's dialect. */
  readonly body?: Endpoint['errorBody']
}

function errorAnswer(error: GatewayError, { id = randomUUIDv7(), body = openaiErrorBody }: ErrorDress = {}): Answer {
  const headers: Record<string, string> = { 'x-request-id': id }
  if (error.retryAfterMs !== undefined) headers['retry-after'] = String(Math.ceil(error.retryAfterMs / 1000))
  if (error.kind === 'unauthenticated') headers['www-authenticate'] = 'Bearer'
  return jsonAnswer(body(error, id), error.status, headers)
}

type WireHead = WireRequest['head']

const nothing = (): Answer => ({ status: 200, headers: {}, body: null })

function notFound(head: WireHead, path: string): Answer {
  if (head.method === 'HEAD' && (path === '/' || path === '/api/hello')) return withCors(head, nothing())
  const why = `there is no ${head.method} ${path.slice(0, 200)}${slipIn(path)}; see /docs for the API`
  return withCors(head, errorAnswer(new GatewayError('not-found', why)))
}

/** What base URLs are often given with. */
function slipIn(path: string): string {
  if (path.startsWith('/v1/v1/')) return '; the path has /v1 twice: leave one out of the base URL'
  return path.startsWith('//') ? '; the path begins with two slashes: end the base URL without one' : ''
}

function otherMethod(head: WireHead, methods: ReadonlyMap<string, Endpoint>): Answer {
  if (head.method === 'HEAD' && methods.has('GET')) return withCors(head, nothing())
  const allowed = [...methods.keys()].join(', ')
  const answer = errorAnswer(
    new GatewayError('method-not-allowed', `${head.method} is not allowed here; use ${allowed}`),
  )
  answer.headers.allow = allowed
  return withCors(head, answer)
}

/** Browsers may call from anywhere: there are no cookies here, only keys. A fixed list of headers breaks clients. */
function preflight(head: WireHead): Answer {
  return {
    status: 204,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers': head.get('access-control-request-headers') ?? '*',
      'access-control-max-age': '86400',
    },
    body: null,
  }
}

/** Only for browsers: everyone else saves the work. */
function withCors(head: RequestHeaders, answer: Answer): Answer {
  if (!head.has('origin')) return answer
  const cors = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': Object.keys(answer.headers).join(', '),
  }
  return { ...answer, headers: { ...answer.headers, ...cors } }
}
