/** Arguments of tool calls: text in the hub, an object with most vendors. */
import { isObject } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

/**
 * The object in the text. Other text is kept in an object that no schema accepts, so that the conversation continues:
 * the client's tool reports the problem, and the model may try again.
 */
export function argumentsObject(text: string): Json {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : { value }
  } catch {
    return { invalid_json: text }
  }
}
