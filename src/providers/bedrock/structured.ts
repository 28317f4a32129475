/** Enforces `response_format`: by Bedrock's structured output, by a forced tool, or only by an instruction. */
import type { ChatRequest, ResponseFormat } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { outputSchema } from '../anthropic/schema.ts'
import { answerTool, fitsTool, instructionOf, jsonObjectInstruction } from '../anthropic/structured.ts'
import type { BedrockModel } from './model.ts'
import { exactText } from '../../lib/json/exact-json.ts'

type JsonSchema = Extract<ResponseFormat, { type: 'json-schema' }>

/** What a `response_format` adds to a call: one of the first three fields, or none of them for plain text. */
export interface JsonPlan {
  /** The body's `outputConfig`. */
  readonly outputConfig?: Json
  /** The only tool of the call, which is forced. */
  readonly tool?: Json
  /** To be appended to the system prompt. */
  readonly instruction?: string
  /** The schema is not enforced, which is reported as dropped. */
  readonly unenforced?: true
  /** Keywords of the schema that the service refuses; they are removed. */
  readonly lost?: readonly string[]
}

/** JSON without a schema is only requested by an instruction. A tool is forced only where the client has no tools. */
export function jsonPlan({ responseFormat: format, tools }: ChatRequest, model: BedrockModel): JsonPlan {
  if (!format || format.type === 'text') return {}
  if (format.type === 'json-object') return { instruction: jsonObjectInstruction }
  if (model.jsonSchema) {
    // AWS documents the same subset as Anthropic, and refuses other keywords with 400.
    const { schema, lost } = outputSchema(format.schema)
    return { outputConfig: outputConfig({ ...format, schema }), lost }
  }
  // A forced tool would exclude the client's tools.
  if (model.forces !== 'nothing' && fitsTool(format.schema) && !tools?.length) return { tool: toolSpec(format) }
  return { instruction: instructionOf(format), unenforced: true }
}

/** `outputConfig` holds the schema as JSON text. */
function outputConfig({ name, schema, description }: JsonSchema): Json {
  const jsonSchema = { schema: exactText(schema), name, ...(description && { description }) }
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}

function toolSpec({ schema, description }: JsonSchema): Json {
  return {
    toolSpec: {
      name: answerTool,
      description: description || 'Gives the answer to the user.',
      inputSchema: { json: schema },
    },
  }
}
