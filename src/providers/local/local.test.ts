/** The built-in models: bounded, deterministic, and marked as simulated. */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import { inflateSync } from 'node:zlib'
import { expectConforms, streamData } from '../../../tests/support/openai-conformance.ts'
import type { InProcessAnswer, InProcessFile } from '../../core/provider.ts'
import { local } from './index.ts'

const ask = (operation: string, body: object, files: InProcessFile[] = []): InProcessAnswer =>
  local.answer!({ url: `local:${operation}`, headers: {} }, body, files)
const bytesOf = ({ pieces }: InProcessAnswer) => Buffer.concat(pieces.map(piece => Buffer.from(piece as Uint8Array)))
const textOf = (answer: InProcessAnswer) => bytesOf(answer).toString('utf8')
const jsonOf = (answer: InProcessAnswer): any => JSON.parse(textOf(answer))

/** The error of a refused call. */
function refusal(operation: string, body: object): { message: string; param: string } {
  const answer = ask(operation, body)
  expect([answer.status, answer.contentType]).toEqual([400, 'application/json'])
  expect(classify({ host: 'local', status: 400, body: jsonOf(answer) })).toMatchObject({
    kind: 'upstream-refused',
    message: jsonOf(answer).error.message,
  })
  return jsonOf(answer).error
}

const structured = (schema: object, more: object = {}) => ({
  model: 'm',
  messages: [{ role: 'user', content: 'x' }],
  response_format: { type: 'json_schema', json_schema: { name: 's', schema } },
  ...more,
})
const written = (schema: object) => JSON.parse(jsonOf(ask('chat', structured(schema))).choices[0].message.content)

describe('schemas that are programs', () => {
  const node = (required: string[] | undefined) => ({
    type: 'object',
    ...(required && { required }),
    properties: Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`n${at}`, { $ref: '#/$defs/N' }])),
  })

  test('required recursion has no smallest value and is refused at once', () => {
    const names = Array.from({ length: 12 }, (_, at) => `n${at}`)
    expect(refusal('chat', structured({ $ref: '#/$defs/N', $defs: { N: node(names) } })).param).toBe('schema')
  })

  test('a tool with such a schema is refused as well, and so are arrays and alternatives', () => {
    const parameters = {
      $ref: '#/$defs/N',
      $defs: { N: { type: 'array', minItems: 10, items: { $ref: '#/$defs/N' } } },
    }
    const tools = [{ type: 'function', function: { name: 'f', parameters } }]
    refusal('chat', { messages: [{ role: 'user', content: 'x' }], tools, tool_choice: 'required' })
    refusal('chat', structured({ $ref: '#/$defs/N', $defs: { N: { allOf: Array(20).fill({ $ref: '#/$defs/N' }) } } }))
    refusal('chat', structured({ $ref: '#' }))
  })

  test('lists in lists multiply without any recursion', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 7 }, (_, at) => [
        `L${at}`,
        { type: 'array', minItems: 10, items: { $ref: `#/$defs/L${at + 1}` } },
      ]),
    )
    expect(refusal('chat', structured({ $ref: '#/$defs/L0', $defs: { ...$defs, L7: { type: 'null' } } })).param).toBe(
      'schema',
    )
  })

  test('large constants cannot be multiplied by references to them', () => {
    const names = Array.from({ length: 500 }, (_, at) => `n${at}`)
    for (const word of [
      { const: 'x'.repeat(1_000_000) },
      { enum: [Array(20_000).fill('abc')] },
      { minLength: 1000, type: 'string' },
    ])
      expect(
        refusal(
          'chat',
          structured({
            type: 'object',
            properties: Object.fromEntries(names.map(name => [name, { $ref: '#/$defs/C' }])),
            $defs: { C: word },
          }),
        ).param,
      ).toBe('schema')
  })

  test('recursion that may end does end, and is valid', () => {
    const strict = {
      $ref: '#/$defs/N',
      $defs: {
        N: {
          type: 'object',
          required: ['value', 'left', 'right'],
          properties: {
            value: { type: 'integer' },
            left: { anyOf: [{ $ref: '#/$defs/N' }, { type: 'null' }] },
            right: { anyOf: [{ $ref: '#/$defs/N' }, { type: 'null' }] },
          },
        },
      },
    }
    let at = written(strict)
    let depth = 0
    for (; at; at = at.left, depth++) expect(at.value).toBe(1)
    expect(depth).toBeGreaterThan(1)
    // Where nothing is required, a child far enough down has no properties of its own.
    expect(Object.keys(written({ $ref: '#/$defs/N', $defs: { N: node(undefined) } })).length).toBe(12)
    const pair = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/P' }, b: { $ref: '#/$defs/P' }, name: { type: 'string' } },
    }
    expect(written({ $ref: '#/$defs/P', $defs: { P: pair } }).a).toEqual({ a: {}, b: {}, name: 'simulated' })
  })

  test('ordinary schemas are as before', () => {
    expect(
      written({
        type: 'object',
        properties: {
          a: { enum: ['x'] },
          b: { type: 'array', minItems: 2, items: { type: 'number', minimum: 3 } },
          c: { default: 7 },
        },
      }),
    ).toEqual({ a: 'x', b: [3, 3], c: 7 })
  })
})

