/** Text from speech (OpenAI API reference, "Create transcription", "Create translation"): forms that are forwarded. */
import { GatewayError } from '../../core/errors.ts'
import type { ForwardedAnswer, Inspection, UploadFormat } from '../../core/format.ts'
import type { AnswerHead } from '../../core/transport.ts'
import type { Dialect } from '../../core/provider.ts'
import type { Usage } from '../../core/usage.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { fileField, formBoolean, formNumber, formTexts } from '../common/form-checks.ts'
import { checkFields, oneOf, ProblemList, stringField, textOf } from '../common/field-checks.ts'
import type { Check } from '../common/field-checks.ts'
import { openaiErrorBody } from './error.ts'
import { commonEdits, readAnswer } from './forward.ts'
import { EventRelay, isDuration, readMediaUsage, WholeRelay } from './media.ts'

const translationFormats = ['json', 'text', 'srt', 'verbose_json', 'vtt']
const transcriptionFormats = [...translationFormats, 'diarized_json']
/** What the formats other than JSON may be announced as; an HTML page is none of them. */
const textTypes = ['text/plain', 'text/vtt', 'text/srt', 'application/x-subrip', 'application/octet-stream']

const sharedChecks: readonly (readonly [string, Check])[] = [
  ['file', fileField('file')],
  ['model', stringField('model')],
  ['prompt', stringField('prompt')],
  ['temperature', formNumber('temperature', 0, 1)],
]

const translationChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...sharedChecks,
  ['response_format', oneOf(['response_format'], translationFormats)],
])

const transcriptionChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...sharedChecks,
  ['response_format', oneOf(['response_format'], transcriptionFormats)],
  ['language', stringField('language')],
  ['languages', formTexts('languages')],
  ['keywords', formTexts('keywords')],
  ['include', formTexts('include')],
  ['stream', formBoolean('stream')],
  ['chunking_strategy', formTexts('chunking_strategy')],
  [
    'timestamp_granularities',
    (value, problems) => {
      const words: unknown[] = Array.isArray(value) ? value : [value]
      for (const word of words) oneOf(['timestamp_granularities'], ['word', 'segment'])(word, problems)
    },
  ],
])

function inspector(checks: ReadonlyMap<string, Check>): (body: JsonBody) => Inspection {
  return body => {
    const list = new ProblemList()
    checkFields(body, checks, list)
    if (!body.has('file')) list.wrong(['file'], 'one file, sent with a filename', undefined)
    return {
      model: textOf(body, 'model'),
      stream: checks.has('stream') && /^true$/i.test(textOf(body, 'stream')),
      endUser: textOf(body, 'user'),
      problems: list.problems,
    }
  }
}

/** The upstream's bytes as they are, with their own content type; usage is read where there is JSON. */
function answer(bytes: Uint8Array, contentType: string): ForwardedAnswer {
  const type = contentType.toLowerCase()
  if (type === '' || type.includes('json')) {
    const body = readAnswer(bytes, 'text')
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

function uploadFormat(dialect: Dialect, checks: ReadonlyMap<string, Check>): UploadFormat {
  return {
    dialect,
    operation: 'transcriptions',
    multipart: true,
    // Models that cannot stream ignore the wish and answer whole (API reference, `stream`).
    streaming: 'as-upstream',
    inspect: inspector(checks),
    errorBody: openaiErrorBody,
    forward: {
      edits: commonEdits,
      answer: (bytes, _publicModel, head?: AnswerHead) => answer(bytes, head?.header('content-type') ?? ''),
      relay: (_publicModel, _body, contentType = '') =>
        contentType.startsWith('text/event-stream')
          ? new EventRelay({ last: ['transcript.text.done'], lastCount: 1 })
          : new WholeRelay(bytes => answer(bytes, contentType)),
      streamTypes: ['text/event-stream', 'application/json', ...textTypes],
    },
  }
}

/** `/v1/audio/transcriptions`. */
export const openaiTranscriptions = uploadFormat('openai-transcriptions', transcriptionChecks)
/** `/v1/audio/translations`: into English. */
export const openaiTranslations = uploadFormat('openai-translations', translationChecks)
