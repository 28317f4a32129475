/** Sets values in a file of JSON, and sets them back. */
import { isDeepStrictEqual } from 'node:util'
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

type Settings = Readonly<Record<string, unknown>>

/** The text with the values in it, and what they replaced. Other values stay. Throws for a text that is no object. */
export function withSettings(
  text: string,
  settings: readonly JsonSetting[],
): { readonly text: string; readonly replaced: readonly ReplacedSetting[] } {
  const whole = parsedObject(text)
  const replaced = settings.map(setting => {
    const before = valueAt(whole, setting.place)
    return before === undefined ? setting : { ...setting, before }
  })
  return { text: written(settings.reduce(put, whole)), replaced }
}

/** The text with the values of before. What was changed since stays; `kept` names its places. */
export function withoutSettings(
  text: string,
  replaced: readonly ReplacedSetting[],
): { readonly text: string; readonly kept: readonly string[] } {
  let whole = parsedObject(text)
  const kept: string[] = []
  for (const { place, value, before } of replaced) {
    if (!isDeepStrictEqual(valueAt(whole, place), value)) kept.push(place.join('.'))
    else whole = put(whole, { place, value: before })
  }
  return { text: written(whole), kept }
}

function parsedObject(text: string): Settings {
  if (text.trim() === '') return {}
  const value: unknown = JSON.parse(text)
  if (isObject(value)) return value
  throw new SyntaxError('it holds no object')
}

const written = (value: Settings): string => `${JSON.stringify(value, null, 2)}\n`

/** undefined takes the value out, and objects that are empty without it. */
function put(settings: Settings, { place, value }: JsonSetting): Settings {
  const [name, ...inner] = place as [string, ...string[]]
  const below = settings[name]
  const next = inner.length === 0 ? value : put(isObject(below) ? below : {}, { place: inner, value })
  const { [name]: _, ...others } = settings
  const isEmpty = next === undefined || (inner.length > 0 && isObject(next) && Object.keys(next).length === 0)
  return isEmpty ? others : { ...settings, [name]: next }
}
