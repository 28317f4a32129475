/**
 * Access tokens for Vertex AI, from a credentials file of Google's tools (a service account's key or a user's refresh
 * token) or, without one, from the metadata server of a Google Cloud machine.
 * Sources: developers.google.com/identity/protocols/oauth2/service-account (JWT bearer),
 * cloud.google.com/compute/docs/access/authenticate-workloads (metadata server).
 */
import { createSign } from 'node:crypto'
import { GatewayError } from '../../core/errors.ts'
import type { Authorization, Target, TokenRequest } from '../../core/provider.ts'
import { Secret } from '../../lib/secret.ts'

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const tokenUrlDefault = 'https://oauth2.googleapis.com/token'
const metadataUrl = 'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token'
const assertionLifetimeS = 3600
const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** The fields of a credentials file that are used. */
interface Credentials {
  readonly type: string
  readonly client_email: string
  readonly private_key: string
  readonly private_key_id: string
  readonly client_id: string
  readonly client_secret: string
  readonly refresh_token: string
  readonly token_uri: string
  readonly quota_project_id: string
}

const fieldsOf: Readonly<Record<string, readonly (keyof Credentials)[]>> = {
  service_account: ['client_email', 'private_key'],
  authorized_user: ['client_id', 'client_secret', 'refresh_token'],
}

/** What is wrong with the text of a credentials file; undefined = nothing. The message holds none of its contents. */
export function credentialsProblem(text: string): string | undefined {
  const credentials = parsed(text)
  if (!credentials) return 'is not the JSON text of a credentials file'
  const { type } = credentials
  if (!type || !Object.hasOwn(fieldsOf, type))
    return (
      'has a `type` that is not supported; use a service_account key or an authorized_user file, ' +
      'or run at Google without any'
    )
  const missing = fieldsOf[type]!.filter(name => !credentials[name])
  return missing.length > 0 ? `has no ${missing.join(', ')}` : undefined
}

/** The project of a service account; undefined = the file has none. */
export function credentialsProject(text: string): string | undefined {
  const { project_id: id } = (parsed(text) ?? {}) as { project_id?: string }
  return id || undefined
}

function parsed(text: string): Partial<Credentials> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    return Object.fromEntries(Object.entries(value).filter(([, one]) => typeof one === 'string'))
  } catch {
    return undefined
  }
}

const textOf = (target: Target): string | undefined => {
  const { vertex_credentials: held } = target.options
  return held instanceof Secret ? held.reveal() : undefined
}

function credentialsOf(target: Target): Partial<Credentials> | undefined {
  const text = textOf(target)
  if (text === undefined) return undefined
  const problem = credentialsProblem(text)
  if (problem !== undefined) throw new GatewayError('upstream-credentials', `the model's vertex_credentials ${problem}`)
  return parsed(text)
}

function tokenRequest(target: Target, epochMs: number): TokenRequest | undefined {
  // With an API key no token is needed.
  if (target.apiKey) return undefined
  const credentials = credentialsOf(target)
  if (!credentials)
    return { method: 'GET', head: { url: metadataUrl, headers: { 'metadata-flavor': 'Google' } }, body: '' }
  const fields: Record<string, string> =
    credentials.type === 'service_account'
      ? { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: assertion(credentials, epochMs) }
      : {
          grant_type: 'refresh_token',
          client_id: credentials.client_id!,
          client_secret: credentials.client_secret!,
          refresh_token: credentials.refresh_token!,
        }
  return {
    method: 'POST',
    head: { url: credentials.token_uri ?? tokenUrlDefault, headers: form },
    body: new URLSearchParams(fields).toString(),
  }
}

/** A JWT signed with the service account's key (RFC 7523). */
function assertion(credentials: Partial<Credentials>, epochMs: number): string {
  const issuedS = Math.floor(epochMs / 1000)
  const { client_email: issuer, private_key_id: keyId, token_uri: audience = tokenUrlDefault } = credentials
  const head = { alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  const claims = { iss: issuer, scope, aud: audience, iat: issuedS, exp: issuedS + assertionLifetimeS }
  const signed = `${base64url(head)}.${base64url(claims)}`
  try {
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(credentials.private_key!, 'base64url')}`
  } catch (cause) {
    throw new GatewayError(
      'upstream-credentials',
      "the private_key of the model's vertex_credentials is not an RSA key in PEM form",
      { cause },
    )
  }
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value), 'utf8').toString('base64url')

/**
 * A target with an API key needs no token. Throws `upstream-credentials` for unusable credentials and on an answer
 * without a token. A quota project in the credentials is sent as `x-goog-user-project`.
 */
export const vertexAuthorization: Authorization = {
  headers(_call, target, { token }): Record<string, string> {
    if (token === undefined) return {}
    const quota = credentialsOf(target)?.quota_project_id
    return { authorization: `Bearer ${token}`, ...(quota !== undefined && { 'x-goog-user-project': quota }) }
  },
  tokenRequest,
  readToken(body) {
    const { access_token: token, expires_in: lifetimeS } = (body ?? {}) as {
      access_token?: unknown
      expires_in?: unknown
    }
    if (typeof token !== 'string' || token === '' || typeof lifetimeS !== 'number')
      throw new GatewayError('upstream-credentials', "the provider's token service answered without a token")
    return { token, lifetimeS }
  },
}
