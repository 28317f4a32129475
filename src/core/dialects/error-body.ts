/** Error bodies of upstreams, in the shapes that vendors and web frameworks write. */
import { isObject, listOf, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** What an error body says. */
export interface ErrorBody {
  /** '' = none. */
  readonly message: string
  /** The first type or code that is a word, for the client. */
  readonly code: string | undefined
  readonly param: string | undefined
  /** All types, codes and reasons, numbers as text. */
  readonly codes: readonly string[]
  /** The HTTP status that the error itself names; undefined = none. */
  readonly status: number | undefined
  /** How long to wait, as Google's `RetryInfo` says it. */
  readonly retryAfterMs: number | undefined
}

/** Nested shapes are followed so deep. */
const depthMax = 5
/** So many entries of a list of problems are told. */
const problemsMax = 5

/** Where a sentence stands, most telling first: in the body, and in the error inside of it. */
const outerNames = ['error', 'errors', 'message', 'msg', 'Message', 'detail', 'details', 'base_resp']
const innerNames = [
  'message',
  'msg',
  'Message',
  'originalMessage',
  'error_message',
  'error_msg',
  'errorMessage',
  'status_msg',
  'detail',
  'error',
  'errors',
  'description',
  'error_description',
  'reason',
  'title',
]
const codeNames = ['code', 'type', 'status', 'error_type', '__type', 'error_code', 'errorCode', 'status_code', 'reason']
const statusNames = ['code', 'status', 'status_code', 'statusCode', 'http_code']
/** OpenRouter puts the words of the host behind it into `metadata.raw` (openrouter.ai/docs, "Errors"). */
const ofProvider = /^provider returned error\.?$/i

/**
 * Reads `{error: {message}}`, `{error: "text"}`, `{message}`, `{detail}`, `{errors: [...]}`, `{msg}`, what these names
 * hold in one another, and plain text. HTML pages have no message for clients.
 */
export function readErrorBody(body: unknown): ErrorBody {
  // Some hosts wrap the object in a list.
  const outer = Array.isArray(body) ? (body as unknown[])[0] : body
  if (!isObject(outer))
    return {
      message: sentence(outer),
      code: undefined,
      param: undefined,
      codes: [],
      status: undefined,
      retryAfterMs: undefined,
    }
  const inner = innerOf(outer)
  const raw = isObject(inner.metadata) ? parsed(inner.metadata.raw) : undefined
  const layers = [inner, ...(inner === outer ? [] : [outer]), ...(isObject(raw) ? [innerOf(raw)] : [])]
  const codes = layers.flatMap(codesOf)
  return {
    message: withFilters(withRaw(messageIn(outer, [...outerNames, ...innerNames]), raw), inner),
    code: codes.find(code => !/^\d{3}$/.test(code)),
    param: typeof inner.param === 'string' ? inner.param : undefined,
    codes: [...new Set(codes)],
    status: statusOf(layers),
    retryAfterMs: retryDelayMs(inner.details),
  }
}

/** The object that describes the error: `error`, the first of `errors`, MiniMax's `base_resp`, or the body itself. */
function innerOf(outer: Json): Json {
  const [first] = objectsOf(outer.errors)
  return [outer.error, first, outer.base_resp, outer.detail].find(isObject) ?? outer
}

/** The first sentence below these names; '' = none. */
function messageIn(body: Json, names: readonly string[], depth = 0): string {
  const word = wordIn(body.error)
  for (const name of names) {
    const text = name === 'error' && word !== '' ? '' : messageOf(body[name], depth + 1)
    if (text !== '') return text
  }
  // `{error: "invalid_request", message}`: a word is the message where there is no other.
  return word
}

/** `{error: "invalid_request"}`: a name, not a sentence; '' = it is none. */
const wordIn = (error: unknown): string => (typeof error === 'string' && /^[\w.-]+$/.test(error) ? error : '')

function messageOf(value: unknown, depth: number): string {
  if (depth > depthMax) return ''
  if (typeof value === 'string') {
    const inner = parsed(value)
    return (typeof inner === 'string' ? '' : messageOf(inner, depth + 1)) || sentence(value)
  }
  if (Array.isArray(value)) return listed(value, depth)
  return isObject(value) ? messageIn(value, innerNames, depth) : ''
}

/** For a wrong signature AWS returns the canonical request, which holds the session token. */
const canonicalRequest = /\s*The Canonical String for this request[\s\S]*$/

const sentence = (text: unknown): string =>
  typeof text === 'string' && !/^\s*<[!?a-z]/i.test(text) ? text.trim().replace(canonicalRequest, '') : ''

/** Entries as `place: what is wrong`, where a framework names the place. */
function listed(entries: readonly unknown[], depth: number): string {
  const shown = entries.slice(0, problemsMax).map(one => {
    const place = isObject(one) && Array.isArray(one.loc) ? `${one.loc.join('.')}: ` : ''
    const text = messageOf(one, depth + 1)
    return text === '' && place === '' ? '' : `${place}${text || 'invalid'}`
  })
  return shown.filter(text => text !== '').join('; ')
}

/** The text itself where it is no JSON. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function withRaw(message: string, raw: unknown): string {
  if (!ofProvider.test(message)) return message
  const text = messageOf(raw, 1)
  return text === '' ? message : `${message.replace(/\.$/, '')}: ${text}`
}

/** Azure says in `innererror` which of its filters refused (its docs, "Content filtering"). */
function withFilters(message: string, { innererror }: Json): string {
  if (!isObject(innererror)) return message
  const results = innererror.content_filter_result ?? innererror.content_filter_results
  const filtered = Object.entries(isObject(results) ? results : {}).flatMap(([category, result]) => {
    if (!isObject(result) || result.filtered !== true) return []
    return typeof result.severity === 'string' ? [`${category} (${result.severity})`] : [category]
  })
  return filtered.length > 0 ? `${message} (filtered: ${filtered.join(', ')})` : message
}

function codesOf(layer: Json): string[] {
  const { details, innererror, error } = layer
  const reasons = objectsOf(details).map(detail => detail.reason)
  const nested = [isObject(innererror) && innererror.code, isObject(details) && details.error_code]
  const all = [...nested.slice(1), ...codeNames.map(name => layer[name]), nested[0], ...reasons, wordIn(error)]
  return all.flatMap(one => {
    if (typeof one === 'number') return [String(one)]
    // A sentence is no code, and the type `error` says nothing.
    if (typeof one !== 'string' || one === '' || one === 'error' || one.length > 100 || /\s/.test(one)) return []
    // `com.amazon.coral.service#ThrottlingException:http://...`
    return [one.replace(/^.*#/, '').replace(/:.*$/, '')]
  })
}

function statusOf(layers: readonly Json[]): number | undefined {
  for (const layer of layers)
    for (const name of statusNames) {
      const value = layer[name]
      const status = typeof value === 'number' || (typeof value === 'string' && value !== '') ? Number(value) : 0
      if (Number.isInteger(status) && status >= 400 && status < 600) return status
    }
  return undefined
}

/** `RetryInfo.retryDelay`: `"37s"` or `"0.5s"`. */
function retryDelayMs(details: unknown): number | undefined {
  for (const detail of objectsOf(details)) {
    const seconds = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(typeof detail.retryDelay === 'string' ? detail.retryDelay : '')
    if (seconds) return Math.ceil(Number(seconds[1]) * 1000)
  }
  return undefined
}

/** true = the object says that something failed, beside all else that it holds. */
export function saysError(body: Json): boolean {
  if (body.error || body.object === 'error' || body.type === 'error') return true
  const { base_resp: base } = body
  return isObject(base) && typeof base.status_code === 'number' && base.status_code !== 0
}

/** true = the object stands in the place of an answer, and is an error as web frameworks write it. */
export function isFrameworkError(body: Json): boolean {
  if (body.detail || typeof body.message === 'string' || typeof body.msg === 'string') return true
  return listOf(body.errors).length > 0
}
