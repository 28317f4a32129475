/** Speech from text (OpenAI API reference, "Create speech"): JSON in, audio or events out as they come. */
import type { Inspection, SpeechFormat } from '../../core/format.ts'
import { GatewayError } from '../../core/errors.ts'
import * as type from '../../core/dialects/fields.ts'
import type { SpeechRequest } from '../../core/hub/speech.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, parseChecked, ProblemList, textOf } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { checkRequired, fieldTable, readFields } from '../common/field-table.ts'
import { readOverrides } from '../common/overrides.ts'
import { openaiErrorBody } from './error.ts'
import { commonEdits } from '../common/forward-edits.ts'
import { ByteRelay, MediaEventRelay } from './media.ts'

/** The fields of the body, with their checks. */
export const speechTable = fieldTable<SpeechRequest>([
  { name: 'model', schema: type.text },
  { name: 'input', schema: type.filledText, required: 'the text to be spoken' },
  {
    name: 'voice',
    schema: type.anyOf(type.text, { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }),
    required: 'the name of a voice',
    check(value, problems) {
      const isNamed = typeof value === 'string' || (isObject(value) && typeof value.id === 'string')
      if (!isNamed) problems.wrong(['voice'], 'the name of a voice, or {"id": ...} of a custom one', value)
    },
  },
  { name: 'instructions', schema: type.text, property: 'instructions' },
  // Vendors have further formats: which ones a model makes, only its upstream knows.
  { name: 'response_format', schema: type.text, property: 'format' },
  { name: 'speed', schema: type.number(0.25, 4), property: 'speed' },
  { name: 'stream_format', schema: type.oneOf('sse', 'audio') },
])

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, speechTable.checks, list)
  checkRequired(body, speechTable, list)
  return {
    model: textOf(body, 'model'),
    stream: textOf(body, 'stream_format') === 'sse',
    endUser: '',
    problems: list.problems,
  }
}

function decode(body: JsonBody): SpeechRequest {
  const fields = parseChecked(body)
  const { voice } = fields
  const request: SpeechRequest = {
    model: textOf(body, 'model'),
    input: fields.input as string,
    voice: isObject(voice) ? (voice.id as string) : (voice as string),
    // Unless the body says otherwise, as in the API.
    format: 'mp3',
    extra: { format: 'openai-speech', fields: {} },
  }
  readFields(fields, speechTable, request, request.extra.fields)
  return request
}

/** `/v1/audio/speech`. */
export const openaiSpeech: SpeechFormat = {
  dialect: 'openai-speech',
  operation: 'speech',
  streaming: 'as-upstream',
  fieldNames: speechTable.names,
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
        ? new MediaEventRelay({ last: ['speech.audio.done'], lastCount: 1 })
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
