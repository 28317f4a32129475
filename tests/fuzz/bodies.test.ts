/**
 * Hostile bodies through every reader and translator, and hostile answers through every reader of answers. No network.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { nativeProfile } from '../../src/core/deployment.ts'
import type { ModelProfile } from '../../src/core/deployment.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { ChatFormat, Format, StreamRelay, UnaryFormat, UnaryOperations } from '../../src/core/format.ts'
import type { ChatAdapter, UnaryAdapter } from '../../src/core/provider.ts'
import type { Usage } from '../../src/core/usage/usage.ts'
import { emulate, validateJson } from '../../src/emulation/index.ts'
import { schemaProblems } from '../../src/lib/json/json-schema.ts'
import { schemaFaults } from '../../src/lib/json/json-schema-faults.ts'
import * as formats from '../../src/formats/index.ts'
import { bodyTokens } from '../../src/lib/tokens/body-tokens.ts'
import { SseSplitter } from '../../src/lib/sse.ts'
import { JsonBody, JsonBodyError } from '../../src/lib/json/json-body.ts'
import { MultipartError, MultipartParser, boundaryOf } from '../../src/lib/multipart.ts'
import { TranslatedRelay, readAnswer } from '../../src/pipeline/lanes/translate.ts'
import { families } from '../golden/answers/index.ts'
import type { AnswerFamily, AnswerFixture } from '../golden/answers/index.ts'
import { providerOf, targets } from '../golden/targets.ts'
import { Random, newSeedsOf, seedsOf } from '../property/random.ts'
import { chatRequest } from '../support/provider-rig.ts'
import {
  chatBody,
  completionsBody,
  deep,
  embeddingsBody,
  geminiBody,
  geminiEmbedBody,
  imagesBody,
  messagesBody,
  moderationsBody,
  pathsIn,
  poisonedAt,
  poisons,
  rerankBody,
  responsesBody,
  speechBody,
} from './hostile-bodies.ts'
import type { Json } from './hostile-bodies.ts'
import { hostRule } from '../../rules/hosts.ts'
import { noFieldRules } from '../../src/core/dialects/field-rules.ts'
import { chatFieldRules } from '../../src/providers/openai-compatible/field-rules.ts'

const unhandled: unknown[] = []
const noteUnhandled = (thrown: unknown): void => void unhandled.push(thrown)
process.on('unhandledRejection', noteUnhandled)
process.on('uncaughtException', noteUnhandled)
afterAll(() => {
  process.off('unhandledRejection', noteUnhandled)
  process.off('uncaughtException', noteUnhandled)
  expect(unhandled).toEqual([])
  expect(({} as Json).polluted).toBeUndefined()
})

/** One of each kind of reader; hosts that share a reader with OpenAI's add nothing. */
const kinds = new Set([
  'openai',
  'together_ai',
  'anthropic',
  'gemini',
  'vertex_ai',
  'cohere',
  'mistral',
  'ollama',
  'bedrock',
])
const grid = [...targets.values()].flat().filter(({ target }) => kinds.has(target.provider.name))

/**
 * `own`: fields that the dialect reads by itself; all others go to the reader of another dialect, which has them here.
 */
const dialects: readonly { format: Format; body: Json; own?: readonly string[] }[] = [
  { format: formats.openaiChat, body: { model: 'm', ...chatBody } },
  {
    format: formats.cursorChat,
    body: { model: 'm', ...responsesBody, stream_options: { include_usage: true } },
    own: ['tools', 'tool_choice', 'stream_options'],
  },
  { format: formats.openaiCompletions, body: { model: 'm', ...completionsBody } },
  { format: formats.openaiResponses, body: { model: 'm', ...responsesBody } },
  { format: formats.openaiInputTokens, body: { model: 'm', ...responsesBody } },
  { format: formats.anthropicMessages, body: { model: 'm', ...messagesBody } },
  { format: formats.anthropicCountTokens, body: { model: 'm', ...messagesBody } },
  { format: formats.geminiGenerate, body: geminiBody },
  { format: formats.geminiCountTokens, body: { contents: geminiBody.contents } },
  { format: formats.geminiEmbedContent, body: geminiEmbedBody },
  { format: formats.geminiBatchEmbedContents, body: { requests: [{ model: 'models/m', ...geminiEmbedBody }] } },
  { format: formats.openaiEmbeddings, body: { model: 'm', ...embeddingsBody } },
  { format: formats.openaiModerations, body: { model: 'm', ...moderationsBody } },
  { format: formats.openaiImages, body: { model: 'm', ...imagesBody } },
  { format: formats.openaiSpeech, body: { model: 'm', ...speechBody } },
  { format: formats.cohereRerank, body: { model: 'm', ...rerankBody } },
  { format: formats.jinaRerank, body: { model: 'm', ...rerankBody } },
]

