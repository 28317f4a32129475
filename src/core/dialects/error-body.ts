/** Error bodies of upstreams, in the shapes that vendors and web frameworks write. */
import type { Json } from '../../lib/json/json-values.ts'
import { GatewayError } from '../errors.ts'

/** What an error body says. */
export interface ErrorBody {
  /** '' = none. */
  message: string
  code: string | null | undefined
  param: string | null | undefined
}

/**
 * Reads `{error: {message}}`, `{error: "text"}`, `{message}`, `{detail: "text"}`, `{detail: [{loc, msg}]}` and plain
 * text. HTML pages have no message for clients.
 */
export function readErrorBody(body: unknown): ErrorBody {
  const nothing: ErrorBody = { message: '', code: undefined, param: undefined }
  if (typeof body === 'string') return { ...nothing, message: body.trimStart().startsWith('<') ? '' : body.trim() }
  if (typeof body !== 'object' || body === null) return nothing
  // Some hosts wrap the object in a list.
  if (Array.isArray(body)) return readErrorBody(body[0])
  const outer = body as Record<string, unknown>
  const inner =
    typeof outer.error === 'object' && outer.error !== null ? (outer.error as Record<string, unknown>) : outer
  const message = [outer.error, inner.message, outer.message, outer.detail].find(one => typeof one === 'string')
  const code = [inner.code, inner.type].find(one => typeof one === 'string')
  return {
    message: typeof message === 'string' ? message : detailList(outer.detail),
    code: typeof code === 'string' ? code : undefined,
    param: typeof inner.param === 'string' ? inner.param : undefined,
  }
}

function detailList(detail: unknown): string {
  if (!Array.isArray(detail)) return ''
  return detail
    .slice(0, 5)
    .map(one => {
      const { loc, msg } = (one ?? {}) as { loc?: unknown; msg?: unknown }
      return `${Array.isArray(loc) ? loc.join('.') : 'body'}: ${typeof msg === 'string' ? msg : 'invalid'}`
    })
    .join('; ')
}

/** The error in the words of such a body, of an upstream that announced success. */
export function failureOfBody(body: Json): GatewayError {
  const { message, code } = readErrorBody(body)
  return new GatewayError('upstream-failed', message || 'the upstream failed', { code })
}

/** `{detail}` or `{message}` where an answer was due, as web frameworks write errors. Undefined = neither. */
export function frameworkError(body: Json): GatewayError | undefined {
  return body.detail || typeof body.message === 'string' ? failureOfBody(body) : undefined
}
