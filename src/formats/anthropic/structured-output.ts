/**
 * A message checked against the schema of its request
 * (platform.claude.com/docs/en/build-with-claude/structured-outputs).
 */
import type { StrictSchema } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import { readField } from '../common/field-checks.ts'
import { joinedTexts } from '../common/text-parts.ts'

/** What ends an answer that is whole. */
const endings: ReadonlySet<unknown> = new Set(['end_turn', 'stop_sequence'])

/** Every schema is strict in this dialect. */
export const strictMessageSchema: StrictSchema = {
  field: 'output_config',
  schema(body: JsonBody) {
    const config = body.has('output_config') ? readField(body, 'output_config') : undefined
    const older = body.has('output_format') ? readField(body, 'output_format') : undefined
    const format = isObject(config) && config.format != null ? config.format : older
    return isObject(format) && format.type === 'json_schema' && isObject(format.schema) ? format.schema : undefined
  },
  texts(answer) {
    if (!isObject(answer) || !endings.has(answer.stop_reason)) return []
    return [joinedTexts(objectsOf(answer.content).filter(block => block.type === 'text'))]
  },
}
