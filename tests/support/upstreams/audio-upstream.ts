/**
 * An upstream with OpenAI's audio API and real audio: `/v1/audio/speech` runs Debian's espeak-ng,
 * `/v1/audio/transcriptions` and `/v1/audio/translations` run pocketsphinx, each call in a child process. It records
 * requests and responses, for comparison with what the gateway makes of them.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { durationS, readWave, resampled, sampleBytes, writeWave } from '../wav.ts'
import type { Wave } from '../wav.ts'

const acousticModel = '/usr/share/pocketsphinx/model/en-us'

/** Programs and data that are not installed; empty = all tests can run. */
export function missingPrograms(): string[] {
  return [
    ...(Bun.which('espeak-ng') ? [] : ['espeak-ng']),
    ...(Bun.which('pocketsphinx_continuous') ? [] : ['pocketsphinx']),
    ...(existsSync(acousticModel) ? [] : ['pocketsphinx-en-us']),
  ]
}

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** One speech request. */
interface SpeechCall {
  readonly fields: Readonly<Record<string, unknown>>
  /** Process id of espeak-ng. */
  readonly processId: number
  readonly sent: Uint8Array[]
  /** `making` until the last byte was sent, the client left, or the upstream closed the connection. */
  end: 'making' | 'whole' | 'client-left' | 'cut'
}

/** One form with a file. */
interface TranscriptionCall {
  readonly path: string
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  readonly file: { readonly name: string; readonly type: string; readonly bytes: number; readonly sha256: string }
  /** The response body. */
  answer: string
}

export interface AudioUpstream {
  /** Without `/v1`. */
  readonly url: string
  readonly speechCalls: SpeechCall[]
  readonly transcriptionCalls: TranscriptionCall[]
  /** The model `live` sends its first piece, then waits for this. */
  hold: Promise<void>
  stop(): Promise<void>
}

/** An error in OpenAI's format. */
class Refusal extends Error {
  readonly param: string

  constructor(param: string, message: string) {
    super(message)
    this.param = param
  }
}

export async function startAudioUpstream(): Promise<AudioUpstream> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-ear-'))
  const upstream = {
    url: '',
    speechCalls: [] as SpeechCall[],
    transcriptionCalls: [] as TranscriptionCall[],
    hold: Promise.resolve(),
    stop,
  }
  const server = createServer((request, response) => {
    answer(upstream, folder, request, response).catch((error: unknown) => {
      if (response.headersSent) return response.destroy()
      const { message } = error as Error
      if (!(error instanceof Refusal))
        return sendJson(response, 500, { error: { message, type: 'server_error', param: null, code: null } })
      sendJson(response, 400, { error: { message, type: 'invalid_request_error', param: error.param, code: null } })
    })
  })
  async function stop(): Promise<void> {
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
    rmSync(folder, { recursive: true, force: true })
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return upstream
}

