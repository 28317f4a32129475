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
  if (rest.some(one => /^(?:\.|%2e){1,2}$/i.test(one)))
    throw new GatewayError('invalid-request', 'the path has a segment of dots; write it without')
  const words = new URLSearchParams(query)
  words.delete('key')
  return `/${rest.join('/')}${words.size > 0 ? `?${words.toString()}` : ''}`
}

/**
 * By the body or by the path; undefined = it names none. Throws where they name several: which of them the vendor
 * takes is not known, and the key may be allowed one of them alone.
 */
function modelOf(path: string, body: Uint8Array): string | undefined {
  const [way = ''] = path.split('?')
  const inPath = [...way.matchAll(/\/(?:models?|deployments)\/([^/]+?)(?=[:/]|$)/gi)].map(([, name]) => decoded(name!))
  const inBody = body[0] === brace ? readJsonBody(body).get('model') : undefined
  const names = new Set([...inPath, ...(typeof inBody === 'string' && inBody !== '' ? [bareModel(inBody)] : [])])
  if (names.size > 1)
    throw new GatewayError(
      'invalid-request',
      `the request names several models (${[...names].join(', ').slice(0, 200)}); name one, in the path or in the body`,
      { param: 'model' },
    )
  return names.values().next().value
}

/** Gemini's bodies say `models/NAME`. */
const bareModel = (name: string): string => name.replace(/^models\//, '')

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    throw new GatewayError('invalid-request', 'the path has a percent sign that begins no encoded byte; encode it as %25')
  }
}

const brace = 0x7b

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
    ({ target, blocked }) => target.provider.name === name && blocked === undefined,
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
