/** The entry of all requests: matches the path once, authenticates before the body is read, answers errors. */
import { randomUUIDv7 } from 'bun'
import { jsonAnswer } from '../core/answer.ts'
import type { Answer } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { Endpoint, Services } from '../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import { asksForWebSocket } from '../lib/websocket-handshake.ts'
import type { RequestPolicy } from '../core/policy.ts'
import { clientRequestId } from '../core/request.ts'
import type { HttpRequest, IncomingRequest, RequestHeaders } from '../core/request.ts'
import { openaiErrorBody } from '../formats/openai/error.ts'
import { scimErrorBody, scimMediaType } from './tenancy/scim/error-body.ts'
import { EndpointTable } from './endpoint-table.ts'
import type { Methods, LazyGroup } from './endpoint-table.ts'
import { clientAddressOf } from './common/client-address.ts'
import { handleIdempotent, isIdempotent } from './common/idempotency.ts'
import { LateBody } from './common/late-body.ts'
import { AdmittedHead } from './common/request-heads.ts'
import { dialectOfPath } from './unknown-path.ts'

/** `endpoints` and `lazyGroups` are indexed once; everything else is used for each request. */
interface RequestRouterParts {
  /** `/prefix` where a proxy passes it on; absent = none. Requests without it are served as well. */
  readonly rootPath?: string | undefined
  readonly endpoints: readonly Endpoint[]
  /** More endpoints, which are loaded at the first request for them. */
  readonly lazyGroups?: readonly LazyGroup[]
  readonly services: Services
  /** Asked in order for every request that needs a key. */
  readonly policies: readonly RequestPolicy[]
  /** Called for internal errors, whose details the client does not see. */
  reportInternal(error: GatewayError, request: { method: string; path: string; id: string }): void
  metricsRequireKey(): boolean
  /** Whose unknown paths are passed on; absent = none. */
  passThroughProviders?(): readonly string[]
  /** true = a proxy of the operator's, whose `X-Forwarded-For` counts; absent = there is none. */
  isTrustedProxy?(address: string): boolean
}

/** Answers requests, malformed ones, and clients beyond the limit of connections. */
export interface RequestRouter {
  /** Never throws and never rejects. */
  handle(request: IncomingRequest): Answer | Promise<Answer>
  /** For a request that could not be parsed. */
  refuse(refusal: { readonly status: number; readonly message: string }): Answer
  /** Refuses a request with `error` in its path's dialect; endpoints without a key are answered nevertheless. */
  turnAway(request: IncomingRequest, error: GatewayError): Answer | Promise<Answer>
}

/** The table's own rules say which endpoint answers. */
export function createRequestRouter(parts: RequestRouterParts): RequestRouter {
  const door: RouterState = { parts, table: new EndpointTable(parts.endpoints, parts.lazyGroups) }
  return {
    handle(request) {
      passProxies(parts, request)
      return answer(door, request)
    },
    turnAway(request, error) {
      passProxies(parts, request)
      return answerTurnedAway(door, request, error)
    },
    refuse: ({ status, message }) => ({ ...errorAnswer(new GatewayError('invalid-request', message)), status }),
  }
}

interface RouterState {
  readonly parts: RequestRouterParts
  readonly table: EndpointTable
}

/** Takes what proxies in front have added: a prefix of the path, and the address of the client. */
function passProxies({ rootPath, isTrustedProxy }: RequestRouterParts, request: IncomingRequest): void {
  if (rootPath !== undefined) request.path = pathBelow(rootPath, request.path)
  if (isTrustedProxy?.(request.peerAddress)) request.clientAddress = clientAddressOf(request, isTrustedProxy)
}

