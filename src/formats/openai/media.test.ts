/** Pictures, audio and moderation: what is refused, what goes to the hub and back, and what passes unchanged. */
import { describe, expect, test } from 'bun:test'
import { expectConforms } from '../../../tests/support/openai-conformance.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Format, StreamRelay } from '../../core/format.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { openaiImageEdits, openaiImages, openaiImageVariations } from './images.ts'
import { readMediaUsage } from './media.ts'
import { openaiModerations } from './moderations.ts'
import { openaiSpeech } from './speech.ts'
import { openaiTranscriptions, openaiTranslations } from './transcriptions.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
const pathsOf = (format: Format, fields: object) =>
  format.inspect(bodyOf(fields)).problems.map(({ loc, type }) => `${loc.slice(1).join('.')}:${type}`)
const head = (contentType?: string) => ({
  header: (name: string) => (name === 'content-type' ? contentType : undefined),
})
const file = { filename: 'a.wav', content_type: 'audio/wav', bytes: 5 }

/** All that comes out of a relay, and how it ended. */
function run(relay: StreamRelay, pieces: Iterable<Uint8Array>) {
  let out = ''
  const take = (piece: Uint8Array | string) =>
    (out += typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8'))
  for (const piece of pieces) {
    take(relay.push(piece))
    if (relay.failure) break
  }
  if (!relay.failure) take(relay.end())
  const { started, complete, terminated, failure, usage } = relay
  return { out, started, complete, terminated, failure: failure && `${failure.kind}: ${failure.message}`, usage }
}

/** The same wherever the bytes are cut. */
function everyCut(make: () => StreamRelay, text: string) {
  const all = bytes(text)
  const expected = run(make(), [all])
  for (let at = 1; at < all.length; at++) expect(run(make(), [all.subarray(0, at), all.subarray(at)])).toEqual(expected)
  expect(
    run(
      make(),
      [...all].map(byte => Uint8Array.of(byte)),
    ),
  ).toEqual(expected)
  return expected
}

const sse = (...events: (object | string)[]) =>
  events.map(event => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')

describe('moderations', () => {
  const refused: [string, object, string[]][] = [
    ['no input', {}, ['input:missing']],
    ['null', { input: null }, ['input:missing']],
    ['a number', { input: 5 }, ['input:wrong_type']],
    ['an empty list', { input: [] }, ['input:out_of_range']],
    ['texts and parts', { input: ['a', { type: 'text', text: 'b' }] }, ['input.1:wrong_type']],
    ['parts and texts', { input: [{ type: 'text', text: 'b' }, 'a'] }, ['input.1:wrong_type']],
    ['a part of no kind', { input: [{ type: 'video' }] }, ['input.0.type:unknown_value']],
    ['an image without address', { input: [{ type: 'image_url', image_url: {} }] }, ['input.0.image_url:wrong_type']],
    ['a model of a number', { input: 'a', model: 1 }, ['model:wrong_type']],
  ]
  for (const [what, fields, problems] of refused)
    test(`refuses ${what}`, () => expect(pathsOf(openaiModerations, fields)).toEqual(problems))

  test('strings are classified alone, parts together', () => {
    const inputs = (input: unknown) => openaiModerations.decode(bodyOf({ input, policy: 1 }))
    expect(inputs('a')).toEqual({
      model: '',
      inputs: [[{ type: 'text', text: 'a' }]],
      extra: { format: 'openai-moderations', fields: { policy: 1 } },
    })
    expect(inputs(['a', 'b']).inputs.length).toBe(2)
    expect(
      inputs([
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QUI=' } },
        { type: 'image_url', image_url: { url: 'https://a/b' } },
      ]).inputs,
    ).toEqual([
      [
        { type: 'text', text: 'a' },
        { type: 'image', source: { data: 'QUI=', mediaType: 'image/png' } },
        { type: 'image', source: { url: 'https://a/b' } },
      ],
    ])
  })

  test('every category is there, also those that the vendor lacks; its own ones stay', async () => {
    const request = openaiModerations.decode(
      bodyOf({
        input: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'https://a/b' } },
        ],
      }),
    )
    const verdict = {
      flagged: true,
      categories: { violence: true, unsafe: true },
      scores: { violence: 0.8, unsafe: 1, hate: 0.1 },
    }
    const body: any = openaiModerations.encode({ verdicts: [verdict] }, 'public', request)
    expectConforms('CreateModerationResponse', body)
    expect(body.model).toBe('public')
    expect(body.results[0]).toMatchObject({
      flagged: true,
      categories: { violence: true, unsafe: true, hate: false },
      category_scores: { violence: 0.8, unsafe: 1, hate: 0.1, sexual: 0 },
      category_applied_input_types: { violence: ['text', 'image'], hate: ['text'], sexual: [] },
    })
    expect(() => openaiModerations.encode({ verdicts: [] }, 'm', request)).toThrow('0 verdicts for 1 inputs')
  })

  test('a forwarded answer gets the public name back', () => {
    const { body } = openaiModerations.forward.answer(bytes({ id: 'modr-1', model: 'omni', results: [] }), 'public')
    expect(JSON.parse(Buffer.from(body as Uint8Array).toString())).toEqual({
      id: 'modr-1',
      model: 'public',
      results: [],
    })
    expect(() => openaiModerations.forward.answer(bytes({ model: 'omni' }), 'm')).toThrow('no `results`')
  })
})