/** A host that refuses fields and members of messages. */
const strictRules = chatFieldRules(hostRule('groq', 'openai/gpt-oss-20b'), {
  drop: ['temperature'],
  rename: { max_completion_tokens: 'max_tokens' },
  streamOptions: false,
})

function forward(format: Format, body: JsonBody): void {
  for (const rules of [noFieldRules, strictRules]) Buffer.concat(body.edited(format.forward.edits(body, rules).edits))
  if ('writer' in format) format.forward.relay('public', body)
}

const adapters = {
  embeddings: 'embeddings',
  rerank: 'rerank',
  moderations: 'moderations',
  images: 'images',
  'count-tokens': 'countTokens',
} as const

/** The way of a body up to the bytes for the upstream, in both lanes and for every kind of upstream. */
function translate(format: Format, body: JsonBody): void {
  const { problems } = format.inspect(body)
  if (problems.length > 0) throw new GatewayError('unprocessable', problems[0]!.msg, { problems })
  if (grid.some(({ target }) => target.provider.speaks[format.dialect])) forward(format, body)
  bodyTokens(body)
  if (!('decode' in format)) return
  if ('writer' in format) return each(() => toProviders(format, body))
  if (format.operation === 'speech')
    return each(() =>
      grid.forEach(({ target }) => send(target.provider.speech?.request({ ...format.decode(body) }, target))),
    )
  const unary = format as UnaryFormat<keyof UnaryOperations>
  each(() => {
    const request = unary.decode(body)
    for (const { target } of grid) {
      const adapter = target.provider[adapters[unary.operation]] as UnaryAdapter<typeof request, unknown> | undefined
      if (adapter) each(() => send(adapter.request(request, target)))
    }
  })
}

/** A refusal is an answer too. */
function each(run: () => void): void {
  try {
    run()
  } catch (error) {
    if (!isClientError(error)) throw error
  }
}

const isClientError = (error: unknown): boolean =>
  error instanceof GatewayError && error.status >= 400 && error.status < 500

function send(
  translated:
    | { body: unknown; head: { url: string; headers: Readonly<Record<string, string>> }; dropped: readonly string[] }
    | undefined,
): void {
  if (!translated) return
  JSON.stringify(translated.body)
  const { url, headers } = translated.head
  const head = `${url} ${Object.entries(headers).join(' ')}`
  if (sentHeads.has(head)) return
  new URL(url)
  new Headers({ ...headers })
  sentHeads.add(head)
}

/** Most bodies are sent with the heads of others: each is read once. */
const sentHeads = new Set<string>()

function toProviders(format: ChatFormat, body: JsonBody): void {
  // Providers and emulations change nothing in the request that they are given.
  const request = format.decode(body)
  for (const { target, adapter } of grid) {
    each(() => send(adapter.request(request, target)))
    const count = target.provider.countTokens
    if (count) each(() => send(count.request(request, target)))
  }
  for (const profile of profiles)
    each(() => {
      const played = emulate(providerOf('openai').chat!, profile, request)
      if (played) send(played.adapter.request(request, grid[0]!.target))
    })
}

const profiles: readonly ModelProfile[] = [
  { ...nativeProfile, toolCalling: 'prompted', structuredOutput: 'none', thinking: 'tags', alternateRoles: true },
  { ...nativeProfile, toolCalling: 'after-think', structuredOutput: 'json-object', thinking: 'tags-open' },
  { ...nativeProfile, guard: true },
]

/** `failed` = something that the router would call its own failure; told by where it comes from. */
function outcome(format: Format, text: string): 'accepted' | 'refused' | { failed: string } {
  try {
    translate(format, JsonBody.read(Buffer.from(text)))
    return 'accepted'
  } catch (error) {
    if (error instanceof JsonBodyError) return 'refused'
    if (!isClientError(error)) return { failed: placeOf(error) }
    JSON.stringify(format.errorBody(error as GatewayError))
    return 'refused'
  }
}