async function answer(
  upstream: AudioUpstream,
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url ?? ''
  const pieces: Uint8Array[] = []
  for await (const piece of request) pieces.push(piece as Uint8Array)
  const body = Buffer.concat(pieces)
  if (path === '/v1/audio/speech')
    return speak(upstream, JSON.parse(body.toString('utf8')) as Record<string, unknown>, response)
  if (path === '/v1/audio/transcriptions' || path === '/v1/audio/translations')
    return hear(upstream, folder, path, await readForm(body, request.headers['content-type'] ?? ''), response)
  sendJson(response, 404, {
    error: { message: `no ${path} here`, type: 'invalid_request_error', param: null, code: null },
  })
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

// ---- Speech: espeak-ng

const voices: Readonly<Record<string, string>> = { alloy: 'en-us+klatt', nova: 'en-us+f2', onyx: 'en-us+m3' }
const wordsPerMinute = 150
/** The sample rate of OpenAI's `pcm`. */
const pcmHz = 24_000
/** Bytes that the `cut-*` models send before they close the connection. */
const cutAfterBytes = 40_000

/**
 * `whole` sends a content-length, `live` sends what espeak-ng writes as it arrives. `cut-whole` and `cut-live` do the
 * same and close the connection in the middle.
 */
async function speak(
  upstream: AudioUpstream,
  fields: Record<string, unknown>,
  response: ServerResponse,
): Promise<void> {
  const voice = voices[String(fields.voice)]
  const format = fields.response_format ?? 'mp3'
  if (voice === undefined)
    throw new Refusal('voice', `no voice '${fields.voice}' here; there are ${Object.keys(voices).join(', ')}`)
  if (format !== 'wav' && format !== 'pcm')
    throw new Refusal('response_format', `this voice makes wav and pcm, not ${format}`)
  const child = startVoice(String(fields.input), voice, typeof fields.speed === 'number' ? fields.speed : 1)
  const speechCall: SpeechCall = { fields, processId: child.pid, sent: [], end: 'making' }
  upstream.speechCalls.push(speechCall)
  response.on('close', () => {
    if (speechCall.end !== 'making') return
    speechCall.end = 'client-left'
    child.kill('SIGKILL')
  })
  const send = (bytes: Uint8Array) => {
    speechCall.sent.push(bytes)
    if (response.write(bytes) || response.closed) return undefined
    return new Promise<void>(resolve => {
      const go = () => {
        response.off('drain', go).off('close', go)
        resolve()
      }
      response.on('drain', go).on('close', go)
    })
  }
  if (fields.model === 'live' || fields.model === 'cut-live')
    await sayLive(upstream, speechCall, child.stdout, response, send)
  else await sayWhole(speechCall, await new Response(child.stdout).bytes(), response, send)
  await child.exited
}

type Send = (bytes: Uint8Array) => Promise<void> | undefined

/** The text is passed by stdin, since text that begins with a dash would be an option. A blank line is a pause. */
function startVoice(text: string, voice: string, speed: number) {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return Bun.spawn(
    [
      'espeak-ng',
      '-m',
      '-v',
      voice,
      '-s',
      String(Math.round(wordsPerMinute * speed)),
      '-g',
      '10',
      '--stdin',
      '--stdout',
    ],
    {
      stdin: Buffer.from(escaped.replaceAll(/\n\s*\n/g, ' <break time="1500ms"/> '), 'utf8'),
      stdout: 'pipe',
      stderr: 'ignore',
    },
  )
}

async function sayLive(
  upstream: AudioUpstream,
  speechCall: SpeechCall,
  audio: ReadableStream<Uint8Array>,
  response: ServerResponse,
  send: Send,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'audio/wav' })
  const reader = audio.getReader()
  let bytes = 0
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    if (speechCall.end !== 'making') return
    const isFirst = bytes === 0
    bytes += piece.value.length
    await send(piece.value)
    if (isFirst) await upstream.hold
    if (speechCall.fields.model === 'cut-live' && bytes > cutAfterBytes) return cut(speechCall, response)
  }
  if (speechCall.end !== 'making') return
  speechCall.end = 'whole'
  response.end()
}

async function sayWhole(
  speechCall: SpeechCall,
  audio: Uint8Array,
  response: ServerResponse,
  send: Send,
): Promise<void> {
  const { samples, sampleRateHz } = readWave(audio)!
  const isPcm = speechCall.fields.response_format === 'pcm'
  const file = isPcm ? sampleBytes(resampled(samples, sampleRateHz, pcmHz)) : writeWave({ samples, sampleRateHz })
  response.writeHead(200, { 'content-type': isPcm ? 'audio/pcm' : 'audio/wav', 'content-length': String(file.length) })
  if (speechCall.fields.model === 'cut-whole') {
    await send(file.subarray(0, cutAfterBytes))
    return cut(speechCall, response)
  }
  await send(file)
  if (speechCall.end !== 'making') return
  speechCall.end = 'whole'
  response.end()
}

/** Waits before closing, so that the bytes sent arrive first. */
async function cut(speechCall: SpeechCall, response: ServerResponse): Promise<void> {
  await Bun.sleep(50)
  speechCall.end = 'cut'
  response.socket?.resetAndDestroy()
}

