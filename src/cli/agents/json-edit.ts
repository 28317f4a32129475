/** Sets values in a file of JSON, with or without comments, and sets them back; the rest of its text stays. */
import { isDeepStrictEqual } from 'node:util'
import { applyEdits, findNodeAtLocation, modify, parse, parseTree, printParseErrorCode } from 'jsonc-parser'
import type { ParseError } from 'jsonc-parser'
import { isObject, valueAt } from '../../lib/json/json-values.ts'

/** A value at a place: the names from the outside in. */
export interface JsonSetting {
  readonly place: readonly string[]
  readonly value: unknown
}

/** What stood at a place before; absent `before` = nothing. */
export interface ReplacedSetting extends JsonSetting {
  readonly before?: unknown
}

/** The text with the values in it, and what they replaced. Throws SyntaxError for a text that is no object. */
export function withSettings(
  text: string,
  settings: readonly JsonSetting[],
): { readonly text: string; readonly replaced: readonly ReplacedSetting[] } {
  const whole = parsedObject(text)
  const replaced = settings.map(setting => {
    const before = valueAt(whole, setting.place)
    return before === undefined ? setting : { ...setting, before }
  })
  return { text: settings.reduce(put, text), replaced }
}

/** The text with the values of before. What was changed since stays; `kept` names its places. */
export function withoutSettings(
  text: string,
  replaced: readonly ReplacedSetting[],
): { readonly text: string; readonly kept: readonly string[] } {
  const whole = parsedObject(text)
  const isKept = ({ place, value }: JsonSetting) => !isDeepStrictEqual(valueAt(whole, place), value)
  const restored = replaced.filter(one => !isKept(one)).map(({ place, before }) => ({ place, value: before }))
  return { text: restored.reduce(put, text), kept: replaced.filter(isKept).map(({ place }) => place.join('.')) }
}

const options = { allowTrailingComma: true }

function parsedObject(text: string): Readonly<Record<string, unknown>> {
  if (text.trim() === '') return {}
  const errors: ParseError[] = []
  const value: unknown = parse(text, errors, options)
  const [first] = errors
  if (first)
    throw new SyntaxError(
      `${printParseErrorCode(first.error)} in line ${text.slice(0, first.offset).split('\n').length}`,
    )
  if (isObject(value)) return value
  throw new SyntaxError('it holds no object')
}

/** undefined takes the value out, and objects that are empty without it. */
function put(text: string, { place, value }: JsonSetting): string {
  if (text.trim() === '') return value === undefined ? text : put('{}\n', { place, value })
  if (isDeepStrictEqual(valueAt(parsedObject(text), place), value)) return text
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const indent = /^[ \t]+(?=")/m.exec(text)?.[0] ?? '  '
  const formattingOptions = { eol, insertSpaces: !indent.startsWith('\t'), tabSize: indent.length }
  const edited = applyEdits(text, modify(text, emptied(text, place, value), value, { formattingOptions }))
  if (!isDeepStrictEqual(valueAt(parsedObject(edited), place), value))
    throw new SyntaxError(`a name of ${place.join('.')} stands in it twice`)
  return edited
}

/** The place to edit: of a value that is taken out, the outermost object that holds nothing else, not even comments. */
function emptied(text: string, place: readonly string[], value: unknown): string[] {
  const root = parseTree(text, [], options)
  const edited = [...place]
  while (value === undefined && root && edited.length > 1) {
    const parent = findNodeAtLocation(root, edited.slice(0, -1))
    const [only, ...others] = parent?.children ?? []
    if (!parent || !only || others.length > 0) break
    const end = only.offset + only.length
    const around = text.slice(parent.offset + 1, only.offset) + text.slice(end, parent.offset + parent.length - 1)
    if (!/^[\s,]*$/.test(around)) break
    edited.pop()
  }
  return edited
}
