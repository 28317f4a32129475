/** Whole answers of upstreams on the forward lane: read by their outline, copied only where something changes. */
import { GatewayError } from '../../core/errors.ts'
import { JsonBody, JsonBodyError } from '../../lib/json/json-body.ts'
import type { Edit } from '../../lib/json/json-body.ts'

/** An answer may be far larger than a request; the limits only stop what would stall the process. */
export const answerLimits = { depth: 256, fields: 1000, tokens: 8_000_000 }

/** `reason` says where and why. */
function notJson(reason: string, cause: unknown): GatewayError {
  return new GatewayError('upstream-broken', `the upstream's answer is not valid JSON: ${reason}`, { cause })
}

/**
 * The outline of an answer, which keeps `bytes`: they must not change any more. Throws what `broken` makes, an
 * `upstream-broken`, for what is no JSON object.
 */
export function readWholeAnswer(bytes: Uint8Array, broken = notJson): JsonBody {
  try {
    return JsonBody.read(bytes, answerLimits)
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw broken(cause.message, cause)
  }
}

/** The same, for an answer that has to have the field. */
export function readAnswerWith(bytes: Uint8Array, field: string): JsonBody {
  const body = readWholeAnswer(bytes)
  if (!body.has(field)) throw new GatewayError('upstream-broken', `the upstream's answer has no \`${field}\``)
  return body
}

/** The answer's bytes after the edits; the very bytes where there are none. */
export function editedAnswer(body: JsonBody, edits: readonly Edit[]): Uint8Array {
  const pieces = body.edited(edits)
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}
