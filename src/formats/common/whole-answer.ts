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
    const body = JsonBody.read(bytes, answerLimits)
    // The outline alone does not see what is wrong inside of a field.
    body.parse()
    return body
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw broken(cause.message, cause)
  }
}

/** The same, for an answer that has to have the field, as a list or as a text. */
export function readAnswerWith(bytes: Uint8Array, field: string, type: 'list' | 'text' = 'list'): JsonBody {
  const body = readWholeAnswer(bytes)
  const value = body.get(field)
  if (type === 'list' ? !Array.isArray(value) : typeof value !== 'string')
    throw new GatewayError('upstream-broken', `the upstream's answer has no \`${field}\``)
  return body
}

/** The answer's bytes after the edits; the very bytes where there are none. */
export function editedAnswer(body: JsonBody, edits: readonly Edit[]): Uint8Array {
  const pieces = body.edited(edits)
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}
