/** Simulated transcription: the text describes the file and says that no speech was recognised. */
import type { InProcessAnswer, InProcessFile } from '../../core/provider.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { readAudioFile } from './audio-file.ts'
import type { AudioFile } from './audio-file.ts'
import { LocalRefusal } from './refusal.ts'

const formats = ['json', 'text', 'srt', 'vtt', 'verbose_json']
const plainText = 'text/plain; charset=utf-8'

/**
 * Answers the fields of a transcription or translation form in each of OpenAI's `response_format`s. Throws LocalRefusal
 * for files that are not audio, and for formats with times where the duration is unknown.
 */
export function answerTranscription(
  task: 'transcribe' | 'translate',
  body: Json,
  files: readonly InProcessFile[],
): InProcessAnswer {
  const file = files.find(one => one.field === 'file')
  if (!file) throw new LocalRefusal('file', '`file` is missing; send an audio file')
  const audio = readAudioFile(file.head, file.bytes)
  if (!audio)
    throw new LocalRefusal(
      'file',
      '`file` is not audio that the built-in model knows: flac, mp3, mp4, m4a, ogg, wav or webm',
    )
  const format = typeof body.response_format === 'string' ? body.response_format : 'json'
  if (!formats.includes(format))
    throw new LocalRefusal(
      'response_format',
      `\`response_format\` must be one of ${formats.join(', ')} with the built-in model`,
    )
  const text = describe(file, audio)
  if (body.stream === 'true' && format === 'json') return eventStream(text)
  return whole(format, text, { task, audio })
}

function describe(file: InProcessFile, audio: AudioFile): string {
  const facts = [
    audio.durationS === undefined ? 'its duration is not known' : `${audio.durationS} seconds`,
    ...(audio.sampleRateHz === undefined ? [] : [`${audio.sampleRateHz} Hz`]),
    ...(audio.channels === undefined ? [] : [audio.channels === 1 ? 'one channel' : `${audio.channels} channels`]),
  ]
  const about = `The file is ${audio.format} audio of ${file.bytes} bytes: ${facts.join(', ')}.`
  return `[simulated] No speech recognition is configured. ${about}`
}

interface TranscribedFile {
  readonly task: string
  readonly audio: AudioFile
}

function whole(format: string, text: string, { task, audio }: TranscribedFile): InProcessAnswer {
  const answer = (contentType: string, body: string): InProcessAnswer => ({ status: 200, contentType, pieces: [body] })
  const { durationS } = audio
  if (format === 'text') return answer(plainText, `${text}\n`)
  const usage = durationS === undefined ? {} : { usage: { type: 'duration', seconds: durationS } }
  if (format === 'json') return answer('application/json', JSON.stringify({ text, ...usage }))
  if (durationS === undefined)
    throw new LocalRefusal(
      'response_format',
      `\`response_format\` ${format} needs a duration, and the built-in model knows it of wav and flac only`,
    )
  if (format === 'srt')
    return answer(plainText, `1\n${timestamp(0, ',')} --> ${timestamp(durationS, ',')}\n${text}\n\n`)
  if (format === 'vtt')
    return answer(
      'text/vtt; charset=utf-8',
      `WEBVTT\n\n${timestamp(0, '.')} --> ${timestamp(durationS, '.')}\n${text}\n\n`,
    )
  const segment = {
    id: 0,
    seek: 0,
    start: 0,
    end: durationS,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 1,
  }
  return answer(
    'application/json',
    JSON.stringify({ task, language: 'english', duration: durationS, text, segments: [segment], ...usage }),
  )
}

/** `HH:MM:SS` and the milliseconds after `separator`: `,` in SRT, `.` in WebVTT. */
function timestamp(seconds: number, separator: ',' | '.'): string {
  const ms = Math.round(seconds * 1000)
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const clock = `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}`
  return `${clock}${separator}${String(ms % 1000).padStart(3, '0')}`
}

function eventStream(text: string): InProcessAnswer {
  const outputTokens = Math.ceil(text.length / 4)
  const usage = { type: 'tokens', input_tokens: 0, output_tokens: outputTokens, total_tokens: outputTokens }
  const events: object[] = [
    ...(text.match(/\s*\S+/g) ?? []).map(delta => ({ type: 'transcript.text.delta', delta })),
    { type: 'transcript.text.done', text, usage },
  ]
  return {
    status: 200,
    contentType: 'text/event-stream',
    pieces: events.map(event => `data: ${JSON.stringify(event)}\n\n`),
  }
}