describe('numbers that would fill the memory', () => {
  test('dimensions', () => {
    for (const dimensions of [5e8, 0, -1, 1.5, 8193, '5'])
      expect(refusal('embeddings', { input: 'a', dimensions }).param).toBe('dimensions')
    expect(jsonOf(ask('embeddings', { input: 'a', dimensions: 8192 })).data[0].embedding.length).toBe(8192)
    expect(jsonOf(ask('embeddings', { input: 'a', dimensions: null })).data[0].embedding.length).toBe(1024)
    refusal('embeddings', { input: Array(2048).fill('a'), dimensions: 8192 })
  })

  test('inputs of embeddings', () => {
    for (const input of [
      [],
      Array(2049).fill('a'),
      [null],
      [{}],
      'x'.repeat(100_001),
      Array(30).fill('x'.repeat(100_000)),
      undefined,
    ])
      expect(refusal('embeddings', { input }).param).toBe('input')
    expect(jsonOf(ask('embeddings', { input: [[1, 2], [3]] })).data.length).toBe(2)
  })

  test('choices and prompts', () => {
    const messages = [{ role: 'user', content: 'x' }]
    for (const n of [0, -1, 129, 1e9, 1.5, '2']) expect(refusal('chat', { messages, n }).param).toBe('n')
    expect(jsonOf(ask('chat', { messages, n: 128 })).choices.length).toBe(128)
    refusal('completions', { prompt: Array(2048).fill('a'), n: 128 })
    refusal('completions', { prompt: Array(5000).fill('a') })
    const long = { type: 'string', minLength: 1000 }
    const wide = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`p${at}`, long])),
    }
    expect(refusal('chat', structured(wide, { n: 128 })).param).toBe('n')
  })
})

describe('calls by `functions` and by `tools`', () => {
  const lookUp = {
    name: 'look_up',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  }
  const other = { name: 'other' }
  const chat = (fields: object, content = 'hello') =>
    jsonOf(ask('chat', { model: 'm', messages: [{ role: 'user', content }], ...fields })).choices[0]

  test('`functions` are answered by `function_call`, whole and streamed', async () => {
    const body = {
      model: 'm',
      messages: [{ role: 'user', content: 'x' }],
      functions: [other, lookUp],
      function_call: { name: 'look_up' },
    }
    const whole = jsonOf(ask('chat', body))
    expectConforms('CreateChatCompletionResponse', { ...whole, system_fingerprint: 'x' })
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'function_call',
      message: { content: null, function_call: { name: 'look_up', arguments: '{"city":"simulated"}' } },
    })
    expect(whole.choices[0].message.tool_calls).toBeUndefined()
    const chunks = (streamData(textOf(ask('chat', { ...body, stream: true }))) as any[])
      .filter(one => one !== '[DONE]')
      .map(one => one.choices[0])
    expect(chunks.map(one => one.delta.function_call).filter(Boolean)).toEqual([
      { name: 'look_up', arguments: '{"city":"simulated"}' },
    ])
    expect(chunks.at(-1).finish_reason).toBe('function_call')
  })

  test('none, auto and a forced one; `tools` win where both are sent', () => {
    expect(chat({ functions: [lookUp], function_call: 'none' }, 'look_up').finish_reason).toBe('stop')
    expect(chat({ functions: [lookUp] }).finish_reason).toBe('stop')
    expect(chat({ functions: [lookUp] }, 'please look_up').finish_reason).toBe('function_call')
    const both = chat({ functions: [lookUp], tools: [{ type: 'function', function: other }], tool_choice: 'required' })
    expect([both.finish_reason, both.message.tool_calls[0].function.name]).toEqual(['tool_calls', 'other'])
    expect(
      chat({
        messages: [
          { role: 'user', content: 'x' },
          { role: 'function', name: 'look_up', content: 'sunny' },
        ],
      }).message.content,
    ).toBe('[simulated] The tool answered: sunny')
  })

  test('`allowed_tools` narrows the choice; tools that are no functions are refused', () => {
    const tools = [other, lookUp].map(one => ({ type: 'function', function: one }))
    const tool_choice = {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'look_up' } }] },
    }
    expect(chat({ tools, tool_choice }).message.tool_calls[0].function.name).toBe('look_up')
    expect(
      refusal('chat', {
        messages: [{ role: 'user', content: 'x' }],
        tools: [{ type: 'custom', custom: { name: 'c' } }],
      }).param,
    ).toBe('tools')
  })

  test('`top_logprobs` lists the one token there is', () => {
    const content = chat({ logprobs: true, top_logprobs: 3 }).logprobs.content
    expect(content[0].top_logprobs).toEqual([{ token: content[0].token, logprob: 0, bytes: content[0].bytes }])
    expect(chat({ logprobs: true }).logprobs.content[0].top_logprobs).toEqual([])
  })
})