function answer(door: RouterState, request: IncomingRequest): Answer | Promise<Answer> {
  const { method, path } = request
  const found = door.table.find(path)
  const loading = found ? undefined : door.table.loadFor(path)
  if (loading) return afterLoading(loading, door, request, answer)
  if (!found && isPassedThrough(door.parts, path)) {
    request.path = `/passthrough${path}`
    return answer(door, request)
  }
  if (method === 'OPTIONS') return options(door.parts, request, found?.value)
  if (method === 'GET' && asksForWebSocket(request.headers)) return upgrade(door.parts, request, found)
  if (!found) return notFound(request, door.table)
  const endpoint = endpointFor(method, found.value)
  if (!endpoint) return otherMethod(request, found.value)
  request.params = found.params
  return admit(door.parts, endpoint, request)
}

/** LiteLLM's paths of vendors, where the gateway knows none of its own: `/anthropic/v1/skills`. */
function isPassedThrough({ passThroughProviders }: RequestRouterParts, path: string): boolean {
  const names = passThroughProviders?.() ?? []
  return names.length > 0 && names.includes((path.split('/', 2)[1] ?? '').replaceAll('-', '_'))
}

async function afterLoading(
  loading: Promise<unknown>,
  door: RouterState,
  request: IncomingRequest,
  next: (door: RouterState, request: IncomingRequest) => Answer | Promise<Answer>,
): Promise<Answer> {
  try {
    await loading
  } catch (thrown) {
    const error = toGatewayError(thrown)
    door.parts.reportInternal(error, { method: request.method, path: request.path, id: shownId(request) })
    return withCors(request, errorAnswer(error, { request, body: dialectOfPath(request) }))
  }
  return next(door, request)
}

function answerTurnedAway(door: RouterState, request: IncomingRequest, error: GatewayError): Answer | Promise<Answer> {
  const { method, path } = request
  const methods = door.table.find(path)?.value
  const loading = methods ? undefined : door.table.loadFor(path)
  if (loading) return afterLoading(loading, door, request, () => answerTurnedAway(door, request, error))
  const endpoint = methods && endpointFor(method, methods)
  // Without an answer to its health checks a gateway with too many clients would be restarted.
  if (endpoint?.auth === 'none' || (method === 'OPTIONS' && methods?.get('GET')?.isProbe)) return answer(door, request)
  const body = endpoint ? endpoint.errorBody : dialectOfPath(request)
  return withCors(request, errorAnswer(error, { request, body }), endpoint)
}

/** A proxy may remove the prefix, and checks of health come past it: a path without it stays as it is. */
function pathBelow(rootPath: string, path: string): string {
  if (!path.startsWith(rootPath)) return path
  const rest = path.slice(rootPath.length)
  if (rest === '') return '/'
  return rest.startsWith('/') ? rest : path
}

/** HEAD is answered as GET, by the same key; the server leaves the body out. */
function endpointFor(method: string, methods: Methods): Endpoint | undefined {
  return methods.get(method) ?? (method === 'HEAD' ? methods.get('GET') : undefined)
}

/** Asks the policies, then calls the endpoint. Synchronous unless a policy returns a promise. */
function admit(parts: RequestRouterParts, endpoint: Endpoint, request: IncomingRequest): Answer | Promise<Answer> {
  const open = endpoint.auth === 'none' && !(request.path === '/metrics' && parts.metricsRequireKey())
  const head = new AdmittedHead(request, endpoint)
  try {
    return open ? perform(parts, endpoint, request, head) : dispatch(parts, endpoint, request, head)
  } catch (thrown) {
    return failed(parts, endpoint, { request, head }, thrown)
  }
}

/** Asks the policies, one after the other. */
function dispatch(
  parts: RequestRouterParts,
  endpoint: Endpoint,
  request: IncomingRequest,
  head: AdmittedHead,
): Answer | Promise<Answer> {
  for (let at = 0; at < parts.policies.length; at++) {
    const admitted = parts.policies[at]!.admit(head)
    if (admitted) return dispatchLater({ parts, endpoint, request, head }, admitted, at + 1)
  }
  return perform(parts, endpoint, request, head)
}

interface Dispatch {
  readonly parts: RequestRouterParts
  readonly endpoint: Endpoint
  readonly request: IncomingRequest
  readonly head: AdmittedHead
}

