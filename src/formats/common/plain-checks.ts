/** The check of a plain field, made once from its row in the table. */
import type { PlainSchema } from '../../core/dialects/fields.ts'
import { isInteger } from './field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Check, Path } from './field-checks.ts'

/** For values of JSON. `path` is where the field stands in the body. */
export function plainCheck(path: Path, schema: PlainSchema): Check {
  switch (schema.type) {
    case 'number':
      return numberBetween(path, schema.minimum, schema.maximum)
    case 'integer':
      if (schema.format === 'int64') return int64Field(path)
      return integerBetween(path, schema.minimum, schema.maximum)
    case 'boolean':
      return booleanField(path)
    case 'string':
      if (schema.enum) return oneOf(path, schema.enum)
      return schema.minLength ? filledString(path) : stringField(path)
    case 'array':
      return stringArray(path)
    case 'object':
      return schema.additionalProperties ? stringMap(path) : objectField(path)
  }
}

/** Both ends belong to the range. */
function numberBetween(path: Path, least: number, most: number): Check {
  const what = `a number between ${least} and ${most}`
  return (value, problems) => {
    if (typeof value !== 'number') problems.wrong(path, what, value)
    // Written so that NaN would fail too; 1e999 arrives as Infinity.
    else if (!(value >= least && value <= most)) problems.outOfRange(path, what, value)
  }
}

/** An end left out = any integer that a number holds exactly. */
function integerBetween(path: Path, least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): Check {
  const isOpen = most === Number.MAX_SAFE_INTEGER
  const bounds = isOpen ? ` of at least ${least}` : ` between ${least} and ${most}`
  const what = `an integer${isOpen && least === Number.MIN_SAFE_INTEGER ? '' : bounds}`
  return (value, problems) => {
    if (typeof value !== 'number' || (Number.isFinite(value) && !Number.isInteger(value)))
      problems.wrong(path, what, value)
    else if (!isInteger(value, least, most)) problems.outOfRange(path, what, value)
  }
}

/** JSON numbers near 2^63 are not exact anyway; the bound only keeps out what no upstream can read. */
const int64Most = 2 ** 63

function int64Field(path: Path): Check {
  return (value, problems) => {
    if (typeof value !== 'number' || (Number.isFinite(value) && !Number.isInteger(value)))
      problems.wrong(path, 'an integer', value)
    else if (!isInteger(value, -int64Most, int64Most)) problems.outOfRange(path, 'a 64-bit integer', value)
  }
}

/** `true` or `false`; 0, 1 and words are refused. */
function booleanField(path: Path): Check {
  return (value, problems) => {
    if (typeof value !== 'boolean') problems.wrong(path, 'true or false', value)
  }
}

/** Any string, also an empty one. */
function stringField(path: Path): Check {
  return (value, problems) => {
    if (typeof value !== 'string') problems.wrong(path, 'a string', value)
  }
}

function filledString(path: Path): Check {
  return (value, problems) => {
    if (typeof value !== 'string') problems.wrong(path, 'a string', value)
    else if (value === '') problems.outOfRange(path, 'a string that is not empty', value)
  }
}

function objectField(path: Path): Check {
  return (value, problems) => {
    if (!isObject(value)) problems.wrong(path, 'an object', value)
  }
}

/** An array, perhaps empty, of nothing but strings. */
function stringArray(path: Path): Check {
  return (value, problems) => {
    if (!Array.isArray(value)) return problems.wrong(path, 'an array of strings', value)
    for (let at = 0; at < value.length && !problems.full; at++)
      if (typeof value[at] !== 'string') problems.wrong([...path, at], 'a string', value[at])
  }
}

function stringMap(path: Path): Check {
  return (value, problems) => {
    if (!isObject(value)) return problems.wrong(path, 'an object of strings', value)
    for (const [key, item] of Object.entries(value)) {
      if (problems.full) return
      if (typeof item !== 'string') problems.wrong([...path, key], 'a string', item)
    }
  }
}

/** Checks that a value is one of `values`; `path` = where it stands in the body. */
export function oneOf(path: Path, values: readonly string[]): Check {
  const known = new Set<unknown>(values)
  const what = `one of ${values.map(word => JSON.stringify(word)).join(', ')}`
  return (value, problems) => {
    if (known.has(value)) return
    if (typeof value === 'string') problems.unknownValue(path, what, value)
    else problems.wrong(path, what, value)
  }
}

/** For the fields of a form, where everything is text. */
export function plainFormCheck(path: Path, schema: PlainSchema): Check {
  switch (schema.type) {
    case 'number':
      return formNumber(path, schema.minimum, schema.maximum)
    case 'integer':
      return formNumber(path, schema.minimum ?? 0, schema.maximum ?? Number.MAX_SAFE_INTEGER)
    case 'boolean':
      return formBoolean(path)
    case 'array':
      return formTexts(path)
    default:
      return plainCheck(path, schema)
  }
}

/** The text of a number between both ends. */
function formNumber(path: Path, least: number, most: number): Check {
  const what = `a number between ${least} and ${most}`
  return (value, problems) => {
    if (typeof value !== 'string' || !/^[+-]?\d*\.?\d+(e[+-]?\d+)?$/i.test(value.trim()))
      return problems.wrong(path, what, value)
    const number = Number(value)
    if (!(number >= least && number <= most)) problems.outOfRange(path, what, value)
  }
}

/** `true` or `false`, in any case: Python writes `True`. */
function formBoolean(path: Path): Check {
  return (value, problems) => {
    if (typeof value !== 'string' || !/^(true|false)$/i.test(value)) problems.wrong(path, 'true or false', value)
  }
}

/** A text once, or a list of texts. */
function formTexts(path: Path): Check {
  return (value, problems) => {
    const texts: unknown[] = Array.isArray(value) ? value : [value]
    if (!texts.every(text => typeof text === 'string')) problems.wrong(path, 'text', value)
  }
}
