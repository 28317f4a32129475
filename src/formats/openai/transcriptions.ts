/** Text from speech (OpenAI API reference, "Create transcription", "Create translation"): forms that are forwarded. */
import { GatewayError } from '../../core/errors.ts'
import * as type from '../../core/dialects/fields.ts'
import type { ForwardedAnswer, Inspection, UploadFormat } from '../../core/format.ts'
import type { AnswerHead } from '../../core/transport.ts'
import type { Dialect } from '../../core/provider.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, ProblemList, textOf } from '../common/field-checks.ts'
import type { CheckedField } from '../common/field-checks.ts'
import { checkRequired, fieldTable } from '../common/field-table.ts'
import type { FieldTable } from '../common/field-table.ts'
import { fileField, uploadedFile } from './form-files.ts'
import { oneOf } from '../common/plain-checks.ts'
import { openaiErrorBody } from './error.ts'
import { commonEdits } from '../common/forward-edits.ts'
import { readAnswerWith } from '../common/whole-answer.ts'
import { MediaEventRelay, isDuration, readMediaUsage, WholeRelay } from './media.ts'

const translationFormats = ['json', 'text', 'srt', 'verbose_json', 'vtt']
const transcriptionFormats = [...translationFormats, 'diarized_json']
/** What the formats other than JSON may be announced as; an HTML page is none of them. */
const textTypes = ['text/plain', 'text/vtt', 'text/srt', 'application/x-subrip', 'application/octet-stream']

const sharedFields: readonly CheckedField[] = [
  { name: 'file', schema: uploadedFile, required: 'one file, sent with a filename', check: fileField('file') },
  { name: 'model', schema: type.text, required: true },
  { name: 'prompt', schema: type.text },
  { name: 'temperature', schema: type.number(0, 1) },
]

/** The fields of the body, with their checks. */
export const translationTable = fieldTable(
  [...sharedFields, { name: 'response_format', schema: type.oneOf(...translationFormats) }],
  { form: true },
)

const checkGranularity = oneOf(['timestamp_granularities'], ['word', 'segment'])

/** The fields of the body, with their checks. */
export const transcriptionTable = fieldTable(
  [
    ...sharedFields,
    { name: 'response_format', schema: type.oneOf(...transcriptionFormats) },
    { name: 'language', schema: type.text },
    { name: 'languages', schema: type.texts },
    { name: 'keywords', schema: type.texts },
    { name: 'include', schema: type.texts },
    { name: 'stream', schema: type.boolean },
    { name: 'chunking_strategy', schema: type.texts },
    {
      name: 'timestamp_granularities',
      schema: { type: 'array', items: { enum: ['word', 'segment'] } },
      check(value, problems) {
        for (const word of Array.isArray(value) ? value : [value]) checkGranularity(word, problems)
      },
    },
  ],
  { form: true },
)

function inspector(table: FieldTable<object>): (body: JsonBody) => Inspection {
  return body => {
    const list = new ProblemList()
    checkFields(body, table.checks, list)
    checkRequired(body, table, list)
    return {
      model: textOf(body, 'model'),
      stream: table.checks.has('stream') && /^true$/i.test(textOf(body, 'stream')),
      endUser: textOf(body, 'user'),
      problems: list.problems,
    }
  }
}

/** The upstream's bytes as they are, with their own content type; usage is read where there is JSON. */
function answer(bytes: Uint8Array, contentType: string): ForwardedAnswer {
  const type = contentType.toLowerCase()
  if (type === '' || type.includes('json')) {
    const body = readAnswerWith(bytes, 'text', 'text')
    return { body: bytes, usage: usageOf(body), contentType: contentType || 'application/json' }
  }
  if (!textTypes.some(one => type.startsWith(one)))
    throw new GatewayError('upstream-broken', `the upstream answered a transcription with ${type}`)
  return { body: bytes, usage: undefined, contentType }
}

function usageOf(body: JsonBody): Usage | undefined {
  const usage = readMediaUsage(body.get('usage'))
  if (usage) return usage
  // verbose_json of older models: a duration and no usage.
  const duration = body.get('duration')
  const seconds = typeof duration === 'string' ? Number(duration) : duration
  return isDuration(seconds) ? { inputTokens: 0, outputTokens: 0, audioSeconds: seconds } : undefined
}

function uploadFormat(dialect: Dialect, table: FieldTable<object>): UploadFormat {
  return {
    dialect,
    operation: 'transcriptions',
    multipart: true,
    // Models that cannot stream ignore `stream` and answer whole (API reference, `stream`).
    streaming: 'as-upstream',
    fieldNames: table.names,
    inspect: inspector(table),
    errorBody: openaiErrorBody,
    forward: {
      edits: commonEdits,
      answer: (bytes, _publicModel, head?: AnswerHead) => answer(bytes, head?.header('content-type') ?? ''),
      relay: (_publicModel, _body, contentType = '') =>
        contentType.startsWith('text/event-stream')
          ? new MediaEventRelay({ last: ['transcript.text.done'], lastCount: 1 })
          : new WholeRelay(bytes => answer(bytes, contentType)),
      streamTypes: ['text/event-stream', 'application/json', ...textTypes],
    },
  }
}

/** `/v1/audio/transcriptions`. */
export const openaiTranscriptions = uploadFormat('openai-transcriptions', transcriptionTable)
/** `/v1/audio/translations`: into English. */
export const openaiTranslations = uploadFormat('openai-translations', translationTable)