/** After `admitted`, the promise of the policy before number `next`. Most requests have no such policy. */
async function dispatchLater(
  { parts, endpoint, request, head }: Dispatch,
  admitted: Promise<void>,
  next: number,
): Promise<Answer> {
  try {
    await admitted
    for (const policy of parts.policies.slice(next)) await policy.admit(head)
    return await perform(parts, endpoint, request, head)
  } catch (thrown) {
    return failed(parts, endpoint, { request, head }, thrown)
  }
}

function perform(
  parts: RequestRouterParts,
  endpoint: Endpoint,
  request: IncomingRequest,
  head: AdmittedHead,
): Answer | Promise<Answer> {
  // Most bodies came with their head. One that comes later is not judged by what held when its head came.
  if (head.caller && !request.body.ended) request.body = lateBody(parts, endpoint, request, head.caller)
  const answer =
    request.method === 'POST' && isIdempotent(endpoint, request, head.routeGroup === 'llm_api_routes')
      ? handleIdempotent({ endpoint, request, services: parts.services, caller: head.caller! })
      : endpoint.handle(request, parts.services, head.caller)
  if (answer instanceof Promise) return finishLater(answer, { parts, endpoint, request, head })
  return finished(endpoint, request, head, answer)
}

function lateBody(
  { services }: RequestRouterParts,
  endpoint: Endpoint,
  request: IncomingRequest,
  caller: Caller,
): LateBody {
  return new LateBody(request.body, () => services.confirm(caller, request, endpoint))
}

function finishLater(answer: Promise<Answer>, { parts, endpoint, request, head }: Dispatch): Promise<Answer> {
  return answer.then(
    made => finished(endpoint, request, head, made),
    thrown => failed(parts, endpoint, { request, head }, thrown),
  )
}

function finished(endpoint: Endpoint, request: HttpRequest, { answerHeaders }: AdmittedHead, answer: Answer): Answer {
  const whole = answerHeaders ? { ...answer, headers: { ...answer.headers, ...answerHeaders } } : answer
  return withCors(request, isPrivate(endpoint) ? keptPrivate(whole) : whole, endpoint)
}

/** What a GET shows to its caller. Calls of models are POST, and pay nothing. */
const isPrivate = ({ method, auth }: Endpoint): boolean => method === 'GET' && auth !== 'none'

/** No cache, in a browser or a proxy, keeps it for others, and no page of another origin shows or embeds it. */
const privateHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

const keptPrivate = (answer: Answer): Answer => ({ ...answer, headers: { ...privateHeaders, ...answer.headers } })

function failed(parts: RequestRouterParts, endpoint: Endpoint, at: Admitted, thrown: unknown): Answer {
  const { request, head } = at
  const error = toGatewayError(thrown)
  if (error.kind === 'internal')
    parts.reportInternal(error, { method: request.method, path: request.path, id: shownId(request) })
  const answer = endpoint.pageOfError?.(error, request) ?? errorAnswer(error, { request, body: endpoint.errorBody })
  return finished(endpoint, request, head, answer)
}

interface Admitted {
  readonly request: HttpRequest
  readonly head: AdmittedHead
}

/** What `x-request-id` of the answer says. */
const shownId = ({ headers, id }: HttpRequest): string => clientRequestId(headers) ?? id

interface ErrorShape {
  /** Absent = it could not be read. */
  readonly request?: HttpRequest
  /** The body in the path's dialect. */
  readonly body?: Endpoint['errorBody']
}

function errorAnswer(error: GatewayError, { request, body = openaiErrorBody }: ErrorShape = {}): Answer {
  const id = request ? shownId(request) : randomUUIDv7()
  const headers: Record<string, string> = { ...error.answerHeaders, 'x-request-id': id }
  if (error.retryAfterMs !== undefined) headers['retry-after'] = String(Math.ceil(error.retryAfterMs / 1000))
  if (error.kind === 'unauthenticated') {
    headers['www-authenticate'] = 'Bearer'
    // Without it Claude Code repeats a call for minutes before it says so (its /protocol, 2.1.330).
    headers['x-should-retry'] = 'false'
  }
  if (body === scimErrorBody) headers['content-type'] = scimMediaType
  return jsonAnswer(body(error, id), error.status, headers)
}

