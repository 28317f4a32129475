/**
 * What tools, their models and their schemas say as JSON reaches the other side with its digits and the order of its
 * keys: from every dialect of clients to every dialect of upstreams, and back, whole and streamed.
 */
import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../../src/core/hub/chat.ts'
import type { ChatFormat } from '../../src/core/format.ts'
import type { ChatAdapter } from '../../src/core/provider.ts'
import {
  anthropicMessages,
  cursorChat,
  geminiGenerate,
  geminiGenerateArray,
  openaiChat,
  openaiResponses,
} from '../../src/formats/index.ts'
import { newId } from '../../src/files/objects.ts'
import { messagesEdits } from '../../src/formats/anthropic/forward.ts'
import { encodeSignature } from '../../src/formats/anthropic/thinking-signature.ts'
import { exactText } from '../../src/lib/json/exact-json.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { rewriteReferences } from '../../src/policies/files/file-parts.ts'
import { outgoingRequest } from '../../src/pipeline/lanes/attempt-parts.ts'
import { encodeAnswer, readAnswer, TranslatedRelay } from '../../src/pipeline/lanes/translate.ts'
import { families } from '../golden/answers/index.ts'
import { targets } from '../golden/targets.ts'
import { chatRequest } from '../support/provider-rig.ts'
import { forSeeds, seedsOf } from './random.ts'
import type { Random } from './random.ts'

const seeds = seedsOf(12)

const numbers = [
  '1234567890123456789',
  '-9007199254740993',
  '1.0',
  '-0',
  '-0.0',
  '0.10',
  '1e3',
  '1E-7',
  '6.02e+23',
  '1e400',
  '123456789012345678901234567890.5',
  '42',
  '0.5',
]
const keys = ['b', '10', '2', 'a', '1', '007', 'input', 'args', '4294967296', 'x y', '\\"1\\"', '__proto']

function shuffled(random: Random, list: readonly string[]): string[] {
  const rest = [...list]
  return list.map(() => rest.splice(random.int(rest.length - 1), 1)[0]!)
}

/** Compact JSON text of ASCII characters, each key of an object once. */
function valueText(random: Random, depth: number): string {
  const kind = random.int(depth > 2 ? 2 : 4)
  if (kind < 2) return random.pick(numbers)
  if (kind === 2) return random.pick(['true', 'null', '"1.0"', '"a \\\\\\" 1.0, [2.50]"', '""'])
  if (kind === 3) return `[${Array.from({ length: random.int(3) }, () => valueText(random, depth + 1)).join(',')}]`
  return objectText(random, depth + 1)
}

function objectText(random: Random, depth = 0): string {
  const count = 1 + random.int(4)
  const names = shuffled(random, keys).slice(0, count)
  return `{${names.map(name => `"${name}":${valueText(random, depth)}`).join(',')}}`
}

/** Of numbers and keys that each vendor's subset of JSON Schema has. */
function schemaText(random: Random): string {
  const number = (): string => random.pick(numbers)
  const property = (): string =>
    random.pick([
      `{"type":"integer","minimum":${number()},"maximum":${number()}}`,
      `{"type":"number","description":"2.50","minimum":${number()}}`,
      `{"type":"array","items":{"type":"number","maximum":${number()}}}`,
      `{"enum":[${number()},${number()}]}`,
      `{"type":"object","properties":{"b":{"type":"string"},"1":{"const":${number()}}}}`,
      `{"type":"number","multipleOf":${number()},"default":${number()}}`,
    ])
  const names = shuffled(random, ['b', '10', '2', 'a'])
  const properties = names.map(name => `"${name}":${property()}`).join(',')
  return `{"type":"object","properties":{${properties}},"required":["${names[0]}"],"additionalProperties":false}`
}

interface Said {
  /** JSON text of objects. */
  readonly call: string
  readonly result: string
  readonly schema: string
}

interface Client {
  readonly format: ChatFormat
  readonly streams?: ChatFormat
  body(said: Said): string
}

const quoted = (text: string): string => JSON.stringify(text)

