/**
 * Checks that every call passes through, written by hand because a schema library costs 10 us a body.
 * Only fields that are present are looked at, each once.
 */
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { Problem } from '../../core/errors.ts'
import { JsonBodyError } from '../../lib/json/json-body.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject } from '../../lib/json/json-values.ts'

export { isObject }

/** Where a value stands below the body: `['messages', 0, 'role']`. */
export type Path = readonly (string | number)[]
/** A parsed JSON object of the client. */
export type Fields = Record<string, unknown>

/** Looks at one field's value, which is neither null nor absent. */
export type Check = (value: unknown, problems: ProblemList) => void

/** Larger fields are only parsed when a translation needs them: the forward lane never reads 10 MiB. */
const fieldBytesMax = 256 * 1024
const problemsMax = 20
const shownCharactersMax = 60

/** Problems found so far; further ones than 20 help nobody. */
export class ProblemList {
  readonly problems: Problem[] = []

  get full(): boolean {
    return this.problems.length >= problemsMax
  }

  /** `path` starts below the body: `['messages', 0, 'role']`. */
  add(path: Path, msg: string, type: string): void {
    if (!this.full) this.problems.push({ loc: ['body', ...path], msg, type })
  }

  /** Adds "`name` must be <what>; got <value>", or "is missing" when there is no value. */
  wrong(path: Path, what: string, value: unknown): void {
    if (value === undefined || value === null)
      return this.add(path, `${name(path)} is missing; send ${what}`, 'missing')
    this.add(path, `${name(path)} must be ${what}; got ${shown(value)}`, 'wrong_type')
  }

  outOfRange(path: Path, what: string, value: unknown): void {
    this.add(path, `${name(path)} must be ${what}; got ${shown(value)}`, 'out_of_range')
  }

  unknownValue(path: Path, what: string, value: unknown): void {
    this.add(path, `${name(path)} must be ${what}; got ${shown(value)}`, 'unknown_value')
  }
}

function name(path: Path): string {
  let text = ''
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : `${text ? '.' : ''}${part}`
  return `\`${text}\``
}

/** A value in a sentence: short, never a whole message of the client. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    const cut = value.length > shownCharactersMax
    return JSON.stringify(cut ? `${value.slice(0, shownCharactersMax).toWellFormed()}...` : value)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number too large to represent'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/** Both ends belong to the range; Infinity and NaN never do. */
export function isInteger(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

/** Both ends belong to the range. */
export function numberBetween(field: string, least: number, most: number): Check {
  const what = `a number between ${least} and ${most}`
  return (value, problems) => {
    if (typeof value !== 'number') problems.wrong([field], what, value)
    // Written so that NaN would fail too; 1e999 arrives as Infinity.
    else if (!(value >= least && value <= most)) problems.outOfRange([field], what, value)
  }
}

/** `most` left out = only the least is checked. */
export function integerBetween(field: string, least: number, most = Number.MAX_SAFE_INTEGER): Check {
  const what =
    most === Number.MAX_SAFE_INTEGER ? `an integer of at least ${least}` : `an integer between ${least} and ${most}`
  return (value, problems) => {
    if (typeof value !== 'number' || (Number.isFinite(value) && !Number.isInteger(value)))
      problems.wrong([field], what, value)
    else if (!isInteger(value, least, most)) problems.outOfRange([field], what, value)
  }
}

/** `true` or `false`; 0, 1 and words are refused. */
export function booleanField(field: string): Check {
  return (value, problems) => {
    if (typeof value !== 'boolean') problems.wrong([field], 'true or false', value)
  }
}

/** Any string, also an empty one. */
export function stringField(field: string): Check {
  return (value, problems) => {
    if (typeof value !== 'string') problems.wrong([field], 'a string', value)
  }
}

/** A JSON object with anything in it. */
export function objectField(field: string): Check {
  return (value, problems) => {
    if (!isObject(value)) problems.wrong([field], 'an object', value)
  }
}

/** An array, perhaps empty, of nothing but strings. */
export function stringArray(field: string): Check {
  return (value, problems) => {
    if (!Array.isArray(value)) return problems.wrong([field], 'an array of strings', value)
    for (let at = 0; at < value.length && !problems.full; at++)
      if (typeof value[at] !== 'string') problems.wrong([field, at], 'a string', value[at])
  }
}

/** A map whose values are all strings. */
function stringMap(field: string): Check {
  return (value, problems) => {
    if (!isObject(value)) return problems.wrong([field], 'an object of strings', value)
    for (const [key, item] of Object.entries(value)) {
      if (problems.full) return
      if (typeof item !== 'string') problems.wrong([field, key], 'a string', item)
    }
  }
}

/** One of a few words. */
export function oneOf(path: Path, words: readonly string[]): Check {
  const known = new Set<unknown>(words)
  const what = `one of ${words.map(word => JSON.stringify(word)).join(', ')}`
  return (value, problems) => {
    if (known.has(value)) return
    if (typeof value === 'string') problems.unknownValue(path, what, value)
    else problems.wrong(path, what, value)
  }
}

function checkStop(value: unknown, problems: ProblemList): void {
  if (typeof value === 'string') return
  if (!Array.isArray(value)) return problems.wrong(['stop'], 'a string or an array of strings', value)
  if (value.length > stopsMax)
    problems.add(['stop'], `\`stop\` must have at most ${stopsMax} entries; got ${value.length}`, 'out_of_range')
  for (let at = 0; at < value.length && !problems.full; at++)
    if (typeof value[at] !== 'string') problems.wrong(['stop', at], 'a string', value[at])
}

/** OpenAI takes 4; other vendors up to 16. */
const stopsMax = 16

function checkLogitBias(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['logit_bias'], 'an object of token id to bias', value)
  for (const [token, bias] of Object.entries(value)) {
    if (problems.full) return
    if (typeof bias !== 'number') problems.wrong(['logit_bias', token], 'a number between -100 and 100', bias)
    else if (!(bias >= -100 && bias <= 100))
      problems.outOfRange(['logit_bias', token], 'a number between -100 and 100', bias)
  }
}

