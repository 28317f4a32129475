/**
 * A vendor's own paths that the gateway does not know, for providers that `pass_through_providers` names: the key's
 * access to the provider, the gateway's credentials, request and answer untouched, a row in the ledger.
 */
import { mayCall, usableDeployments } from '../../access/models/model-access.ts'
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { readBody, readJsonBody } from '../../core/request.ts'
import type { HttpRequest, RequestHeaders } from '../../core/request.ts'
import type { UpstreamRequest } from '../../core/transport.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { anyObject, named } from '../openapi/schema.ts'

const paths = ['/passthrough/{provider}/{path+}']

const vendorAnswer = named('VendorAnswer', () => anyObject)

const doc = (verb: string): EndpointDoc => ({
  operationId: `passThrough${verb}`,
  summary: `${verb} a path of a vendor that the gateway does not know, as it is`,
  tag: 'Models',
  callsObjects: true,
  failures: [400, 403, 404, 408, 502, 503],
  success: { 'application/json': vendorAnswer },
})

const endpointOf = (method: UpstreamRequest['method'], verb: string): Endpoint => ({
  method,
  paths,
  auth: 'key',
  doc: doc(verb),
  handle: (request, services, caller) => pass(method, request, services, caller!),
})

/** One for each method. */
export const passThroughEndpoints: readonly Endpoint[] = [
  endpointOf('GET', 'Read'),
  endpointOf('POST', 'Send'),
  endpointOf('PUT', 'Replace'),
  endpointOf('DELETE', 'Delete'),
]

function pass(method: UpstreamRequest['method'], request: HttpRequest, services: Services, caller: Caller) {
  const name = request.params.provider!.replaceAll('-', '_')
  const { settings } = services.current
  if (!settings.passThroughProviders.includes(name))
    throw new GatewayError(
      'not-found',
      `nothing is passed through to '${name.slice(0, 100)}'; the operator can name it in pass_through_providers`,
    )
  if (settings.guardrails?.some(one => one.defaultOn))
    throw new GatewayError(
      'forbidden',
      'nothing is passed through here: a guardrail holds for every call, and it cannot read what only a vendor knows',
    )
  const path = vendorPath(request)
  let body: Uint8Array = new Uint8Array()
  return services.callObjects(request, caller, {
    operation: 'pass-through',
    route: `/passthrough/${name}`,
    body: 'none',
    isCharged: true,
    async prepare(call) {
      if (method !== 'GET') body = await readBody(request.body, settings.bodyBytesMax)
      call.model = `${name}/${modelOf(path, body) ?? '*'}`
    },
    work: (call, settleAfter) => {
      const deployment = deploymentFor({ caller, services, name, model: modelOf(path, body) })
      return services.passThrough(
        call,
        { method, deployment, path, headers: sentHeaders(request.headers), body },
        settleAfter,
      )
    },
  })
}

/** What stands behind the provider, as it was written, with the query. */
function vendorPath({ path, query }: HttpRequest): string {
  const rest = path.split('/').slice(3)
  if (rest.some(climbs))
    throw new GatewayError('invalid-request', 'the path has a segment of dots, or a backslash; write it without')
  const words = new URLSearchParams(query)
  words.delete('key')
  return `/${rest.join('/')}${words.size > 0 ? `?${words.toString()}` : ''}`
}

/**
 * Whether a client or a server on the way reads other segments out of this one: URL parsers take a backslash for a
 * slash, some servers decode slashes, some leave out what stands behind a semicolon.
 */
const climbs = (segment: string): boolean => {
  const text = decoded(segment)
  return text.includes('\\') || text.split('/').some(one => /^\.{1,2}(?:;|$)/.test(one))
}

/**
 * By the path, or by `model` of a JSON body; undefined = it names none. Throws where the request names several, also
 * in the query, in a form or in lists: which of them the vendor takes is not known, and the key may be allowed one.
 */
function modelOf(path: string, body: Uint8Array): string | undefined {
  const [way = '', query = ''] = path.split('?')
  const { own, others } = namesInBody(body)
  const named = [...namesInPath(way), ...own]
  const names = new Set([...named, ...others, ...new URLSearchParams(query).getAll('model')])
  if (names.size > 1)
    throw new GatewayError(
      'invalid-request',
      `the request names several models (${[...names].join(', ').slice(0, 200)}); name one, in the path or in the body`,
      { param: 'model' },
    )
  return named[0]
}

