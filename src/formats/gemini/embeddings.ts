/** `embedContent` and `batchEmbedContents` (ai.google.dev/api/embeddings). */
import { brokenAnswer } from '../../core/errors.ts'
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import * as type from '../../core/dialects/fields.ts'
import type { EmbeddingsFormat, Inspection } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, isInteger, parseChecked, ProblemList } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Path } from '../common/field-checks.ts'
import { fieldTable, readFields } from '../common/field-table.ts'
import { untranslatable } from '../common/untranslatable.ts'
import { geminiErrorBody } from './error.ts'
import { noForward } from './inner-model-name.ts'
import { checkContent } from './inspect-contents.ts'
import { camel, checkSpelling, entryPath, listOrOne, objectsOrOne, snakeName } from './json-names.ts'

const requestsMax = 2048

function checkRequest(fields: Json, path: Path, problems: ProblemList): void {
  checkSpelling(fields, path, problems)
  const { content, taskType, title, outputDimensionality } = camel(fields)
  if (content == null) problems.wrong([...path, 'content'], '{"parts": [{"text": ...}]}', content)
  else checkContent(content, [...path, 'content'], problems)
  for (const [name, value] of Object.entries({ taskType, title }))
    if (value != null && typeof value !== 'string') problems.wrong([...path, name], 'a string', value)
  if (outputDimensionality != null && !isInteger(outputDimensionality, 1, Number.MAX_SAFE_INTEGER))
    problems.wrong([...path, 'outputDimensionality'], 'an integer of at least 1', outputDimensionality)
}

function checkRequests(value: unknown, problems: ProblemList): void {
  const list = listOrOne(value)
  if (list.length === 0 || list.length > requestsMax)
    return problems.add(
      ['requests'],
      `\`requests\` must have 1 to ${requestsMax} entries; got ${list.length}`,
      'out_of_range',
    )
  for (let at = 0; at < list.length && !problems.full; at++) {
    const path = entryPath(['requests'], value, at)
    const one = list[at]
    if (isObject(one)) checkRequest(one, path, problems)
    else problems.wrong(path, 'an object with `content`', one)
  }
}

/** One request. `checkRequest` looks at its fields, because it may also stand in a list. */
export const embedTable = fieldTable<Settings>(
  [
    { name: 'model', schema: type.anything, description: 'It is not read here, as the model stands in the path.' },
    { name: 'content', schema: { type: 'object' }, required: true },
    { name: 'taskType', schema: type.text, extra: true },
    { name: 'title', schema: type.text, extra: true },
    { name: 'outputDimensionality', schema: type.integer(1), property: 'dimensions' },
  ],
  { alias: snakeName },
)
const batchTable = fieldTable([{ name: 'requests', schema: type.objects, required: true, check: checkRequests }])

function inspectOne(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkRequest(body.shape(), [], list)
  return { model: '', stream: false, endUser: '', problems: list.problems }
}

function inspectBatch(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, batchTable.checks, list)
  if (body.get('requests') == null) list.wrong(['requests'], 'an array of {"content": ...}', undefined)
  return { model: '', stream: false, endUser: '', problems: list.problems }
}

/** One request for all: other vendors take the same settings for all inputs of a call, so others are refused. */
function decodeRequests(requests: readonly { fields: Json; path: Path }[]): EmbeddingsRequest {
  const [first] = requests
  const common = settingsOf(first!.fields)
  for (const { fields, path } of requests.slice(1))
    if (!Bun.deepEquals(settingsOf(fields), common, true))
      throw untranslatable(path, '`outputDimensionality`, `taskType` and `title` must be the same in all requests here')
  return {
    model: '',
    inputs: requests.map(({ fields, path }) => textOf(fields, path)),
    encoding: 'float',
    ...common.settings,
    extra: { format: 'gemini-embeddings', fields: common.extra },
  }
}

type Settings = Pick<EmbeddingsRequest, 'dimensions'>

function settingsOf(fields: Json): { settings: Settings; extra: Json } {
  const settings: Settings = {}
  const extra: Json = {}
  readFields(fields, embedTable, settings, extra)
  return { settings, extra: camel(extra) }
}

/** The parts of a content make one vector. */
function textOf(fields: Json, path: Path): string {
  const { content } = fields
  const parts = objectsOrOne(isObject(content) ? content.parts : undefined)
  const texts = parts.map((part, at) => {
    if (typeof part.text === 'string') return part.text
    throw untranslatable([...path, 'content', 'parts', at], 'only texts can be embedded here')
  })
  return texts.join('\n')
}

function values(result: EmbeddingsResult, request: EmbeddingsRequest): object[] {
  if (result.vectors.length !== request.inputs.length)
    throw brokenAnswer(`the upstream answered ${result.vectors.length} vectors for ${request.inputs.length} inputs`)
  return result.vectors.map((vector, at) => {
    // JSON has no word for these: they would arrive as null.
    if (!vector.every(Number.isFinite))
      throw brokenAnswer(`the upstream's vector ${at} holds a value that is not a number`)
    return { values: Array.from(vector) }
  })
}

const metadata = ({ usage }: EmbeddingsResult): object =>
  usage.inputTokens > 0
    ? { usageMetadata: { promptTokenCount: usage.inputTokens, totalTokenCount: usage.inputTokens } }
    : {}

const shared = {
  dialect: 'gemini-named-inside',
  operation: 'embeddings',
  errorBody: geminiErrorBody,
  forward: noForward,
} as const

/** One content, all its texts together one vector. `decode` throws `unprocessable` for parts that are no text. */
export const geminiEmbedContent: EmbeddingsFormat = {
  ...shared,
  fieldNames: embedTable.names,
  inspect: inspectOne,
  decode: body => decodeRequests([{ fields: parseChecked(body), path: [] }]),
  encode: (result, _model, request) => ({ embedding: values(result, request)[0], ...metadata(result) }),
}

/** Up to 2048 requests, one vector each, in order. Settings that differ between them are `unprocessable`. */
export const geminiBatchEmbedContents: EmbeddingsFormat = {
  ...shared,
  fieldNames: batchTable.names,
  inspect: inspectBatch,
  decode(body) {
    const { requests } = parseChecked(body)
    return decodeRequests(objectsOrOne(requests).map((fields, at) => ({ fields, path: ['requests', at] })))
  },
  encode: (result, _model, request) => ({ embeddings: values(result, request), ...metadata(result) }),
}