/** The message and the first lines of the stack that are the gateway's own. */
function placeOf(error: unknown): string {
  const lines =
    error instanceof Error
      ? (error.stack ?? '')
          .split('\n')
          .filter(line => line.includes('/src/'))
          .slice(0, 2)
      : []
  return [String(error), ...lines.map(line => line.trim().replace(/.*\/src\//, 'src/'))].join(' < ')
}

/** Of the values at a place those that one run tries, others each time; a failure names its own. `SEEDS=5` = all. */
const share = Math.min(seedsOf(2).length / 5, 1)

describe.each(dialects.map(one => [one.format.dialect, one] as const))('%s', (_name, { format, body, own }) => {
  const paths = pathsIn(body).filter(path => !own || path.length === 1 || own.includes(String(path[0])))

  test('takes the valid body', () => {
    expect(format.inspect(JsonBody.read(Buffer.from(JSON.stringify(body)))).problems).toEqual([])
    expect(outcome(format, JSON.stringify(body))).toBe('accepted')
  })

  test('each place replaced by two values of five: a refusal or a request, never a failure', () => {
    const failures = new Map<string, string>()
    const random = new Random(newSeedsOf(1)[0]!)
    let refused = 0
    for (const path of paths) {
      const withPoison = poisonedAt(body, path)
      for (const poison of poisons.filter(() => random.chance(share))) {
        const result = outcome(format, withPoison(poison))
        if (result === 'refused') refused++
        else if (result !== 'accepted' && !failures.has(result.failed))
          failures.set(result.failed, `${path.join('.')} = ${poison.slice(0, 60)}`)
      }
    }
    expect([...failures]).toEqual([])
    expect(refused).toBeGreaterThan(8)
  }, 60_000)

  test('the same in fields that are too large to be inspected', () => {
    const failures = new Map<string, string>()
    const random = new Random(newSeedsOf(1)[0]!)
    for (const path of paths.filter(one => one.length > 1))
      for (const _seed of seedsOf(1)) {
        const poison = random.pick(poisons)
        // The other fields are mostly as small as they are: each pad is read by every upstream.
        const large = random.chance(0.05) ? padded(body) : { ...body, ...padded({ [path[0]!]: body[path[0]!] }) }
        // The pad is put in last: the search for the place of the poison does not read it.
        const result = outcome(format, poisonedAt(large, path)(poison).replaceAll('@@pad@@', pad))
        if (typeof result === 'object' && !failures.has(result.failed))
          failures.set(result.failed, `${path.join('.')} = ${poison.slice(0, 60)}`)
      }
    expect([...failures]).toEqual([])
  })
})

/** More than is looked at before a body is decoded. */
const pad = 'p'.repeat(300 * 1024)

/** Every object inside of a field gets a member of its own; the first one of each field is the large one. */
function padded(body: Json): Json {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, withPad(value, { done: false })]))
}

function withPad(value: unknown, state: { done: boolean }): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(one => withPad(one, state))
  const own = state.done ? {} : { pad: '@@pad@@' }
  state.done = true
  return { ...Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withPad(one, state)])), ...own }
}

const repeat = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const map = (count: number, make: (at: number) => unknown): Json =>
  Object.fromEntries(repeat(count, at => [`k${at}`, make(at)]))
const turn = { role: 'user', content: 'x' }

/** JSON schemas that are small to send and dear to read. */
const heavySchemas: Readonly<Record<string, Json>> = {
  'thousands of allOf': { type: 'object', allOf: repeat(8000, at => ({ properties: { [`p${at}`]: {} } })) },
  'thousands of required': { type: 'object', allOf: repeat(8000, at => ({ required: [`p${at}`] })) },
  'thousands of types beside thousands of words': { type: repeat(3000, () => 'string'), ...map(9000, () => 1) },
  'one large definition, referred to thousands of times': {
    $defs: { x: map(9000, () => 1) },
    anyOf: repeat(1900, () => ({ $ref: '#/$defs/x' })),
  },
  'one large enum, referred to thousands of times': {
    $defs: { x: { enum: repeat(12_000, at => `e${at}`) } },
    anyOf: repeat(1900, () => ({ $ref: '#/$defs/x' })),
  },
  anchors: { $defs: { ...map(7500, () => ({})), z: { $anchor: 'x' } }, anyOf: repeat(7500, () => ({ $ref: '#x' })) },
  'itself thousands of times': { anyOf: repeat(2000, () => ({ $ref: '#' })) },
  'doubled thirty times': {
    $defs: map(30, at => ({ anyOf: repeat(2, () => ({ $ref: `#/$defs/k${at + 1}` })) })),
    $ref: '#/$defs/k0',
  },
}

const call = (at: number) => ({ id: `c${at}`, type: 'function', function: { name: `f${at}`, arguments: '{}' } })

