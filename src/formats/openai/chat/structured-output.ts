/** A chat answer checked against the strict schema of its request (API reference, "Structured outputs"). */
import type { StrictSchema } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { isObject, objectsOf } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { readField } from '../../common/field-checks.ts'
import { joinedTexts } from '../../common/text-parts.ts'

/** Endings after which the text need not be whole, or is none: the client sees why. */
const otherEndings: ReadonlySet<unknown> = new Set(['length', 'content_filter', 'tool_calls', 'function_call'])

/**
 * One text a choice, but for choices that were cut or refused, or that call. `schema` throws `invalid-request` when
 * `response_format` is not valid JSON.
 */
export const strictChatSchema: StrictSchema = {
  field: 'response_format',
  schema(body: JsonBody) {
    const format = body.has('response_format') ? readField(body, 'response_format') : undefined
    const wanted = isObject(format) && format.type === 'json_schema' ? format.json_schema : undefined
    return isObject(wanted) && wanted.strict === true && isObject(wanted.schema) ? wanted.schema : undefined
  },
  texts: answer => objectsOf(isObject(answer) ? answer.choices : undefined).flatMap(textOfChoice),
}

function textOfChoice({ message, finish_reason: ending }: Json): string[] {
  if (!isObject(message) || otherEndings.has(ending)) return []
  if (message.refusal || message.function_call || (Array.isArray(message.tool_calls) && message.tool_calls.length > 0))
    return []
  const { content } = message
  return [typeof content === 'string' ? content : joinedTexts(content)]
}
