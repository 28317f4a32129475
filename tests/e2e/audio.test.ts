/**
 * Audio that really is audio, through a real gateway: espeak-ng speaks, pocketsphinx listens, and what the gateway
 * hands on is compared with what they sent. `modalities.test.ts` has the rules of forms; here is the sound.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { missingPrograms, sha256, startAudioUpstream } from '../support/upstreams/audio-upstream.ts'
import type { AudioUpstream } from '../support/upstreams/audio-upstream.ts'
import { durationS, headerBytes, loudness, readWave, writeWave } from '../support/wav.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

// Child processes take their time on a busy machine.

const missing = missingPrograms()
if (missing.length > 0) console.log(`skipped: real speech and transcription (apt-get install ${missing.join(' ')})`)

/** Lines that break have a deployment of their own: its rest is not to touch the others. */
const config = (audio: string) => `
model_list:
  - model_name: voice
    proxy_params: { model: openai/whole, api_base: "${audio}/v1", api_key: k, input_cost_per_character: 0.000015 }
    model_info: { mode: audio_speech }
  - model_name: live-voice
    proxy_params: { model: openai/live, api_base: "${audio}/v1", api_key: k, input_cost_per_character: 0.000015 }
    model_info: { mode: audio_speech }
  - model_name: "broken/*"
    proxy_params: { model: "openai/*", api_base: "${audio}/v1", api_key: k }
  - model_name: ear
    proxy_params: { model: openai/whisper-1, api_base: "${audio}/v1", api_key: k, input_cost_per_second: 0.0001 }
    model_info: { mode: audio_transcription }
  - model_name: free-ear
    proxy_params: { model: openai/whisper-1, api_base: "${audio}/v1", api_key: k, input_cost_per_second: 0 }
  - model_name: chat
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: k }
router_settings: { num_retries: 0 }
`

/** What the ear is told to expect: more than is ever said, so that it can be wrong. */
const vocabulary =
  'hello world yellow river window orange music morning friend zero one two three four five six seven eight nine'
const long = 'one two three four five six seven eight nine and then once more. '.repeat(40)

const wordsIn = (text: string): string[] => text.toLowerCase().match(/[a-z]+/g) ?? []
/** The share of the words of `said` that are in `text`, 0 to 1. */
function overlap(said: string, text: string): number {
  const heard = wordsIn(text)
  const words = wordsIn(said)
  return words.filter(word => heard.includes(word)).length / words.length
}

let gateway: Gateway
let upstream: AudioUpstream
let client: OpenAI
let key: string

