/** Speech by Gemini's TTS models (ai.google.dev/gemini-api/docs/speech-generation). */
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import type { SpeechRequest, SpeechResult } from '../../core/hub/speech.ts'
import { objectOf, objectsOf, textOf } from '../../lib/json/json-values.ts'
import { namedError } from '../../core/dialects/classify.ts'
import type { GeminiBody } from './request.ts'
import { readGeminiUsage } from '../../core/usage/gemini-usage.ts'
import { speechConfig } from './voice.ts'

const sampleRateDefault = 24_000
const bytesPerSample = 2
const wavHeadBytes = 44
const refusals: ReadonlySet<string> = new Set([
  'SAFETY',
  'PROHIBITED_CONTENT',
  'BLOCKLIST',
  'RECITATION',
  'SPII',
  'OTHER',
])

/** The body of `generateContent`. Throws `invalid-request` for other formats than `wav` and `pcm`. */
export function speechBody(request: SpeechRequest): GeminiBody {
  if (request.format !== 'wav' && request.format !== 'pcm')
    throw new GatewayError(
      'invalid-request',
      `this model speaks \`wav\` and \`pcm\`, not \`${request.format}\`; set response_format to one of them`,
      {
        param: 'response_format',
      },
    )
  const speech = speechConfig(request.voice)
  const dropped = Object.keys(request.extra.fields)
  if (speech.replaced) dropped.push('voice')
  if (request.speed !== undefined && request.speed !== 1) dropped.push('speed')
  // Instructions about the style belong into the prompt.
  const text = request.instructions ? `${request.instructions}:\n${request.input}` : request.input
  return {
    body: {
      contents: [{ role: 'user', parts: [{ text }] }],
      generationConfig: { responseModalities: ['AUDIO'], speechConfig: speech.config },
    },
    dropped,
  }
}

/**
 * The audio: 16-bit little-endian mono samples, in a WAV file where `request.format` is `wav`. Throws `content-policy`,
 * `upstream-failed` or `upstream-broken` where there is none.
 */
export function speechResult(body: unknown, request: SpeechRequest): SpeechResult {
  const error = namedError(body)
  if (error) throw error
  const [candidate] = objectsOf(objectOf(body).candidates)
  const clips = objectsOf(objectOf(candidate?.content).parts)
    .map(part => objectOf(part.inlineData))
    .filter(one => textOf(one.data) !== '')
  const [first] = clips
  if (!first) throw noAudio(textOf(candidate?.finishReason))
  const samples = Buffer.concat(clips.map(one => Buffer.from(textOf(one.data), 'base64')))
  const rate = Number(/rate=(\d{4,6})/.exec(textOf(first.mimeType))?.[1] ?? sampleRateDefault)
  const usage = readGeminiUsage(objectOf(body))
  return {
    audio: request.format === 'wav' ? wavFile(samples, rate) : samples,
    mediaType: request.format === 'wav' ? 'audio/wav' : 'audio/pcm',
    ...(usage && { usage: { ...usage, audioSeconds: samples.length / bytesPerSample / rate } }),
  }
}

function noAudio(reason: string): GatewayError {
  if (refusals.has(reason))
    return new GatewayError('content-policy', `the upstream did not speak the text (${reason})`, { param: 'input' })
  return reason === ''
    ? brokenProtocol('no sound')
    : new GatewayError('upstream-failed', `the upstream answered without sound (${reason})`)
}

/** Prepends the RIFF header of 44 bytes for 16-bit mono samples. */
function wavFile(samples: Uint8Array, samplesPerSecond: number): Uint8Array {
  const head = Buffer.alloc(wavHeadBytes)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(wavHeadBytes - 8 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(samplesPerSecond, 24)
  head.writeUInt32LE(samplesPerSecond * bytesPerSample, 28)
  head.writeUInt16LE(bytesPerSample, 32)
  head.writeUInt16LE(bytesPerSample * 8, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
