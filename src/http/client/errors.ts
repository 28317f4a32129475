/** The errors of an exchange. Their messages are for clients: no URL, no header, no byte of the upstream in them. */
import { closeSync, openSync } from 'node:fs'
import { GatewayError } from '../../core/errors.ts'
import type { UpstreamProxy } from '../../core/transport.ts'
import { errorCode } from '../../lib/error-code.ts'

const connectProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refused the connection',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name could not be resolved',
  ENETUNREACH: 'its network cannot be reached',
  EHOSTUNREACH: 'its host cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  EPROTO: 'the TLS handshake failed',
  ECONNRESET: 'it closed the connection before it was established',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another name',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  CERT_NOT_YET_VALID: 'its TLS certificate is not yet valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is self-signed and not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate chain ends in a root that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate could not be verified',
  UNABLE_TO_GET_ISSUER_CERT: 'its TLS certificate could not be verified',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its TLS certificate could not be verified',
}

/** Who cannot be reached, as the beginning of a sentence. */
export const upstreamSubject = 'the upstream cannot be reached'

/** Not even the proxy is there: as `upstreamSubject`, the beginning of a sentence. */
export function proxySubject({ name }: UpstreamProxy): string {
  return `the proxy ${name} cannot be reached`
}

/** The tunnel stands, but TLS with the upstream inside does not. */
export function tunnelSubject({ name }: UpstreamProxy): string {
  return `${upstreamSubject} through the proxy ${name}`
}

/** Bun calls a connection for which the process has no file descriptor left refused. */
function hasDescriptors(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return true
  } catch (error) {
    const code = errorCode(error)
    return code !== 'EMFILE' && code !== 'ENFILE'
  }
}

/** The connection never stood. `thrown` is the system's error; it is kept as the cause. */
export function unreachable(thrown: unknown, subject = upstreamSubject): GatewayError {
  const code = codeOf(thrown)
  if (code === 'ECONNREFUSED' && !hasDescriptors())
    return new GatewayError(
      'overloaded',
      'the gateway has no file descriptors left to reach the upstream; raise its limit (ulimit -n)',
      { cause: thrown },
    )
  const problem = connectProblems[code] ?? `the connection failed${code && ` (${code})`}`
  return new GatewayError('upstream-unreachable', `${subject}: ${problem}`, { cause: thrown })
}

/** No connection, or no finished TLS handshake, within the limit. */
export function timedOutConnecting(limitMs: number, subject = upstreamSubject): GatewayError {
  return new GatewayError('upstream-unreachable', `${subject}: no connection within ${seconds(limitMs)}`)
}

/** The proxy takes connections, and does not answer what it is asked. */
export function proxySilent({ name }: UpstreamProxy, limitMs: number): GatewayError {
  return new GatewayError(
    'upstream-unreachable',
    `the proxy ${name} did not connect to the upstream within ${seconds(limitMs)}`,
  )
}

/** The proxy answered that it does not lead to the upstream, which got nothing of the call. */
export function proxyRefused({ name, authorization }: UpstreamProxy, status: number): GatewayError {
  const problem =
    status === 407
      ? authorization
        ? 'does not accept the user and password that the gateway has for it'
        : 'asks for a user and a password; the gateway has none for it'
      : status === 403
        ? 'does not allow connections to the upstream'
        : 'did not connect to the upstream'
  return new GatewayError('upstream-unreachable', `the proxy ${name} ${problem} (status ${status})`)
}

/** The proxy hung up after CONNECT, or TLS could not begin inside. `cause` is the system's error, if there was one. */
export function proxyCut({ name }: UpstreamProxy, cause: unknown): GatewayError {
  const message = `the proxy ${name} closed the connection instead of connecting to the upstream`
  return new GatewayError('upstream-unreachable', message, { cause })
}

/** `reason` comes from MalformedResponseError, or is as short. */
export function proxyMalformed({ name }: UpstreamProxy, reason: string): GatewayError {
  return new GatewayError('upstream-unreachable', `the answer of the proxy ${name} is malformed: ${reason}`)
}

/** The transport was closed. */
export function shuttingDown(): GatewayError {
  return new GatewayError('upstream-unreachable', 'the gateway is shutting down: it calls no upstream')
}

/** What the upstream was waited for when time ran out. */
type AwaitedPart = 'first-byte' | 'next-byte' | 'end'

/** Time ran out on a connection that stood. */
export function timedOut(awaited: AwaitedPart, limitMs: number): GatewayError {
  const what =
    awaited === 'first-byte'
      ? `did not answer within ${seconds(limitMs)}`
      : awaited === 'next-byte'
        ? `sent nothing for ${seconds(limitMs)}`
        : `did not finish within ${seconds(limitMs)}`
  return new GatewayError('upstream-timeout', `the upstream ${what}`)
}

/** Closed or reset before the answer was whole. */
export function cut(answerBegan: boolean, cause: unknown): GatewayError {
  const message = answerBegan
    ? 'the upstream cut the connection in the middle of its answer'
    : 'the upstream closed the connection without an answer'
  return new GatewayError('upstream-closed', message, { cause })
}

/** Bytes that HTTP/1.1 forbids. `reason` comes from MalformedResponseError. */
export function malformed(reason: string): GatewayError {
  return new GatewayError('upstream-broken', `the upstream's answer is malformed: ${reason}`)
}

/** A file of the request could not be read to its end: an error of the gateway itself. */
export function unreadable(): GatewayError {
  return new GatewayError('internal', 'the gateway could no longer read the uploaded file')
}

/** The upstream packed its answer though identity was asked for, and it cannot be unpacked. */
export function undecodable(why: string): GatewayError {
  return new GatewayError('upstream-broken', `the upstream's answer cannot be unpacked: ${why}`)
}

/** More than the caller accepts. */
export function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError('upstream-broken', `the upstream's answer is larger than ${bytesMax} bytes`)
}

function seconds(limitMs: number): string {
  return `${limitMs / 1000} s`
}

/** '' = it has none that can be shown to clients. */
function codeOf(thrown: unknown): string {
  const code = errorCode(thrown)
  return /^[A-Z0-9_]{1,64}$/.test(code) ? code : ''
}