beforeAll(async () => {
  upstream = await startAudioUpstream()
  gateway = await startGateway({ config: config(upstream.url) })
  key = await gateway.key({ user_id: 'listener' })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

const say = (fields: object, signal: AbortSignal | null = null) =>
  fetch(`${gateway.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'voice', voice: 'alloy', response_format: 'wav', ...fields }),
    signal,
  })
const form = (file: Uint8Array, fields: Record<string, string> = {}) => {
  const made = new FormData()
  for (const [name, value] of Object.entries({ model: 'ear', prompt: vocabulary, ...fields })) made.append(name, value)
  made.append('file', new File([file as BlobPart], 'said.wav', { type: 'audio/wav' }))
  return made
}
const hear = (file: Uint8Array, fields: Record<string, string> = {}, path = 'transcriptions') =>
  fetch(`${gateway.url}/v1/audio/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form(file, fields),
  })

const wavs = new Map<string, Uint8Array>()
/** A text as the gateway's voice says it; spoken once for all tests. */
async function spokenWav(text: string): Promise<Uint8Array> {
  const wav = wavs.get(text) ?? (await (await say({ input: text })).bytes())
  wavs.set(text, wav)
  return wav
}
async function rowOf(response: Response) {
  const rows = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
  const own = rows.filter(row => row.request_id === response.headers.get('x-request-id'))
  expect(own.length).toBe(1)
  return own[0]!
}
const sentBytes = () => Buffer.concat(upstream.speechCalls.at(-1)!.sent)
const isAlive = (processId: number) => {
  try {
    return process.kill(processId, 0)
  } catch {
    return false
  }
}

test("a file that is no audio gets the upstream's own 400", async () => {
  const response = await hear(Buffer.from('This is a letter, not a sound. '.repeat(100)))
  expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json'])
  const { error } = (await response.json()) as { error: { message: string; param: string; type: string } }
  expect([error.param, error.type]).toEqual(['file', 'invalid_request_error'])
  expect(error.message).toContain('Invalid file format')
  expect(await rowOf(response)).toMatchObject({
    operation: 'transcriptions',
    outcome: 'error',
    status: 400,
    attempts: 1,
    cost_nano_usd: '0',
  })
  const refused = await client.audio.transcriptions
    .create({ model: 'ear', file: await toFile(Buffer.from('no'), 'a.mp3') })
    .catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(OpenAI.BadRequestError)
})

describe.skipIf(missing.length > 0)('speech', () => {
  test('is a real WAV, byte for byte what the voice made, and is paid by the character', async () => {
    const response = await say({ input: 'hello world' })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/wav'])
    const wav = await response.bytes()
    expect(sha256(wav)).toBe(sha256(sentBytes()))
    expect(upstream.speechCalls.at(-1)!.fields).toEqual({
      model: 'whole',
      voice: 'alloy',
      response_format: 'wav',
      input: 'hello world',
    })
    const wave = readWave(wav)!
    expect([wave.sampleRateHz, wave.channels, wave.samples.length]).toEqual([22_050, 1, (wav.length - headerBytes) / 2])
    expect(durationS(wave)).toBeGreaterThan(0.7)
    expect(durationS(wave)).toBeLessThan(3)
    expect(loudness(wave.samples)).toBeGreaterThan(500)
    const row = await rowOf(response)
    expect(row).toMatchObject({
      operation: 'speech',
      route: '/v1/audio/speech',
      model: 'voice',
      upstream_model: 'whole',
      outcome: 'success',
      status: 200,
    })
    // 11 characters for $0.000015 each.
    expect([row.cost_nano_usd, row.usage_source]).toEqual(['165000', 'estimated'])
  })

  test('through the official SDK: other voices, faster, longer', async () => {
    const ask = async (fields: { voice?: string; speed?: number; input?: string }) => {
      const response = await client.audio.speech.create({
        model: 'voice',
        voice: 'alloy',
        response_format: 'wav',
        input: long.slice(0, 200),
        ...fields,
      })
      return readWave(await response.bytes())!
    }
    const [plain, fast, other, short] = [
      await ask({}),
      await ask({ speed: 2 }),
      await ask({ voice: 'nova' }),
      await ask({ input: 'one' }),
    ]
    expect(durationS(fast) / durationS(plain)).toBeLessThan(0.75)
    expect(durationS(short)).toBeLessThan(durationS(plain) / 5)
    expect(Buffer.from(other.samples.buffer).equals(Buffer.from(plain.samples.buffer))).toBe(false)
  })

  test('as pcm has no header and the rate of the API', async () => {
    const wave = readWave(await spokenWav('hello world'))!
    const response = await say({ input: 'hello world', response_format: 'pcm' })
    expect(response.headers.get('content-type')).toBe('audio/pcm')
    const bytes = await response.bytes()
    expect(sha256(bytes)).toBe(sha256(sentBytes()))
    const samples = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2)
    expect(durationS({ samples, sampleRateHz: 24_000 })).toBeCloseTo(durationS(wave), 3)
    const heard = await (await hear(writeWave({ samples, sampleRateHz: 24_000 }))).json()
    expect(overlap('hello world', (heard as { text: string }).text)).toBe(1)
  })

  test("what the voice refuses is refused in the upstream's words", async () => {
    for (const [fields, param] of [
      [{ voice: 'nobody' }, 'voice'],
      [{ response_format: 'mp3' }, 'response_format'],
    ] as const) {
      const response = await say({ input: 'hello', ...fields })
      const { error } = (await response.json()) as { error: { param: string; message: string } }
      expect([response.status, error.param]).toEqual([400, param])
      expect(error.message).toContain(param === 'voice' ? 'nobody' : 'mp3')
      expect(await rowOf(response)).toMatchObject({ outcome: 'error', status: 400, cost_nano_usd: '0' })
    }
  })

  test('reaches the client while it is still being said', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    upstream.hold = promise
    const response = await say({ model: 'live-voice', input: long })
    const reader = response.body!.getReader()
    const pieces: Uint8Array[] = [(await reader.read()).value!]
    const saidByThen = sentBytes().length
    expect([upstream.speechCalls.at(-1)!.end, isAlive(upstream.speechCalls.at(-1)!.processId)]).toEqual([
      'making',
      true,
    ])
    resolve()
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) pieces.push(piece.value)
    const audio = Buffer.concat(pieces)
    expect(sha256(audio)).toBe(sha256(sentBytes()))
    // The voice had not even sent a tenth of it.
    expect(saidByThen).toBeLessThan(audio.length / 10)
    expect(durationS(readWave(audio)!)).toBeGreaterThan(60)
    expect(await rowOf(response)).toMatchObject({ outcome: 'success', cost_nano_usd: String(long.length * 15_000) })
  })

  test('stops when the client leaves: the line is closed and the voice falls silent', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    upstream.hold = promise
    const leaving = new AbortController()
    const response = await say({ model: 'live-voice', input: long }, leaving.signal)
    await response.body!.getReader().read()
    const spoken = upstream.speechCalls.at(-1)!
    expect(isAlive(spoken.processId)).toBe(true)
    leaving.abort()
    await until(() => spoken.end !== 'making', 'the upstream knows that the client left')
    resolve()
    await until(() => !isAlive(spoken.processId), 'the voice is gone')
    expect(spoken.end).toBe('client-left')
    // What was ordered is paid whole.
    expect(await rowOf(response)).toMatchObject({
      outcome: 'client_closed',
      cost_nano_usd: String(long.length * 15_000),
    })
  })

  for (const model of ['cut-whole', 'cut-live'])
    test(`${model}: an upstream that breaks off is seen to break off`, async () => {
      upstream.hold = Promise.resolve()
      const response = await say({ model: `broken/${model}`, input: long })
      expect(response.status).toBe(200)
      const pieces: Uint8Array[] = []
      const reader = response.body!.getReader()
      const read = async () => {
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) pieces.push(piece.value)
      }
      expect(
        await read().then(
          () => 'whole',
          () => 'cut',
        ),
      ).toBe('cut')
      expect(upstream.speechCalls.at(-1)!.end).toBe('cut')
      // What came before is real, in order, and nothing was made up.
      const got = Buffer.concat(pieces)
      expect(got.length).toBeGreaterThan(0)
      expect(sentBytes().subarray(0, got.length).equals(got)).toBe(true)
      expect(await rowOf(response)).toMatchObject({ outcome: 'upstream_cut', error_kind: 'upstream-closed' })
    })
})

