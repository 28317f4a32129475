/** The errors of upstreams, as the client and the router see them. */
import type { ClientCredential } from '../../core/client-credential.ts'
import type { Deployment } from '../../core/deployment.ts'
import { classify, frameworkError, namedError } from '../../core/dialects/classify.ts'
import type { UpstreamError } from '../../core/dialects/classify.ts'
import { readErrorBody } from '../../core/dialects/error-body.ts'
import { faults, GatewayError, toGatewayError } from '../../core/errors.ts'
import type { BodyPiece, UpstreamResponse } from '../../core/transport.ts'
import { isObject, jsonOrText, parsedJson } from '../../lib/json/json-values.ts'
import { withoutPrivateAddresses } from '../../lib/private-addresses.ts'
import { Secret } from '../../lib/secret.ts'

const errorBodyBytesMax = 256 * 1024
const messageLengthMax = 2000
/** Addresses are looked for in so many characters. */
const searchedLengthMax = 2 * messageLengthMax
const retryAfterMsMax = 60 * 60 * 1000

/** What was sent to the upstream; undefined = nothing of it can be in an error. */
type Sent = readonly BodyPiece[] | undefined

/** Reads an answer without success and returns its error. */
export async function readFault(
  deployment: Deployment,
  response: UpstreamResponse,
  epochMs: number,
  sent: Sent,
): Promise<GatewayError> {
  const { status } = response
  if (status < 400) {
    return new GatewayError(
      'upstream-broken',
      `the upstream answered with the status ${status}; redirects are not followed`,
    )
  }
  let body: unknown
  try {
    const text = new TextDecoder().decode(await response.body.bytes(errorBodyBytesMax))
    body = jsonOrText(text)
  } catch (cause) {
    if (!(cause instanceof GatewayError)) throw cause
  }
  const name = response.header(awsErrorType)?.replace(/[:,].*$/, '')
  const error = classified(deployment, { status, body, ...(name !== undefined && { name }) }, sent)
  error.retryAfterMs = retryAfterMs(response, epochMs) ?? error.retryAfterMs
  return error
}

/** AWS says the name of a whole answer's exception in this header. */
const awsErrorType = 'x-amzn-errortype'

function classified(deployment: Deployment, error: Omit<UpstreamError, 'host'>, sent: Sent): GatewayError {
  const isEcho = (words: string) => holds(sent, words)
  const { kind, message, ...more } = classify({ host: deployment.target.provider.name, ...error, isEcho })
  return new GatewayError(kind, clean(message, deployment), {
    ...more,
    retryAfterMs: cappedMs(more.retryAfterMs),
    cause: { status: error.status ?? readErrorBody(error.body).status, body: error.body },
  })
}