describe('text completions', () => {
  const complete = (fields: object) => jsonOf(ask('completions', { model: 'm', prompt: 'once upon', ...fields }))

  test('`echo` stands before every choice, whole and streamed, and costs no output', async () => {
    const plain = complete({})
    const body = { prompt: ['one ', 'two '], n: 2, echo: true }
    const echoed = complete(body)
    expectConforms('CreateCompletionResponse', echoed)
    expect(echoed.choices.map((one: any) => one.text.slice(0, 15))).toEqual([
      'one [simulated]',
      'one [simulated]',
      'two [simulated]',
      'two [simulated]',
    ])
    expect(complete({ echo: true }).usage).toEqual(plain.usage)
    expect(complete({ echo: true, max_tokens: 0 }).choices[0]).toMatchObject({
      text: 'once upon',
      finish_reason: 'length',
    })
    const chunks = (streamData(textOf(ask('completions', { model: 'm', ...body, stream: true }))) as any[])
      .filter(one => one !== '[DONE]')
      .map(one => one.choices[0])
    for (const index of [0, 1, 2, 3])
      expect(
        chunks
          .filter(one => one.index === index)
          .map(one => one.text)
          .join(''),
      ).toBe(echoed.choices[index].text)
  })

  test('an echo has bounds, and needs text', () => {
    expect(refusal('completions', { prompt: 'x'.repeat(600_000), n: 2, echo: true }).param).toBe('echo')
    expect(refusal('completions', { prompt: [1, 2, 3], echo: true }).param).toBe('echo')
    expect(refusal('completions', { prompt: 'x', echo: true, logprobs: 1 }).message).toContain('leave out')
  })

  test('`logprobs` in the old columns, the same in a stream', () => {
    const { text, logprobs } = complete({ logprobs: 1 }).choices[0]
    expect(logprobs.tokens.join('')).toBe(text)
    expect(
      logprobs.tokens.map((token: string, at: number) => text.startsWith(token, logprobs.text_offset[at])),
    ).not.toContain(false)
    expect(logprobs.top_logprobs[0]).toEqual({ [logprobs.tokens[0]]: 0 })
    const chunks = (
      streamData(textOf(ask('completions', { model: 'm', prompt: 'once upon', logprobs: 1, stream: true }))) as any[]
    ).filter(one => one !== '[DONE]')
    expect(chunks.flatMap(one => one.choices[0].logprobs?.text_offset ?? [])).toEqual(logprobs.text_offset)
    expect(complete({}).choices[0].logprobs).toBeNull()
  })

  test('unsupported fields are refused where they are not dropped before: in a batch', () => {
    expect(refusal('completions', { prompt: 'x', suffix: 'y' }).param).toBe('suffix')
    expect(refusal('completions', { prompt: 'x', best_of: 3 }).param).toBe('best_of')
    expect(complete({ best_of: 1, suffix: '' }).choices.length).toBe(1)
  })
})

