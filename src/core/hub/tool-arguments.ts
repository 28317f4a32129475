/** Arguments of tool calls: text in the hub, an object with most vendors. */
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { ExactNumber, parseExact } from '../../lib/json/exact-json.ts'

/**
 * The object in the text. Other text is kept in an object that no schema accepts, so that the conversation continues:
 * the client's tool reports the problem, and the model may try again.
 */
export function argumentsObject(text: string): Json {
  if (text.trim() === '') return {}
  try {
    const value = parseExact(text)
    return isObject(value) && !(value instanceof ExactNumber) ? value : { value }
  } catch {
    return { invalid_json: text }
  }
}

/** The text for a tool of free text as the arguments of its function; `freeTextOf` is the inverse. */
export function freeTextArguments(text: string): string {
  return JSON.stringify({ input: text })
}

/** Arguments of another shape are returned as the model wrote them. */
export function freeTextOf(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value) && typeof value.input === 'string') return value.input
    return typeof value === 'string' ? value : text
  } catch {
    return text
  }
}
