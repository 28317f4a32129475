import type { Usage } from './usage/usage.ts'

/**
 * Every way a call can fail. One closed table: the status the client sees, the `type`, `code` and
 * `name` of the error body, and what the router may do next. Formats own the body's shape.
 * Names and statuses: gateway API specification, "Errors".
 */
export const faults = {
  'invalid-request': fault(400, 'invalid_request_error', null, 'BadRequestError', 'never'),
  'context-too-long': fault(
    400,
    'invalid_request_error',
    'context_length_exceeded',
    'ContextWindowExceededError',
    'never',
  ),
  'content-policy': fault(
    400,
    'invalid_request_error',
    'content_policy_violation',
    'ContentPolicyViolationError',
    'never',
  ),
  unauthenticated: fault(401, 'authentication_error', 'invalid_api_key', 'AuthenticationError', 'never'),
  forbidden: fault(403, 'permission_error', 'permission_denied', 'PermissionDeniedError', 'never'),
  'model-forbidden': fault(403, 'permission_error', 'model_not_allowed', 'PermissionDeniedError', 'never'),
  /** Every deployment of the model is switched off; its fallbacks are not. */
  'model-blocked': fault(403, 'permission_error', 'model_blocked', 'PermissionDeniedError', 'other-target'),
  'not-found': fault(404, 'invalid_request_error', 'not_found', 'NotFoundError', 'never'),
  'model-not-found': fault(404, 'invalid_request_error', 'model_not_found', 'NotFoundError', 'never'),
  'method-not-allowed': fault(405, 'invalid_request_error', 'method_not_allowed', 'MethodNotAllowedError', 'never'),
  'body-timeout': fault(408, 'invalid_request_error', 'body_timeout', 'Timeout', 'never'),
  conflict: fault(409, 'invalid_request_error', 'conflict', 'ConflictError', 'never'),
  'too-large': fault(413, 'invalid_request_error', 'request_too_large', 'PayloadTooLargeError', 'never'),
  'unsupported-media': fault(
    415,
    'invalid_request_error',
    'unsupported_media_type',
    'UnsupportedMediaTypeError',
    'never',
  ),
  unprocessable: fault(422, 'invalid_request_error', 'invalid_value', 'UnprocessableEntityError', 'never'),
  /** A protocol was asked for that is not spoken here. */
  'upgrade-required': fault(426, 'invalid_request_error', 'upgrade_required', 'UpgradeRequiredError', 'never'),
  'rate-limited': fault(429, 'rate_limit_error', 'rate_limit_exceeded', 'RateLimitError', 'never'),
  'budget-exceeded': fault(429, 'budget_exceeded', 'budget_exceeded', 'RateLimitError', 'never'),
  /** What a key may store is used up: waiting does not help, deleting does. */
  'quota-exceeded': fault(429, 'quota_exceeded', 'storage_quota_exceeded', 'RateLimitError', 'never'),
  'client-closed': fault(499, 'client_closed', 'client_closed_request', 'ClientClosedRequest', 'never'),
  'schema-mismatch': fault(500, 'api_error', 'json_schema_mismatch', 'JSONSchemaValidationError', 'never'),
  internal: fault(500, 'api_error', 'internal_error', 'InternalServerError', 'never'),
  overloaded: fault(503, 'api_error', 'overloaded', 'ServiceUnavailableError', 'never'),
  /** The upstream read the request and refused it: a 4xx that would be the same anywhere. */
  'upstream-refused': fault(400, 'invalid_request_error', null, 'BadRequestError', 'never'),
  /** The upstream refused the gateway's own credentials: not the client's fault, so never a 401. */
  'upstream-credentials': fault(502, 'api_error', 'upstream_credentials_refused', 'BadGatewayError', 'other-target'),
  /** The upstream does not have, or no longer has, the model that a deployment names. */
  'upstream-model-missing': fault(404, 'invalid_request_error', 'model_not_found', 'NotFoundError', 'other-target'),
  'upstream-rate-limited': fault(429, 'rate_limit_error', 'upstream_rate_limited', 'RateLimitError', 'other-target'),
  'upstream-timeout': fault(408, 'timeout_error', 'upstream_timeout', 'Timeout', 'other-target'),
  'upstream-unreachable': fault(
    503,
    'api_connection_error',
    'upstream_unreachable',
    'APIConnectionError',
    'other-target',
  ),
  /** The upstream closed or reset a connection that stood, before its answer was whole. */
  'upstream-closed': fault(503, 'api_connection_error', 'upstream_closed', 'APIConnectionError', 'other-target'),
  'upstream-overloaded': fault(503, 'api_error', 'upstream_overloaded', 'ServiceUnavailableError', 'other-target'),
  'upstream-failed': fault(500, 'api_error', 'upstream_error', 'InternalServerError', 'other-target'),
  /** The upstream answered what its protocol forbids: garbled, redirecting, wrong type. */
  'upstream-broken': fault(502, 'api_error', 'upstream_bad_response', 'BadGatewayError', 'other-target'),
} as const