describe('moderations', () => {
  test("one verdict a text, parts together, all of OpenAI's keys", async () => {
    const body = jsonOf(
      ask('moderations', {
        model: 'm',
        input: ['I will kill you', 'Have a nice day', 'skill is no kill-joy... skillful'],
      }),
    )
    expectConforms('CreateModerationResponse', body)
    expect(body.results.map((one: any) => one.flagged)).toEqual([true, false, true])
    expect(body.results[0].categories).toMatchObject({ violence: true, hate: false })
    expect(body.results[0].category_scores.violence).toBeGreaterThan(body.results[1].category_scores.violence)
    const parts = jsonOf(
      ask('moderations', {
        input: [
          { type: 'text', text: 'you idiot' },
          { type: 'text', text: 'bye' },
        ],
      }),
    )
    expect(parts.results.map((one: any) => one.categories.harassment)).toEqual([true])
    expect(textOf(ask('moderations', { input: 'a' }))).toBe(textOf(ask('moderations', { input: 'a' })))
  })

  test('what was not seen is not called harmless', () => {
    expect(
      refusal('moderations', { input: [{ type: 'image_url', image_url: { url: 'https://a/b.png' } }] }).message,
    ).toContain('cannot see images')
    refusal('moderations', { input: [] })
    refusal('moderations', { input: Array(2049).fill('a') })
    refusal('moderations', { input: 'x'.repeat(2_000_001) })
  })
})

/** Width, height and the number of bytes behind the compression; throws when a checksum is wrong. */
function readPng(base64: string): { width: number; height: number; pixelBytes: number } {
  const bytes = Buffer.from(base64, 'base64')
  expect(bytes.subarray(0, 8)).toEqual(Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]))
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const named = bytes.subarray(at + 4, at + 8 + length)
    expect(bytes.readUInt32BE(at + 8 + length)).toBe(Bun.hash.crc32(named))
    chunks.set(named.toString('latin1', 0, 4), named.subarray(4))
    at += length + 12
  }
  const header = chunks.get('IHDR')!
  return {
    width: header.readUInt32BE(0),
    height: header.readUInt32BE(4),
    pixelBytes: inflateSync(chunks.get('IDAT')!).length,
  }
}

describe('images', () => {
  test('a real PNG of the size that was asked for; the prompt decides, and only the prompt', () => {
    const body = jsonOf(ask('images', { prompt: 'a cat', size: '1000x301', n: 2 }))
    expect(readPng(body.data[0].b64_json)).toEqual({ width: 1000, height: 301, pixelBytes: 251 * 301 })
    expect(body.data[0].b64_json).not.toBe(body.data[1].b64_json)
    expect(body).toEqual(jsonOf(ask('images', { prompt: 'a cat', size: '1000x301', n: 2 })))
    expect(body.data[0].b64_json.length).toBeLessThan(20_000)
    expect(jsonOf(ask('images', { prompt: 'a', response_format: 'url' })).data[0].url).toStartWith(
      'data:image/png;base64,iVBOR',
    )
  })

  test('the largest answer is given; beyond it is refused', () => {
    expect(jsonOf(ask('images', { prompt: 'a', size: '2048x2048', n: 10 })).data.length).toBe(10)
    for (const [body, param] of [
      [{ prompt: 'a', size: '2049x1' }, 'size'],
      [{ prompt: 'a', size: '99999x99999' }, 'size'],
      [{ prompt: 'a', n: 11 }, 'n'],
      [{ prompt: '' }, 'prompt'],
      [{ prompt: 'a', output_format: 'webp' }, 'output_format'],
      [{ prompt: 'a', stream: true }, 'stream'],
    ] as const)
      expect(refusal('images', body).param).toBe(param)
  })
})

const fileOf = (bytes: Uint8Array, field = 'file'): InProcessFile => ({
  field,
  filename: 'a.wav',
  contentType: 'audio/wav',
  bytes: bytes.length,
  head: bytes.subarray(0, 65536),
})