// ---- Transcription: pocketsphinx

/** Sample rate of the acoustic model's training data. */
const recognizerHz = 16_000
/** Recognition takes about a tenth of the duration of the audio: only the beginning of a long file is recognized. */
const recognizedSMax = 10

interface Word {
  readonly word: string
  /** Seconds from the beginning of the file. */
  readonly start: number
  readonly end: number
  readonly probability: number
}

/** Words between two pauses. */
type Utterance = readonly Word[]

interface Form {
  readonly data: FormData
  /** Content type of the file part as sent; Bun's form parser guesses one from the filename. */
  readonly fileType: string
}

async function readForm(body: Buffer, contentType: string): Promise<Form> {
  const at = body.indexOf('filename=')
  const head = at < 0 ? '' : body.toString('latin1', body.lastIndexOf('\r\n--', at), body.indexOf('\r\n\r\n', at))
  const fileType = /^content-type: *(.*)$/im.exec(head)?.[1]?.trim() ?? ''
  return {
    data: await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData(),
    fileType,
  }
}

async function hear(
  upstream: AudioUpstream,
  folder: string,
  path: string,
  form: Form,
  response: ServerResponse,
): Promise<void> {
  const file = form.data.get('file')
  if (!(file instanceof File)) throw new Refusal('file', 'there is no file')
  const bytes = await file.bytes()
  const transcriptionCall: TranscriptionCall = {
    path,
    fields: textFields(form.data),
    file: { name: file.name, type: form.fileType, bytes: bytes.length, sha256: sha256(bytes) },
    answer: '',
  }
  upstream.transcriptionCalls.push(transcriptionCall)
  const wave = readWave(bytes)
  if (!wave) throw new Refusal('file', 'Invalid file format. Supported formats: wav of 16 bits')
  const format = String(transcriptionCall.fields.response_format ?? 'json')
  const contentType = contentTypes[format]
  if (!contentType) throw new Refusal('response_format', `no format '${format}' here`)
  const utterances = await recognize(folder, wave, String(transcriptionCall.fields.prompt ?? ''))
  transcriptionCall.answer = formatted(format, transcriptionCall, utterances, durationS(wave))
  response.writeHead(200, { 'content-type': contentType }).end(transcriptionCall.answer)
}

function textFields(form: FormData): TranscriptionCall['fields'] {
  const names = new Set([...form.keys()].filter(name => name !== 'file'))
  return Object.fromEntries(
    [...names].map(name => {
      const values = form.getAll(name).map(String)
      return [name, values.length === 1 ? values[0]! : values]
    }),
  )
}

/** What was heard, by sound and vocabulary: the ear takes 0.4 s of a processor, and hears the same each time. */
const heard = new Map<string, Promise<Utterance[]>>()

/** The words of `prompt` limit the vocabulary. Without a prompt the vocabulary is general English, with more errors. */
function recognize(folder: string, wave: Wave, prompt: string): Promise<Utterance[]> {
  const samples = wave.samples.subarray(0, recognizedSMax * wave.sampleRateHz)
  const sound = `${wave.sampleRateHz} ${sha256(sampleBytes(samples))} ${prompt}`
  const known = heard.get(sound) ?? listen(folder, { samples, sampleRateHz: wave.sampleRateHz }, prompt)
  heard.set(sound, known)
  return known
}

