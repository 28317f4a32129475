/** Speech and transcriptions (OpenAI API reference, "Audio"). */
import {
  bytes,
  constant,
  described,
  either,
  integer,
  listOf,
  named,
  nullable,
  number,
  oneOf,
  shape,
  text,
} from '../../openapi/schema.ts'
import type { Success } from '../../openapi/schema.ts'
import { errorSchema } from '../../openapi/errors.ts'

/** Bytes as text. */
export const base64 = described('The bytes are written in base64.', text)
/** Tokens that a call about pictures or sound used. */
export const tokenCounts = { input_tokens: integer, output_tokens: integer, total_tokens: integer }

const segment = shape(
  { id: integer, start: number, end: number, text },
  {
    seek: integer,
    tokens: listOf(integer),
    temperature: number,
    avg_logprob: number,
    compression_ratio: number,
    no_speech_prob: number,
  },
)

const speakerSegment = shape({
  type: constant('transcript.text.segment'),
  id: text,
  start: number,
  end: number,
  text,
  speaker: text,
})

const logprobs = listOf(shape({ token: text, logprob: number }, { bytes: nullable(listOf(integer)) }))

const speechStreamSchema = named('SpeechStream', () =>
  either(
    shape({ type: constant('speech.audio.delta'), audio: base64 }),
    shape({ type: constant('speech.audio.done') }, { usage: shape(tokenCounts) }),
    errorSchema,
  ),
)

/** Speech is sound in the format that was requested, or events with `stream_format: "sse"`. */
export const speech: Success = { 'audio/*': bytes, 'text/event-stream': speechStreamSchema }

const transcriptionSchema = named('Transcription', () =>
  shape(
    { text },
    {
      task: oneOf('transcribe', 'translate'),
      language: text,
      duration: described('The span is given in seconds.', number),
      segments: listOf(either(segment, speakerSegment)),
      words: listOf(shape({ word: text, start: number, end: number })),
      logprobs,
      usage: transcriptionUsageSchema,
    },
  ),
)

/** A translation is JSON with `json`, `verbose_json` and `diarized_json`, else the text itself. */
export const translations: Success = {
  'application/json': transcriptionSchema,
  'text/plain': described('It is answered with `text` and `srt`.', text),
  'text/vtt': described('It is answered with the format `vtt`.', text),
}

const transcriptionStreamSchema = named('TranscriptionStream', () =>
  either(
    shape({ type: constant('transcript.text.delta'), delta: text }, { logprobs, segment_id: text }),
    speakerSegment,
    shape({ type: constant('transcript.text.done'), text }, { logprobs, usage: transcriptionUsageSchema }),
    errorSchema,
  ),
)

/** A transcription is answered as a translation is, and as events for models that stream. */
export const transcriptions: Success = { ...translations, 'text/event-stream': transcriptionStreamSchema }

const transcriptionUsageSchema = named('TranscriptionUsage', () =>
  either(
    shape(
      { type: constant('tokens'), ...tokenCounts },
      { input_token_details: shape({}, { text_tokens: integer, audio_tokens: integer }) },
    ),
    shape({ type: constant('duration'), seconds: number }),
  ),
)