describe('speech and transcription', () => {
  test('wav and pcm are what they say; the tones fit the text', () => {
    const pcm = bytesOf(ask('speech', { input: 'hello', voice: 'x', response_format: 'pcm' }))
    expect(pcm.length).toBe(5 * 720 * 2)
    const wav = ask('speech', { input: 'hello', voice: 'x' })
    expect(wav.contentType).toBe('audio/wav')
    expect(bytesOf(wav).subarray(44)).toEqual(pcm)
    expect(bytesOf(wav).readUInt32LE(40)).toBe(pcm.length)
    expect(Math.max(...new Int16Array(pcm.buffer, pcm.byteOffset, pcm.length / 2))).toBeGreaterThan(7000)
    expect(bytesOf(ask('speech', { input: 'hello', voice: 'x', speed: 2, response_format: 'pcm' })).length).toBe(
      pcm.length / 2,
    )
  })

  test('events carry the same bytes, and a last one with the usage', async () => {
    const events = streamData(textOf(ask('speech', { input: 'hello', stream_format: 'sse' }))) as any[]
    const audio = Buffer.concat(events.slice(0, -1).map(event => Buffer.from(event.audio, 'base64')))
    expect(audio).toEqual(bytesOf(ask('speech', { input: 'hello' })))
    expectConforms('SpeechAudioDoneEvent', events.at(-1))
  })

  const wav = bytesOf(ask('speech', { input: 'x'.repeat(50), voice: 'x' }))
  const transcribe = (fields: object, bytes: Uint8Array = wav) => ask('transcriptions', fields, [fileOf(bytes)])

  test('a WAV is described in every format', async () => {
    const json = jsonOf(transcribe({}))
    expectConforms('CreateTranscriptionResponseJson', json)
    expect(json.text).toBe(
      '[simulated] No speech recognition is configured. ' +
        `The file is WAV audio of ${wav.length} bytes: 1.5 seconds, 24000 Hz, one channel.`,
    )
    expect(json.usage).toEqual({ type: 'duration', seconds: 1.5 })
    const verbose = jsonOf(transcribe({ response_format: 'verbose_json' }))
    expectConforms('CreateTranscriptionResponseVerboseJson', verbose)
    expect(verbose).toMatchObject({ task: 'transcribe', duration: 1.5, segments: [{ start: 0, end: 1.5 }] })
    expect(jsonOf(ask('translations', { response_format: 'verbose_json' }, [fileOf(wav)])).task).toBe('translate')
    expect(textOf(transcribe({ response_format: 'text' }))).toBe(`${json.text}\n`)
    expect(textOf(transcribe({ response_format: 'srt' }))).toBe(`1\n00:00:00,000 --> 00:00:01,500\n${json.text}\n\n`)
    expect(textOf(transcribe({ response_format: 'vtt' }))).toStartWith('WEBVTT\n\n00:00:00.000 --> 00:00:01.500\n')
    const events = streamData(textOf(transcribe({ stream: 'true' }))) as any[]
    expect(
      events
        .slice(0, -1)
        .map(event => event.delta)
        .join(''),
    ).toBe(json.text)
    expectConforms('TranscriptTextDoneEvent', events.at(-1))
  })

  test('other formats by their first bytes; what is no audio is refused', () => {
    const flac = Buffer.alloc(42)
    flac.write('fLaC', 'latin1')
    flac.writeBigUInt64BE((44100n << 44n) | (1n << 41n) | (15n << 36n) | 88200n, 18)
    expect(jsonOf(transcribe({}, flac)).text).toContain('FLAC audio of 42 bytes: 2 seconds, 44100 Hz, 2 channels')
    expect(jsonOf(transcribe({}, Buffer.from([0xff, 0xfb, 0x90, 0]))).text).toContain(
      'MP3 audio of 4 bytes: its duration is not known',
    )
    expect(transcribe({ response_format: 'srt' }, Buffer.from('OggS')).status).toBe(400)
    for (const bytes of [Buffer.from('%PDF-1.7'), Buffer.alloc(0), Buffer.from('RIFF')])
      expect(transcribe({}, bytes).status).toBe(400)
    expect(ask('transcriptions', {}, [fileOf(wav, 'other')]).status).toBe(400)
    expect(transcribe({ response_format: 'diarized_json' }).status).toBe(400)
  })

  test('a WAV header with too large a data length is corrected', () => {
    const lying = Buffer.from(wav)
    lying.writeUInt32LE(0xffffffff, 40)
    expect(jsonOf(transcribe({}, lying)).usage.seconds).toBe(1.5)
    lying.writeUInt32LE(0, 28)
    expect(jsonOf(transcribe({}, lying)).text).toContain('its duration is not known')
    for (let cut = 12; cut < 60; cut++) expect([200, 400]).toContain(transcribe({}, wav.subarray(0, cut)).status)
  })
})

test('rerank puts the nearest text first', () => {
  const request = {
    model: 'm',
    query: 'how to bake bread',
    documents: ['the moon landing', 'baking bread at home', 'bread'],
    topN: 2,
    extra: { format: 'x', fields: {} },
  }
  const { head, body } = local.rerank!.request(request, {} as never)
  const result = local.rerank!.result(jsonOf(local.answer!(head, body)), request)
  expect(result.results.map(one => one.index).sort()).toEqual([1, 2])
  expect(result.results[0]!.score).toBeGreaterThan(result.results[1]!.score)
  expect(result.results[0]!.score).toBeLessThanOrEqual(1)
})
