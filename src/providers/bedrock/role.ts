/**
 * Temporary credentials of an AWS role: the one that an ECS task or an EKS pod runs with, or one that keys take on.
 * Sources: docs.aws.amazon.com/sdkref, "Container credential provider" and "Assume role credential provider";
 * docs.aws.amazon.com/STS, AssumeRole and AssumeRoleWithWebIdentity.
 */
import { readFileSync } from 'node:fs'
import { GatewayError } from '../../core/errors.ts'
import type { TokenRequest } from '../../core/provider.ts'
import { signAwsCall } from '../../lib/aws/aws-signature.ts'
import type { AwsCredentials } from '../../lib/aws/aws-signature.ts'
import type { Secret } from '../../lib/secret.ts'

/** Where the credentials come from. */
export type AwsRole =
  | {
      /** The agent beside the container. */
      readonly kind: 'container'
      readonly url: string
      readonly token?: Secret
      /** Read for every request: its content changes. */
      readonly tokenFile?: string
    }
  | (StsRole & { readonly kind: 'web-identity'; readonly tokenFile: string })
  | (StsRole & { readonly kind: 'assumed'; readonly externalId?: string })

interface StsRole {
  /** Of STS. */
  readonly url: string
  readonly arn: string
  readonly sessionName: string
}

/** What asks for them: the region, and the keys that take on an `assumed` role. */
interface RoleAsker {
  readonly region: string
  readonly keys: AwsCredentials | undefined
  readonly epochMs: number
}

/** Throws `upstream-credentials` for a file that cannot be read, and for a role to be taken on without keys. */
export function roleRequest(role: AwsRole, asker: RoleAsker): TokenRequest {
  if (role.kind === 'container') {
    const token = role.tokenFile === undefined ? role.token?.reveal() : fileText(role.tokenFile)
    const headers = { accept: 'application/json', ...(token !== undefined && { authorization: token }) }
    return { method: 'GET', head: { url: role.url, headers }, body: '' }
  }
  const action: Record<string, string> =
    role.kind === 'assumed'
      ? { Action: 'AssumeRole', ...(role.externalId !== undefined && { ExternalId: role.externalId }) }
      : { Action: 'AssumeRoleWithWebIdentity', WebIdentityToken: fileText(role.tokenFile) }
  const fields = { Version: '2011-06-15', RoleArn: role.arn, RoleSessionName: role.sessionName, ...action }
  const body = new URLSearchParams(fields).toString()
  const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
  const proof = role.kind === 'assumed' ? stsProof({ url: role.url, headers, body }, asker) : {}
  return { method: 'POST', head: { url: role.url, headers: { ...headers, ...proof } }, body }
}

function stsProof(call: { url: string; headers: Record<string, string>; body: string }, asker: RoleAsker) {
  const { keys, region, epochMs } = asker
  if (!keys) throw new GatewayError('upstream-credentials', 'this deployment has no keys that take on its role')
  const signed = { ...call, method: 'POST', body: [Buffer.from(call.body, 'utf8')] }
  return signAwsCall(signed, keys, { region, service: 'sts' }, epochMs)
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new GatewayError('upstream-credentials', 'the file with the token for the AWS role cannot be read', { cause })
  }
}

/** No part of the credentials has a line break. */
const separator = '\n'

/** Reads the answer of the agent or of STS. Throws `upstream-credentials` on one without credentials. */
export function readRoleAnswer(body: unknown, epochMs: number): { token: string; lifetimeS: number } {
  const { AccessKeyId: id, SecretAccessKey: secret, Token: token, SessionToken: session, Expiration: end } = found(body)
  // STS gives seconds since 1970, the agent a date.
  const endMs = typeof end === 'number' ? end * 1000 : Date.parse(String(end))
  const parts = [id, secret, token ?? session]
  if (!parts.every(one => typeof one === 'string' && one !== '') || Number.isNaN(endMs))
    throw new GatewayError('upstream-credentials', 'AWS answered without credentials of the role')
  return { token: parts.join(separator), lifetimeS: (endMs - epochMs) / 1000 }
}

/** The agent answers the credentials themselves, STS has them in `...Response`, `...Result`, `Credentials`. */
function found(body: unknown, depth = 0): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || depth > 3) return {}
  if ('AccessKeyId' in body) return body as Record<string, unknown>
  for (const inside of Object.values(body)) {
    const one = found(inside, depth + 1)
    if ('AccessKeyId' in one) return one
  }
  return {}
}

/** The credentials in a token that `readRoleAnswer` made. */
export function roleCredentials(token: string): AwsCredentials {
  const [accessKeyId = '', secretAccessKey = '', sessionToken] = token.split(separator)
  return { accessKeyId, secretAccessKey, sessionToken }
}
