/** Answers about pictures and sound (OpenAI API reference, "Images", "Audio"). */
import {
  bytes,
  constant,
  described,
  either,
  integer,
  listOf,
  nullable,
  number,
  oneOf,
  reference,
  shape,
  text,
  unixSeconds,
} from './schema.ts'
import type { Properties, Schema, Success } from './schema.ts'

const base64 = described('Base64.', text)
const look = { size: text, quality: text, background: text, output_format: text }
const imageEvent = (type: string, fields: Properties, optional: Properties = {}): Schema =>
  shape({ type: constant(type), ...fields }, { ...look, created_at: unixSeconds, ...optional })
const imageEvents = (kind: string): Schema[] => [
  imageEvent(`${kind}.partial_image`, { b64_json: base64 }, { partial_image_index: integer }),
  imageEvent(`${kind}.completed`, { b64_json: base64 }, { usage: reference('ImagesUsage') }),
]
const tokenCounts = { input_tokens: integer, output_tokens: integer, total_tokens: integer }

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

/** By their names under `#/components/schemas/`. */
export const mediaAnswerSchemas: Readonly<Record<string, Schema>> = {
  ImagesUsage: shape(tokenCounts, {
    input_tokens_details: shape({}, { text_tokens: integer, image_tokens: integer }),
    output_tokens_details: shape({}, { text_tokens: integer, image_tokens: integer }),
  }),
  Images: shape(
    {
      created: unixSeconds,
      data: listOf(
        shape(
          {},
          {
            url: described('An address, or a `data:` URL.', text),
            b64_json: base64,
            revised_prompt: text,
          },
        ),
      ),
    },
    { ...look, usage: reference('ImagesUsage') },
  ),
  ImageStream: either(...imageEvents('image_generation'), ...imageEvents('image_edit'), reference('Error')),
  SpeechStream: either(
    shape({ type: constant('speech.audio.delta'), audio: base64 }),
    shape({ type: constant('speech.audio.done') }, { usage: shape(tokenCounts) }),
    reference('Error'),
  ),
  TranscriptionUsage: either(
    shape(
      { type: constant('tokens'), ...tokenCounts },
      { input_token_details: shape({}, { text_tokens: integer, audio_tokens: integer }) },
    ),
    shape({ type: constant('duration'), seconds: number }),
  ),
  Transcription: shape(
    { text },
    {
      task: oneOf('transcribe', 'translate'),
      language: text,
      duration: described('Seconds.', number),
      segments: listOf(either(segment, speakerSegment)),
      words: listOf(shape({ word: text, start: number, end: number })),
      logprobs,
      usage: reference('TranscriptionUsage'),
    },
  ),
  TranscriptionStream: either(
    shape({ type: constant('transcript.text.delta'), delta: text }, { logprobs, segment_id: text }),
    speakerSegment,
    shape({ type: constant('transcript.text.done'), text }, { logprobs, usage: reference('TranscriptionUsage') }),
    reference('Error'),
  ),
}

/** Sound in the format that was requested, or events with `stream_format: "sse"`. */
export const speechSuccess: Success = { 'audio/*': bytes, 'text/event-stream': reference('SpeechStream') }

/** JSON with `json`, `verbose_json` and `diarized_json`; the text itself with `text`, `srt` and `vtt`. */
export const textsOfSound: Success = {
  'application/json': reference('Transcription'),
  'text/plain': described('With `text` and `srt`.', text),
  'text/vtt': described('With `vtt`.', text),
}

/** As `textsOfSound`, and events for models that stream. */
export const transcriptionSuccess: Success = { ...textsOfSound, 'text/event-stream': reference('TranscriptionStream') }
