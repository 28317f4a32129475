/** Type checks and look-ups for JSON from clients, upstreams and files. */

/** Any JSON object. */
export type Json = Record<string, unknown>

/** An object, not an array and not null. */
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** Anything but an array is an empty one. */
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
/** Anything but an object is an empty one, so that members of unchecked JSON can be read. */
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
/** The objects of an array. */
export const objectsOf = (value: unknown): Json[] => listOf(value).filter(isObject)
/** Anything but a string is an empty one. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The value of a JSON text; undefined = it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value of a JSON text; the text where it is no JSON. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Whether a text is JSON, of any type. */
export const isJson = (text: string): boolean => parsedJson(text) !== undefined

/** The object of a JSON text; undefined = it is no JSON, or the value is no object. */
export function parsedObject(text: string): Json | undefined {
  const value = parsedJson(text)
  return isObject(value) ? value : undefined
}

/** The value at a path of own members and elements; undefined = there is none. */
export function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let at = root
  for (const part of path)
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? (at as Json)[part] : undefined
  return at
}
