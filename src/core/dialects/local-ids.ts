/** Replaces an upstream's ids by the gateway's in its answers and errors. */
import { GatewayError } from '../errors.ts'

/** A shorter id could be an ordinary word. */
const idLengthMin = 6

/** `ids`: the upstream's id -> the gateway's. One pass: replaced ids are not searched again. */
export function replacedIds(text: string, ids: ReadonlyMap<string, string>): string {
  const whole = ids.get(text)
  if (whole !== undefined) return whole
  // The longest first: an id may begin with another.
  const inside = [...ids.keys()]
    .filter(id => id.length >= idLengthMin && text.includes(id))
    .sort((a, b) => b.length - a.length)
  if (inside.length === 0) return text
  return text.replace(new RegExp(inside.map(id => RegExp.escape(id)).join('|'), 'g'), id => ids.get(id)!)
}

/** The same value with the ids replaced in all its texts. */
export function replacedIdsIn(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return replacedIds(value, ids)
  if (Array.isArray(value)) return value.map(one => replacedIdsIn(one, ids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replacedIdsIn(one, ids)]))
}

/**
 * The same error with the ids in its message replaced: clients see only the gateway's ids.
 */
export function withLocalIds(error: GatewayError, ids: ReadonlyMap<string, string>): GatewayError {
  const message = replacedIds(error.message, ids)
  if (message === error.message) return error
  const { cause, code, status, retryAfterMs, problems } = error
  return new GatewayError(error.kind, message, {
    cause,
    code,
    status,
    retryAfterMs,
    problems,
    param: error.param ?? undefined,
  })
}
