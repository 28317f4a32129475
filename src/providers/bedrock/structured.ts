/** How an answer is made to fit `response_format`: by the service, by a forced tool, or only by asking. */
import type { ChatRequest, ResponseFormat } from '../../core/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { outputSchema } from '../anthropic/schema.ts'
import { answerTool, fitsTool, instructionOf, jsonObjectWords } from '../anthropic/structured.ts'
import type { BedrockModel } from './model.ts'

type JsonSchema = Extract<ResponseFormat, { type: 'json-schema' }>

/** What a `response_format` adds to a call: one of the first three, or nothing where plain text is wanted. */
export interface JsonPlan {
  /** The body's `outputConfig`. */
  readonly outputConfig?: Json
  /** The only tool on offer, to be forced. */
  readonly tool?: Json
  /** What the prompt has to say. */
  readonly instruction?: string
  /** Nothing enforces the schema: the client is told. */
  readonly unenforced?: true
  /** Keywords of the schema that the service refuses, and that are therefore left out. */
  readonly lost?: readonly string[]
}

/** JSON without a schema is only asked for. A forced tool is planned only where the client offers none of its own. */
export function jsonPlan({ responseFormat: format, tools }: ChatRequest, model: BedrockModel): JsonPlan {
  if (!format || format.type === 'text') return {}
  if (format.type === 'json-object') return { instruction: jsonObjectWords }
  if (model.jsonSchema) {
    // AWS documents the same subset as Anthropic, and answers 400 to the rest.
    const { schema, lost } = outputSchema(format.schema)
    return { outputConfig: outputConfig({ ...format, schema }), lost }
  }
  // A forced tool would keep the model from the client's own.
  if (model.forces !== 'nothing' && fitsTool(format.schema) && !tools?.length) return { tool: toolSpec(format) }
  return { instruction: instructionOf(format), unenforced: true }
}

/** The schema travels as text. */
function outputConfig({ name, schema, description }: JsonSchema): Json {
  const jsonSchema = { schema: JSON.stringify(schema), name, ...(description && { description }) }
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