const heavy: readonly { name: string; format: Format; body: Json }[] = [
  ...Object.entries(heavySchemas).flatMap(([name, schema]) => [
    {
      name: `answer: ${name}`,
      format: formats.openaiChat,
      body: {
        model: 'm',
        messages: [turn],
        response_format: { type: 'json_schema', json_schema: { name: 's', strict: true, schema } },
      },
    },
    {
      name: `tool: ${name}`,
      format: formats.anthropicMessages,
      body: { model: 'm', max_tokens: 5, messages: [turn], tools: [{ name: 'f', input_schema: schema }] },
    },
  ]),
  {
    name: 'messages of one role',
    format: formats.openaiChat,
    body: { model: 'm', messages: repeat(7000, () => turn) },
  },
  {
    name: 'results of nothing',
    format: formats.openaiChat,
    body: {
      model: 'm',
      messages: [turn, ...repeat(3000, at => ({ role: 'tool', tool_call_id: `c${at}`, content: 'x' }))],
    },
  },
  {
    name: 'calls and results',
    format: formats.openaiChat,
    body: {
      model: 'm',
      messages: [
        turn,
        { role: 'assistant', tool_calls: repeat(1000, call) },
        ...repeat(1000, at => ({ role: 'tool', tool_call_id: `c${999 - at}`, content: 'x' })),
      ],
    },
  },
  {
    name: 'documents by fields',
    format: formats.cohereRerank,
    body: { model: 'm', query: 'x', documents: repeat(8000, () => ({})), rank_fields: repeat(8000, at => `k${at}`) },
  },
  ...['[', '<tool_call>', '```', '\\', '"', '\n', '\u0301', 'data:'].map(piece => ({
    name: `text of ${JSON.stringify(piece)}`,
    format: formats.openaiChat,
    body: {
      model: 'm',
      user: piece.repeat(100),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: piece.repeat(40_000 / piece.length) },
            {
              type: 'image_url',
              image_url: { url: `data:image/png;base64,${'A'.repeat(100)}${piece.repeat(15_000 / piece.length)}` },
            },
          ],
        },
        {
          role: 'assistant',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: piece.repeat(30_000 / piece.length) } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: piece.repeat(30_000 / piece.length) },
        turn,
      ],
    },
  })),
]

/**
 * In milliseconds of this thread, at most three times, the least: others may want the processor, too. One that is within
 * `msMax` ends it.
 */
