/** Pictures (OpenAI API reference, "Images"): made from words as JSON, edited and varied as forms. */
import type { Source } from '../../core/hub/chat.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import * as type from '../../core/dialects/fields.ts'
import type { ForwardedAnswer, ForwardRules, Inspection, UnaryFormat, UploadFormat } from '../../core/format.ts'
import type { ImagesRequest, ImagesResult } from '../../core/hub/images.ts'
import type { Dialect } from '../../core/provider.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, parseChecked, ProblemList, readField, textOf } from '../common/field-checks.ts'
import type { CheckedField } from '../common/field-checks.ts'
import { checkRequired, fieldTable, readFields } from '../common/field-table.ts'
import type { FieldTable } from '../common/field-table.ts'
import { fileField, uploadedFile } from './form-files.ts'
import { readOverrides } from '../common/overrides.ts'
import { openaiErrorBody } from './error.ts'
import { commonEdits } from '../common/forward-edits.ts'
import { editedAnswer, readAnswerWith } from '../common/whole-answer.ts'
import { MediaEventRelay, readMediaUsage } from './media.ts'
import type { Json } from '../../lib/json/json-values.ts'

const countMax = 10
const editedImagesMax = 16

/** Fields of all three operations. Sizes, qualities and styles are each model's own. */
const sharedFields: readonly CheckedField<ImagesRequest>[] = [
  { name: 'model', schema: type.text },
  { name: 'n', schema: type.integer(1, countMax), property: 'count' },
  { name: 'size', schema: type.text, property: 'size' },
  { name: 'quality', schema: type.text, property: 'quality' },
  { name: 'style', schema: type.text, property: 'style' },
  { name: 'background', schema: type.text, property: 'background' },
  { name: 'moderation', schema: type.text, extra: true },
  { name: 'output_format', schema: type.text, property: 'outputFormat' },
  { name: 'output_compression', schema: type.integer(0, 100), extra: true },
  { name: 'response_format', schema: type.oneOf('url', 'b64_json'), property: 'response' },
  { name: 'user', schema: type.text, property: 'user' },
  { name: 'stream', schema: type.boolean },
  { name: 'partial_images', schema: type.integer(0, 3) },
]

/** The fields of the body, with their checks. */
export const generationTable = fieldTable<ImagesRequest>([
  { name: 'prompt', schema: type.filledText, required: 'a description of the picture' },
  ...sharedFields,
])

/** The fields of the body, with their checks. */
export const editTable = fieldTable<ImagesRequest>(
  [
    {
      name: 'image',
      schema: type.anyOf(uploadedFile, { type: 'array', items: uploadedFile }),
      required: 'a file',
      check: fileField('image', editedImagesMax),
    },
    { name: 'mask', schema: uploadedFile, check: fileField('mask') },
    { name: 'prompt', schema: type.filledText, required: 'a description of the edit' },
    ...sharedFields,
  ],
  { form: true },
)

/** The fields of the body, with their checks. */
export const variationTable = fieldTable<ImagesRequest>(
  [
    { name: 'image', schema: uploadedFile, required: 'a file', check: fileField('image') },
    { name: 'prompt', schema: type.filledText },
    ...sharedFields,
  ],
  { form: true },
)

/** In a form `stream` is the text `true`. */
function inspector(table: FieldTable<ImagesRequest>): (body: JsonBody) => Inspection {
  return body => {
    const list = new ProblemList()
    checkFields(body, table.checks, list)
    checkRequired(body, table, list)
    const stream = readField(body, 'stream')
    return {
      model: textOf(body, 'model'),
      stream: stream === true || (typeof stream === 'string' && /^true$/i.test(stream)),
      endUser: textOf(body, 'user'),
      problems: list.problems,
    }
  }
}

function decode(body: JsonBody): ImagesRequest {
  const fields: Json = parseChecked(body)
  if (fields.stream === true)
    throw unprocessable([
      {
        loc: ['body', 'stream'],
        msg: 'is not offered by this model; leave it out to get the pictures at once',
        type: 'unsupported',
      },
    ])
  const request: ImagesRequest = {
    model: textOf(body, 'model'),
    prompt: fields.prompt as string,
    // Bytes stay bytes: an address is only made where the body asks for one.
    response: 'b64_json',
    extra: { format: 'openai-images', fields: {} },
  }
  readFields(fields, generationTable, request, request.extra.fields)
  return request
}

/** Bytes can become an address (`data:`); an address stays one, because nothing is fetched here. */
function encodeImage(source: Source, response: ImagesRequest['response']): Record<string, string> {
  if ('url' in source) return { url: source.url }
  if (!('data' in source))
    throw new GatewayError('upstream-broken', 'the upstream answered with a picture that only it can read')
  return response === 'url' ? { url: `data:${source.mediaType};base64,${source.data}` } : { b64_json: source.data }
}

function encode({ createdS, images, usage }: ImagesResult, _model: string, request: ImagesRequest): object {
  const tokens = usage && usage.inputTokens + usage.outputTokens
  return {
    created: createdS,
    data: images.map(({ source, revisedPrompt }) => ({
      ...encodeImage(source, request.response),
      ...(revisedPrompt !== undefined && { revised_prompt: revisedPrompt }),
    })),
    ...(usage &&
      tokens && {
        usage: {
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          total_tokens: tokens,
          input_tokens_details: { text_tokens: usage.inputTokens, image_tokens: 0 },
        },
      }),
  }
}

function answer(bytes: Uint8Array, publicModel: string): ForwardedAnswer {
  const body = readAnswerWith(bytes, 'data')
  const pictures = body.get('data') as unknown[]
  const reported = readMediaUsage(body.get('usage'))
  const usage: Usage = { ...(reported ?? { inputTokens: 0, outputTokens: 0 }), images: pictures.length }
  // Answers with pictures name no model; where one does, it is the client's name for it.
  const edits = body.has('model') ? [{ set: 'model', json: JSON.stringify(publicModel) }] : []
  return { body: editedAnswer(body, edits), usage }
}

const imagesForward: ForwardRules = {
  edits: commonEdits,
  answer,
  relay: (_publicModel, body) =>
    new MediaEventRelay({
      last: ['image_generation.completed', 'image_edit.completed'],
      lastCount: Math.max(Number(body.get('n') ?? 1), 1),
    }),
}

/** `/v1/images/generations`. */
export const openaiImages: UnaryFormat<'images'> = {
  dialect: 'openai-images',
  operation: 'images',
  fieldNames: generationTable.names,
  inspect: inspector(generationTable),
  overrides: readOverrides,
  decode,
  encode,
  errorBody: openaiErrorBody,
  forward: imagesForward,
}

function uploadFormat(dialect: Dialect, table: FieldTable<ImagesRequest>): UploadFormat {
  return {
    dialect,
    operation: 'images',
    multipart: true,
    fieldNames: table.names,
    inspect: inspector(table),
    errorBody: openaiErrorBody,
    forward: imagesForward,
  }
}

/** `/v1/images/edits`. */
export const openaiImageEdits = uploadFormat('openai-image-edits', editTable)
/** `/v1/images/variations`. */
export const openaiImageVariations = uploadFormat('openai-image-variations', variationTable)
