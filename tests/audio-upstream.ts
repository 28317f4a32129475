/**
 * An upstream of OpenAI's shape with a real voice and a real ear: `/v1/audio/speech` is Debian's espeak-ng,
 * `/v1/audio/transcriptions` and `/v1/audio/translations` are pocketsphinx, each call a child process.
 * It keeps a record of what it got and sent, so that a test can compare what the gateway made of it.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const earModel = '/usr/share/pocketsphinx/model/en-us'

/** Programs and data that are not on this machine; empty = all tests can run. */
export function missingPrograms(): string[] {
  return [
    ...(Bun.which('espeak-ng') ? [] : ['espeak-ng']),
    ...(Bun.which('pocketsphinx_continuous') ? [] : ['pocketsphinx']),
    ...(existsSync(earModel) ? [] : ['pocketsphinx-en-us']),
  ]
}

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** One call for speech. */
export interface Spoken {
  readonly fields: Readonly<Record<string, unknown>>
  /** Of the child that speaks. */
  readonly processId: number
  readonly sent: Uint8Array[]
  /** `making` until the last byte left, the client went, or the upstream cut the line. */
  end: 'making' | 'whole' | 'client-left' | 'cut'
}

/** One form with a file. */
export interface Heard {
  readonly path: string
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  readonly file: { readonly name: string; readonly type: string; readonly bytes: number; readonly sha256: string }
  /** The body of the answer. */
  answer: string
}

export interface AudioUpstream {
  /** Without `/v1`. */
  readonly url: string
  readonly spoken: Spoken[]
  readonly heard: Heard[]
  /** The model `live` says its first piece, then waits for this. */
  hold: Promise<void>
  stop(): Promise<void>
}

/** An answer of the kind that OpenAI gives to what it cannot take. */
class Refusal extends Error {
  readonly param: string

  constructor(param: string, message: string) {
    super(message)
    this.param = param
  }
}

export async function startAudioUpstream(): Promise<AudioUpstream> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-ear-'))
  const upstream = { url: '', spoken: [] as Spoken[], heard: [] as Heard[], hold: Promise.resolve(), stop }
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

// ---- the voice

const voices: Readonly<Record<string, string>> = { alloy: 'en-us+klatt', nova: 'en-us+f2', onyx: 'en-us+m3' }
const wordsPerMinute = 150
/** As OpenAI's `pcm`. */
const pcmHz = 24_000
/** What a model that cuts says before. */
const cutAfterBytes = 40_000

/**
 * `whole` knows its length before it speaks, `live` sends what the child says as it says it. `cut-whole` and
 * `cut-live` do the same and break the connection in the middle.
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
  const spoken: Spoken = { fields, processId: child.pid, sent: [], end: 'making' }
  upstream.spoken.push(spoken)
  response.on('close', () => {
    if (spoken.end !== 'making') return
    spoken.end = 'client-left'
    child.kill('SIGKILL')
  })
  const send = (bytes: Uint8Array) => {
    spoken.sent.push(bytes)
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
    await sayLive(upstream, spoken, child.stdout, response, send)
  else await sayWhole(spoken, await new Response(child.stdout).bytes(), response, send)
  await child.exited
}

type Send = (bytes: Uint8Array) => Promise<void> | undefined

/** The text goes through stdin: one that begins with a dash is no option. A blank line is a pause. */
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
  spoken: Spoken,
  audio: ReadableStream<Uint8Array>,
  response: ServerResponse,
  send: Send,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'audio/wav' })
  const reader = audio.getReader()
  let bytes = 0
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    if (spoken.end !== 'making') return
    const isFirst = bytes === 0
    bytes += piece.value.length
    await send(piece.value)
    if (isFirst) await upstream.hold
    if (spoken.fields.model === 'cut-live' && bytes > cutAfterBytes) return cut(spoken, response)
  }
  if (spoken.end !== 'making') return
  spoken.end = 'whole'
  response.end()
}

async function sayWhole(spoken: Spoken, audio: Uint8Array, response: ServerResponse, send: Send): Promise<void> {
  const { samples, sampleRateHz } = readWave(audio)!
  const isPcm = spoken.fields.response_format === 'pcm'
  const file = isPcm ? sampleBytes(resampled(samples, sampleRateHz, pcmHz)) : writeWave({ samples, sampleRateHz })
  response.writeHead(200, { 'content-type': isPcm ? 'audio/pcm' : 'audio/wav', 'content-length': String(file.length) })
  if (spoken.fields.model === 'cut-whole') {
    await send(file.subarray(0, cutAfterBytes))
    return cut(spoken, response)
  }
  await send(file)
  if (spoken.end !== 'making') return
  spoken.end = 'whole'
  response.end()
}