const clients: Readonly<Record<string, Client>> = {
  chat: {
    format: openaiChat,
    body: ({ call, result, schema }) =>
      `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[` +
      `{"id":"c1","type":"function","function":{"name":"f","arguments":${quoted(call)}}}]},` +
      `{"role":"tool","tool_call_id":"c1","content":${quoted(result)}}],` +
      `"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
  },
  'chat with a format': {
    format: openaiChat,
    body: ({ schema }) =>
      `{"model":"m","messages":[{"role":"user","content":"q"}],"response_format":` +
      `{"type":"json_schema","json_schema":{"name":"r","strict":true,"schema":${schema}}}}`,
  },
  responses: {
    format: openaiResponses,
    body: ({ call, result, schema }) =>
      `{"model":"m","input":[{"role":"user","content":"q"},` +
      `{"type":"function_call","call_id":"c1","name":"f","arguments":${quoted(call)}},` +
      `{"type":"function_call_output","call_id":"c1","output":${quoted(result)}}],` +
      `"tools":[{"type":"function","name":"f","parameters":${schema}}]}`,
  },
  'responses with a format': {
    format: openaiResponses,
    body: ({ schema }) =>
      `{"model":"m","input":"q","text":{"format":{"type":"json_schema","name":"r","schema":${schema}}}}`,
  },
  messages: {
    format: anthropicMessages,
    body: ({ call, result, schema }) =>
      `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` +
      `{"type":"tool_use","id":"toolu_1","name":"f","input":${call}}]},{"role":"user","content":[` +
      `{"type":"tool_result","tool_use_id":"toolu_1","content":${quoted(result)}}]}],` +
      `"tools":[{"name":"f","input_schema":${schema}}]}`,
  },
  'messages with a format': {
    format: anthropicMessages,
    body: ({ schema }) =>
      `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"q"}],` +
      `"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
  },
  generate: {
    format: geminiGenerate,
    streams: geminiGenerateArray,
    body: ({ call, result, schema }) =>
      `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[` +
      `{"functionCall":{"name":"f","args":${call}}}]},{"role":"user","parts":[` +
      `{"functionResponse":{"name":"f","response":${result}}}]}],` +
      `"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${schema}}]}]}`,
  },
  'generate in snake case, by an OpenAPI schema': {
    format: geminiGenerate,
    body: ({ call, result, schema }) =>
      `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[` +
      `{"function_call":{"name":"f","args":${call}}}]},{"role":"user","parts":[` +
      `{"function_response":{"name":"f","response":${result}}}]}],` +
      `"tools":[{"function_declarations":[{"name":"f","parameters":${schema}}]}]}`,
  },
  'generate with a format': {
    format: geminiGenerate,
    body: ({ schema }) =>
      `{"contents":[{"parts":[{"text":"q"}]}],"generationConfig":` +
      `{"responseMimeType":"application/json","responseJsonSchema":${schema}}}`,
  },
}

const upstreams = [...targets].flatMap(([name, list]) =>
  list.map(({ model, target, adapter }) => [`${name}/${model}`, target, adapter] as const),
)

/** `json` stands in the text, as a value or inside of a string. */
const holds = (text: string, json: string): boolean => text.includes(json) || text.includes(quoted(json).slice(1, -1))

/** Numbers, and keys of the properties, in their order. */
const literalsOf = (text: string): string[] =>
  (text.replaceAll('\\"', '"').match(/(?<=[:,[])-?\d[\d.eE+-]*(?=[,}\]])|(?<=[{,])"(?:b|10|2|a)"(?=:)/g) ?? []).map(
    String,
  )

/** All of `some` are in `all`, in the same order. */
function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  let at = 0
  for (const one of some) {
    at = all.indexOf(one, at) + 1
    if (at === 0) return false
  }
  return true
}

