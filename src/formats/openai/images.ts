/** Pictures (OpenAI API reference, "Images"): made from words as JSON, edited and varied as forms. */
import type { Source } from '../../core/chat.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { ForwardedAnswer, ForwardRules, Inspection, UnaryFormat, UploadFormat } from '../../core/format.ts'
import type { ImagesRequest, ImagesResult } from '../../core/images.ts'
import type { Dialect } from '../../core/provider.ts'
import type { Usage } from '../../core/usage.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { fileField, formBoolean, formNumber } from '../common/form-checks.ts'
import {
  booleanField,
  checkFields,
  integerBetween,
  oneOf,
  parseChecked,
  ProblemList,
  readField,
  stringField,
  textOf,
  unknownFields,
} from '../common/field-checks.ts'
import type { Check, Fields } from '../common/field-checks.ts'
import { readOverrides } from '../common/overrides.ts'
import { openaiErrorBody } from './error.ts'
import { commonEdits, readAnswer } from './forward.ts'
import { EventRelay, readMediaUsage } from './media.ts'

const countMax = 10
const editedImagesMax = 16

function checkPrompt(value: unknown, problems: ProblemList): void {
  if (typeof value !== 'string') problems.wrong(['prompt'], 'a string', value)
  else if (value === '') problems.outOfRange(['prompt'], 'a string that is not empty', value)
}

/** Fields of all three operations. Sizes, qualities and styles are each model's own. */
const sharedChecks: readonly (readonly [string, Check])[] = [
  ['model', stringField('model')],
  ['prompt', checkPrompt],
  ['size', stringField('size')],
  ['quality', stringField('quality')],
  ['style', stringField('style')],
  ['background', stringField('background')],
  ['moderation', stringField('moderation')],
  ['output_format', stringField('output_format')],
  ['response_format', oneOf(['response_format'], ['url', 'b64_json'])],
  ['user', stringField('user')],
]

const generationChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...sharedChecks,
  ['n', integerBetween('n', 1, countMax)],
  ['output_compression', integerBetween('output_compression', 0, 100)],
  ['stream', booleanField('stream')],
  ['partial_images', integerBetween('partial_images', 0, 3)],
])

const formChecks: readonly (readonly [string, Check])[] = [
  ...sharedChecks,
  ['n', formNumber('n', 1, countMax)],
  ['output_compression', formNumber('output_compression', 0, 100)],
  ['stream', formBoolean('stream')],
  ['partial_images', formNumber('partial_images', 0, 3)],
]

const editChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...formChecks,
  ['image', fileField('image', editedImagesMax)],
  ['mask', fileField('mask')],
])

const variationChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...formChecks,
  ['image', fileField('image')],
])

const knownFields: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'n',
  'size',
  'quality',
  'style',
  'background',
  'output_format',
  'response_format',
  'user',
  'stream',
  'partial_images',
])

interface Rules {
  readonly checks: ReadonlyMap<string, Check>
  readonly required: Readonly<Record<string, string>>
}

/** In a form `stream` is the text `true`. */
function inspector({ checks, required }: Rules): (body: JsonBody) => Inspection {
  return body => {
    const list = new ProblemList()
    checkFields(body, checks, list)
    for (const [field, what] of Object.entries(required))
      if (!body.has(field) || (body.sizeOf(field) <= 4 && readField(body, field) === null))
        list.wrong([field], what, undefined)
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
  const fields: Fields = parseChecked(body, generationChecks)
  if (fields.stream === true)
    throw unprocessable([
      {
        loc: ['body', 'stream'],
        msg: 'is not offered by this model; leave it out to get the pictures at once',
        type: 'unsupported',
      },
    ])
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
  const [size, quality, style, background, outputFormat, user] = [
    'size',
    'quality',
    'style',
    'background',
    'output_format',
    'user',
  ].map(text)
  return {
    model: textOf(body, 'model'),
    prompt: fields.prompt as string,
    ...(typeof fields.n === 'number' && { count: fields.n }),
    ...(size !== undefined && { size }),
    ...(quality !== undefined && { quality }),
    ...(style !== undefined && { style }),
    ...(background !== undefined && { background }),
    ...(outputFormat !== undefined && { outputFormat }),
    ...(user !== undefined && { user }),
    // Without a override bytes stay bytes: an address is only made where one was asked for.
    response: fields.response_format === 'url' ? 'url' : 'b64_json',
    extra: { format: 'openai-images', fields: unknownFields(fields, knownFields) },
  }
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
  const body = readAnswer(bytes, 'data')
  const pictures = body.get('data')
  if (!Array.isArray(pictures))
    throw new GatewayError('upstream-broken', "the upstream's `data` is no list of pictures")
  const reported = readMediaUsage(body.get('usage'))
  const usage: Usage = { ...(reported ?? { inputTokens: 0, outputTokens: 0 }), images: pictures.length }
  // Answers with pictures name no model; where one does, it is the client's name for it.
  const edits = body.has('model') ? [{ set: 'model', json: JSON.stringify(publicModel) }] : []
  const pieces = body.edited(edits)
  return { body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), usage }
}

const imagesForward: ForwardRules = {
  edits: commonEdits,
  answer,
  relay: (_publicModel, body) =>
    new EventRelay({
      last: ['image_generation.completed', 'image_edit.completed'],
      lastCount: Math.max(Number(body.get('n') ?? 1), 1),
    }),
}

/** `/v1/images/generations`. */
export const openaiImages: UnaryFormat<'images'> = {
  dialect: 'openai-images',
  operation: 'images',
  inspect: inspector({ checks: generationChecks, required: { prompt: 'a description of the picture' } }),
  overrides: readOverrides,
  decode,
  encode,
  errorBody: openaiErrorBody,
  forward: imagesForward,
}

function uploadFormat(dialect: Dialect, rules: Rules): UploadFormat {
  return {
    dialect,
    operation: 'images',
    multipart: true,
    inspect: inspector(rules),
    errorBody: openaiErrorBody,
    forward: imagesForward,
  }
}

/** `/v1/images/edits`. */
export const openaiImageEdits = uploadFormat('openai-image-edits', {
  checks: editChecks,
  required: { image: 'a file', prompt: 'a description of the edit' },
})
/** `/v1/images/variations`. */
export const openaiImageVariations = uploadFormat('openai-image-variations', {
  checks: variationChecks,
  required: { image: 'a file' },
})