async function listen(
  folder: string,
  { samples, sampleRateHz }: Pick<Wave, 'samples' | 'sampleRateHz'>,
  prompt: string,
): Promise<Utterance[]> {
  const base = join(folder, crypto.randomUUID())
  writeFileSync(
    `${base}.wav`,
    writeWave({ samples: resampled(samples, sampleRateHz, recognizerHz), sampleRateHz: recognizerHz }),
  )
  const vocabulary = [...new Set(prompt.toLowerCase().match(/[a-z']+/g))]
  if (vocabulary.length > 0)
    writeFileSync(`${base}.gram`, `#JSGF V1.0;\ngrammar prompt;\npublic <prompt> = ( ${vocabulary.join(' | ')} )+ ;\n`)
  const child = Bun.spawn(
    [
      'pocketsphinx_continuous',
      '-infile',
      `${base}.wav`,
      '-hmm',
      join(acousticModel, 'en-us'),
      '-dict',
      join(acousticModel, 'cmudict-en-us.dict'),
      ...(vocabulary.length > 0 ? ['-jsgf', `${base}.gram`] : ['-lm', join(acousticModel, 'en-us.lm.bin')]),
      '-time',
      'yes',
      '-logfn',
      '/dev/null',
    ],
    { stdout: 'pipe', stderr: 'ignore' },
  )
  const report = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Refusal('prompt', 'the prompt has words that the ear does not know')
  return readReport(report)
}

/** Output format: a line with the words of each utterance, then one line for each word: `world(2) 0.530 0.910 0.98`. */
function readReport(report: string): Utterance[] {
  const utterances: Word[][] = []
  for (const line of report.split('\n')) {
    const timed = /^(\S+) (\d+\.\d+) (\d+\.\d+) (\S+)$/.exec(line)
    if (!timed) {
      if (line.trim() !== '') utterances.push([])
      continue
    }
    const [, word, start, end, probability] = timed as unknown as [string, string, string, string, string]
    // Silence, noise and sentence boundaries are not words.
    if (/^[a-z']/.test(word))
      utterances.at(-1)?.push({
        word: word.replace(/\(\d+\)$/, ''),
        start: Number(start),
        end: Number(end),
        probability: Number(probability),
      })
  }
  return utterances.filter(words => words.length > 0)
}

const contentTypes: Readonly<Record<string, string>> = {
  json: 'application/json',
  verbose_json: 'application/json',
  text: 'text/plain; charset=utf-8',
  srt: 'text/plain; charset=utf-8',
  vtt: 'text/vtt',
}

const textOf = (words: Utterance): string => words.map(one => one.word).join(' ')

/** Formats the transcription. `verbose_json` has a duration and no `usage`, as whisper-1 had. */
function formatted(
  format: string,
  { path, fields }: TranscriptionCall,
  utterances: readonly Utterance[],
  seconds: number,
): string {
  const text = utterances.map(textOf).join(' ')
  const cues = utterances.map(words => ({ start: words[0]!.start, end: words.at(-1)!.end, text: textOf(words), words }))
  if (format === 'text') return `${text}\n`
  if (format === 'srt')
    return cues
      .map(({ start, end, text }, at) => `${at + 1}\n${timestamp(start, ',')} --> ${timestamp(end, ',')}\n${text}\n\n`)
      .join('')
  if (format === 'vtt')
    return `WEBVTT\n\n${cues
      .map(({ start, end, text }) => `${timestamp(start, '.')} --> ` + `${timestamp(end, '.')}\n${text}\n\n`)
      .join('')}`
  if (format === 'json') return JSON.stringify({ text, usage: { type: 'duration', seconds: Math.ceil(seconds) } })
  const wanted = [fields['timestamp_granularities[]'] ?? 'segment'].flat()
  return JSON.stringify({
    task: path.endsWith('translations') ? 'translate' : 'transcribe',
    language: 'english',
    duration: seconds,
    text,
    ...(wanted.includes('segment') && {
      segments: cues.map(({ words, ...cue }, id) => ({ id, ...cue, avg_logprob: averageLog(words) })),
    }),
    ...(wanted.includes('word') && { words: utterances.flat().map(({ word, start, end }) => ({ word, start, end })) }),
  })
}

const averageLog = (words: Utterance): number =>
  words.reduce((sum, { probability }) => sum + Math.log(probability), 0) / words.length

/** `00:01:02,345`. */
function timestamp(seconds: number, separator: string): string {
  const ms = Math.round(seconds * 1000)
  const digits = (value: number, length = 2) => String(Math.floor(value)).padStart(length, '0')
  const clock = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map(value => digits(value)).join(':')
  return `${clock}${separator}${digits(ms % 1000, 3)}`
}
