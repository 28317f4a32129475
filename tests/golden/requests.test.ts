/** Every request shape with every provider: what is sent to the upstream, and what is reported as dropped. */
import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ChatRequest } from '../../src/core/hub/chat.ts'
import type { ChatAdapter, Provider, Target } from '../../src/core/provider.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { openaiChat } from '../../src/formats/index.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { providers } from '../../src/providers/index.ts'
import { expectConforms } from '../support/openai-conformance.ts'
import { targetOf } from '../support/provider-rig.ts'
import { families } from './answers/index.ts'
import { differences, expectGolden } from './golden.ts'
import { shapes } from './shapes.ts'
import type { Json, Shape } from './shapes.ts'
import { providerOf, rowKey, targets } from './targets.ts'

/** Where a shape is sent, and by which translation. */
interface Called {
  readonly target: Target
  readonly adapter: ChatAdapter
}

function calledBy(provider: Provider): Called {
  return { target: targetOf(provider), adapter: provider.chat! }
}

/** The decoded hub request of a shape; fails when the format reports a problem. */
function decoded({ name, body }: Shape, stream: boolean): ChatRequest {
  const bytes = Buffer.from(JSON.stringify({ model: 'public', ...body, ...(stream && { stream: true }) }))
  const read = JsonBody.read(bytes)
  expect({ name, problems: openaiChat.inspect(read).problems }).toEqual({ name, problems: [] })
  return openaiChat.decode(read)
}

/**
 * As the pipeline sends it: without undefined fields, and with the dropped fields of format and provider in one list.
 */
function upstreamCall(shape: Shape, { target, adapter }: Called, stream: boolean): Json {
  try {
    const request = decoded(shape, stream)
    const { head, body, dropped } = adapter.request(request, target)
    const understood = request.understoodExtra ?? []
    const lost = [...new Set([...(request.dropped ?? []), ...dropped])].filter(one => !understood.includes(one))
    const headers = JSON.parse(JSON.stringify(head.headers).replaceAll('canary', '<key>')) as Json
    return { url: head.url, headers, body: JSON.parse(JSON.stringify(body)) as Json, dropped: lost }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { refused: { kind: error.kind, status: error.status, param: error.param, message: error.message } }
  }
}

/** The differences of a streamed call: top-level fields of the body, or the URL. */
function streamed(whole: Json, stream: Json): Json {
  if (stream.refused) return JSON.stringify(stream) === JSON.stringify(whole) ? {} : stream
  const { body, url, ...rest } = stream as { body: Json; url: string }
  const { body: wholeBody, url: wholeUrl, ...wholeRest } = whole as { body: Json; url: string }
  expect(rest).toEqual(wholeRest)
  expect(Object.keys(wholeBody).filter(key => !(key in body))).toEqual([])
  const changed = Object.entries(body).filter(
    ([key, value]) => JSON.stringify(wholeBody[key]) !== JSON.stringify(value),
  )
  return { ...(url !== wholeUrl && { url }), ...Object.fromEntries(changed) }
}

/** Whether the calls are equal except for the model's name. */
function sameCall(one: Json, other: Json | undefined): boolean {
  const nameless = ({ body, ...rest }: Json): Json => ({
    ...rest,
    ...(body !== undefined && { body: { ...(body as Json), model: '' } }),
  })
  return other !== undefined && differences(nameless(one), nameless(other)).length === 0
}

/**
 * What all shapes of a model have in common is listed once. `reference` = results that are replaced by their name when
 * equal.
 */
function calls(target: Called, reference?: { readonly name: string; readonly results: Json }): Json {
  const common = upstreamCall(shapes[0]!, target, false)
  const streamsBy = streamed(common, upstreamCall(shapes[0]!, target, true))
  const out: Json = { common: { url: common.url, headers: common.headers, streamed: streamsBy } }
  for (const shape of shapes) {
    const { url, headers, ...rest } = upstreamCall(shape, target, false)
    const whole = { url, headers, ...rest }
    const stream = streamed(whole, upstreamCall(shape, target, true))
    const result: Json = {
      ...(url !== undefined && url !== common.url && { url }),
      ...(headers !== undefined && differences(common.headers, headers).length > 0 && { headers }),
      ...rest,
      ...(!rest.refused && differences(streamsBy, stream).length > 0 && { streamed: stream }),
    }
    const known = reference?.results[shape.name] as Json | undefined
    out[shape.name] = sameCall(result, known) ? `as ${reference!.name}` : result
  }
  return out
}

/** The first model of a provider is listed in full; OpenAI-compatible hosts are compared with OpenAI. */
function callsOf(provider: string, openai: Json): Json {
  const out: Json = {}
  let reference = speaksOpenai(provider) ? { name: 'openai', results: openai } : undefined
  for (const called of targets.get(provider)!) {
    const { model } = called
    out[model] = calls(called, reference)
    reference ??= { name: model, results: out[model] as Json }
  }
  return out
}