describe('images', () => {
  test('refuses what no upstream takes', () => {
    expect(pathsOf(openaiImages, {})).toEqual(['prompt:missing'])
    expect(
      pathsOf(openaiImages, {
        prompt: '',
        n: 11,
        size: 5,
        response_format: 'png',
        stream: 'true',
        output_compression: 101,
      }),
    ).toEqual([
      'prompt:out_of_range',
      'n:out_of_range',
      'size:wrong_type',
      'response_format:unknown_value',
      'stream:wrong_type',
      'output_compression:out_of_range',
    ])
    expect(pathsOf(openaiImageEdits, { prompt: 'x' })).toEqual(['image:missing'])
    expect(pathsOf(openaiImageEdits, { prompt: 'x', image: 'text', n: 'two', mask: [file, file] })).toEqual([
      'image:wrong_type',
      'n:wrong_type',
      'mask:wrong_type',
    ])
    expect(pathsOf(openaiImageEdits, { prompt: 'x', image: Array(17).fill(file) })).toEqual(['image:wrong_type'])
    expect(pathsOf(openaiImageEdits, { prompt: 'x', image: Array(16).fill(file), n: '2', stream: 'True' })).toEqual([])
    expect(pathsOf(openaiImageVariations, { image: { ...file, bytes: 0 } })).toEqual(['image:out_of_range'])
    expect(openaiImageEdits.inspect(bodyOf({ stream: 'true' })).stream).toBe(true)
  })

  test('to the hub and back', async () => {
    const request = openaiImages.decode(
      bodyOf({ model: 'm', prompt: 'a cat', n: 2, size: '1024x1024', quality: 'high', user: 'u', moderation: 'low' }),
    )
    expect(request).toEqual({
      model: 'm',
      prompt: 'a cat',
      count: 2,
      size: '1024x1024',
      quality: 'high',
      user: 'u',
      response: 'b64_json',
      extra: { format: 'openai-images', fields: { moderation: 'low' } },
    })
    const result = {
      createdS: 1713833628,
      images: [
        { source: { data: 'QUI=', mediaType: 'image/png' }, revisedPrompt: 'a red cat' },
        { source: { url: 'https://a/b.png' } },
      ],
      usage: { inputTokens: 50, outputTokens: 50, images: 2 },
    }
    const body: any = openaiImages.encode(result, 'public', request)
    expectConforms('ImagesResponse', body)
    expect(body.data).toEqual([{ b64_json: 'QUI=', revised_prompt: 'a red cat' }, { url: 'https://a/b.png' }])
    expect(body.usage.total_tokens).toBe(100)
    const asUrl: any = openaiImages.encode(result, 'm', { ...request, response: 'url' })
    expect(asUrl.data[0].url).toBe('data:image/png;base64,QUI=')
    expect(
      openaiImages.encode(
        { createdS: 1, images: [], usage: { inputTokens: 0, outputTokens: 0, images: 0 } },
        'm',
        request,
      ),
    ).toEqual({ created: 1, data: [] })
    expect(() => openaiImages.encode({ createdS: 1, images: [{ source: { fileId: 'f' } }] }, 'm', request)).toThrow(
      GatewayError,
    )
    expect(() => openaiImages.decode(bodyOf({ prompt: 'x', stream: true }))).toThrow('stream')
  })

  // OpenAI API reference, "Create image".
  const documented = {
    created: 1713833628,
    data: [{ b64_json: 'QUI=' }],
    background: 'transparent',
    output_format: 'png',
    size: '1024x1024',
    quality: 'high',
    usage: {
      total_tokens: 100,
      input_tokens: 50,
      output_tokens: 50,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
    },
  }

  test('a forwarded answer keeps its bytes; pictures and tokens are counted', () => {
    const { body, usage } = openaiImages.forward.answer(bytes(documented), 'public')
    expect(Buffer.from(body as Uint8Array).toString()).toBe(JSON.stringify(documented))
    expect(usage).toEqual({ inputTokens: 50, outputTokens: 50, inputImageTokens: 40, outputImageTokens: 50, images: 1 })
    expect(
      openaiImages.forward.answer(bytes({ created: 1, data: [{ url: 'x' }, { url: 'y' }], model: 'u' }), 'public'),
    ).toMatchObject({ usage: { inputTokens: 0, outputTokens: 0, images: 2 } })
    for (const wrong of ['', '{"created":1}', '{"data":5}', '<html>'])
      expect(() => openaiImages.forward.answer(bytes(wrong), 'm')).toThrow(GatewayError)
  })

  const partial = { type: 'image_generation.partial_image', b64_json: 'Li4u', partial_image_index: 0 }
  const done = { type: 'image_generation.completed', b64_json: 'QUI=', usage: documented.usage }

  test('a stream of pictures, cut anywhere', () => {
    const text = `event: image_generation.partial_image\n${sse(partial)}: ping\n\n${sse(done)}`
    const all = everyCut(() => openaiImages.forward.relay('m', bodyOf({ prompt: 'x' })), text)
    expect(all).toEqual({
      out: text,
      started: true,
      complete: true,
      terminated: true,
      failure: undefined,
      usage: { inputTokens: 50, outputTokens: 50, inputImageTokens: 40, outputImageTokens: 50 },
    })
  })

  test('two pictures are over after the second; each has its usage', () => {
    const relay = openaiImages.forward.relay('m', bodyOf({ prompt: 'x', n: 2 }))
    relay.push(bytes(sse(done)))
    expect([relay.complete, relay.terminated]).toEqual([true, false])
    relay.push(bytes(sse(done)))
    expect([relay.terminated, relay.usage?.inputTokens]).toEqual([true, 100])
  })
})