/** What of the body was made from the schema. */
function schemaIn(body: string): string {
  const names = ['input_schema', 'inputSchema', 'parametersJsonSchema', 'parameters', 'responseJsonSchema']
  const others = ['responseSchema', 'schema', 'format']
  for (const name of [...names, ...others]) {
    const found = new RegExp(`"${name}":(?:\\{"json":)?("?)\\{\\\\?"`).exec(body)
    if (!found) continue
    const from = found.index + found[0].length - 2
    let depth = 1
    let at = from
    while (depth > 0 && ++at < body.length) depth += body[at] === '{' ? 1 : body[at] === '}' ? -1 : 0
    return body.slice(from, at + 1)
  }
  return ''
}

describe.each(Object.entries(clients))('requests of %s', (_, client) => {
  test.each(upstreams)('to %s', (name, target, adapter) => {
    forSeeds(seeds, random => {
      const said = { call: objectText(random), result: objectText(random), schema: schemaText(random) }
      const text = client.body(said)
      const request = client.format.decode(JsonBody.read(Buffer.from(text)))
      const body = Buffer.concat(outgoingRequest(adapter.request(request, target)).body as Uint8Array[]).toString()
      JSON.parse(body)
      const context = { name, text, body }
      expect({ ...context, marks: body.includes('\u007f') }).toEqual({ ...context, marks: false })
      if (text.includes(said.call.slice(1)) || text.includes(quoted(said.call)))
        for (const json of [said.call, said.result])
          expect({ ...context, json, kept: holds(body, json) }).toEqual({ ...context, json, kept: true })
      const literals = literalsOf(schemaIn(body))
      const kept = holds(body, said.schema) || isPartOf(literals, literalsOf(said.schema))
      expect({ ...context, schema: said.schema, literals, kept }).toEqual({
        ...context,
        schema: said.schema,
        literals,
        kept: true,
      })
    })
  })
})

/** Stands in answers for JSON text: as a value of its own, or inside of a string. */
const place = '@@value@@'
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
const head = { id: 'x', created: 1, model: 'm' }

interface UpstreamAnswer {
  /** A name of `targets`. */
  readonly target: string
  readonly whole: unknown
  readonly stream: readonly unknown[]
}

const chatAnswer = (target: string): UpstreamAnswer => {
  const call = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: place } }
  return {
    target,
    whole: {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', tool_calls: [call] }, finish_reason: 'tool_calls' }],
      usage,
    },
    stream: [
      {
        ...head,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [call] } }],
      },
      {
        ...head,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
        usage,
      },
      'data: [DONE]\n\n',
    ],
  }
}

