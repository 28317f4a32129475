/** Ids of ours in place of those of an upstream, in what the upstream says. */
import { GatewayError } from './errors.ts'

/** A shorter id may be a word of the text. */
const idLengthMin = 6

/** `ids`: the upstream's id -> ours. In one pass: an id that was put in is not searched again. */
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

/**
 * The same error with the ids in its message replaced: what an upstream says of its objects, clients read of theirs.
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