function bestMs(run: () => void, msMax: number): number {
  let best = Infinity
  for (let tries = 0; tries < 8 && best >= msMax; tries++) {
    const started = process.threadCpuUsage()
    run()
    const { user, system } = process.threadCpuUsage(started)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

describe('nothing takes long: each step of each upstream', () => {
  test.each(heavy.map(one => [one.name, one] as const))(
    '%s',
    (_name, { format, body: value }) => {
      const text = Buffer.from(JSON.stringify(value))
      expect(text.length).toBeLessThan(256 * 1024)
      const slow: string[] = []
      const timed = (what: string, run: () => void) => {
        const ms = bestMs(() => each(run), stepMsMax)
        if (ms > stepMsMax) slow.push(`${what}: ${Math.round(ms)} ms`)
      }
      const body = JsonBody.read(text)
      timed('read', () => JsonBody.read(text))
      timed('inspect', () => format.inspect(body))
      timed('edits', () => format.forward.edits(body, noFieldRules))
      timed('tokens', () => bodyTokens(body))
      const { decode } = format as ChatFormat
      timed('decode', () => decode(body))
      if (!('writer' in format)) return expect(slow).toEqual([])
      const request = decode(body)
      for (const { target, adapter } of grid)
        timed(`${target.provider.name} ${target.model}`, () => adapter.request(request, target))
      // Playing what a model lacks reads the conversation twice.
      for (const profile of profiles)
        timed('emulation', () =>
          emulate(providerOf('openai').chat!, profile, request)?.adapter.request(request, grid[0]!.target),
        )
      expect(slow).toEqual([])
    },
    60_000,
  )
})

/** 50 ms are the promise for a quiet machine of today; tests also run on other ones. */
const stepMsMax = 100

describe('what a model writes is read in time', () => {
  const seconds: readonly [string, () => void][] = [
    ['lines without a blank one, for our readers', () => pushAll(new SseSplitter(), 'data: x\n')],
    ['lines without a blank one, for the relay', () => pushAll(openaiRelay(), 'data: x\n')],
    ['one endless line', () => pushAll(openaiRelay(), 'data: xx')],
    [
      'a large delta',
      () =>
        void openaiRelay().push(
          Buffer.from(
            `data: {"model":"m${'x'.repeat(1_000_000)}",` +
              `"choices":[{"delta":{"content":"${'\\\\n'.repeat(1_500_000)}"}}]}\n\n`,
          ),
        ),
    ],
    [
      'a large delta of responses',
      () =>
        void formats.openaiResponses.forward
          .relay('public', JsonBody.read(Buffer.from('{"model":"m"}')))
          .push(Buffer.from(`data: {"type":"response.output_text.delta","delta":"${'\\\\n'.repeat(2_000_000)}"}\n\n`)),
    ],
    ['hex digits', () => judge(`{"a": 0x${'f'.repeat(2_000_000)}}`)],
    ['escapes', () => judge(`{'a': '${'\\a'.repeat(200_000)}'}`)],
    ['many strings, no backslash', () => judge(`{'a': [${"'x',".repeat(100_000)}]}`)],
    ['a fence that is not closed', () => judge(`\`\`\`json\n${'\n'.repeat(500_000)}`)],
    ['fences', () => judge('```'.repeat(300_000))],
    ['brackets', () => judge('['.repeat(1_000_000))],
    ['optional letters', () => void schemaProblems({ pattern: `${'a?'.repeat(60)}${'a'.repeat(60)}` }, 'a'.repeat(60))],
    ['alternatives', () => void schemaProblems({ pattern: `${'(?:a|a)'.repeat(28)}b` }, 'a'.repeat(60))],
    [
      'thousands of patterns for thousands of keys',
      () =>
        void schemaProblems(
          { patternProperties: Object.fromEntries(repeat(10_000, at => [`x${at}$`, {}])) },
          map(10_000, () => 1),
        ),
    ],
    [
      'what of thousands of patterns is not checked',
      () => void schemaFaults({ patternProperties: Object.fromEntries(repeat(10_000, at => [`y${at}$`, {}])) }),
    ],
    [
      'a giant enum for thousands of items',
      () =>
        void schemaProblems(
          { items: { enum: repeat(20_000, at => `e${at}`) } },
          repeat(20_000, () => 'x'),
        ),
    ],
    [
      'a giant enum that only one item may have',
      () =>
        void schemaProblems(
          { contains: { enum: repeat(20_000, at => `e${at}`) } },
          repeat(20_000, () => 'x'),
        ),
    ],
    [
      'unique items, asked for thousands of times',
      () =>
        void schemaProblems(
          { anyOf: repeat(5000, () => ({ uniqueItems: true, maxItems: 0 })) },
          repeat(5000, at => ({ at })),
        ),
    ],
    [
      'required names, asked for thousands of times',
      () =>
        void schemaProblems(
          { items: { not: { required: repeat(20_000, at => `k${at}`) } } },
          repeat(20_000, () => ({})),
        ),
    ],
  ]
  test.each(seconds)('%s', (_name, run) => expect(bestMs(run, 700)).toBeLessThan(700), 60_000)

  const floods = [
    '[',
    '[\n',
    '<tool_call>',
    '</tool_call>',
    '<tool_call></tool_call>',
    '```',
    '\n```',
    '```json\n{',
    '[f(',
    '<function=f>',
    '<|python_tag|>',
    '[TOOL_CALLS]',
    ' ',
    '\n',
    '<think>',
    '</think>',
    "'",
    '\\',
  ]
  test.each(floods.map(flood => [flood] as const))(
    'a flood of %j, whole and in pieces',
    flood => {
      const tools = repeat(200, at => ({ name: `f${at}`, parameters: { type: 'object' } }))
      const request = chatRequest({ tools: [{ name: 'f', parameters: { type: 'object' } }, ...tools] })
      const text = flood.repeat(300_000 / flood.length)
      for (const profile of profiles.slice(0, 2))
        for (const size of [text.length, 64]) {
          const ms = bestMs(() => {
            const { adapter } = emulate(textAdapter, profile, request)!
            const read = adapter.reader()
            let said = 0
            for (let at = 0; at < text.length; at += size)
              for (const event of read({ data: text.slice(at, at + size) }))
                if ('text' in event) said += event.text!.length
            for (const event of read({ data: '' })) if ('text' in event) said += event.text!.length
            // White space alone is nothing said.
            if (flood.trim() !== '') expect(said).toBeGreaterThan(0)
          }, 600)
          expect({ size, ms: ms < 600 ? 0 : ms }).toEqual({ size, ms: 0 })
        }
    },
    60_000,
  )
})

/** Frames are what the model says; an empty one is its end. */
const textAdapter: ChatAdapter = {
  ...providerOf('openai').chat!,
  reader:
    () =>
    ({ data }) =>
      data === '' ? [{ type: 'finish', choice: 0, reason: 'stop' }] : [{ type: 'text', choice: 0, text: data }],
}

const openaiRelay = (): StreamRelay =>
  formats.openaiChat.forward.relay('public', JsonBody.read(Buffer.from('{"model":"m"}')))

/** Four megabytes in pieces as small as a network may make them. */
function pushAll(reader: { push(bytes: Uint8Array): unknown }, line: string): void {
  const piece = Buffer.from(line.repeat(8))
  for (let at = 0; at < 64_000; at++) reader.push(piece)
}

const judge = (text: string): void =>
  void validateJson(text, { format: { type: 'json-schema', name: 's', schema: {} }, schema: {} })

describe('forms', () => {
  const limits = { partsMax: 64, headBytesMax: 8192 }
  const head = (name: string) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`
  const forms: Readonly<Record<string, string>> = {
    'a flood of parts': head('a').repeat(200_000),
    'a flood of boundaries': '--b\r\n'.repeat(400_000),
    'almost boundaries': `${head('a')}${'\r\n--'.repeat(400_000)}`,
    'an endless header': `--b\r\ncontent-disposition: ${'x'.repeat(2_000_000)}`,
    'endless parameters': `--b\r\ncontent-disposition: form-data${'; a="'.repeat(1500)}\r\n\r\n`,
    'an endless preamble': '\r\n'.repeat(1_000_000),
    'no end': `${head('a')}${'x'.repeat(2_000_000)}`,
  }
  test.each(Object.entries(forms))(
    '%s: refused in time, wherever it is cut',
    (_name, form) => {
      const bytes = Buffer.from(form)
      for (const size of [7, 65_536]) {
        const ms = bestMs(() => {
          const parser = new MultipartParser(boundaryOf('multipart/form-data; boundary=b'), limits)
          expect(() => {
            for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size))
            parser.end()
          }).toThrow(MultipartError)
        }, 1500)
        expect(ms).toBeLessThan(1500)
      }
    },
    60_000,
  )
})

type Lie = (random: Random, value: unknown) => unknown

const wrongValues: readonly unknown[] = [
  null,
  '',
  'x',
  0,
  -1,
  0.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  true,
  [],
  {},
  [[]],
  [null],
  [{}],
  '__proto__',
  'constructor',
  { type: 'constructor' },
  '\ud800',
  deep(),
]

/** One place of a document: left out, said twice, in another's place, cut short, or something else altogether. */
const lie: Lie = (random, value) => {
  const paths = pathsIn(value)
  if (paths.length === 0) return random.pick(wrongValues)
  const copy = structuredClone(value) as Json
  const path = random.pick(paths)
  const parent = path.slice(0, -1).reduce<Json>((at, step) => at[step] as Json, copy)
  const last = path.at(-1)!
  const old = parent[last]
  switch (random.int(4)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(last), 1)
      else delete parent[last]
      break
    case 1:
      if (Array.isArray(parent)) parent.splice(Number(last), 0, structuredClone(old))
      else parent[last] = [old, old]
      break
    case 2:
      parent[last] = structuredClone(random.pick(paths).reduce<unknown>((at, step) => (at as Json)[step], value))
      break
    case 3:
      parent[last] =
        typeof old === 'string' ? old.slice(0, random.int(old.length)) : typeof old === 'number' ? -old : undefined
      break
    default:
      parent[last] = structuredClone(random.pick(wrongValues))
  }
  return copy
}

/** A list of pieces: one lied about, lost, said twice, or in another's place. */
function lyingPieces(random: Random, pieces: readonly unknown[]): unknown[] {
  const out = [...pieces]
  const at = random.int(out.length - 1)
  switch (random.int(4)) {
    case 0:
      out.splice(at, 1)
      break
    case 1:
      out.splice(at, 0, out[at])
      break
    case 2: {
      const other = random.int(out.length - 1)
      ;[out[at], out[other]] = [out[other], out[at]]
      break
    }
    default:
      if (typeof out[at] === 'string') out[at] = (out[at] as string).slice(0, random.int((out[at] as string).length))
      else if (Array.isArray(out[at])) out[at] = [out[at][0], lie(random, out[at][1])]
      else out[at] = lie(random, out[at])
  }
  return out
}

const clients: readonly ChatFormat[] = [
  formats.openaiChat,
  formats.openaiCompletions,
  formats.openaiResponses,
  formats.anthropicMessages,
  formats.geminiGenerate,
]
const words: readonly unknown[] = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

function expectBelievable(usage: Usage | undefined): void {
  const { served = {}, otherModels = [], reportedCostNanoUsd: reported, ...counts } = usage ?? ({} as Partial<Usage>)
  for (const word of Object.values(served)) if (word.length > 40) throw new Error(`served by ${word}`)
  if (reported !== undefined && reported < 0n) throw new Error(`the upstream says it cost ${reported}`)
  for (const other of otherModels) expectBelievable(other.usage)
  for (const [name, count] of Object.entries(counts)) {
    const believable =
      typeof count === 'number' &&
      count >= 0 &&
      count <= 1e9 &&
      (Number.isInteger(count) || name === 'audioSeconds' || name === 'searchUnits')
    if (count !== undefined && !believable) throw new Error(`the usage says ${name} = ${String(count)}`)
  }
}

function expectUpstreamsFault(error: unknown): void {
  if (error instanceof GatewayError && error.kind !== 'internal') return
  throw new Error(
    `${placeOf(error)}${error instanceof GatewayError && error.cause ? ` because ${placeOf(error.cause)}` : ''}`,
  )
}

/** A whole answer: an error that is the upstream's, or an answer that a client can read. */
function wholeLie(family: AnswerFamily, fixture: AnswerFixture, body: unknown): 'read' | 'refused' {
  const { adapter } = targets.get(family.providers[0]!)![0]!
  let read: ReturnType<typeof readAnswer>
  try {
    read = readAnswer(adapter, Buffer.from(JSON.stringify(body) ?? 'x'))
  } catch (error) {
    expectUpstreamsFault(error)
    return 'refused'
  }
  expectBelievable(read.state.usage)
  for (const format of clients) {
    let text: string
    try {
      text = JSON.stringify(format.encode(read.events, 'public', chatRequest({ ...fixture.request })))
    } catch (error) {
      // What cannot be written for this client is the upstream's fault as well.
      expectUpstreamsFault(error)
      continue
    }
    if (text.includes('undefined') && !JSON.stringify(body).includes('undefined'))
      throw new Error(`${format.dialect} writes undefined`)
    if (format === formats.openaiChat) expectChat(JSON.parse(text) as Json)
  }
  return 'read'
}

function expectChat(answer: Json): void {
  const choices = answer.choices as { index: number; message: Json; finish_reason: unknown }[]
  if (choices.length === 0) throw new Error('an answer without choices')
  for (const { index, message, finish_reason: reason } of choices) {
    if (!Number.isInteger(index) || index < 0) throw new Error(`a choice ${String(index)}`)
    if (!words.includes(reason)) throw new Error(`a finish reason ${JSON.stringify(reason)}`)
    if (message.content !== null && typeof message.content !== 'string' && !Array.isArray(message.content))
      throw new Error(`a content ${JSON.stringify(message.content)}`)
    for (const one of (message.tool_calls ?? []) as { id: unknown; function: Json }[])
      if (
        typeof one.id !== 'string' ||
        typeof one.function.name !== 'string' ||
        typeof one.function.arguments !== 'string'
      )
        throw new Error(`a call ${JSON.stringify(one)}`)
  }
}

function relayed(relay: StreamRelay, bytes: Uint8Array, size: number): string {
  let text = ''
  const add = (piece: Uint8Array | string) =>
    (text += typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8'))
  for (let at = 0; at < bytes.length; at += size) add(relay.push(bytes.subarray(at, at + size)))
  add(relay.end())
  if (relay.failure) expectUpstreamsFault(relay.failure)
  else if (!relay.complete) throw new Error('neither complete nor failed')
  if (relay.failure && relay.terminated) throw new Error('failed after its terminal event')
  expectBelievable(relay.usage)
  return text
}

const terminal: Readonly<Record<string, string>> = {
  'openai-chat': 'data: [DONE]',
  'openai-completions': 'data: [DONE]',
  'openai-responses': '"type":"response.completed"',
  'anthropic-messages': 'event: message_stop',
}

/** A stream: it ends in its terminal event after the finish of every choice, or it fails and has none. */
function streamLie(family: AnswerFamily, fixture: AnswerFixture, bytes: Uint8Array, size: number): 'read' | 'refused' {
  const { adapter } = targets.get(family.providers[0]!)![0]!
  let failed = false
  for (const format of clients) {
    const relay = new TranslatedRelay({
      adapter,
      format,
      request: chatRequest({ ...fixture.request, stream: true }),
      publicModel: 'public',
    })
    const text = relayed(relay, bytes, size)
    failed = relay.failure !== undefined
    const mark = terminal[format.dialect]
    const ended =
      mark !== undefined &&
      (text.includes(mark) || (format === formats.openaiResponses && text.includes('"type":"response.incomplete"')))
    if (mark !== undefined && ended === failed)
      throw new Error(`${format.dialect}: ${failed ? 'failed with' : 'complete without'} a terminal event`)
    if (format === formats.openaiChat) expectChunks(text, failed)
    if (relay.failure) relay.errorEvent(relay.failure)
  }
  return failed ? 'refused' : 'read'
}

function expectChunks(text: string, failed: boolean): void {
  const open = new Map<number, number>()
  for (const line of text.split('\n\n').filter(one => one !== '' && one !== 'data: [DONE]')) {
    const chunk = JSON.parse(line.slice('data: '.length)) as {
      choices: { index: number; delta: Json; finish_reason: unknown }[]
    }
    for (const { index, finish_reason: reason } of chunk.choices) {
      if (!Number.isInteger(index) || index < 0) throw new Error(`a choice ${String(index)}`)
      if (reason !== null && reason !== undefined && !words.includes(reason))
        throw new Error(`a finish reason ${JSON.stringify(reason)}`)
      open.set(index, (open.get(index) ?? 0) + (reason ? 1 : 0))
    }
  }
  if (!failed && (open.size === 0 || [...open.values()].some(count => count < 1)))
    throw new Error(`choices that ended ${JSON.stringify([...open])} times`)
}

/** The forward lane: what goes to the client as it came. */
const forwards: Readonly<Record<string, ChatFormat>> = {
  openai: formats.openaiChat,
  anthropic: formats.anthropicMessages,
  gemini: formats.geminiGenerate,
}

function forwardedLie(
  format: ChatFormat,
  family: AnswerFamily,
  { body, pieces, size }: { body: unknown; pieces: readonly unknown[] | undefined; size: number },
): void {
  try {
    if (body !== undefined)
      expectBelievable(format.forward.answer(Buffer.from(JSON.stringify(body) ?? 'x'), 'public').usage)
  } catch (error) {
    expectUpstreamsFault(error)
  }
  if (!pieces) return
  const request = JsonBody.read(Buffer.from('{"model":"m","stream":true,"messages":[],"contents":[]}'))
  relayed(format.forward.relay('public', request), family.bytes(pieces), size)
}

const lieSeeds = newSeedsOf(5)

describe.each(families.map(family => [family.name, family] as const))(
  'an upstream that lies in the words of %s',
  (name, family) => {
    test('is read or refused, never more', () => {
      const outcomes = { read: 0, refused: 0 }
      const failures = new Map<string, string>()
      for (const fixture of family.fixtures)
        for (const seed of lieSeeds) {
          const random = new Random(seed)
          const body = fixture.whole === undefined ? undefined : lie(random, fixture.whole)
          const pieces = fixture.stream && lyingPieces(random, fixture.stream)
          const size = 1 + random.int(200)
          const tries: [string, () => void][] = [
            ['whole', () => body !== undefined && outcomes[wholeLie(family, fixture, body)]++],
            ['stream', () => pieces && outcomes[streamLie(family, fixture, family.bytes(pieces), size)]++],
            [
              'bytes',
              () =>
                fixture.stream &&
                outcomes[streamLie(family, fixture, spoiled(random, family.bytes(fixture.stream)), size)]++,
            ],
            ['forward', () => forwards[name] && forwardedLie(forwards[name], family, { body, pieces, size })],
          ]
          for (const [lane, run] of tries)
            try {
              run()
            } catch (error) {
              const what = `${lane}: ${placeOf(error)}`
              if (!failures.has(what))
                failures.set(
                  what,
                  `${fixture.name}, seed ${seed}: ${JSON.stringify(lane === 'whole' ? body : pieces)}`.slice(0, 1500),
                )
            }
        }
      expect([...failures]).toEqual([])
      expect(outcomes.read).toBeGreaterThan(50)
      expect(outcomes.refused).toBeGreaterThan(50)
    }, 120_000)
  },
)

/** A byte lost, changed or doubled, or the rest lost. */
function spoiled(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.int(bytes.length - 1)
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at + 1)]
  const byte = random.pick([[], [bytes[at]!, bytes[at]!], [random.int(255)], [0]])
  return random.chance(0.2) ? before : Buffer.concat([before, Buffer.from(byte), after])
}
