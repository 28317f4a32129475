/** Embeddings (OpenAI API reference, "Embeddings"; gateway API specification, "Embeddings request body"). */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import type { EmbeddingsFormat, Inspection } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import {
  booleanField,
  checkFields,
  integerBetween,
  isObject,
  numberBetween,
  objectField,
  oneOf,
  parseChecked,
  ProblemList,
  readField,
  stringField,
  textOf,
  timeoutMostS,
  unknownFields,
} from '../common/field-checks.ts'
import type { Check, Fields } from '../common/field-checks.ts'
import { checkTexts } from '../common/texts.ts'
import { readOverrides } from '../common/overrides.ts'
import { openaiErrorBody } from './error.ts'
import { openaiEmbeddingsForward } from './forward.ts'

const inputsMax = 2048
const missing = '`input` is missing; send a text, an array of texts, or token ids'

/**
 * The fields that name a host, a key or a function are typed as the specification says and then
 * forgotten: a client never chooses where its call goes or whose key pays (CVE-2024-6587).
 */
const embeddingChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['model', stringField('model')],
  ['input', (value, problems) => checkTexts({ field: 'input', most: inputsMax, emptyAllowed: false }, value, problems)],
  ['encoding_format', oneOf(['encoding_format'], ['float', 'base64'])],
  ['dimensions', integerBetween('dimensions', 1)],
  ['user', stringField('user')],
  ['timeout', numberBetween('timeout', 0, timeoutMostS)],
  ['api_base', stringField('api_base')],
  ['api_version', stringField('api_version')],
  ['api_key', stringField('api_key')],
  ['api_type', stringField('api_type')],
  ['caching', booleanField('caching')],
  ['custom_llm_provider', checkProviderName],
  ['proxy_call_id', stringField('proxy_call_id')],
  ['proxy_logging_obj', objectField('proxy_logging_obj')],
  ['logger_fn', stringField('logger_fn')],
])

function checkProviderName(value: unknown, problems: ProblemList): void {
  if (typeof value !== 'string' && !isObject(value))
    problems.wrong(['custom_llm_provider'], 'a string or an object', value)
}

const knownFields: ReadonlySet<string> = new Set(['model', 'input', 'encoding_format', 'dimensions', 'user'])

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, embeddingChecks, list)
  if (!body.has('input') || (body.sizeOf('input') <= 4 && readField(body, 'input') === null))
    list.add(['input'], missing, 'missing')
  return {
    model: textOf(body, 'model'),
    stream: false,
    endUser: textOf(body, 'user'),
    problems: list.problems,
  }
}

function inputsOf(input: unknown): (string | number[])[] {
  if (typeof input === 'string') return [input]
  const list = input as (string | number | number[])[]
  return typeof list[0] === 'number' ? [list as number[]] : (list as (string | number[])[])
}

function decode(body: JsonBody): EmbeddingsRequest {
  const fields: Fields = parseChecked(body, embeddingChecks)
  const request: EmbeddingsRequest = {
    model: typeof fields.model === 'string' ? fields.model : '',
    inputs: inputsOf(fields.input),
    encoding: fields.encoding_format === 'base64' ? 'base64' : 'float',
    extra: { format: 'openai-embeddings', fields: unknownFields(fields, knownFields) },
  }
  if (typeof fields.dimensions === 'number') request.dimensions = fields.dimensions
  if (typeof fields.user === 'string') request.user = fields.user
  return request
}

/** Base64 of little-endian float32, as every SDK decodes it: all machines this runs on are little-endian. */
function base64Of(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}

function encodeVector(vector: Float32Array, index: number, encoding: 'float' | 'base64'): object {
  // JSON has no word for these: they would arrive as null.
  if (!vector.every(Number.isFinite))
    throw new GatewayError('upstream-broken', `the upstream's vector ${index} holds a value that is not a number`)
  const embedding = encoding === 'base64' ? base64Of(vector) : Array.from(vector)
  return { object: 'embedding', index, embedding }
}

/** Throws `upstream-broken` when there is not one finite vector for each input. */
function encode(result: EmbeddingsResult, model: string, request: EmbeddingsRequest): object {
  if (result.vectors.length !== request.inputs.length)
    throw new GatewayError(
      'upstream-broken',
      `the upstream answered ${result.vectors.length} vectors for ${request.inputs.length} inputs`,
    )
  return {
    object: 'list',
    data: result.vectors.map((vector, index) => encodeVector(vector, index, request.encoding)),
    model,
    usage: { prompt_tokens: result.usage.inputTokens, total_tokens: result.usage.inputTokens },
  }
}

/** `/v1/embeddings`. */
export const openaiEmbeddings: EmbeddingsFormat = {
  dialect: 'openai-embeddings',
  operation: 'embeddings',
  inspect,
  overrides: readOverrides,
  decode,
  encode,
  errorBody: openaiErrorBody,
  forward: openaiEmbeddingsForward,
}
