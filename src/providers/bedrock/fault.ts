/**
 * Errors of AWS: `{message}`, in some services with `__type`; in a stream an exception with its name. The name that
 * comes in the header `x-amzn-errortype` is not seen here, so that the status and the words must do.
 * Source: docs.aws.amazon.com/bedrock, "Troubleshooting Amazon Bedrock API error codes".
 */
import { GatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import type { UpstreamFault } from '../../core/provider.ts'
import { isObject, textOf } from '../../lib/json/json-values.ts'
import { generalFault } from '../fault.ts'

const kinds: ReadonlyMap<string, FaultKind> = new Map(
  Object.entries({
    AccessDeniedException: 'upstream-credentials',
    ExpiredTokenException: 'upstream-credentials',
    IncompleteSignatureException: 'upstream-credentials',
    InvalidSignatureException: 'upstream-credentials',
    MissingAuthenticationTokenException: 'upstream-credentials',
    UnrecognizedClientException: 'upstream-credentials',
    ResourceNotFoundException: 'model-not-found',
    ValidationException: 'upstream-refused',
    ConflictException: 'upstream-refused',
    ThrottlingException: 'upstream-rate-limited',
    TooManyRequestsException: 'upstream-rate-limited',
    ServiceQuotaExceededException: 'upstream-rate-limited',
    ModelTimeoutException: 'upstream-timeout',
    ModelNotReadyException: 'upstream-overloaded',
    ServiceUnavailableException: 'upstream-overloaded',
    ModelErrorException: 'upstream-failed',
    ModelStreamErrorException: 'upstream-failed',
    InternalServerException: 'upstream-failed',
    InternalFailure: 'upstream-failed',
  } satisfies Record<string, FaultKind>),
)
/** Nova, Titan, and models of other vendors, in their own words. */
const tooLong =
  /input tokens exceeded|number of input tokens exceeds|input length .{0,40}exceeds|exceeds the maximum (?:input|context|allowed)|expected maxLength/i
const noModel =
  /provided model identifier is invalid|could not resolve the foundation model|model (?:was|is) not found/i
const notReady = /model is not ready/i
const failedDependency = 424

/** What an error body means; `name` is the exception's, where a stream says it. */
export function awsFault(status: number, body: unknown, name = exceptionName(body)): UpstreamFault {
  const general = generalFault(status, withMessage(body))
  const kind = refined(kinds.get(name) ?? (status === failedDependency ? 'upstream-failed' : general.kind), general)
  return {
    kind,
    message: withoutSignature(general.message),
    // Clients look for OpenAI's own code when a prompt is too long.
    ...(name !== '' && kind !== 'context-too-long' && kind !== 'content-policy' && { code: name }),
  }
}

/** The error of a stream's exception: `throttlingException`. */
export function streamError(event: string, data: string): GatewayError {
  const body = parsed(data)
  const name = event === 'error' ? textOf(isObject(body) && body.code) : event.charAt(0).toUpperCase() + event.slice(1)
  // It has no status of its own: a known name says more, and its words are read as those of a refusal.
  const status = kinds.has(name) ? 400 : 500
  const { kind, message, code } = awsFault(status, body, name)
  const hasWords = isObject(body) && (textOf(body.message) || textOf(body.originalMessage)) !== ''
  return new GatewayError(kind, hasWords ? message : `the upstream broke off its answer (${name || event})`, {
    code: code ?? undefined,
  })
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return { message: data }
  }
}

/** `com.amazon.coral.service#ThrottlingException` */
function exceptionName(body: unknown): string {
  return isObject(body) ? textOf(body.__type).replace(/^.*#/, '').replace(/:.*$/, '') : ''
}

/** Some gateways of AWS write `Message`; a model's own words about a failed stream are `originalMessage`. */
function withMessage(body: unknown): unknown {
  if (!isObject(body)) return body
  const message = [body.message, body.Message, body.originalMessage].find(one => textOf(one) !== '')
  return message === undefined ? body : { message }
}

/** A model that fails on its input says so in many ways, and under several names. */
function refined(kind: FaultKind, { kind: byWords, message }: UpstreamFault): FaultKind {
  if (kind === 'upstream-rate-limited') return notReady.test(message) ? 'upstream-overloaded' : kind
  if (kind !== byWords && kind !== 'upstream-refused' && kind !== 'upstream-failed') return kind
  if (byWords === 'context-too-long' || byWords === 'content-policy') return byWords
  if (kind !== 'upstream-refused' && kind !== 'upstream-failed') return kind
  if (tooLong.test(message)) return 'context-too-long'
  return kind === 'upstream-refused' && noModel.test(message) ? 'model-not-found' : kind
}

/** AWS answers a wrong signature with all that it should have covered, the session's token among it. */
function withoutSignature(message: string): string {
  return message.replace(/\s*The Canonical String for this request[\s\S]*$/, '')
}