describe.skipIf(missing.length > 0)('transcription', () => {
  const paused = 'hello world\n\nseven eight zero'

  test('hears what was said', async () => {
    for (const said of ['hello world', 'yellow window', 'seven eight zero', 'orange music']) {
      const response = await hear(await spokenWav(said))
      const { text } = (await response.json()) as { text: string }
      expect([said, text, overlap(said, text) >= 0.5]).toEqual([said, text, true])
      for (const other of ['nine', 'friend', 'river']) expect(text).not.toContain(other)
    }
  })

  test('every format passes whole, with its type', async () => {
    const wav = await spokenWav(paused)
    const ask = async (format: string) => {
      const response = await hear(wav, { response_format: format, 'timestamp_granularities[]': 'word' })
      const text = await response.text()
      expect([format, response.status, text]).toEqual([format, 200, upstream.transcriptionCalls.at(-1)!.answer])
      expect(upstream.transcriptionCalls.at(-1)!.fields).toMatchObject({
        model: 'whisper-1',
        response_format: format,
        prompt: vocabulary,
      })
      expect(upstream.transcriptionCalls.at(-1)!.file).toEqual({
        name: 'said.wav',
        type: 'audio/wav',
        bytes: wav.length,
        sha256: sha256(wav),
      })
      return { text, type: response.headers.get('content-type') }
    }
    const json = await ask('json')
    const { text } = JSON.parse(json.text) as { text: string }
    expect([json.type, overlap('hello world', text)]).toEqual(['application/json', 1])
    expect(await ask('text')).toEqual({ text: `${text}\n`, type: 'text/plain; charset=utf-8' })
    const srt = await ask('srt')
    expect(srt.type).toBe('text/plain; charset=utf-8')
    const cue = String.raw`00:00:0\d[,.]\d{3} --> 00:00:0\d[,.]\d{3}\n[a-z ]+\n\n`
    expect(srt.text).toMatch(new RegExp(`^1\n${cue}2\n${cue}$`))
    const vtt = await ask('vtt')
    expect(vtt.type).toBe('text/vtt')
    expect(vtt.text).toMatch(new RegExp(`^WEBVTT\n\n${cue}${cue}$`))
    expect(JSON.parse((await ask('verbose_json')).text)).toMatchObject({
      task: 'transcribe',
      text,
      words: expect.any(Array),
    })
  })

  test('through the official SDK: segments and words with their times', async () => {
    const wav = await spokenWav(paused)
    const heard = await client.audio.transcriptions.create({
      model: 'ear',
      file: await toFile(wav, 'said.wav'),
      prompt: vocabulary,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    const lengthS = durationS(readWave(wav)!)
    expect(heard.duration).toBeCloseTo(lengthS, 6)
    const { words = [], segments = [] } = heard
    expect([segments.length, segments.map(segment => segment.text).join(' ')]).toEqual([2, heard.text])
    expect(words.map(word => word.word).join(' ')).toBe(heard.text)
    expect(overlap(paused, heard.text)).toBeGreaterThanOrEqual(0.6)
    words.forEach(({ start, end }, at) => {
      expect(start).toBeGreaterThanOrEqual(words[at - 1]?.end ?? 0)
      expect(end).toBeGreaterThan(start)
      expect(end).toBeLessThanOrEqual(lengthS)
    })
    // The pause is where it was made.
    expect(segments[1]!.start - segments[0]!.end).toBeGreaterThan(1)
    const plain = await client.audio.transcriptions.create({
      model: 'ear',
      file: await toFile(wav, 'said.wav'),
      prompt: vocabulary,
    })
    expect(plain.text).toBe(heard.text)
  })

  test('is paid by the second, whether the answer says usage or a duration', async () => {
    const wav = await spokenWav(paused)
    const seconds = durationS(readWave(wav)!)
    const row = async (fields: Record<string, string>) => {
      const response = await hear(wav, fields)
      await response.bytes()
      return rowOf(response)
    }
    const said = await row({ response_format: 'json' })
    expect(said).toMatchObject({
      operation: 'transcriptions',
      route: '/v1/audio/transcriptions',
      model: 'ear',
      upstream_model: 'whisper-1',
      user_id: 'listener',
      outcome: 'success',
    })
    expect([said.usage_source, said.cost_nano_usd, said.input_tokens, said.output_tokens]).toEqual([
      'upstream',
      String(Math.ceil(seconds) * 100_000),
      0,
      0,
    ])
    const verbose = await row({ response_format: 'verbose_json' })
    expect([verbose.usage_source, verbose.cost_nano_usd]).toEqual(['upstream', String(Math.round(seconds * 100_000))])
    // Subtitles do not say how long they took: there is no guess.
    const subtitles = await row({ response_format: 'srt' })
    expect([subtitles.usage_source, subtitles.cost_nano_usd, subtitles.input_tokens]).toEqual(['none', null, null])
    expect((await row({ model: 'free-ear' })).cost_nano_usd).toBe('0')
  })

  test('translations go to their own path', async () => {
    const response = await hear(await spokenWav('yellow window'), { response_format: 'verbose_json' }, 'translations')
    expect(await response.json()).toMatchObject({ task: 'translate', text: expect.stringContaining('yellow') })
    expect(upstream.transcriptionCalls.at(-1)).toMatchObject({
      path: '/v1/audio/translations',
      fields: { model: 'whisper-1' },
    })
    expect(await rowOf(response)).toMatchObject({
      operation: 'transcriptions',
      route: '/v1/audio/translations',
      outcome: 'success',
      usage_source: 'upstream',
    })
    const { text } = await client.audio.translations.create({
      model: 'ear',
      file: await toFile(await spokenWav('hello world'), 'a.wav'),
      prompt: vocabulary,
    })
    expect(overlap('hello world', text)).toBe(1)
  })

  test('chat, speech, transcription, chat: the words come round', async () => {
    const chat = async (content: string) => {
      const answer = await client.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content }] })
      return answer.choices[0]!.message.content!
    }
    const said = await chat('say: hello world')
    const spoken = await client.audio.speech.create({
      model: 'voice',
      voice: 'alloy',
      input: said,
      response_format: 'wav',
    })
    const heard = await client.audio.transcriptions.create({
      model: 'ear',
      file: await toFile(await spoken.bytes(), 'said.wav'),
      prompt: vocabulary,
    })
    const again = await chat(`say: ${heard.text}`)
    expect(overlap(said, again)).toBe(1)
    const operations = (await gateway.rows()).slice(0, 4).map(row => [row.operation, row.outcome])
    expect(operations).toEqual(['chat', 'transcriptions', 'speech', 'chat'].map(operation => [operation, 'success']))
  })
})