const messageAnswer = (target: string): UpstreamAnswer => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
  const block = { type: 'tool_use', id: 'toolu_1', name: 'f', input: place }
  return {
    target,
    whole: { ...message, content: [block], stop_reason: 'tool_use', usage: { input_tokens: 1, output_tokens: 2 } },
    stream: [
      { type: 'message_start', message: { ...message, content: [], usage: { input_tokens: 1, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { ...block, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: place } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { ...block, id: 'toolu_2' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
  }
}

const generateAnswer = (target: string): UpstreamAnswer => {
  const answer = {
    candidates: [
      {
        content: { role: 'model', parts: [{ functionCall: { name: 'f', args: place } }] },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
    modelVersion: 'm',
    responseId: 'r',
  }
  return { target, whole: answer, stream: [answer] }
}

const answers: readonly UpstreamAnswer[] = [
  chatAnswer('openai'),
  chatAnswer('mistral'),
  messageAnswer('anthropic'),
  generateAnswer('gemini'),
  generateAnswer('vertex_ai'),
  {
    target: 'openai-responses',
    whole: {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'm',
      status: 'completed',
      output: [{ id: 'fc_1', type: 'function_call', call_id: 'c1', name: 'f', arguments: place, status: 'completed' }],
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    },
    stream: [
      {
        type: 'response.created',
        response: { id: 'resp_1', created_at: 1, model: 'm', status: 'in_progress', output: [] },
      },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'fc_1', type: 'function_call', call_id: 'c1', name: 'f', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: place },
      { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: place },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { id: 'fc_1', type: 'function_call', call_id: 'c1', name: 'f', arguments: place, status: 'completed' },
      },
      {
        type: 'response.completed',
        response: { id: 'resp_1', created_at: 1, model: 'm', status: 'completed', output: [] },
      },
    ],
  },
  {
    target: 'ollama',
    whole: {
      model: 'm',
      created_at: '2026-01-01T00:00:00Z',
      message: { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: place } }] },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 1,
      eval_count: 2,
    },
    stream: [
      {
        model: 'm',
        created_at: '2026-01-01T00:00:00Z',
        message: { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: place } }] },
        done: false,
      },
      {
        model: 'm',
        created_at: '2026-01-01T00:00:00Z',
        message: { role: 'assistant', content: '' },
        done: true,
        eval_count: 2,
      },
    ],
  },
  {
    target: 'cohere',
    whole: {
      id: 'x',
      finish_reason: 'TOOL_CALL',
      message: {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: place } }],
      },
      usage: { tokens: { input_tokens: 1, output_tokens: 2 } },
    },
    stream: [
      { type: 'message-start', id: 'x', delta: { message: { role: 'assistant' } } },
      {
        type: 'tool-call-start',
        index: 0,
        delta: { message: { tool_calls: { id: 'c1', type: 'function', function: { name: 'f', arguments: place } } } },
      },
      { type: 'tool-call-end', index: 0 },
      {
        type: 'message-end',
        delta: { finish_reason: 'TOOL_CALL', usage: { tokens: { input_tokens: 1, output_tokens: 2 } } },
      },
    ],
  },
  {
    target: 'bedrock',
    whole: {
      output: { message: { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'f', input: place } }] } },
      stopReason: 'tool_use',
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    },
    stream: [
      ['messageStart', { role: 'assistant' }],
      ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't1', name: 'f' } } }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: place } } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['messageStop', { stopReason: 'tool_use' }],
    ],
  },
]

const formats: Readonly<Record<string, ChatFormat>> = {
  chat: openaiChat,
  responses: openaiResponses,
  messages: anthropicMessages,
  generate: geminiGenerate,
  'generate as an array': geminiGenerateArray,
}
/** Their `arguments` are an object; with OpenAI and Cohere either occurs. */
const asObject: ReadonlySet<string> = new Set(['anthropic', 'gemini', 'vertex_ai', 'ollama', 'bedrock'])

const filled = (text: string, json: string, isObject: boolean): string =>
  text
    .replaceAll(quoted(place), () => (isObject ? json : quoted(json)))
    .replaceAll(place, () => quoted(json).slice(1, -1))

const adapterOf = (target: string): ChatAdapter => targets.get(target)![0]!.adapter
const bytesOf = (target: string): ((pieces: readonly unknown[]) => Uint8Array) =>
  families.find(
    family => family.providers.includes(target) || family.providers.includes(target.replace('vertex_ai', 'gemini')),
  )!.bytes

/** The stream's bytes with the text in the places of the deltas; other frames hold it as an object where they may. */
function streamBytes({ target, stream }: UpstreamAnswer, json: string, isObject: boolean): Uint8Array {
  const pieces = stream.map(piece => {
    if (!JSON.stringify(piece).includes(place)) return piece
    const isDelta = /"(?:partial_json|delta)":"@@/.test(JSON.stringify(piece)) || target === 'bedrock'
    return isDelta ? (JSON.parse(filled(JSON.stringify(piece), json, false)) as unknown) : piece
  })
  const bytes = bytesOf(target)(pieces)
  const text = Buffer.from(bytes).toString('latin1')
  return text.includes(place) ? Buffer.from(filled(text, json, isObject), 'latin1') : bytes
}

