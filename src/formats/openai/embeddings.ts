/** Embeddings (OpenAI API reference, "Create embeddings"). */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import { writeVector } from '../../core/dialects/vectors.ts'
import * as type from '../../core/dialects/fields.ts'
import type { EmbeddingsFormat, Inspection } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { answerId } from '../common/answer-id.ts'
import { checkFields, parseChecked, ProblemList, textOf } from '../common/field-checks.ts'
import type { CheckedField } from '../common/field-checks.ts'
import { fieldTable, readFields } from '../common/field-table.ts'
import { embeddingsGatewayFields } from '../common/gateway-fields.ts'
import { checkTexts } from './prompt-texts.ts'
import { readOverrides } from '../common/overrides.ts'
import { openaiErrorBody } from './error.ts'
import { openaiEmbeddingsForward } from './forward.ts'
import type { Json } from '../../lib/json/json-values.ts'

const inputsMax = 2048

const embeddingsFields: readonly CheckedField<EmbeddingsRequest>[] = [
  { name: 'model', schema: type.text, required: true },
  {
    name: 'input',
    schema: type.anyOf(type.text, { type: 'array' }),
    description: 'Nothing, or an empty list: an empty list of vectors, and no call of the model.',
    check(value, problems) {
      if (Array.isArray(value) && value.length === 0) return
      checkTexts({ field: 'input', most: inputsMax, emptyAllowed: false }, value, problems)
    },
  },
  { name: 'encoding_format', schema: type.oneOf('float', 'base64'), property: 'encoding' },
  { name: 'dimensions', schema: type.integer(1), property: 'dimensions' },
  { name: 'user', schema: type.text, property: 'user' },
]
/** The fields of the body, with their checks. */
export const embeddingsTable = fieldTable<EmbeddingsRequest>([...embeddingsFields, ...embeddingsGatewayFields])

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, embeddingsTable.checks, list)
  return {
    model: textOf(body, 'model'),
    stream: false,
    endUser: textOf(body, 'user'),
    problems: list.problems,
  }
}

function inputsOf(input: unknown): (string | number[])[] {
  if (input == null) return []
  if (typeof input === 'string') return [input]
  const list = input as (string | number | number[])[]
  return typeof list[0] === 'number' ? [list as number[]] : (list as (string | number[])[])
}

function decode(body: JsonBody): EmbeddingsRequest {
  const fields: Json = parseChecked(body)
  const request: EmbeddingsRequest = {
    model: typeof fields.model === 'string' ? fields.model : '',
    inputs: inputsOf(fields.input),
    encoding: 'float',
    extra: { format: 'openai-embeddings', fields: {} },
  }
  readFields(fields, embeddingsTable, request, request.extra.fields)
  return request
}

/** Throws `upstream-broken` when there is not one finite vector for each input. */
function encode(result: EmbeddingsResult, model: string, request: EmbeddingsRequest): object {
  if (result.vectors.length !== request.inputs.length)
    throw new GatewayError(
      'upstream-broken',
      `the upstream answered ${result.vectors.length} vectors for ${request.inputs.length} inputs`,
    )
  return {
    id: answerId('embd-', ''),
    object: 'list',
    data: result.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: writeVector(vector, index, request.encoding),
    })),
    model,
    usage: { prompt_tokens: result.usage.inputTokens, total_tokens: result.usage.inputTokens },
  }
}

/** `/v1/embeddings`. */
export const openaiEmbeddings: EmbeddingsFormat = {
  dialect: 'openai-embeddings',
  operation: 'embeddings',
  fieldNames: embeddingsTable.names,
  inspect,
  overrides: readOverrides,
  decode,
  encode,
  errorBody: openaiErrorBody,
  forward: openaiEmbeddingsForward,
}
