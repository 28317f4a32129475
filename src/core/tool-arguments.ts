/** Arguments of tool calls: text in the hub, an object with most vendors. */
import { isObject } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

/**
 * The object that the text says. What a model wrote otherwise is not lost and must not end its conversation: no schema
 * takes it for arguments, the client's tool says what is wrong, and the model may try again.
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