describe.each(answers.map(answer => [answer.target, answer] as const))('answers of %s', (target, answer) => {
  const ways = asObject.has(target) ? [true] : target === 'openai-responses' ? [false] : [false, true]

  test.each(Object.entries(formats))('to %s', (_, format) => {
    for (const isObject of ways)
      forSeeds(seeds, random => {
        const json = objectText(random)
        const adapter = adapterOf(target)
        const request: ChatRequest = chatRequest({ tools: [{ name: 'f' }] })
        const translated = { adapter, format, request, publicModel: 'public' }
        const { events } = readAnswer(adapter, Buffer.from(filled(JSON.stringify(answer.whole), json, isObject)))
        const whole = encodeAnswer(translated, events)
        const relay = new TranslatedRelay({ ...translated, request: { ...request, stream: true } })
        const streamed = relay.push(streamBytes(answer, json, isObject)) + relay.end()
        expect(relay.failure).toBeUndefined()
        for (const text of [whole, streamed]) {
          const context = { text, json, isObject }
          expect({ ...context, marks: text.includes('\u007f') }).toEqual({ ...context, marks: false })
          expect({ ...context, kept: holds(text, json) }).toEqual({ ...context, kept: true })
        }
      })
  })
})

describe('what is written anew without a translation', () => {
  const call = '{"b":1234567890123456789,"1":1.0}'
  const schema = `{"type":"object","properties":{"b":{"maximum":1234567890123456789},"1":{"const":1.0}}}`
  const bodyOf = (text: string): JsonBody => JsonBody.read(Buffer.from(text))
  const toolUse = `{"type":"tool_use","id":"toolu_1","name":"f","input":${call}}`

  test('messages without thinking of another model', () => {
    const thinking = `{"type":"thinking","thinking":"t","signature":${quoted(encodeSignature(undefined))}}`
    const messages = `[{"role":"user","content":"q"},{"role":"assistant","content":[${thinking},${toolUse}]}]`
    const { edits } = messagesEdits(bodyOf(`{"model":"m","messages":${messages}}`), { fields: new Map() })
    expect(edits).toEqual([{ set: 'messages', json: messages.replace(`${thinking},`, '') }])
  })

  test('messages and tools with files of the gateway', () => {
    const file = (id: string): string => `{"type":"document","source":{"type":"file","file_id":"${id}"}}`
    const messages = (id: string): string =>
      `[{"role":"assistant","content":[${toolUse}]},{"role":"user","content":[${file(id)}]}]`
    const ours = bodyOf(`{"messages":${messages(newId('file'))}}`)
    const edits = rewriteReferences(ours, () => JSON.parse(file('file_theirs')) as unknown)
    expect(edits).toEqual([{ set: 'messages', json: messages('file_theirs') }])
  })

  test("tools in Cursor's form", () => {
    const tools = `[{"type":"function","function":{"name":"f","parameters":${schema}}}]`
    const { tools: [tool] = [] } = cursorChat.decode(
      bodyOf(`{"model":"m","input":"q","tools":${tools}}`),
    ) as ChatRequest
    expect(exactText(tool!.parameters)).toBe(schema)
  })

  test('the tools that a response repeats, whole and streamed', () => {
    const tools = `[{"type":"function","name":"f","parameters":${schema},"strict":null}]`
    const request = openaiResponses.decode(bodyOf(`{"model":"m","input":"q","tools":${tools}}`))
    const answer = chatAnswer('openai')
    const adapter = adapterOf('openai')
    const translated = { adapter, format: openaiResponses, request, publicModel: 'public' }
    const { events } = readAnswer(adapter, Buffer.from(filled(JSON.stringify(answer.whole), call, false)))
    expect(encodeAnswer(translated, events)).toContain(schema)
    const relay = new TranslatedRelay(translated)
    const streamed = relay.push(streamBytes(answer, call, false)) + relay.end()
    expect(streamed.split(schema)).toHaveLength(4)
    expect(streamed).not.toContain('\u007f')
  })

  test('the tools that a forwarded response repeats', () => {
    const response = `{"id":"resp_1","model":"up","status":"completed","output":[],"tools":[{"name":"f","parameters":${schema}}]}`
    const relay = openaiResponses.forward.relay('public', bodyOf('{"model":"public"}'))
    const event = `event: response.completed\ndata: {"type":"response.completed","response":${response}}\n\n`
    expect(String(relay.push(Buffer.from(event)))).toContain(schema)
  })
})
