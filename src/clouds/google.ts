/** Access tokens of Google Cloud by Google's own library, which is loaded when a deployment uses it. */
import type { AuthClient, Compute, JWTInput } from 'google-auth-library'
import type { GoogleIdentity } from '../core/cloud-identity.ts'
import { systemClock } from '../lib/clock.ts'
import { isObject } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'
import type { Ask } from './ask.ts'
import type { FetchedCredential } from './held-credential.ts'

type Library = typeof import('google-auth-library')
type Transporter = AuthClient['transporter']

const scopes = ['https://www.googleapis.com/auth/cloud-platform']
/** The library's only address for the tokens of service accounts and users. */
const tokenUrl = 'https://oauth2.googleapis.com/token'
/** The library keeps its tokens until then: it is asked when a new one is wanted. */
const eagerRefreshThresholdMillis = 600_000

const noToken = 'the answer has no `access_token` with its `expires_in`'

/** Binds the library to an identity. */
export async function openGoogle(identity: GoogleIdentity, ask: Ask): Promise<() => Promise<FetchedCredential>> {
  const library = await import('google-auth-library')
  const text = identity.credentials?.reveal()
  const credentials = text === undefined ? undefined : (JSON.parse(text) as Json)
  const client = credentials
    ? clientOf(library, credentials, ask)
    : metadataClient(library, transporterBy(library, ask), identity.metadataHost)
  const quotaProject = credentials?.quota_project_id
  return async () => {
    const { token } = await client.getAccessToken()
    const { expiry_date: expiresMs } = client.credentials
    if (!token || !expiresMs) throw new Error(noToken)
    return {
      credential: { kind: 'token', token, ...(typeof quotaProject === 'string' && { quotaProject }) },
      expiresMs,
    }
  }
}

/** The client of a credentials file, by its `type`; the configuration has checked that it is known. */
function clientOf(library: Library, json: Json, ask: Ask): AuthClient {
  const { type, token_uri: address } = json
  const transporter = transporterBy(library, ask, typeof address === 'string' ? address : tokenUrl)
  const options = { transporter, eagerRefreshThresholdMillis, scopes }
  if (type === 'external_account') return federatedClient(library, json, options)
  if (type === 'external_account_authorized_user')
    return new library.ExternalAccountAuthorizedUserClient({ ...shaped(json), ...options })
  if (type === 'impersonated_service_account') return impersonatedClient(library, json, { ask, options })
  const client = type === 'authorized_user' ? new library.UserRefreshClient(options) : new library.JWT(options)
  client.fromJSON(shaped<JWTInput>(json))
  return client
}

interface ClientOptions {
  readonly transporter: Transporter
  readonly eagerRefreshThresholdMillis: number
  readonly scopes: string[]
}

/** Workload identity federation: a token of another place is exchanged for one of Google. */
function federatedClient(library: Library, json: Json, options: ClientOptions): AuthClient {
  const { environment_id: environment, executable } = isObject(json.credential_source) ? json.credential_source : {}
  const given = { ...json, ...options }
  const client =
    typeof environment === 'string'
      ? new library.AwsClient(shaped(given))
      : executable === undefined
        ? new library.IdentityPoolClient(shaped(given))
        : new library.PluggableAuthClient(shaped(given))
  // The library hands its transporter to everything but this exchange.
  Reflect.set(Reflect.get(client, 'stsCredential') as object, 'transporter', options.transporter)
  return client
}

function impersonatedClient(
  library: Library,
  json: Json,
  { ask, options }: { readonly ask: Ask; readonly options: ClientOptions },
): AuthClient {
  const address = new URL(String(json.service_account_impersonation_url))
  const [, targetPrincipal] = /([^/]+):generateAccessToken$/.exec(address.pathname) ?? []
  const delegates = Array.isArray(json.delegates) ? json.delegates.map(String) : []
  const sourceClient = clientOf(library, json.source_credentials as Json, ask)
  // It warns each time that the file may not have been checked: the configuration has done so.
  const { warn } = console
  console.warn = () => {}
  try {
    const endpoint = address.origin
    return new library.Impersonated({
      ...options,
      sourceClient,
      targetPrincipal,
      targetScopes: scopes,
      delegates,
      endpoint,
    })
  } finally {
    console.warn = warn
  }
}

/** The token of the machine's service account: by the library's client, sent by the transport of calls. */
function metadataClient(library: Library, transporter: Transporter, host = 'metadata.google.internal'): Compute {
  class MetadataClient extends library.Compute {
    protected override async refreshTokenNoCache() {
      const url = `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`
      const { data } = await this.transporter.request<{ access_token?: string; expires_in?: number }>({
        url,
        headers: { 'metadata-flavor': 'Google' },
        responseType: 'json',
      })
      const { access_token: token, expires_in: lifetimeS } = data
      if (!token || typeof lifetimeS !== 'number') throw new Error(noToken)
      return { tokens: { access_token: token, expiry_date: systemClock.epochMs() + lifetimeS * 1000 }, res: null }
    }
  }
  return new MetadataClient({ transporter, eagerRefreshThresholdMillis })
}

/** `address` = where tokens of service accounts and users are asked for, as a credentials file says. */
function transporterBy({ gaxios }: Library, ask: Ask, address = tokenUrl): Transporter {
  return new gaxios.Gaxios({
    fetchImplementation: async (input, init = {}) => {
      const url = String(input) === tokenUrl ? address : String(input)
      const headers = Object.fromEntries(new Headers(init.headers))
      const { body } = init
      const text = body === undefined || body === null ? undefined : String(body)
      const answer = await ask({ method: init.method ?? 'GET', url, headers, body: text })
      return new Response(Buffer.from(answer.body), { status: answer.status, headers: { ...answer.headers } })
    },
  })
}

/** The shape was checked when the configuration was read, or is checked by the library. */
const shaped = <T>(json: Json): T => json as T