const speaksOpenai = (provider: string): boolean =>
  provider !== 'openai' &&
  targets.get(provider)![0]!.adapter.result === providerOf('openai').chat!.result &&
  provider !== 'mistral'

test('every file of expected results belongs to a test', () => {
  const known = [
    ...families.map(({ name }) => `answers-${name}.json`),
    ...[...targets.keys()].map(name => `requests-${name}.json`),
  ]
  expect(readdirSync(join(import.meta.dir, 'expected')).sort()).toEqual(known.sort())
})

describe('requests', () => {
  test('there are shapes enough, each by its own name', () => {
    expect(new Set(shapes.map(shape => shape.name)).size).toBe(shapes.length)
    expect(shapes.length).toBeGreaterThan(40)
  })

  const openai = calls(targets.get('openai')![0]!)
  for (const provider of targets.keys())
    test(provider, () => expectGolden(`requests-${provider}`, callsOf(provider, openai)))

  test('every provider that chats is in the grid, or sends what its representative sends', () => {
    const covered = new Map<string, string>()
    for (const name of targets.keys()) covered.set(rowKey(name) ?? '', name)
    for (const [name, provider] of providers) {
      if (!provider.chat || targets.has(name)) continue
      const representative = covered.get(rowKey(name) ?? 'none')
      expect({ name, hasRepresentative: representative !== undefined }).toEqual({ name, hasRepresentative: true })
      const own = calledBy(provider)
      const other = calledBy(providerOf(representative!))
      for (const shape of shapes) {
        const { url: _, ...mine } = upstreamCall(shape, own, true)
        const { url: __, ...theirs } = upstreamCall(shape, other, true)
        expect({ name, shape: shape.name, ...mine }).toEqual({ name, shape: shape.name, ...theirs })
      }
    }
  })
})

/** OpenAI allows four stop sequences and refuses more itself; other hosts allow more. */
const refusedByOpenai = new Set(['many stops'])

test.each([
  ['openai', 'CreateChatCompletionRequest'],
  ['openai-responses', 'CreateResponse'],
  ['azure-responses', 'CreateResponse'],
] as const)('what goes to %s is what its document describes', (name, schema) => {
  const [called] = targets.get(name)!
  for (const shape of shapes.filter(one => !refusedByOpenai.has(one.name)))
    for (const stream of [false, true]) {
      const { body } = upstreamCall(shape, called!, stream)
      if (body) expectConforms(schema, body)
    }
})

test('a request is never changed by a provider: a second attempt sends the same', () => {
  for (const shape of shapes) {
    const request = decoded(shape, true)
    const before = JSON.stringify(request)
    for (const [, models] of targets)
      for (const { target, adapter } of models)
        try {
          const first = JSON.stringify(adapter.request(request, target))
          expect(JSON.stringify(adapter.request(request, target))).toBe(first)
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error
        }
    expect(JSON.stringify(request)).toBe(before)
  }
})

test('no answer of a provider to a hostile request is anything but a call or a clear refusal', () => {
  const deep = (depth: number): unknown => (depth === 0 ? 'x' : { type: 'object', properties: { a: deep(depth - 1) } })
  const hostile: Json[] = [
    { messages: [{ role: 'tool', tool_call_id: 'call_unknown', content: 'who asked?' }] },
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:;base64,' } }] }] },
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: '' } }] }] },
    { messages: [{ role: 'user', content: '\ud800 half a pair' }] },
    {
      messages: [
        { role: 'assistant', tool_calls: [{ id: '', type: 'function', function: { name: 'x', arguments: '[1]' } }] },
      ],
    },
    {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'function', function: { name: 'deep', parameters: deep(20) } }],
    },
    {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'odd',
            parameters: { type: 'object', properties: { __proto__: null, constructor: { type: 'string' } } },
          },
        },
      ],
    },
    { messages: [{ role: 'user', content: 'hi' }], tools: [], tool_choice: 'none', parallel_tool_calls: true },
    { messages: [{ role: 'user', content: 'hi' }], stop: ['', ' ', '\n\n'] },
    {
      messages: [{ role: 'user', content: 'hi' }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } } },
      },
    },
    { messages: [{ role: 'user', content: [] }] },
    {
      messages: [
        { role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://images.example/a.png' } }] },
        { role: 'user', content: 'hi' },
      ],
    },
  ]
  for (const [, models] of targets)
    for (const called of models)
      for (const body of hostile) {
        const call = upstreamCall({ name: JSON.stringify(body).slice(0, 80), body }, called, true)
        if (call.refused) expect((call.refused as Json).status as number).toBeLessThan(500)
        else expect(JSON.stringify(call.body)).not.toContain('canary')
      }
})