/** Whether the words are in the texts of what was sent, which may be written with escapes. */
function holds(sent: Sent = [], words: string): boolean {
  const any = new RegExp(words.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`), 'i')
  return sent.some(piece => {
    if (!(piece instanceof Uint8Array)) return false
    const text = new TextDecoder().decode(piece)
    const plain = text.replace(/\\u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    return any.test(plain.replace(/\\(["\\/])/g, '$1'))
  })
}

/**
 * What an attempt failed with, judged by who knows the host: an error that an answer with status 200 held is classified
 * as that of a status line is, and the message holds neither the gateway's secrets nor private addresses.
 */
export function judged(thrown: unknown, deployment: Deployment, sent: Sent): GatewayError {
  const error = toGatewayError(thrown)
  if (error.reported)
    return deploymentFault(classified(deployment, error.reported, sent).withUsage(error.usage), deployment)
  // Of a way that does not lead to the upstream the gateway itself speaks, and names the operator's proxy.
  if (error.kind !== 'upstream-unreachable') error.message = clean(error.message, deployment)
  return deploymentFault(error, deployment)
}

/**
 * What a whole answer failed with: the error that it reports in the place of what was due, else `thrown`, which is what
 * its reader made of it.
 */
export function errorInstead(thrown: unknown, bytes: Uint8Array): unknown {
  if (!(thrown instanceof GatewayError) || thrown.kind !== 'upstream-broken' || bytes.length > errorBodyBytesMax)
    return thrown
  const body = parsedJson(new TextDecoder().decode(bytes))
  return namedError(body) ?? (isObject(body) ? frameworkError(body) : undefined) ?? thrown
}

/** The upstream's message without the gateway's secrets and the addresses of the operator's network, shortened. */
function clean(message: string, deployment: Deployment): string {
  let shown = message
  for (const secret of secretsOf(deployment)) shown = shown.replaceAll(secret, '[redacted]')
  shown = withoutPrivateAddresses(shown.slice(0, searchedLengthMax), hostOf(deployment))
  return shown.length > messageLengthMax ? `${shown.slice(0, messageLengthMax)}...` : shown
}

function hostOf({ target: { baseUrl } }: Deployment): string | undefined {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined
}

/** A shorter text is no real secret, and removing it could garble the message. */
const secretLengthMin = 8

function secretsOf({ target }: Deployment): string[] {
  const all = [target.apiKey, ...Object.values(target.options)].filter(one => one instanceof Secret)
  return all.map(one => one.reveal()).filter(text => text.length >= secretLengthMin)
}

function cappedMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(ms, retryAfterMsMax)
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date; absurd values are capped or ignored. */
function retryAfterMs(response: UpstreamResponse, epochMs: number): number | undefined {
  const exact = Number(response.header('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(exact) && exact >= 0) return Math.min(exact, retryAfterMsMax)
  const text = response.header('retry-after')
  if (text === undefined) return undefined
  const seconds = Number(text)
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - epochMs
  return Number.isFinite(wait) && wait >= 0 ? Math.min(wait, retryAfterMsMax) : undefined
}

/** Things of the client's request that an upstream may not find, or not show to this account. */
const namesObject =
  /\b(files?|(previous )?response|conversation|prompt|thread|container|batch|vector.?store|cached.?content)\b/i
const namesModel = /\b(model|deployment|engine|inference profile|foundation)\b/i
const namesAccess = /\b(api.?key|credentials?|token|account|project|billing|region|country)\b/i

/**
 * Whose fault an attempt's failure is. A 404 about the model that a deployment names is the deployment's: another one
 * may have the model. The model behind a pattern is named by the client, and so are files and other objects of the
 * request that an upstream does not find (404) or does not show to this account (403).
 */
function deploymentFault(error: GatewayError, deployment: Deployment): GatewayError {
  const { kind, message, code, param, cause } = error
  const aboutObject = (param !== null && param !== 'model') || (namesObject.test(message) && !namesModel.test(message))
  if (kind === 'model-not-found' && !aboutObject && !deployment.modelName.includes('*'))
    return new GatewayError('upstream-model-missing', message, { code, param: param ?? undefined, cause }).withUsage(
      error.usage,
    )
  const status = (cause as { status?: unknown } | undefined)?.status
  if (kind === 'upstream-credentials' && status === 403 && aboutObject && !namesAccess.test(message))
    return new GatewayError('upstream-refused', message, { code, param: param ?? undefined, status, cause })
  return error
}

/** OpenAI's 429 for one request above the tokens of a minute: others still fit, and another account may take it. */
const requestTooLarge = /^request too large/i

/** true = it is about an account at the vendor: its credentials, its credit, its limits. */
export function isOfAccount({ kind }: GatewayError): boolean {
  return kind === 'upstream-credentials' || kind === 'upstream-rate-limited' || kind === 'unauthenticated'
}

/**
 * The failure of a request with the caller's own credential, of which it shows nothing. A vendor that refuses this one
 * is the caller's to settle: programs renew their tokens at a 401.
 */
export function callersFault(error: GatewayError, { value, vendor }: ClientCredential): GatewayError {
  const secret = value.reveal().replace(/^bearer\s+/i, '')
  const shows = (text: string): boolean => secret !== '' && text.includes(secret)
  const message = shows(error.message) ? error.message.replaceAll(secret, '[redacted]') : error.message
  const { code, param, retryAfterMs } = error
  const options = { code, param: param ?? undefined, retryAfterMs }
  if (error.kind === 'upstream-credentials') {
    const status = (error.cause as { status?: unknown } | undefined)?.status
    return new GatewayError('unauthenticated', `${vendor} refused your own credentials: ${message}`, {
      ...options,
      status: status === 402 || status === 403 ? status : undefined,
    })
  }
  if (!shows(JSON.stringify([error.message, error.cause]) ?? '')) return error
  return new GatewayError(error.kind, message, { ...options, status: error.status }).withUsage(error.usage)
}

/** true = the failure is the deployment's, not the request's: it counts towards a cooldown. */
export function blamesDeployment({ kind, message }: GatewayError): boolean {
  if (kind === 'upstream-rate-limited' && requestTooLarge.test(message)) return false
  return faults[kind].retry === 'other-target'
}
