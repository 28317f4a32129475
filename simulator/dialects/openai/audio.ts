/** OpenAI's speech and transcriptions: https://platform.openai.com/docs/api-reference/audio. */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Generation, TokenUsage } from '../../generation/types.ts'
import { namedEvent } from '../stream-events.ts'
import { soundOf, soundSeconds, soundTypes } from '../../generation/media.ts'
import { openaiFailure } from './error.ts'
import { hash, seededRandom } from '../../generation/random.ts'
import type { EndpointHandler, EndpointCall } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const inputCharactersMax = 4096
/** Bytes of audio in one event of a stream. */
const pieceBytes = 4096
const tokensPerSecond = 20
/** Assumed bit rate of uploaded audio of any format. */
const assumedBytesPerSecond = 16_000

const missing = (param: string): ApiError =>
  new ApiError(`Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' })

function pieces(sound: Buffer): Buffer[] {
  const list: Buffer[] = []
  for (let at = 0; at < sound.length; at += pieceBytes) list.push(sound.subarray(at, at + pieceBytes))
  return list
}

function audioUsage({ inputTokens, outputTokens }: TokenUsage): JsonObject {
  return { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens }
}

const tokenUsage = (inputTokens: number, outputTokens: number): TokenUsage => ({
  inputTokens,
  outputTokens,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteOneHourTokens: 0,
  reasoningTokens: 0,
})

/** Text to speech: raw bytes, or events with `stream_format: "sse"`. Throws ApiError. */
export const openaiSpeech: EndpointHandler = ({ body, model, seed, usageOf }) => {
  const { input, voice, response_format: format = 'mp3' } = body
  if (typeof input !== 'string' || input === '') throw missing('input')
  if (input.length > inputCharactersMax)
    throw new ApiError(
      `Invalid 'input': string too long. Expected a string with maximum length ${inputCharactersMax}.`,
      {
        param: 'input',
        code: 'string_above_max_length',
      },
    )
  if (voice === undefined) throw missing('voice')
  const type = typeof format === 'string' ? soundTypes[format] : undefined
  if (type === undefined)
    throw new ApiError(`Invalid value for 'response_format': expected one of ${Object.keys(soundTypes).join(', ')}.`, {
      param: 'response_format',
    })
  const sound = soundOf(String(format), input, seededRandom(hash(`${model}\n${JSON.stringify(voice)}\n${input}`, seed)))
  const billed = tokenUsage(countTokens(input), Math.ceil(soundSeconds(input) * tokensPerSecond))
  const common = { status: 200, billable: billed, failure: openaiFailure }
  if (body.stream_format === 'sse') {
    const usage = usageOf(audioUsage)(billed)
    return { ...common, headers: [], content: speechEvents(sound, { usage, tokens: billed.outputTokens }) }
  }
  const all = pieces(sound)
  // A part of the audio cannot be billed: all tokens go with the last piece.
  const tokensAt = (at: number) => (at === all.length - 1 ? billed.outputTokens : 0)
  return {
    ...common,
    headers: [['content-type', type]],
    content: all.map(
      (piece, at): StreamEvent => ({
        text: piece.toString('base64'),
        kind: 'delta',
        tokens: tokensAt(at),
      }),
    ),
    encode: payload => Buffer.from(Buffer.from(payload).toString('latin1'), 'base64'),
  }
}

function* speechEvents(
  sound: Buffer,
  { usage, tokens }: { usage: JsonObject | undefined; tokens: number },
): Generator<StreamEvent> {
  for (const piece of pieces(sound))
    yield namedEvent({ type: 'speech.audio.delta', audio: piece.toString('base64') }, 'delta')
  yield namedEvent({ type: 'speech.audio.done', ...(usage && { usage }) }, 'finish', tokens)
}

/** Newer models bill tokens; whisper bills seconds. */
function transcriptionUsage(model: string, seconds: number): (usage: TokenUsage) => JsonObject {
  if (model.includes('whisper')) return () => ({ type: 'duration', seconds: Math.ceil(seconds) })
  return usage => ({
    type: 'tokens',
    ...audioUsage(usage),
    input_token_details: { text_tokens: 0, audio_tokens: usage.inputTokens },
  })
}

function transcribe(
  { body, model, generate }: EndpointCall,
  file: JsonObject,
): { reply: Generation; text: string; seconds: number } {
  const seconds = Math.max(Number(file.bytes) / assumedBytesPerSecond, 0.1)
  const prompt = typeof body.prompt === 'string' ? body.prompt : ''
  const reply = generate({
    model,
    userText: prompt,
    conversationKey: JSON.stringify([file.sha256, prompt, body.language ?? null]),
    inputTokens: Math.ceil(seconds * tokensPerSecond),
    images: 0,
    tools: [],
    toolChoice: 'none',
    parallelTools: false,
    stop: [],
    choices: 1,
    reasoningTokens: 0,
  })
  return { reply, text: reply.choices[0]!.text.join(''), seconds }
}

/** A subtitle timestamp: `00:00:01,500`, with a point in WebVTT. */
function timestamp(seconds: number, point: string): string {
  const text = new Date(seconds * 1000).toISOString().slice(11, 23)
  return text.replace('.', point)
}

function* transcriptionEvents(reply: Generation, text: string, usage: JsonObject | undefined): Generator<StreamEvent> {
  for (const delta of reply.choices[0]!.text) yield namedEvent({ type: 'transcript.text.delta', delta }, 'delta', 1)
  yield namedEvent({ type: 'transcript.text.done', text, ...(usage && { usage }) }, 'finish')
}

function textAnswer(content: string, type: string, billable: SimulatedResponse['billable']): SimulatedResponse {
  return { status: 200, headers: [['content-type', type]], content, billable }
}

/**
 * Transcriptions and translations. The text depends on the bytes of the file; a prompt may set it (`say: ...`). Throws
 * ApiError.
 */
export const openaiTranscriptions: EndpointHandler = call => {
  const { body, model, usageOf, request } = call
  const { file, response_format: format = 'json' } = body
  if (!isJsonObject(file)) throw missing('file')
  if (Number(file.bytes) === 0) throw new ApiError('The audio file is empty.', { param: 'file', code: 'invalid_value' })
  const { reply, text, seconds } = transcribe(call, file)
  const { billable, usage } = {
    billable: { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens },
    usage: usageOf(transcriptionUsage(model, seconds))(reply.usage),
  }
  // whisper ignores `stream`.
  if (body.stream === 'true' && !model.includes('whisper'))
    return {
      status: 200,
      headers: [],
      content: transcriptionEvents(reply, text, usage),
      billable,
      failure: openaiFailure,
    }
  const times = (point: string) => `${timestamp(0, point)} --> ${timestamp(seconds, point)}`
  if (format === 'text') return textAnswer(`${text}\n`, 'text/plain; charset=utf-8', billable)
  if (format === 'srt') return textAnswer(`1\n${times(',')}\n${text}\n\n`, 'text/plain; charset=utf-8', billable)
  if (format === 'vtt') return textAnswer(`WEBVTT\n\n${times('.')}\n${text}\n\n`, 'text/vtt; charset=utf-8', billable)
  const reported = usage ? { usage } : {}
  if (format === 'json') return jsonResponse({ text, ...reported }, billable)
  if (format !== 'verbose_json' && format !== 'diarized_json')
    throw new ApiError(`response_format '${String(format)}' is not compatible with model '${model}'.`, {
      param: 'response_format',
    })
  const task = request.target.includes('translations') ? 'translate' : 'transcribe'
  const about = {
    task,
    language: typeof body.language === 'string' ? body.language : 'english',
    duration: seconds,
    text,
  }
  return jsonResponse({ ...about, segments: segmentsOf(format, reply, seconds), ...reported }, billable)
}

function segmentsOf(format: string, reply: Generation, seconds: number): JsonObject[] {
  const text = reply.choices[0]!.text.join('')
  if (format === 'diarized_json')
    return [{ type: 'transcript.text.segment', id: 'seg_0', start: 0, end: seconds, text, speaker: 'A' }]
  const rest = { temperature: 0, avg_logprob: -0.2, compression_ratio: 1, no_speech_prob: 0.01 }
  return [{ id: 0, seek: 0, start: 0, end: seconds, text, tokens: [...reply.choices[0]!.text.keys()], ...rest }]
}
