/** A response checked against its request's strict schema (API reference, "Create a model response", `text.format`). */
import type { StrictSchema } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { isObject, objectsOf } from '../../../lib/json/json-values.ts'
import { readField } from '../../common/field-checks.ts'
import { joinedTexts } from '../../common/text-parts.ts'

/** `schema` throws `invalid-request` when `text` is not valid JSON. */
export const strictResponseSchema: StrictSchema = {
  field: 'text',
  schema(body: JsonBody) {
    const text = body.has('text') ? readField(body, 'text') : undefined
    const format = isObject(text) && isObject(text.format) ? text.format : undefined
    return format?.type === 'json_schema' && format.strict === true && isObject(format.schema)
      ? format.schema
      : undefined
  },
  /** One text, of all messages; none of a response that is not completed, or that calls tools. */
  texts(answer) {
    if (!isObject(answer) || answer.status !== 'completed') return []
    const items = objectsOf(answer.output)
    if (items.some(item => typeof item.type === 'string' && item.type.endsWith('_call'))) return []
    const parts = items.filter(item => item.type === 'message').flatMap(item => objectsOf(item.content))
    return parts.some(part => part.type === 'refusal') ? [] : [joinedTexts(parts)]
  },
}