describe('speech', () => {
  test('refuses what cannot be spoken', () => {
    expect(pathsOf(openaiSpeech, {})).toEqual(['input:missing', 'voice:missing'])
    expect(pathsOf(openaiSpeech, { input: '', voice: 5, speed: 5, stream_format: 'wav', response_format: 1 })).toEqual([
      'input:out_of_range',
      'voice:wrong_type',
      'speed:out_of_range',
      'stream_format:unknown_value',
      'response_format:wrong_type',
    ])
    expect(pathsOf(openaiSpeech, { input: 'x', voice: { id: 'voice_1' }, response_format: 'ogg' })).toEqual([])
    expect(openaiSpeech.inspect(bodyOf({ input: 'x', voice: 'a', stream_format: 'sse' })).stream).toBe(true)
  })

  test('the hub request', () => {
    expect(
      openaiSpeech.decode(
        bodyOf({ model: 'm', input: 'hi', voice: { id: 'v' }, instructions: 'calm', speed: 2, lang: 'en' }),
      ),
    ).toEqual({
      model: 'm',
      input: 'hi',
      voice: 'v',
      format: 'mp3',
      instructions: 'calm',
      speed: 2,
      extra: { format: 'openai-speech', fields: { lang: 'en' } },
    })
  })

  test('audio passes byte for byte and can only end well or be cut', () => {
    const relay = openaiSpeech.forward.relay('m', bodyOf({}), 'audio/mpeg')
    const piece = Uint8Array.of(255, 251, 0)
    expect(relay.push(piece)).toBe(piece)
    expect(relay.started).toBe(true)
    expect(relay.errorEvent(new GatewayError('upstream-broken', 'x'))).toBe('')
    relay.end()
    expect([relay.complete, relay.failure]).toEqual([true, undefined])
    expect(run(openaiSpeech.forward.relay('m', bodyOf({}), 'audio/mpeg'), [])).toMatchObject({
      failure: 'upstream-broken: the upstream answered with no audio at all',
    })
  })

  const relay = () => openaiSpeech.forward.relay('m', bodyOf({}), 'text/event-stream; charset=utf-8')
  const delta = { type: 'speech.audio.delta', audio: 'QUJD' }
  const done = { type: 'speech.audio.done', usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 } }

  test('events pass as they are, with the usage of the last', () => {
    for (const text of [
      sse(delta, delta, done),
      sse(delta, done).replaceAll('\n', '\r\n'),
      sse(delta, delta, done).replaceAll('\n\n', '\n\r\n'),
    ])
      expect(everyCut(relay, text)).toEqual({
        out: text,
        started: true,
        complete: true,
        terminated: true,
        failure: undefined,
        usage: { inputTokens: 14, outputTokens: 101 },
      })
    // Nothing behind the last event counts.
    expect(everyCut(relay, sse(delta, done, '[DONE]', { error: 'late' }))).toMatchObject({
      out: sse(delta, done),
      terminated: true,
      failure: undefined,
    })
    // Without the last blank line.
    expect(run(relay(), [bytes(sse(delta, done).slice(0, -1))])).toMatchObject({ complete: true, failure: undefined })
  })

  test('streams that break', () => {
    const unfinished = 'upstream-broken: the upstream ended its stream without finishing the answer'
    expect(everyCut(relay, sse(delta))).toMatchObject({ started: true, complete: false, failure: unfinished })
    expect(everyCut(relay, '')).toMatchObject({ out: '', started: false, failure: unfinished })
    // Half an event goes nowhere.
    expect(everyCut(relay, sse(delta) + sse(done).slice(0, 30))).toMatchObject({ out: sse(delta), failure: unfinished })
    for (const error of [
      sse({ error: { message: 'no voice', code: 'c' } }),
      sse({ type: 'error', message: 'no voice' }),
      `event: error\n${sse({ message: 'no voice' })}`,
      sse({ error: 'no voice' }),
      sse({ object: 'error', message: 'no voice' }),
    ])
      expect(everyCut(relay, error)).toMatchObject({ out: '', started: false, failure: 'upstream-failed: no voice' })
    expect(everyCut(relay, sse('{"type":"speech.audio.done"'))).toMatchObject({
      out: '',
      failure: 'upstream-broken: an event of the upstream is not valid JSON',
    })
    expect(everyCut(relay, sse(delta, '{"type":"speech.audio.delta","aud', done))).toMatchObject({
      out: sse(delta),
      failure: 'upstream-broken: an event of the upstream is not valid JSON',
    })
    expect(everyCut(relay, sse('[DONE]'))).toMatchObject({
      out: '',
      failure: 'upstream-broken: the upstream ended its stream without an answer',
    })
    // An answer may say that there was no error.
    expect(run(relay(), [bytes(sse({ ...delta, error: null }, done))])).toMatchObject({ failure: undefined })
  })
})