/** A moment later: what was sent is to arrive before the line breaks. */
async function cut(spoken: Spoken, response: ServerResponse): Promise<void> {
  await Bun.sleep(50)
  spoken.end = 'cut'
  response.socket?.resetAndDestroy()
}

// ---- the ear

/** What the acoustic model was trained on. */
const earHz = 16_000
/** Listening takes about a tenth of the time that was spoken: of a long file only the beginning is listened to. */
const heardSMax = 10

interface Word {
  readonly word: string
  /** Seconds from the beginning of the file. */
  readonly start: number
  readonly end: number
  readonly probability: number
}

/** What was said between two pauses. */
type Utterance = readonly Word[]

interface Form {
  readonly data: FormData
  /** Of the file, as it was sent: Bun's own reader guesses one from the filename instead. */
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
  const heard: Heard = {
    path,
    fields: textFields(form.data),
    file: { name: file.name, type: form.fileType, bytes: bytes.length, sha256: sha256(bytes) },
    answer: '',
  }
  upstream.heard.push(heard)
  const wave = readWave(bytes)
  if (!wave) throw new Refusal('file', 'Invalid file format. Supported formats: wav of 16 bits')
  const format = String(heard.fields.response_format ?? 'json')
  const contentType = contentTypes[format]
  if (!contentType) throw new Refusal('response_format', `no format '${format}' here`)
  const utterances = await listen(folder, wave, String(heard.fields.prompt ?? ''))
  heard.answer = written(format, heard, utterances, durationS(wave))
  response.writeHead(200, { 'content-type': contentType }).end(heard.answer)
}

function textFields(form: FormData): Heard['fields'] {
  const names = new Set([...form.keys()].filter(name => name !== 'file'))
  return Object.fromEntries(
    [...names].map(name => {
      const values = form.getAll(name).map(String)
      return [name, values.length === 1 ? values[0]! : values]
    }),
  )
}

