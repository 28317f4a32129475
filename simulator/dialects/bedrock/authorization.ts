/**
 * Verifies AWS Signature Version 4 in a header, or a bearer token. Written from AWS's description ("Create a signed AWS
 * API request"), independently of the gateway's signer, so that the two check each other.
 */
import { createHash, createHmac } from 'node:crypto'
import { ApiError } from '../response.ts'
import type { HttpRequest } from '../../server/request-parser.ts'

/** The only key pair whose signatures are recomputed. For other keys only the format is checked. */
export const awsKeys = {
  id: 'AKIASIMULATOR0000000',
  secret: 'simulator/secret+key/of/no/account/at/all',
} as const

const authorizationPattern = new RegExp(
  '^AWS4-HMAC-SHA256 Credential=([A-Z0-9]{16,128})/(\\d{8})/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request, ?' +
    'SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$',
)

const denied = (code: string, message: string): ApiError => new ApiError(message, { status: 403, code })

/** Throws ApiError where AWS would refuse the request because of its signature. */
export function checkAwsAuthorization(request: HttpRequest): void {
  const authorization = request.headers.get('authorization')
  if (authorization === undefined) throw denied('MissingAuthenticationTokenException', 'Missing Authentication Token')
  if (/^Bearer \S+$/.test(authorization)) return
  const found = authorizationPattern.exec(authorization)
  if (!found)
    throw denied('IncompleteSignatureException', 'Authorization header does not have the form of Signature Version 4.')
  const [, keyId, day, region, service, names, signature] = found as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const time = request.headers.get('x-amz-date') ?? ''
  if (!/^\d{8}T\d{6}Z$/.test(time))
    throw denied('IncompleteSignatureException', "Authorization header requires existence of an 'X-Amz-Date' header.")
  if (!time.startsWith(day))
    throw denied(
      'InvalidSignatureException',
      `Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '${day}' != ` +
        `'${time.slice(0, 8)}'.`,
    )
  if (service !== 'bedrock')
    throw denied('InvalidSignatureException', `Credential should be scoped to correct service: 'bedrock'.`)
  checkSignedHeaders(names.split(';'), request)
  if (keyId !== awsKeys.id) return
  if (signature !== signatureOf(request, { names: names.split(';'), time, scope: [day, region, service] }))
    throw denied(
      'InvalidSignatureException',
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access ' +
        'Key and signing method.',
    )
}

function checkSignedHeaders(names: readonly string[], request: HttpRequest): void {
  const sorted = [...names].sort()
  if (sorted.some((name, at) => name !== names[at]))
    throw denied('InvalidSignatureException', 'SignedHeaders are not in order.')
  // These headers change the meaning of the request, so they must be signed when they are present.
  const needed = ['host', ...[...request.headers.keys()].filter(name => name.startsWith('x-amz-'))]
  for (const name of needed)
    if (!names.includes(name))
      throw denied('InvalidSignatureException', `'${name}' must be a 'SignedHeader' in the AWS Authorization.`)
  for (const name of names)
    if (!request.headers.has(name))
      throw denied('InvalidSignatureException', `The signed header '${name}' was not sent.`)
}

interface Signing {
  readonly names: readonly string[]
  readonly time: string
  readonly scope: readonly [day: string, region: string, service: string]
}

function signatureOf(request: HttpRequest, { names, time, scope }: Signing): string {
  const [path, query = ''] = request.target.split('?', 2) as [string, string?]
  const headers = names.map(name => `${name}:${request.headers.get(name)!.trim().replace(/\s+/g, ' ')}\n`).join('')
  const parts =
    query === ''
      ? []
      : query
          .split('&')
          .map(part => (part.includes('=') ? part : `${part}=`))
          .sort()
  const asked = [
    request.method,
    path.split('/').map(encoded).join('/'),
    parts.join('&'),
    headers,
    names.join(';'),
    sha256(request.body),
  ].join('\n')
  const place = [...scope, 'aws4_request']
  const toSign = ['AWS4-HMAC-SHA256', time, place.join('/'), sha256(asked)].join('\n')
  const key = place.reduce<string | Buffer>((secret, word) => hmac(secret, word), `AWS4${awsKeys.secret}`)
  return hmac(key, toSign).toString('hex')
}

/** Encodes again what the path already has encoded, as Signature Version 4 requires. */
const encoded = (step: string): string =>
  encodeURIComponent(step).replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const sha256 = (value: string | Uint8Array): string => createHash('sha256').update(value).digest('hex')
