/** How Google's JSON may be written: names in camelCase or snake_case, a list of one without its brackets. */
import { isObject, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Path, ProblemList } from '../common/field-checks.ts'

/** The message with its field names in camelCase, which counts where both spellings are sent (see `checkSpelling`). */
export function camel(fields: Json): Json {
  const names = Object.keys(fields)
  if (!names.some(name => name.includes('_'))) return fields
  const out: Json = {}
  for (const name of names) {
    const plain = camelName(name)
    if (plain === name || !Object.hasOwn(fields, plain)) out[plain] = fields[name]
  }
  return out
}

/** `max_output_tokens` -> `maxOutputTokens` */
function camelName(name: string): string {
  return name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** `maxOutputTokens` -> `max_output_tokens` */
export function snakeName(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

/** A field that is given in both spellings has two values, of which neither is more likely meant. */
export function checkSpelling(fields: Json, path: Path, problems: ProblemList): void {
  for (const name of Object.keys(fields)) {
    const plain = camelName(name)
    if (plain !== name && Object.hasOwn(fields, plain))
      problems.add([...path, name], `\`${name}\` and \`${plain}\` are the same field; send only one of them`, 'invalid')
  }
}

/** An array as it is, an object as a list of one (Google's examples: `"parts": {"text": ...}`), nothing as none. */
export function listOrOne(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined || value === null ? [] : [value]
}

/** As `listOrOne`, without entries that are no objects. */
export const objectsOrOne = (value: unknown): Json[] => listOrOne(value).filter(isObject)

/** The path of an entry: lists of one without brackets have no numbers. */
export function entryPath(path: Path, list: unknown, at: number): Path {
  return Array.isArray(list) ? [...path, at] : path
}

/** A word of one of Google's enums. */
export const enumWord = (value: unknown): string => textOf(value).toUpperCase()
