/** A request as the policies of every request see it: when it is admitted, and again when its body has come in. */
import type { Caller } from '../../core/caller.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import type { AdmittedRequest } from '../../core/policy.ts'
import type { HttpRequest, IncomingRequest, RequestHeaders } from '../../core/request.ts'

/** The tags of endpoints that manage the gateway; all others are for calls and what belongs to them. */
const managementTags: ReadonlySet<string> = new Set([
  'Keys',
  'Users',
  'Teams',
  'Organizations',
  'Customers',
  'Budgets',
  'Cache',
  'Audit',
  'Sign-in',
  'Credentials',
  'Access groups',
  'Spend',
  'Health',
  'Directory',
])

/** What the policies of a head need to know of an endpoint. */
export type AdmittedEndpoint = Pick<
  Endpoint,
  'auth' | 'paths' | 'method' | 'keyInQuery' | 'takesRequest' | 'pageOfError' | 'doc'
>

/** The head of a request to an endpoint, before anything is known of its caller. */
export class HeadOfRequest implements AdmittedRequest {
  readonly auth: AdmittedRequest['auth']
  readonly routes: readonly string[]
  readonly headers: RequestHeaders
  readonly keyInQuery: boolean
  readonly takesRequest: boolean
  readonly method: Endpoint['method']
  answerHeaders: Record<string, string> | undefined = undefined
  readonly #request: Pick<HttpRequest, 'headers' | 'query' | 'clientAddress'>
  readonly #endpoint: AdmittedEndpoint
  #caller: Caller | undefined = undefined

  constructor(request: Pick<HttpRequest, 'headers' | 'query' | 'clientAddress'>, endpoint: AdmittedEndpoint) {
    const { auth, keyInQuery, takesRequest, paths, method } = endpoint
    this.#request = request
    this.headers = request.headers
    this.auth = auth === 'none' ? 'key' : auth
    this.routes = paths
    this.#endpoint = endpoint
    this.method = method
    this.keyInQuery = keyInQuery === true
    this.takesRequest = takesRequest === true
  }

  get isPage(): boolean {
    return this.#endpoint.pageOfError !== undefined
  }

  get caller(): Caller | undefined {
    return this.#caller
  }

  set caller(caller: Caller | undefined) {
    this.#caller = caller
  }

  get routeGroup(): AdmittedRequest['routeGroup'] {
    // What needs a role is no call, under any tag: a key for calls alone is not the administrator's own.
    if (this.auth === 'key' && !managementTags.has(this.#endpoint.doc.tag)) return 'llm_api_routes'
    return this.method === 'GET' ? 'info_routes' : 'management_routes'
  }

  get query(): URLSearchParams {
    return this.#request.query
  }

  get clientAddress(): string {
    return this.#request.clientAddress
  }
}

/** The head of a request that is being admitted: the connection learns whose it is. */
export class AdmittedHead extends HeadOfRequest {
  readonly #incoming: IncomingRequest

  constructor(request: IncomingRequest, endpoint: AdmittedEndpoint) {
    super(request, endpoint)
    this.#incoming = request
  }

  override get caller(): Caller | undefined {
    return super.caller
  }

  override set caller(caller: Caller | undefined) {
    super.caller = caller
    this.#incoming.authenticated = caller !== undefined
    this.#incoming.owner = caller?.key.id ?? ''
  }
}

/** Whether a person's browser asks for a page: programs do not accept HTML, and are answered in JSON. */
export function isFromBrowser({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  return headers.get('accept')?.includes('text/html') ?? false
}
