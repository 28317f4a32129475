/**
 * Checks that every call passes through, written by hand because a schema library costs 10 us a body.
 * Only fields that are present are looked at, each once.
 */
import { GatewayError } from '../../core/errors.ts'
import type { Problem } from '../../core/errors.ts'
import type { Field } from '../../core/dialects/fields.ts'
import { JsonBodyError } from '../../lib/json/json-body.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { ExactNames } from '../../lib/json/exact-json.ts'

/** Where a value stands below the body: `['messages', 0, 'role']`. */
export type Path = readonly (string | number)[]

/** Looks at one field's value, which is neither null nor absent. */
export type Check = (value: unknown, problems: ProblemList) => void

/** A row of a dialect's table. A schema that is not plain needs `check`, or the field is not checked. */
export interface CheckedField<Request = object> extends Field<Request> {
  readonly check?: Check
}

const problemsMax = 20
const shownCharactersMax = 60

/** Problems found so far, at most 20. */
export class ProblemList {
  readonly problems: Problem[] = []
  /** Bytes stand in a field for media of another kind. */
  misplacedMedia = false

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

/** Runs the check of every field that is present, of large bodies as of small ones (`JsonBody.shape`). */
export function checkFields(body: JsonBody, checks: ReadonlyMap<string, Check>, problems: ProblemList): void {
  const fields = body.shape()
  for (const field in fields) {
    const check = checks.get(field)
    if (!check) continue
    const value = fields[field]
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

/** Where a dialect holds what others wrote: by field, the names whose values keep their digits (`parseExact`). */
export type ExactFields = readonly (readonly [field: string, names: ExactNames])[]

/** The whole body for a translation; its fields were checked. Throws `invalid-request` when it is not valid JSON. */
export function parseChecked(body: JsonBody, exactFields: ExactFields = []): Json {
  try {
    let fields = body.parse()
    const parsed = fields
    for (const [field, names] of exactFields) {
      const exact = body.exact(field, names)
      if (exact === undefined) continue
      if (fields === parsed) fields = { ...parsed }
      fields[field] = exact
    }
    return fields
  } catch (cause) {
    throw asClientFault(cause)
  }
}
