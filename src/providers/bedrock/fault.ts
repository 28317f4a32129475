/**
 * Errors of AWS: `{message}`, in some services with `__type`; in a stream an exception with its name. Whole answers
 * have the name in the header `x-amzn-errortype`, which `fault` does not get, so status and message decide.
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
/** The messages of Nova, Titan and models of other vendors. */
const tooLong = new RegExp(
  'input tokens exceeded|number of input tokens exceeds|input length .{0,40}exceeds|' +
    'exceeds the maximum (?:input|context|allowed)|expected maxLength',
  'i',
)
const noModel =
  /provided model identifier is invalid|could not resolve the foundation model|model (?:was|is) not found/i
const notReady = /model is not ready/i
const failedDependency = 424

/** Reads an error answer; `name` = the exception's name, where it is known from a stream. */
export function awsFault(status: number, body: unknown, name = exceptionName(body)): UpstreamFault {
  const general = generalFault(status, withMessage(body))
  const kind = refined(kinds.get(name) ?? (status === failedDependency ? 'upstream-failed' : general.kind), general)
  return {
    kind,
    message: withoutSignature(general.message),
    // For these kinds clients look for OpenAI's codes, which are set from the kind.
    ...(name !== '' && kind !== 'context-too-long' && kind !== 'content-policy' && { code: name }),
  }
}

/** The error of a stream's exception event, such as `throttlingException`. */
export function streamError(event: string, data: string): GatewayError {
  const body = parsed(data)
  const name = event === 'error' ? textOf(isObject(body) && body.code) : event.charAt(0).toUpperCase() + event.slice(1)
  // A stream's exception has no status. With a known name, 400 lets its message be read like that of a refusal.
  const status = kinds.has(name) ? 400 : 500
  const { kind, message, code } = awsFault(status, body, name)
  const hasMessage = isObject(body) && (textOf(body.message) || textOf(body.originalMessage)) !== ''
  return new GatewayError(kind, hasMessage ? message : `the upstream broke off its answer (${name || event})`, {
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

/** The name in `__type`, such as `com.amazon.coral.service#ThrottlingException`; '' = none. */
function exceptionName(body: unknown): string {
  return isObject(body) ? textOf(body.__type).replace(/^.*#/, '').replace(/:.*$/, '') : ''
}

/** The message may also be `Message` (some AWS services) or `originalMessage` (a model's error in a stream). */
function withMessage(body: unknown): unknown {
  if (!isObject(body)) return body
  const message = [body.message, body.Message, body.originalMessage].find(one => textOf(one) !== '')
  return message === undefined ? body : { message }
}

/** Models report errors of their input under several exceptions, so the message may refine the kind. */
function refined(kind: FaultKind, { kind: byMessage, message }: UpstreamFault): FaultKind {
  if (kind === 'upstream-rate-limited') return notReady.test(message) ? 'upstream-overloaded' : kind
  if (kind !== byMessage && kind !== 'upstream-refused' && kind !== 'upstream-failed') return kind
  if (byMessage === 'context-too-long' || byMessage === 'content-policy') return byMessage
  if (kind !== 'upstream-refused' && kind !== 'upstream-failed') return kind
  if (tooLong.test(message)) return 'context-too-long'
  return kind === 'upstream-refused' && noModel.test(message) ? 'model-not-found' : kind
}

/** For a wrong signature AWS returns the canonical request, which holds the session token: removed. */
function withoutSignature(message: string): string {
  return message.replace(/\s*The Canonical String for this request[\s\S]*$/, '')
}