/** Gemini writes a verb behind the name (`models/NAME:generateContent`); Bedrock's names have a colon of their own. */
function namesInPath(way: string): string[] {
  return [...way.matchAll(/\/(model|models|deployments)\/([^/]+)/gi)].map(([, word, name]) =>
    word!.toLowerCase() === 'model' ? decoded(name!) : decoded(name!.replace(/:[a-z]+$/i, '')),
  )
}

/** `others` = where a vendor may read a name, too: they allow nothing by themselves. */
function namesInBody(body: Uint8Array): { readonly own: string[]; readonly others: string[] } {
  const start = body.findIndex(byte => !blanks.has(byte))
  if (start < 0) return { own: [], others: [] }
  if (body[start] !== brace) return { own: [], others: namesInForm(body) }
  const json = readJsonBody(body.subarray(start))
  const parts = listOf(json.get('models'))
  for (const one of [...listOf(json.get('requests')), ...listOf(json.get('tools')), json.get('session')])
    parts.push(member(one, 'model'), member(member(one, 'params'), 'model'), member(member(one, 'body'), 'model'))
  return { own: [json.get('model')].flatMap(nameOf), others: parts.flatMap(nameOf) }
}

function nameOf(value: unknown): string[] {
  if (value === undefined || value === null || value === '') return []
  return [typeof value === 'string' ? bareModel(value) : JSON.stringify(value)]
}

/** Of `multipart/form-data`. */
function namesInForm(body: Uint8Array): string[] {
  const field = /;[ \t]*name="?model"?[^\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n([^\r\n]*)/gi
  return [...Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1').matchAll(field)].map(
    ([, name]) => bareModel(name!.trim()),
  )
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? [...(value as unknown[])] : [])
const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Gemini's bodies say `models/NAME`. */
const bareModel = (name: string): string => name.replace(/^models\//, '')

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    throw new GatewayError(
      'invalid-request',
      'the path has a percent sign that begins no encoded byte; encode it as %25',
    )
  }
}

const brace = 0x7b
/** White space, and the bytes of a byte order mark. */
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])

interface Wanted {
  readonly caller: Caller
  readonly services: Services
  readonly name: string
  readonly model: string | undefined
}

/**
 * The deployment whose credentials are used: one of the model, where the request names it. A request that names none
 * can reach every model of the provider, so that the key has to be allowed `provider/*`.
 */
function deploymentFor({ caller, services, name, model }: Wanted): Deployment {
  const models = services.current.models.of(caller)
  const own = usableDeployments(caller, models).filter(
    // One that only callers' own credentials serve has none to send.
    ({ target, blocked, clientCredentials }) =>
      target.provider.name === name && blocked === undefined && clientCredentials !== 'required',
  )
  const served = model === undefined ? undefined : models.resolve(`${name}/${model}`)
  const priced = served?.find(one => own.some(other => other.id === one.id))
  const named = own.find(({ target }) => target.model === model) ?? priced
  if (named) return named
  if (own.length > 0 && mayCall(caller, `${name}/${model ?? '*'}`, services.current.settings)) return own[0]!
  const what = model === undefined ? `every model of '${name}'` : `'${name}/${model.slice(0, 200)}'`
  const why =
    own.length === 0
      ? `this key may use no model of '${name}'`
      : `this key may not use ${what}; its list of models has to allow \`${name}/*\``
  throw new GatewayError('model-forbidden', why, { param: 'model' })
}

/** What vendors read of their clients; the key of the gateway and all else stays here. */
const passedHeaders = [
  ...['content-type', 'accept', 'accept-language', 'user-agent', 'range', 'if-none-match', 'if-modified-since'],
  ...['anthropic-version', 'anthropic-beta', 'openai-beta', 'x-client-name', 'x-ms-client-request-id'],
  ...['x-goog-api-client', 'x-goog-request-params', 'x-goog-upload-protocol', 'x-goog-upload-command'],
  ...['x-goog-upload-offset', 'x-goog-upload-header-content-length', 'x-goog-upload-header-content-type'],
  ...['x-amzn-bedrock-accept', 'x-amzn-bedrock-trace', 'x-amzn-bedrock-performanceconfig-latency'],
]

function sentHeaders(headers: RequestHeaders): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const name of passedHeaders) {
    const value = headers.get(name)
    if (value !== null) sent[name] = value
  }
  return sent
}
