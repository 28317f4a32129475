/**
 * Google's error bodies (cloud.google.com/apis/design/errors): `{error: {code, message, status, details}}`; some
 * streams wrap it in a list of one.
 */
import { readErrorBody } from '../../core/dialects/error-body.ts'
import { GatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import type { UpstreamFault } from '../../core/provider.ts'
import { isObject, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { accountFault, generalFault } from '../fault.ts'

const kinds: ReadonlyMap<string, FaultKind> = new Map(
  Object.entries<FaultKind>({
    INVALID_ARGUMENT: 'upstream-refused',
    OUT_OF_RANGE: 'upstream-refused',
    // Billing is disabled or the country is not served: the operator's matter, not the client's.
    FAILED_PRECONDITION: 'upstream-credentials',
    UNAUTHENTICATED: 'upstream-credentials',
    PERMISSION_DENIED: 'upstream-credentials',
    NOT_FOUND: 'model-not-found',
    RESOURCE_EXHAUSTED: 'upstream-rate-limited',
    DEADLINE_EXCEEDED: 'upstream-timeout',
    UNAVAILABLE: 'upstream-overloaded',
    INTERNAL: 'upstream-failed',
    UNKNOWN: 'upstream-failed',
    CANCELLED: 'upstream-failed',
    ABORTED: 'upstream-failed',
  }),
)
const tooLong = new RegExp(
  'token count.{0,40}exceeds|exceeds? the (maximum|max) (number of )?(input )?tokens|' +
    'prompt is too long|input context is too long',
  'i',
)
const tooLarge = /payload size exceeds/i
/** `details.reason` of a wrong key, for which AI Studio answers 400. */
const keyReasons: ReadonlySet<string> = new Set(['API_KEY_INVALID', 'API_KEY_EXPIRED', 'API_KEY_SERVICE_BLOCKED'])
const keyMessage = /api key (not valid|expired|not found)/i

/** The status of an error inside an answer where the error has no `code`. */
const statusDefault = 500

/** Reads an error answer. Bodies of another shape are left to `generalFault`. */
export function googleFault(status: number, body: unknown): UpstreamFault {
  const error = errorObject(body)
  if (!error) return generalFault(status, body)
  // Its status is that of a rate limit.
  const account = accountFault(status, readErrorBody({ error }))
  if (account) return account
  const general = generalFault(status, { error })
  const code = textOf(error.status) || undefined
  const retryAfterMs = retryDelayMs(error.details)
  // Google has no status for refused content: only `generalFault` finds it, in the message.
  const byStatus = general.kind === 'content-policy' ? general.kind : (kinds.get(code ?? '') ?? general.kind)
  const kind = kindOf(error, byStatus)
  // For these kinds clients look for OpenAI's codes, which are set from the kind.
  const ownCode = kind === 'context-too-long' || kind === 'content-policy' ? undefined : code
  return {
    kind,
    message: general.message,
    ...(ownCode !== undefined && { code: ownCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** The error in an answer with status 200, such as a stream's frame; undefined = the body is not an error. */
export function errorIn(body: unknown): GatewayError | undefined {
  const error = errorObject(body)
  if (!error) return undefined
  const status = typeof error.code === 'number' && error.code >= 400 && error.code < 600 ? error.code : statusDefault
  const { kind, message, code, retryAfterMs } = googleFault(status, body)
  return new GatewayError(kind, message, { code: code ?? undefined, retryAfterMs })
}

function errorObject(body: unknown): Json | undefined {
  const first: unknown = Array.isArray(body) ? body[0] : body
  return isObject(first) && isObject(first.error) ? first.error : undefined
}

function kindOf(error: Json, byStatus: FaultKind): FaultKind {
  const message = textOf(error.message)
  if (byStatus !== 'upstream-refused' && byStatus !== 'context-too-long' && byStatus !== 'content-policy')
    return byStatus
  if (objectsOf(error.details).some(detail => keyReasons.has(textOf(detail.reason))) || keyMessage.test(message))
    return 'upstream-credentials'
  if (tooLong.test(message)) return 'context-too-long'
  return tooLarge.test(message) ? 'too-large' : byStatus
}

/** `RetryInfo.retryDelay`: `"37s"` or `"0.5s"`. */
function retryDelayMs(details: unknown): number | undefined {
  for (const detail of objectsOf(details)) {
    const seconds = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(textOf(detail.retryDelay))
    if (seconds) return Math.ceil(Number(seconds[1]) * 1000)
  }
  return undefined
}
