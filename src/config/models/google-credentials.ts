/** Credentials files of Google, of each type that its tools write: what they must hold, and what they lead to. */
import { isObject, parsedJson } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  service_account: ['client_email', 'private_key'],
  authorized_user: ['client_id', 'client_secret', 'refresh_token'],
  external_account: ['audience', 'subject_token_type', 'token_url', 'credential_source'],
  external_account_authorized_user: ['client_id', 'client_secret', 'refresh_token', 'token_url'],
  impersonated_service_account: ['service_account_impersonation_url', 'source_credentials'],
}

/** What is wrong with the text of a credentials file; undefined = nothing. The message holds none of its contents. */
export function credentialsProblem(text: string): string | undefined {
  const credentials = parsedJson(text)
  return isObject(credentials) ? problemIn(credentials) : 'is not the JSON text of a credentials file'
}

function problemIn(credentials: Json): string | undefined {
  const { type, source_credentials: inner, credential_source: source } = credentials
  if (typeof type !== 'string' || !Object.hasOwn(fieldsOf, type))
    return (
      `has a \`type\` that is not supported; use one of ${Object.keys(fieldsOf).join(', ')}, ` +
      'or run at Google without any'
    )
  const missing = fieldsOf[type]!.filter(name => {
    const value = credentials[name]
    return value === undefined || value === null || value === ''
  })
  if (missing.length > 0) return `has no ${missing.join(', ')}`
  if (type === 'external_account' && isObject(source) && source.certificate !== undefined)
    return 'proves itself by a client certificate (X.509), which is not supported; use a file, an address or AWS'
  if (type !== 'impersonated_service_account') return undefined
  const address = credentials.service_account_impersonation_url
  if (typeof address !== 'string' || !URL.canParse(address) || !/[^/]+:generateAccessToken$/.test(address))
    return 'has a `service_account_impersonation_url` that does not end in `ACCOUNT:generateAccessToken`'
  const problem = isObject(inner) ? problemIn(inner) : 'is no object'
  return problem === undefined ? undefined : `has \`source_credentials\` whose text ${problem}`
}

/** The project of a service account; undefined = the file has none. */
export function credentialsProject(text: string): string | undefined {
  const credentials = parsedJson(text)
  const id = isObject(credentials) ? credentials.project_id : undefined
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** Where a federated identity comes from: a file, address or program of the host; undefined = it is not federated. */
export function federationSource(text: string): Json | undefined {
  let credentials = parsedJson(text)
  while (isObject(credentials)) {
    if (isObject(credentials.credential_source)) return credentials.credential_source
    credentials = credentials.source_credentials
  }
  return undefined
}
