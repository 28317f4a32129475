/** Enforces `response_format` on Claude: by structured outputs, by a forced tool, or only by an instruction. */
import type { ChatRequest, ResponseFormat } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { ClaudeRule } from '../../../rules/claude.ts'
import { outputSchema } from './schema.ts'
import { exactText } from '../../lib/json/exact-json.ts'

type JsonSchema = Extract<ResponseFormat, { type: 'json-schema' }>

/** The tool whose arguments are the answer. Readers recognise it by this name, as they do not see the request. */
export const answerTool = 'gateway_json_answer'

/** What a `response_format` adds to a call: one of the first three fields, or none of them for plain text. */
export interface JsonPlan {
  /** The body's `output_config`. */
  readonly outputConfig?: Json
  /** The only tool of the call, which is forced. */
  readonly tool?: Json
  /** To be appended to the system prompt. */
  readonly instruction?: string
  /** Json and keywords that are not enforced, by OpenAI's names. */
  readonly lost?: readonly string[]
}

/** The instruction for JSON without a schema. */
export const jsonObjectInstruction = 'Answer with one valid JSON object and nothing else.'

/** `thinks` = thinking is on, which excludes a forced tool. */
export function jsonPlan({ responseFormat: format, tools }: ChatRequest, rule: ClaudeRule, thinks: boolean): JsonPlan {
  if (!format || format.type === 'text') return {}
  if (format.type === 'json-object') return { instruction: jsonObjectInstruction }
  if (rule.outputSchema) {
    const { schema, lost } = outputSchema(format.schema)
    return {
      outputConfig: { format: { type: 'json_schema', schema } },
      lost: lost.map(keyword => `response_format.json_schema.schema.${keyword}`),
    }
  }
  // Older models follow a schema best in a tool's arguments. A forced tool would exclude the client's, though.
  if (rule.tools && !thinks && !tools?.length && fitsTool(format.schema)) return { tool: toolOf(format) }
  return { instruction: instructionOf(format), lost: ['response_format'] }
}

/** true = the schema can be a tool's: an object, and without alternatives at its root, which the API refuses. */
export function fitsTool(schema: Json): boolean {
  return schema.type === 'object' && !['oneOf', 'anyOf', 'allOf', '$ref'].some(keyword => keyword in schema)
}

function toolOf({ schema, description }: JsonSchema): Json {
  return { name: answerTool, description: description || 'Gives the answer to the user.', input_schema: schema }
}

/** The instruction for a schema that is not enforced. */
export function instructionOf({ schema }: JsonSchema): string {
  return `Answer with one valid JSON value that fits this JSON Schema, and nothing else:\n${exactText(schema)}`
}