function checkCache(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['cache'], 'an object such as {"no-cache": true}', value)
  const noCache = value['no-cache']
  if (noCache != null && typeof noCache !== 'boolean') problems.wrong(['cache', 'no-cache'], 'true or false', noCache)
}

/** The router tries no more for anybody. */
const retriesMost = 10
/** A day. */
export const timeoutMostS = 86_400
const fallbacksMax = 10

function checkFallbacks(value: unknown, problems: ProblemList): void {
  const what = 'the name of a model, or {"model": ...}'
  if (!Array.isArray(value)) return problems.wrong(['fallbacks'], 'an array of names of models', value)
  if (value.length > fallbacksMax)
    problems.add(
      ['fallbacks'],
      `\`fallbacks\` must have at most ${fallbacksMax} entries; got ${value.length}`,
      'out_of_range',
    )
  for (let at = 0; at < value.length && !problems.full; at++) {
    const one: unknown = value[at]
    if (!isObject(one)) checkModelName(one, ['fallbacks', at], what, problems)
    else {
      checkModelName(one.model, ['fallbacks', at, 'model'], 'the name of a model', problems)
      for (const other of Object.keys(one))
        if (other !== 'model')
          problems.add(
            ['fallbacks', at, other],
            'is not supported: a fallback gets the call as it is; leave it out',
            'unsupported',
          )
    }
  }
}

function checkModelName(value: unknown, path: Path, what: string, problems: ProblemList): void {
  if (typeof value !== 'string' || value === '') problems.wrong(path, what, value)
}

/** JSON numbers near 2^63 are not exact anyway; the bound only keeps out what no upstream can read. */
const seedMost = 2 ** 63

function checkSeed(value: unknown, problems: ProblemList): void {
  if (typeof value !== 'number' || (Number.isFinite(value) && !Number.isInteger(value)))
    problems.wrong(['seed'], 'an integer', value)
  else if (!isInteger(value, -seedMost, seedMost)) problems.outOfRange(['seed'], 'a 64-bit integer', value)
}