describe('transcriptions', () => {
  test('refuses forms without their parts, and values that are none', () => {
    expect(pathsOf(openaiTranscriptions, { model: 'm' })).toEqual(['file:missing'])
    expect(
      pathsOf(openaiTranscriptions, {
        model: ['a', 'b'],
        file: 'text',
        temperature: 'hot',
        response_format: 'mp3',
        stream: '1',
        timestamp_granularities: ['word', 'letter'],
      }),
    ).toEqual([
      'model:wrong_type',
      'file:wrong_type',
      'temperature:wrong_type',
      'response_format:unknown_value',
      'stream:wrong_type',
      'timestamp_granularities:unknown_value',
    ])
    expect(pathsOf(openaiTranscriptions, { file: [file, file], temperature: '1.5' })).toEqual([
      'file:wrong_type',
      'temperature:out_of_range',
    ])
    expect(pathsOf(openaiTranscriptions, { file: { ...file, bytes: 0 } })).toEqual(['file:out_of_range'])
    expect(
      pathsOf(openaiTranscriptions, {
        file,
        temperature: '.5',
        response_format: 'diarized_json',
        stream: 'True',
        timestamp_granularities: 'word',
        include: ['logprobs'],
      }),
    ).toEqual([])
    expect(pathsOf(openaiTranslations, { file, response_format: 'diarized_json' })).toEqual([
      'response_format:unknown_value',
    ])
    expect(openaiTranscriptions.inspect(bodyOf({ model: 'm', stream: 'TRUE', user: 'u' }))).toMatchObject({
      model: 'm',
      stream: true,
      endUser: 'u',
    })
    expect(openaiTranslations.inspect(bodyOf({ stream: 'true' })).stream).toBe(false)
  })

  const answer = (body: unknown, type?: string) => openaiTranscriptions.forward.answer(bytes(body), 'm', head(type))

  test('answers keep their bytes and their type; tokens or seconds are read', () => {
    const text = 'Imagine the wildest idea...'
    const tokens = {
      text,
      usage: {
        type: 'tokens',
        input_tokens: 14,
        input_token_details: { text_tokens: 0, audio_tokens: 14 },
        output_tokens: 45,
        total_tokens: 59,
      },
    }
    expect(answer(tokens, 'application/json')).toEqual({
      body: bytes(tokens),
      contentType: 'application/json',
      usage: { inputTokens: 14, outputTokens: 45, inputAudioTokens: 14 },
    })
    expect(
      answer({ text, usage: { type: 'duration', seconds: 9.5 } }, 'application/json; charset=utf-8').usage,
    ).toEqual({ inputTokens: 0, outputTokens: 0, audioSeconds: 9.5 })
    expect(answer({ task: 'transcribe', text, duration: 8.47, segments: [] }, 'application/json').usage).toMatchObject({
      audioSeconds: 8.47,
    })
    expect(answer({ text, duration: '8.5' }).usage).toMatchObject({ audioSeconds: 8.5 })
    expect(answer({ text }, 'application/json').usage).toBeUndefined()
    expect(answer('WEBVTT\n\n', 'text/vtt')).toEqual({
      body: bytes('WEBVTT\n\n'),
      contentType: 'text/vtt',
      usage: undefined,
    })
    expect(answer('hello\n', 'text/plain; charset=utf-8').contentType).toBe('text/plain; charset=utf-8')
    for (const [body, type] of [
      ['<html>', 'text/html'],
      ['{"x":1}', 'application/json'],
      ['', 'application/json'],
      ['hello', undefined],
    ] as const)
      expect(() => answer(body, type)).toThrow(GatewayError)
  })

  test('a model that cannot stream answers whole, and that is passed on', () => {
    const make = (type: string) => openaiTranscriptions.forward.relay('m', bodyOf({}), type)
    const text = '{"text":"hi","usage":{"type":"duration","seconds":2}}'
    expect(everyCut(() => make('application/json'), text)).toEqual({
      out: text,
      started: true,
      complete: true,
      terminated: false,
      failure: undefined,
      usage: { inputTokens: 0, outputTokens: 0, audioSeconds: 2 },
    })
    expect(run(make('application/json'), [bytes('{"text":')])).toMatchObject({
      out: '',
      started: false,
      failure: expect.stringContaining('upstream-broken'),
    })
  })

  test('streams of OpenAI and of those that stream in the words of chat', () => {
    const make = () => openaiTranscriptions.forward.relay('m', bodyOf({}), 'text/event-stream')
    const usage = { input_tokens: 14, input_token_details: { audio_tokens: 14 }, output_tokens: 31, total_tokens: 45 }
    const text = sse(
      { type: 'transcript.text.delta', delta: 'Hi "error"' },
      { type: 'transcript.text.done', text: 'Hi', usage },
    )
    expect(everyCut(make, text)).toMatchObject({
      out: text,
      terminated: true,
      usage: { inputTokens: 14, outputTokens: 31, inputAudioTokens: 14 },
    })
    const chat = sse(
      { object: 'transcription.chunk', choices: [{ delta: { content: 'Hi' } }] },
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      '[DONE]',
    )
    expect(everyCut(make, chat)).toMatchObject({
      out: chat,
      terminated: true,
      usage: { inputTokens: 3, outputTokens: 2 },
    })
  })
})

test('implausible usage is none', () => {
  for (const wrong of [
    null,
    5,
    {},
    { type: 'duration' },
    { type: 'duration', seconds: -1 },
    { seconds: 1e12 },
    { input_tokens: -1 },
    { input_tokens: 1.5, output_tokens: 1 },
    { input_tokens: 1, output_tokens: 1e12 },
  ])
    expect(readMediaUsage(wrong)).toBeUndefined()
})
