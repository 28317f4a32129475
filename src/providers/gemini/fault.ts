/** Google's error bodies: `{error: {code, message, status, details}}`, in streams also as a list of one (cloud.google.com/apis/design/errors). */
import { GatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import type { UpstreamFault } from '../../core/provider.ts'
import { isObject, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { generalFault } from '../fault.ts'

const kinds: ReadonlyMap<string, FaultKind> = new Map(
  Object.entries<FaultKind>({
    INVALID_ARGUMENT: 'upstream-refused',
    OUT_OF_RANGE: 'upstream-refused',
    // Billing is off, or the country is not served: nothing that the client could change.
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
const tooLong =
  /token count.{0,40}exceeds|exceeds? the (maximum|max) (number of )?(input )?tokens|prompt is too long|input context is too long/i
const tooLarge = /payload size exceeds/i
/** A wrong key is a 400 at AI Studio. */
const keyReasons: ReadonlySet<string> = new Set(['API_KEY_INVALID', 'API_KEY_EXPIRED', 'API_KEY_SERVICE_BLOCKED'])
const keyWords = /api key (not valid|expired|not found)/i

/** The status of an error that comes inside a stream, when it has none of its own. */
const statusDefault = 500

/** Bodies of another form are read by the general rule. A wrong key counts as one, though AI Studio answers 400. */
export function googleFault(status: number, body: unknown): UpstreamFault {
  const error = errorObject(body)
  if (!error) return generalFault(status, body)
  const general = generalFault(status, { error })
  const code = textOf(error.status) || undefined
  const retryAfterMs = retryDelayMs(error.details)
  // Only the general rule sees in the message that a policy refused the prompt.
  const byStatus = general.kind === 'content-policy' ? general.kind : (kinds.get(code ?? '') ?? general.kind)
  const kind = kindOf(error, byStatus)
  // Clients look for OpenAI's own code when a prompt is too long.
  const ownCode = kind === 'context-too-long' || kind === 'content-policy' ? undefined : code
  return {
    kind,
    message: general.message,
    ...(ownCode !== undefined && { code: ownCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** An error inside an answer; undefined = the body is none. */
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
  if (objectsOf(error.details).some(detail => keyReasons.has(textOf(detail.reason))) || keyWords.test(message))
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