/** The ways a call can fail, by their names in the table. */
export type FaultKind = keyof typeof faults
/** An upstream's refusal keeps its status, and has the type that OpenAI uses for that status. */
const refusalNames: Readonly<Record<number, string>> = {
  403: faults.forbidden.name,
  404: faults['not-found'].name,
  405: faults['method-not-allowed'].name,
  409: faults.conflict.name,
  415: faults['unsupported-media'].name,
  422: faults.unprocessable.name,
}

const overloadedRetryMs = 1000

/** What the router may do after a failure, as long as no byte has gone to the client. */
export type Retry = 'never' | 'other-target'

interface Fault {
  readonly status: number
  readonly type: string
  readonly code: string | null
  readonly name: string
  readonly retry: Retry
}

function fault(status: number, type: string, code: string | null, name: string, retry: Retry): Fault {
  return { status, type, code, name, retry }
}

/** One problem of a request, in the shape that 422 answers list under `detail`. */
export interface Problem {
  /** Where: `['body', 'messages', 0, 'role']`. */
  readonly loc: readonly (string | number)[]
  /** What is wrong and what to do. */
  readonly msg: string
  /** A stable identifier for programs: `missing`, `wrong_type`, `out_of_range`, `unknown_value`, `invalid`. */
  readonly type: string
}

/** Further details of an error. */
export interface GatewayErrorOptions {
  /** For the log only; clients never see it. */
  cause?: unknown
  /** The request field at fault. */
  param?: string | undefined
  /** Replaces the table's code, for example by the upstream's own. */
  code?: string | null | undefined
  /** Replaces the table's status: an upstream's 4xx keeps its own. */
  status?: number | undefined
  /** How long the client should wait before it asks again, in milliseconds; of `overloaded` a second by default. */
  retryAfterMs?: number | undefined
  problems?: readonly Problem[] | undefined
}

/** The only error that reaches a client. `message` is written for the client; `cause` is for the log. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly kind: FaultKind
  readonly param: string | null
  readonly code: string | null
  readonly status: number
  retryAfterMs: number | undefined
  readonly problems: readonly Problem[] | undefined
  /** What the upstream reports of a whole answer that failed or was blocked: it is billed all the same. */
  usage: Usage | undefined = undefined
  /** Headers of the answer that reports it: of a call that was settled before the error reached its endpoint. */
  answerHeaders: Readonly<Record<string, string>> | undefined = undefined

  constructor(kind: FaultKind, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.param = options.param ?? null
    this.code = options.code === undefined ? faults[kind].code : options.code
    this.status = options.status ?? faults[kind].status
    this.retryAfterMs = options.retryAfterMs ?? (kind === 'overloaded' ? overloadedRetryMs : undefined)
    this.problems = options.problems
  }

  /** The same error, with what the upstream reports of the answer that failed; undefined = it reports nothing. */
  withUsage(usage: Usage | undefined): this {
    this.usage = usage
    return this
  }

  /** The error's public `type`, as OpenAI names them. */
  get type(): string {
    return faults[this.kind].type
  }

  /** The name of the specification's error table, for example `RateLimitError`. */
  get publicName(): string {
    return (this.kind === 'upstream-refused' && refusalNames[this.status]) || faults[this.kind].name
  }

  get retry(): Retry {
    return faults[this.kind].retry
  }
}

/** Any thrown value as a GatewayError; what is not one becomes `internal` and keeps its cause for the log. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  return new GatewayError('internal', 'the gateway failed on this request; its log has the details', {
    cause: thrown,
  })
}

/** The parts of a request that have fields: the first element of a problem's `loc`. */
const requestParts: ReadonlySet<unknown> = new Set(['body', 'query', 'path'])

/** A 422 from a list of problems; the message names the first and counts the rest. */
export function unprocessable(problems: readonly Problem[]): GatewayError {
  const [first] = problems
  const loc = first?.loc ?? []
  const field = (requestParts.has(loc[0]) ? loc.slice(1) : loc).join('.')
  const msg = first?.msg ?? 'invalid request'
  // Checks written by hand name the field as JavaScript would, in backquotes.
  const named = msg.startsWith(`\`${field.replace(/\.(\d+)(?=\.|$)/g, '[$1]')}\``)
  const where = named ? '' : `${field || `the ${loc[0] ?? 'request'}`}: `
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return new GatewayError('unprocessable', `${where}${msg}${more}`, {
    param: field || undefined,
    problems,
  })
}