/** Fields that chat and text completions share (OpenAI API reference; gateway API specification). */
export const sharedChecks: readonly (readonly [string, Check])[] = [
  ['model', stringField('model')],
  ['stream', booleanField('stream')],
  // Read here so that broken JSON is found; judged by `checkStreamOptions`, which knows the rest.
  ['stream_options', () => {}],
  ['temperature', numberBetween('temperature', 0, 2)],
  ['top_p', numberBetween('top_p', 0, 1)],
  ['frequency_penalty', numberBetween('frequency_penalty', -2, 2)],
  ['presence_penalty', numberBetween('presence_penalty', -2, 2)],
  ['n', integerBetween('n', 1, 128)],
  ['seed', checkSeed],
  ['stop', checkStop],
  ['logit_bias', checkLogitBias],
  ['user', stringField('user')],
  ['metadata', objectField('metadata')],
  ['guardrails', stringArray('guardrails')],
  ['caching', booleanField('caching')],
  ['num_retries', integerBetween('num_retries', 0, retriesMost)],
  ['context_window_fallback_dict', stringMap('context_window_fallback_dict')],
  ['fallbacks', checkFallbacks],
  ['cache', checkCache],
  ['drop_params', booleanField('drop_params')],
  ['timeout', numberBetween('timeout', 0, timeoutMostS)],
]

/**
 * Fields for the gateway itself, and fields by which a client could try to choose the upstream's host
 * or key (CVE-2024-6587): accepted, and never part of what a provider sees.
 */
export const gatewayFields: ReadonlySet<string> = new Set([
  'guardrails',
  'caching',
  'cache',
  'num_retries',
  'context_window_fallback_dict',
  'fallbacks',
  'drop_params',
  'timeout',
  'api_key',
  'api_base',
  'api_version',
  'api_type',
  'base_url',
  'headers',
  'extra_headers',
  'organization',
  'custom_llm_provider',
  'proxy_call_id',
  'proxy_logging_obj',
  'logger_fn',
  'user_config',
  'tags',
])

/** true = the field is so large that only `decode` looks into it. */
export function isTooLargeToInspect(body: JsonBody, field: string): boolean {
  return body.size > fieldBytesMax && body.sizeOf(field) > fieldBytesMax
}

/** Runs the check of every field that is present. Throws `invalid-request` when a field is not valid JSON. */
export function checkFields(body: JsonBody, checks: ReadonlyMap<string, Check>, problems: ProblemList): void {
  if (body.size <= fieldBytesMax) {
    const fields = body.parse()
    for (const field in fields) {
      const check = checks.get(field)
      if (!check) continue
      const value = fields[field]
      if (value !== null) check(value, problems)
    }
    return
  }
  for (const field of body.names()) {
    const check = checks.get(field)
    if (!check || isTooLargeToInspect(body, field)) continue
    const value = readField(body, field)
    if (value !== null) check(value, problems)
  }
}

/** A field's value; undefined when it is absent. Throws `invalid-request` when it is not valid JSON. */
export function readField(body: JsonBody, field: string): unknown {
  try {
    return body.get(field)
  } catch (cause) {
    throw asClientFault(cause)
  }
}

function asClientFault(cause: unknown): unknown {
  if (!(cause instanceof JsonBodyError)) return cause
  return new GatewayError('invalid-request', cause.message, { cause })
}

/** A field as a string; empty when it is absent or something else. */
export function textOf(body: JsonBody, field: string): string {
  const value = readField(body, field)
  return typeof value === 'string' ? value : ''
}

/**
 * The whole body for a translation. What was too large to be inspected is checked now: throws
 * `unprocessable` with the problems, or `invalid-request` when it is not valid JSON.
 */
export function parseChecked(body: JsonBody, checks: ReadonlyMap<string, Check>): Fields {
  let fields: Fields
  try {
    fields = body.parse()
  } catch (cause) {
    throw asClientFault(cause)
  }
  if (body.size <= fieldBytesMax) return fields
  const problems = new ProblemList()
  for (const field of body.names()) {
    if (isTooLargeToInspect(body, field) && fields[field] !== null) checks.get(field)?.(fields[field], problems)
  }
  if (problems.problems.length > 0) throw unprocessable(problems.problems)
  return fields
}

/** Every field that is not in `known`, not null and not for the gateway itself. */
export function unknownFields(fields: Fields, known: ReadonlySet<string>): Fields {
  const rest: Fields = {}
  for (const field of Object.keys(fields)) {
    if (field === '__proto__' || fields[field] === null || known.has(field) || gatewayFields.has(field)) continue
    rest[field] = fields[field]
  }
  return rest
}
