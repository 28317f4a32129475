/** Simulated speech: one tone per character, so that the duration depends on the text. WAV and PCM only. */
import type { InProcessAnswer } from '../../core/provider.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { LocalRefusal } from './refusal.ts'

/** As OpenAI's `pcm`: 24 kHz, 16 bits, little-endian, one channel, no header. */
const samplesPerSecond = 24_000
const inputLengthMax = 4096
const toneMs = 30
/** Tones of a long text are shortened to this total, so that no answer is larger than 3 MB. */
const durationMsMax = 60_000
const pieceBytes = 32 * 1024
/** Of at most 32767. */
const amplitude = 8000

/**
 * Answers a speech request of OpenAI's shape with audio, or with events where `stream_format` is `sse`. Throws
 * LocalRefusal for other formats, and for an empty text or more than 4096 characters (OpenAI's limit).
 */
export function answerSpeech(body: Json): InProcessAnswer {
  const text = readInput(body.input)
  const speed = typeof body.speed === 'number' && body.speed >= 0.25 && body.speed <= 4 ? body.speed : 1
  // The API's default is mp3, which is not supported: WAV is sent unless mp3 is requested explicitly.
  const format = body.response_format ?? 'wav'
  if (format !== 'wav' && format !== 'pcm')
    throw new LocalRefusal(
      'response_format',
      'the built-in voice makes wav and pcm only; set `response_format` to one of them',
    )
  const samples = tones(text, speed)
  const audio = format === 'wav' ? Buffer.concat([wavHeader(samples.length), samples]) : samples
  const pieces: Buffer[] = []
  for (let at = 0; at < audio.length; at += pieceBytes) pieces.push(audio.subarray(at, at + pieceBytes))
  if (body.stream_format === 'sse') return eventStream(pieces, text)
  return { status: 200, contentType: format === 'wav' ? 'audio/wav' : 'audio/pcm', pieces }
}

function readInput(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= inputLengthMax) return value
  throw new LocalRefusal('input', `\`input\` must be a text of 1 to ${inputLengthMax} characters`)
}

function tones(text: string, speed: number): Buffer {
  const characters = [...text]
  const ms = Math.min(toneMs / speed, durationMsMax / characters.length)
  const samplesEach = Math.max(Math.round((samplesPerSecond * ms) / 1000), 1)
  const audio = Buffer.alloc(samplesEach * characters.length * 2)
  characters.forEach((character, index) => {
    if (/\s/.test(character)) return
    const hertz = 200 + (character.codePointAt(0)! % 64) * 10
    const step = (2 * Math.PI * hertz) / samplesPerSecond
    for (let at = 0; at < samplesEach; at++) {
      // A fade of 48 samples (2 ms) at both ends avoids clicks.
      const envelope = Math.min(at, samplesEach - 1 - at, 48) / 48
      audio.writeInt16LE(Math.round(Math.sin(at * step) * envelope * amplitude), (index * samplesEach + at) * 2)
    }
  })
  return audio
}

/** The RIFF header of 44 bytes for 16-bit mono PCM. */
function wavHeader(dataBytes: number): Buffer {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(36 + dataBytes, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(samplesPerSecond, 24)
  header.writeUInt32LE(samplesPerSecond * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(dataBytes, 40)
  return header
}

function eventStream(pieces: readonly Buffer[], text: string): InProcessAnswer {
  const inputTokens = Math.ceil(text.length / 4)
  const usage = { input_tokens: inputTokens, output_tokens: 0, total_tokens: inputTokens }
  const events: object[] = [
    ...pieces.map(piece => ({ type: 'speech.audio.delta', audio: piece.toString('base64') })),
    { type: 'speech.audio.done', usage },
  ]
  return {
    status: 200,
    contentType: 'text/event-stream',
    pieces: events.map(event => `data: ${JSON.stringify(event)}\n\n`),
  }
}
