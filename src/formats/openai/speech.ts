/** Speech from text (OpenAI API reference, "Create speech"): JSON in, audio or events out as they come. */
import type { Inspection, SpeechFormat } from '../../core/format.ts'
import { GatewayError } from '../../core/errors.ts'
import type { SpeechRequest } from '../../core/speech.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import {
  checkFields,
  isObject,
  numberBetween,
  oneOf,
  parseChecked,
  ProblemList,
  readField,
  stringField,
  textOf,
  unknownFields,
} from '../common/field-checks.ts'
import type { Check } from '../common/field-checks.ts'
import { readOverrides } from '../common/overrides.ts'
import { openaiErrorBody } from './error.ts'
import { commonEdits } from './forward.ts'
import { ByteRelay, EventRelay } from './media.ts'

const speechChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['model', stringField('model')],
  [
    'input',
    (value, problems) => {
      if (typeof value !== 'string') problems.wrong(['input'], 'a string', value)
      else if (value === '') problems.outOfRange(['input'], 'a string that is not empty', value)
    },
  ],
  [
    'voice',
    (value, problems) => {
      const isNamed = typeof value === 'string' || (isObject(value) && typeof value.id === 'string')
      if (!isNamed) problems.wrong(['voice'], 'the name of a voice, or {"id": ...} of a custom one', value)
    },
  ],
  ['instructions', stringField('instructions')],
  // Vendors have further formats: which ones a model makes, only its upstream knows.
  ['response_format', stringField('response_format')],
  ['speed', numberBetween('speed', 0.25, 4)],
  ['stream_format', oneOf(['stream_format'], ['sse', 'audio'])],
])

const knownFields: ReadonlySet<string> = new Set([...speechChecks.keys()])

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, speechChecks, list)
  for (const field of ['input', 'voice'])
    if (!body.has(field) || (body.sizeOf(field) <= 4 && readField(body, field) === null))
      list.wrong([field], field === 'input' ? 'the text to be spoken' : 'the name of a voice', undefined)
  return {
    model: textOf(body, 'model'),
    stream: textOf(body, 'stream_format') === 'sse',
    endUser: '',
    problems: list.problems,
  }
}

function decode(body: JsonBody): SpeechRequest {
  const fields = parseChecked(body, speechChecks)
  const { voice } = fields
  return {
    model: textOf(body, 'model'),
    input: fields.input as string,
    voice: isObject(voice) ? (voice.id as string) : (voice as string),
    // What the API makes when nothing is said.
    format: typeof fields.response_format === 'string' ? fields.response_format : 'mp3',
    ...(typeof fields.instructions === 'string' && { instructions: fields.instructions }),
    ...(typeof fields.speed === 'number' && { speed: fields.speed }),
    extra: { format: 'openai-speech', fields: unknownFields(fields, knownFields) },
  }
}

/** `/v1/audio/speech`. */
export const openaiSpeech: SpeechFormat = {
  dialect: 'openai-speech',
  operation: 'speech',
  streaming: 'as-upstream',
  inspect,
  overrides: readOverrides,
  decode,
  errorBody: openaiErrorBody,
  forward: {
    edits: commonEdits,
    answer() {
      throw new GatewayError('internal', 'speech is never answered as a whole on the forward lane')
    },
    relay: (_publicModel, _body, contentType = '') =>
      contentType.startsWith('text/event-stream')
        ? new EventRelay({ last: ['speech.audio.done'], lastCount: 1 })
        : new ByteRelay(),
    // JSON, HTML or text under a good status is no audio.
    streamTypes: [
      'audio/',
      'text/event-stream',
      'application/octet-stream',
      'binary/octet-stream',
      'application/ogg',
      'video/ogg',
    ],
  },
}
