import type { Usage } from './usage/usage.ts'

/**
 * Every way a call can fail. One closed table: the status the client sees, the `type`, `code` and `name` of the error
 * body, and whether the router may try another deployment. Formats own the body's shape. What clients are promised:
 * docs/api.md, "When things fail".
 */
export const faults = {
  'invalid-request': final(400, 'invalid_request_error', null, 'BadRequestError'),
  'context-too-long': final(400, 'invalid_request_error', 'context_length_exceeded', 'ContextWindowExceededError'),
  'content-policy': final(400, 'invalid_request_error', 'content_policy_violation', 'ContentPolicyViolationError'),
  unauthenticated: final(401, 'authentication_error', 'invalid_api_key', 'AuthenticationError'),
  forbidden: final(403, 'permission_error', 'permission_denied', 'PermissionDeniedError'),
  'model-forbidden': final(403, 'permission_error', 'model_not_allowed', 'PermissionDeniedError'),
  /** Every deployment of the model is switched off; its fallbacks are not. */
  'model-blocked': elsewhere(403, 'permission_error', 'model_blocked', 'PermissionDeniedError'),
  /** A tool, or a tool server, that the caller may not use, or that is not there: the caller does not learn which. */
  'tool-forbidden': final(403, 'permission_error', 'tool_not_allowed', 'PermissionDeniedError'),
  'not-found': final(404, 'invalid_request_error', 'not_found', 'NotFoundError'),
  'model-not-found': final(404, 'invalid_request_error', 'model_not_found', 'NotFoundError'),
  'method-not-allowed': final(405, 'invalid_request_error', 'method_not_allowed', 'MethodNotAllowedError'),
  'body-timeout': final(408, 'invalid_request_error', 'body_timeout', 'Timeout'),
  conflict: final(409, 'invalid_request_error', 'conflict', 'ConflictError'),
  'too-large': final(413, 'invalid_request_error', 'request_too_large', 'PayloadTooLargeError'),
  'unsupported-media': final(415, 'invalid_request_error', 'unsupported_media_type', 'UnsupportedMediaTypeError'),
  unprocessable: final(422, 'invalid_request_error', 'invalid_value', 'UnprocessableEntityError'),
  /** A protocol was asked for that is not spoken here. */
  'upgrade-required': final(426, 'invalid_request_error', 'upgrade_required', 'UpgradeRequiredError'),
  'rate-limited': final(429, 'rate_limit_error', 'rate_limit_exceeded', 'RateLimitError'),
  'budget-exceeded': final(429, 'budget_exceeded', 'budget_exceeded', 'RateLimitError'),
  /** What a key may store is used up: waiting does not help, deleting does. */
  'quota-exceeded': final(429, 'quota_exceeded', 'storage_quota_exceeded', 'RateLimitError'),
  'client-closed': final(499, 'client_closed', 'client_closed_request', 'ClientClosedRequest'),
  'schema-mismatch': final(500, 'api_error', 'json_schema_mismatch', 'JSONSchemaValidationError'),
  internal: final(500, 'api_error', 'internal_error', 'InternalServerError'),
  overloaded: final(503, 'api_error', 'overloaded', 'ServiceUnavailableError'),
  /** The upstream read the request and refused it: a 4xx that would be the same anywhere. */
  'upstream-refused': final(400, 'invalid_request_error', null, 'BadRequestError'),
  /** The upstream refused the gateway's own credentials: not the client's fault, so never a 401. */
  'upstream-credentials': elsewhere(502, 'api_error', 'upstream_credentials_refused', 'BadGatewayError'),
  /** The upstream does not have, or no longer has, the model that a deployment names. */
  'upstream-model-missing': elsewhere(404, 'invalid_request_error', 'model_not_found', 'NotFoundError'),
  'upstream-rate-limited': elsewhere(429, 'rate_limit_error', 'upstream_rate_limited', 'RateLimitError'),
  'upstream-timeout': elsewhere(408, 'timeout_error', 'upstream_timeout', 'Timeout'),
  'upstream-unreachable': elsewhere(503, 'api_connection_error', 'upstream_unreachable', 'APIConnectionError'),
  /** The upstream closed or reset a connection that stood, before its answer was whole. */
  'upstream-closed': elsewhere(503, 'api_connection_error', 'upstream_closed', 'APIConnectionError'),
  'upstream-overloaded': elsewhere(503, 'api_error', 'upstream_overloaded', 'ServiceUnavailableError'),
  'upstream-failed': elsewhere(500, 'api_error', 'upstream_error', 'InternalServerError'),
  /** The upstream answered what its protocol forbids: garbled, redirecting, wrong type. */
  'upstream-broken': elsewhere(502, 'api_error', 'upstream_bad_response', 'BadGatewayError'),
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

/** A failure that no other deployment would mend. */
function final(status: number, type: string, code: string | null, name: string): Fault {
  return { status, type, code, name, retry: 'never' }
}

/** A failure that another deployment may not have. */
function elsewhere(status: number, type: string, code: string | null, name: string): Fault {
  return { status, type, code, name, retry: 'other-target' }
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

/** An error as an upstream wrote it into an answer that it announced as a success. */
export interface ReportedError {
  /** Parsed JSON, or text. */
  readonly body: unknown
  /** The error's type, where it stands beside the body: in a header, or as the name of an event. */
  readonly name?: string
  /** What it is where body and name do not tell; absent = `upstream-failed`. */
  readonly kind?: FaultKind
}

/** The limit or budget that refused a request. */
export interface RefusedLimit {
  /** What it limits: `requests`, `tokens`, `parallel_requests`, `budget`. */
  readonly kind: string
  /** Whose it is: `key`, `team`, `provider`, ... */
  readonly scope: string
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
  /** Several deployments have failed in these words: a further one would, too. */
  isRequests = false
  /** What an upstream wrote, until it is judged by who knows its host. */
  reported: ReportedError | undefined = undefined
  /** Headers of the answer that reports it: of a call that was settled before the error reached its endpoint. */
  answerHeaders: Readonly<Record<string, string>> | undefined = undefined
  /** For metrics; undefined = it is not for a limit of the gateway's own. */
  limited: RefusedLimit | undefined = undefined

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

  /** The class that LiteLLM and OpenAI's SDKs have for it, for example `RateLimitError`. */
  get publicName(): string {
    return (this.kind === 'upstream-refused' && refusalNames[this.status]) || faults[this.kind].name
  }

  get retry(): Retry {
    return faults[this.kind].retry
  }
}

/** The error `upstream-broken` for an answer that cannot be used. `message` is a whole sentence for the client. */
export function brokenAnswer(message: string, cause?: unknown): GatewayError {
  return new GatewayError('upstream-broken', message, { cause })
}

/** The error `upstream-broken` for an answer that is not what its protocol says. `what` ends its message. */
export function brokenProtocol(what: string, cause?: unknown): GatewayError {
  return brokenAnswer(`the upstream's answer does not follow its protocol: ${what}`, cause)
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