const nothing = (): Answer => ({ status: 200, headers: {}, body: null })

function notFound(request: HttpRequest, table: EndpointTable): Answer {
  const { method, path } = request
  // Claude Code asks so whether a gateway is there.
  if (method === 'HEAD' && path === '/api/hello') return withCors(request, nothing())
  const hint = table.nextStep(request)
  const why = `there is no ${method} ${path.slice(0, 200)}${hint === '' ? '' : `; ${hint}`}; see /docs for the API`
  return withCors(request, errorAnswer(new GatewayError('not-found', why), { request, body: dialectOfPath(request) }))
}

/** The endpoint that answers a WebSocket, under the rules of its path; made once for each. */
const socketEndpoints = new WeakMap<Endpoint, Endpoint>()

function socketEndpointOf(methods: Methods | undefined): Endpoint | undefined {
  const endpoint = methods && [...methods.values()].find(one => one.upgrade)
  if (!endpoint) return undefined
  let made = socketEndpoints.get(endpoint)
  if (!made) {
    made = { ...endpoint, method: 'GET', handle: (...given) => endpoint.upgrade!(given[0], given[1], given[2]!) }
    socketEndpoints.set(endpoint, made)
  }
  return made
}

type Found = ReturnType<EndpointTable['find']>

function upgrade(parts: RequestRouterParts, request: IncomingRequest, found: Found): Answer | Promise<Answer> {
  const endpoint = socketEndpointOf(found?.value)
  if (!endpoint) return upgradeRefused(request)
  request.params = found!.params
  return admit(parts, endpoint, request)
}

/** At once: clients that try a WebSocket first (Codex) go on with HTTP when they read this status. */
function upgradeRefused(request: HttpRequest): Answer {
  const error = new GatewayError(
    'upgrade-required',
    'there are no WebSockets at this path; send the same request as POST over HTTP, with `stream` for events',
  )
  return withCors(request, errorAnswer(error, { request, body: dialectOfPath(request) }))
}

function otherMethod(request: HttpRequest, methods: Methods): Answer {
  const allowed = [...methods.keys()].join(', ')
  const why = `${request.method} is not allowed here; use ${allowed}`
  const body = [...methods.values()].find(one => one.errorBody)?.errorBody ?? dialectOfPath(request)
  const answer = errorAnswer(new GatewayError('method-not-allowed', why), { request, body })
  answer.headers.allow = allowed
  return withCors(request, answer, methods.values().next().value)
}

/** A browser's question before a request, or a load balancer's check of health. */
function options(parts: RequestRouterParts, request: IncomingRequest, methods?: Methods): Answer | Promise<Answer> {
  const get = methods?.get('GET')
  if (!get?.isProbe || request.headers.has('access-control-request-method')) return preflight(request.headers, get)
  return Promise.resolve(admit(parts, get, request)).then(answer => ({ ...answer, body: null }))
}

/**
 * Every origin is allowed: with `*` browsers send no cookies, so that other pages need a key. A fixed list of headers
 * would break clients.
 */
function preflight(headers: RequestHeaders, endpoint: Endpoint | undefined): Answer {
  if (endpoint?.crossOrigin === false) return { status: 204, headers: { allow: 'GET, HEAD' }, body: null }
  return {
    status: 204,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers': headers.get('access-control-request-headers') ?? '*',
      'access-control-max-age': '86400',
    },
    body: null,
  }
}

/** Only for browsers, which send `origin`. */
function withCors({ headers }: HttpRequest, answer: Answer, endpoint?: Endpoint): Answer {
  if (!headers.has('origin') || endpoint?.crossOrigin === false) return answer
  const cors = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': Object.keys(answer.headers).join(', '),
  }
  return { ...answer, headers: { ...answer.headers, ...cors } }
}