/** The words of `prompt` are the only ones the ear expects; without any it knows all of English, and errs more. */
async function listen(folder: string, wave: Wave, prompt: string): Promise<Utterance[]> {
  const heardSamples = wave.samples.subarray(0, heardSMax * wave.sampleRateHz)
  const base = join(folder, crypto.randomUUID())
  writeFileSync(
    `${base}.wav`,
    writeWave({ samples: resampled(heardSamples, wave.sampleRateHz, earHz), sampleRateHz: earHz }),
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
      join(earModel, 'en-us'),
      '-dict',
      join(earModel, 'cmudict-en-us.dict'),
      ...(vocabulary.length > 0 ? ['-jsgf', `${base}.gram`] : ['-lm', join(earModel, 'en-us.lm.bin')]),
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

/** A line with the words of each utterance, then a line for each of them: `world(2) 0.530 0.910 0.98`. */
function readReport(report: string): Utterance[] {
  const utterances: Word[][] = []
  for (const line of report.split('\n')) {
    const timed = /^(\S+) (\d+\.\d+) (\d+\.\d+) (\S+)$/.exec(line)
    if (!timed) {
      if (line.trim() !== '') utterances.push([])
      continue
    }
    const [, word, start, end, probability] = timed as unknown as [string, string, string, string, string]
    // Silence, noise and the ends of a sentence are no words.
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

/** One format of OpenAI's. `verbose_json` says the duration and no `usage`, as whisper-1 did at first. */
function written(format: string, { path, fields }: Heard, utterances: readonly Utterance[], seconds: number): string {
  const text = utterances.map(textOf).join(' ')
  const cues = utterances.map(words => ({ start: words[0]!.start, end: words.at(-1)!.end, text: textOf(words), words }))
  if (format === 'text') return `${text}\n`
  if (format === 'srt')
    return cues
      .map(({ start, end, text }, at) => `${at + 1}\n${clockTime(start, ',')} --> ${clockTime(end, ',')}\n${text}\n\n`)
      .join('')
  if (format === 'vtt')
    return `WEBVTT\n\n${cues.map(({ start, end, text }) => `${clockTime(start, '.')} --> ${clockTime(end, '.')}\n${text}\n\n`).join('')}`
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
function clockTime(seconds: number, separator: string): string {
  const ms = Math.round(seconds * 1000)
  const digits = (value: number, length = 2) => String(Math.floor(value)).padStart(length, '0')
  return `${digits(ms / 3_600_000)}:${digits((ms / 60_000) % 60)}:${digits((ms / 1000) % 60)}${separator}${digits(ms % 1000, 3)}`
}

// ---- WAV: 16 bits, any number of channels read, one written

export interface Wave {
  readonly sampleRateHz: number
  readonly channels: number
  /** Channels are mixed to one. */
  readonly samples: Int16Array
}

export const headerBytes = 44

export const durationS = ({ samples, sampleRateHz }: Pick<Wave, 'samples' | 'sampleRateHz'>): number =>
  samples.length / sampleRateHz

/** Undefined = no WAV of 16-bit PCM. A length that a stream left open ends with the file. */
export function readWave(bytes: Uint8Array): Wave | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const word = (at: number) => file.toString('latin1', at, at + 4)
  if (file.length < 12 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined
  let channels = 0
  let sampleRateHz = 0
  for (let at = 12; at + 8 <= file.length; ) {
    const length = file.readUInt32LE(at + 4)
    if (word(at) === 'fmt ' && at + 24 <= file.length) {
      const isPlain = file.readUInt16LE(at + 8) === 1 && file.readUInt16LE(at + 22) === 16
      if (!isPlain) return undefined
      channels = file.readUInt16LE(at + 10)
      sampleRateHz = file.readUInt32LE(at + 12)
    }
    if (word(at) === 'data') {
      if (channels === 0 || sampleRateHz === 0) return undefined
      return { channels, sampleRateHz, samples: mixed(file.subarray(at + 8, at + 8 + length), channels) }
    }
    at += 8 + length + (length & 1)
  }
  return undefined
}

function mixed(data: Buffer, channels: number): Int16Array {
  const samples = new Int16Array(Math.floor(data.length / 2 / channels))
  for (let at = 0; at < samples.length; at++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += data.readInt16LE((at * channels + channel) * 2)
    samples[at] = Math.round(sum / channels)
  }
  return samples
}

/** Little-endian, as WAV and OpenAI's `pcm` have them. */
function sampleBytes(samples: Int16Array): Buffer {
  const bytes = Buffer.alloc(samples.length * 2)
  for (let at = 0; at < samples.length; at++) bytes.writeInt16LE(samples[at]!, at * 2)
  return bytes
}

export function writeWave({ samples, sampleRateHz }: Pick<Wave, 'samples' | 'sampleRateHz'>): Buffer {
  const data = sampleBytes(samples)
  const header = Buffer.alloc(headerBytes)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(36 + data.length, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRateHz, 24)
  header.writeUInt32LE(sampleRateHz * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}

/** Zero crossings of the filter on either side: enough that speech stays understood. */
const filterReach = 12

/** At another rate: a windowed sinc, which takes away what the lower rate cannot hold. */
function resampled(samples: Int16Array, fromHz: number, toHz: number): Int16Array {
  if (fromHz === toHz) return samples
  const cutoff = Math.min(1, toHz / fromHz)
  const reach = filterReach / cutoff
  const out = new Int16Array(Math.floor((samples.length * toHz) / fromHz))
  for (let index = 0; index < out.length; index++) {
    const centre = (index * fromHz) / toHz
    let sum = 0
    for (let at = Math.max(0, Math.ceil(centre - reach)); at <= Math.min(samples.length - 1, centre + reach); at++) {
      const distance = (at - centre) * cutoff * Math.PI
      const sinc = distance === 0 ? 1 : Math.sin(distance) / distance
      sum += samples[at]! * sinc * (0.5 + 0.5 * Math.cos(distance / filterReach))
    }
    out[index] = Math.max(-32_768, Math.min(32_767, Math.round(sum * cutoff)))
  }
  return out
}

/** Root of the mean square: 0 = silence, 32768 = as loud as can be. */
export function loudness(samples: Int16Array): number {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  return samples.length === 0 ? 0 : Math.sqrt(sum / samples.length)
}
