/** How Claude's answer is made to fit `response_format`: by the API, by a forced tool, or only by asking. */
import type { ChatRequest, ResponseFormat } from '../../core/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { claudeVersion, firstWithSchema, firstWithTools } from './model.ts'
import { outputSchema } from './schema.ts'

type JsonSchema = Extract<ResponseFormat, { type: 'json-schema' }>

/** The tool whose arguments are the answer. The reader knows it by this name: it sees no request. */
export const answerTool = 'gateway_json_answer'

/** What a `response_format` adds to a call: one of the first three, or nothing where plain text is wanted. */
export interface JsonPlan {
  /** The body's `output_config`. */
  readonly outputConfig?: Json
  /** The only tool on offer, to be forced. */
  readonly tool?: Json
  /** What the prompt has to say. */
  readonly instruction?: string
  /** What is not enforced, by OpenAI's names. */
  readonly lost?: readonly string[]
}

/** What asks for JSON of any shape. */
export const jsonObjectWords = 'Answer with one valid JSON object and nothing else.'

/** `thinks` = thinking is on, which no forced tool goes with. */
export function jsonPlan({ responseFormat: format, tools }: ChatRequest, model: string, thinks: boolean): JsonPlan {
  if (!format || format.type === 'text') return {}
  if (format.type === 'json-object') return { instruction: jsonObjectWords }
  const version = claudeVersion(model)
  if (version >= firstWithSchema) {
    const { schema, lost } = outputSchema(format.schema)
    return {
      outputConfig: { format: { type: 'json_schema', schema } },
      lost: lost.map(keyword => `response_format.json_schema.schema.${keyword}`),
    }
  }
  // Of older ones a tool's arguments are what comes nearest; it would keep the model from the client's own.
  if (version >= firstWithTools && !thinks && !tools?.length && fitsTool(format.schema)) return { tool: toolOf(format) }
  return { instruction: instructionOf(format), lost: ['response_format'] }
}

/** Arguments are an object, and at its top the API takes no alternatives. */
export function fitsTool(schema: Json): boolean {
  return schema.type === 'object' && !['oneOf', 'anyOf', 'allOf', '$ref'].some(keyword => keyword in schema)
}

function toolOf({ schema, description }: JsonSchema): Json {
  return { name: answerTool, description: description || 'Gives the answer to the user.', input_schema: schema }
}

/** What asks for a schema that nothing enforces. */
export function instructionOf({ schema }: JsonSchema): string {
  return `Answer with one valid JSON value that fits this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`
}
