/**
 * AWS Signature Version 4 in headers (docs.aws.amazon.com, "Create a signed AWS API request"). Pure: the time is given.
 * S3 has rules of its own for paths and is not meant here.
 */
import { createHash, createHmac } from 'node:crypto'

/** As AWS hands them out: for good, or for a while with a token. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken?: string | undefined
}

/** What a signature is good for, for some minutes around its time. */
interface AwsScope {
  /** `us-east-1` */
  readonly region: string
  /** The name to sign for, which may differ from the host's. */
  readonly service: string
}

/** What is about to be sent. Every header here is signed, so none of them may change on the way. */
export interface SignedCall {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** In order; signed as if joined. */
  readonly body: readonly Uint8Array[]
}

const algorithm = 'AWS4-HMAC-SHA256'

/** The headers to add to the call. `host` is signed as the URL says it, whether or not it is among the headers. */
export function signAwsCall(
  call: SignedCall,
  credentials: AwsCredentials,
  scope: AwsScope,
  epochMs: number,
): Record<string, string> {
  // 2015-08-30T12:36:00.000Z -> 20150830T123600Z
  const time = new Date(epochMs).toISOString().replace(/\.\d+|[-:]/g, '')
  const added = {
    'x-amz-date': time,
    ...(credentials.sessionToken !== undefined && { 'x-amz-security-token': credentials.sessionToken }),
  }
  const url = new URL(call.url)
  const headers = canonicalHeaders({ ...call.headers, ...added, host: url.host })
  const names = headers.map(([name]) => name).join(';')
  const canonical = [
    call.method,
    canonicalPath(url.pathname),
    canonicalQuery(url.search),
    ...headers.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    bodyHash(call.body),
  ].join('\n')
  const day = time.slice(0, 8)
  const credentialScope = `${day}/${scope.region}/${scope.service}/aws4_request`
  const toSign = [algorithm, time, credentialScope, sha256(canonical)].join('\n')
  const signature = hmac(signingKey(credentials.secretAccessKey, day, scope), toSign).toString('hex')
  return {
    ...added,
    authorization:
      `${algorithm} Credential=${credentials.accessKeyId}/${credentialScope}, ` +
      `SignedHeaders=${names}, Signature=${signature}`,
  }
}

/** Lower-case names in order, runs of spaces as one. */
function canonicalHeaders(headers: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(headers)
    .map(([name, value]): [string, string] => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')])
    .sort(([a], [b]) => compare(a, b))
}

/** The path as it is sent, encoded once more: `%3A` is signed as `%253A`. Doubled slashes count as one. */
function canonicalPath(path: string): string {
  return path.replace(/\/+/g, '/').split('/').map(encode).join('/')
}

function canonicalQuery(search: string): string {
  const pairs = search
    .slice(1)
    .split('&')
    .filter(pair => pair !== '')
  return pairs
    .map((pair): [string, string] => {
      const at = pair.indexOf('=')
      return at < 0 ? [recode(pair), ''] : [recode(pair.slice(0, at)), recode(pair.slice(at + 1))]
    })
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(pair => pair.join('='))
    .join('&')
}

/** By character codes, as AWS sorts; a locale would sort otherwise. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** All but `A-Z a-z 0-9 - . _ ~` (RFC 3986); `encodeURIComponent` leaves five more. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

const recode = (text: string): string => encode(decodeURIComponent(text))

function signingKey(secret: string, day: string, { region, service }: AwsScope): Buffer {
  return [region, service, 'aws4_request'].reduce((key, word) => hmac(key, word), hmac(`AWS4${secret}`, day))
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text, 'utf8').digest()
const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')

function bodyHash(pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}