describe.skipIf(missing.length > 0)('a large file', () => {
  const fileBytes = 96 * 1024 * 1024
  let folder: string
  let child: Bun.Subprocess<'ignore', 'ignore', 'pipe'>
  let url: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'modelgate-audio-'))
    writeFileSync(
      join(folder, 'config.yaml'),
      `general_settings: { max_request_size_mb: 100 }\n${config(upstream.url).replaceAll('{simulator}', upstream.url)}`,
    )
    const { DATABASE_URL: _database, REDIS_URL: _redis, ...environment } = process.env
    // A process of its own: the memory that is looked at is to be the gateway's, not that of this test.
    child = Bun.spawn(
      [
        process.execPath,
        gatewayProgram,
        'serve',
        '--config',
        join(folder, 'config.yaml'),
        '--port',
        '0',
        '--data-dir',
        join(folder, 'data'),
      ],
      {
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'pipe',
        env: { ...environment, MODELGATE_MASTER_KEY: masterKey, MODELGATE_DRAIN_DELAY_MS: '0' },
      },
    )
    url = await greetedUrl(child.stderr)
  })
  afterAll(async () => {
    child?.kill('SIGTERM')
    await child?.exited
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  /** A sentence again and again, `bytes` of samples. */
  async function longWav(bytes: number): Promise<Uint8Array> {
    const said = readWave(await spokenWav('hello world'))!
    const samples = new Int16Array(bytes / 2)
    for (let at = 0; at < samples.length; at += said.samples.length)
      samples.set(said.samples.subarray(0, samples.length - at), at)
    return writeWave({ samples, sampleRateHz: said.sampleRateHz })
  }

  async function upload(file: Uint8Array, pieceMs: number): Promise<void> {
    const whole = new Response(form(file))
    const contentType = whole.headers.get('content-type')!
    const body = paced(await whole.bytes(), pieceMs)
    const response = await fetch(`${url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': contentType },
      body,
    })
    const { text, usage } = (await response.json()) as { text: string; usage: { seconds: number } }
    expect([response.status, usage.seconds, text.includes('hello world')]).toEqual([
      200,
      Math.ceil(durationS(readWave(file)!)),
      true,
    ])
    expect(upstream.transcriptionCalls.at(-1)!.file).toEqual({
      name: 'said.wav',
      type: 'audio/wav',
      bytes: file.length,
      sha256: sha256(file),
    })
  }

  test(`of ${fileBytes / 1024 / 1024} MiB arrives byte for byte, and the gateway does not hold it in memory`, async () => {
    const file = await longWav(fileBytes)
    // Code and buffers that the first uploads bring along are there for good.
    await upload(await longWav(fileBytes / 4), 0)
    const before = memoryBytes(child.pid, 'VmRSS')
    resetPeak(child.pid)
    // Not at full speed: bytes that passed would be garbage faster than it is collected, and look like bytes held.
    await upload(file, 4)
    // Measured: 14 to 39 MiB, for every size; 164 MiB when the file is kept in memory.
    expect(memoryBytes(child.pid, 'VmHWM') - before).toBeLessThan((fileBytes / 3) * 2)
    expect(readdirSync(join(folder, 'data', 'uploads'))).toEqual([])
  })
})

async function greetedUrl(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of stderr) {
    text += Buffer.from(piece).toString('utf8')
    const url = / models on (http:\S+)/.exec(text)?.[1]
    if (url) return url
  }
  throw new Error(`the gateway did not start: ${text}`)
}

const sentPieceBytes = 256 * 1024

/** A piece each so many milliseconds. */
function paced(body: Uint8Array, pieceMs: number): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (pieceMs > 0) await Bun.sleep(pieceMs)
      controller.enqueue(body.subarray(at, (at += sentPieceBytes)))
      if (at >= body.length) controller.close()
    },
  })
}

/** `VmRSS` = now in memory, `VmHWM` = the most since the peak was reset (proc(5)). */
function memoryBytes(processId: number, line: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${processId}/status`, 'latin1')
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024
}

const resetPeak = (processId: number) => writeFileSync(`/proc/${processId}/clear_refs`, '5')
