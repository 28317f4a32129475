/** Figures of OpenAI's Cookbook, "How to count tokens with tiktoken". */
import { afterAll, expect, test } from 'bun:test'
import type { Encoding } from '../../lib/tokens/tokenizer.ts'
import { Tokenizer } from '../../lib/tokens/tokenizer.ts'
import type { ChatRequest, Message } from './chat.ts'
import { countableInput, estimateInput } from './input-tokens.ts'

const tokenizer = new Tokenizer()
afterAll(() => tokenizer.stop())

const requestOf = (messages: Message[], more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  stream: false,
  includeUsage: false,
  messages,
  extra: { format: 'openai-chat', fields: {} },
  ...more,
})
const said = (role: Message['role'], text: string, name?: string): Message => ({
  role,
  parts: [{ type: 'text', text }],
  ...(name !== undefined && { name }),
})

async function counted(request: ChatRequest, encoding: Encoding): Promise<number> {
  const { texts, otherTokens } = countableInput(request, encoding)
  const counts = await tokenizer.count(encoding, texts, 'key')
  return counts!.reduce((sum, count) => sum + count, otherTokens)
}

const jargon = requestOf([
  said('system', 'You are a helpful, pattern-following assistant that translates corporate jargon into plain English.'),
  said('system', 'New synergies will help drive top-line growth.', 'example_user'),
  said('system', 'Things working well together will increase revenue.', 'example_assistant'),
  said(
    'system',
    "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    'example_user',
  ),
  said('system', "Let's talk later when we're less busy about how to do better.", 'example_assistant'),
  said('user', "This late pivot means we don't have time to boil the ocean for the client deliverable."),
])

const weather = requestOf(
  [
    said('system', 'You are a helpful assistant that can answer to questions about the weather.'),
    said('user', "What's the weather like in San Francisco?"),
  ],
  {
    tools: [
      {
        name: 'get_current_weather',
        description: 'Get the current weather in a given location',
        parameters: {
          type: 'object',
          properties: {
            location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
            unit: { type: 'string', description: 'The unit of temperature to return', enum: ['celsius', 'fahrenheit'] },
          },
          required: ['location'],
        },
      },
    ],
  },
)

test('messages and tools are counted as OpenAI counts them', async () => {
  expect([await counted(jargon, 'o200k_base'), await counted(jargon, 'cl100k_base')]).toEqual([124, 129])
  expect([await counted(weather, 'o200k_base'), await counted(weather, 'cl100k_base')]).toEqual([101, 105])
})

test('the estimate is not far from the count', () => {
  expect(estimateInput(jargon)).toBeWithin(105, 150)
  expect(estimateInput(weather)).toBeWithin(80, 140)
})

test('what is nested in a tool, and what no template names, counts too', async () => {
  const inner = { type: 'object', properties: { street: { type: 'string', description: 'With its number.' } } }
  const nested = (properties: object) =>
    requestOf([said('user', 'x')], { tools: [{ name: 't', parameters: { type: 'object', properties } }] })
  const flat = await counted(nested({ where: { type: 'object' }, all: { type: 'array' } }), 'o200k_base')
  expect(await counted(nested({ where: inner, all: { type: 'array', items: inner } }), 'o200k_base')).toBeGreaterThan(
    flat + 15,
  )
  const image: Message = { role: 'user', parts: [{ type: 'image', source: { url: 'https://x' } }] }
  expect(await counted(requestOf([image]), 'o200k_base')).toBeGreaterThan(1600)
  // Broken schemas are the upstream's to refuse.
  for (const properties of [null, [], { a: null, b: 7 }])
    expect(await counted(nested(properties as object), 'o200k_base')).toBeWithin(1, 60)
})

const requestWith = (parts: Message['parts'], more: Partial<ChatRequest> = {}) =>
  requestOf([{ role: 'user', parts }], more)

test('everything that the model reads counts', () => {
  const base = estimateInput(requestWith([]))
  const words = 'some words that a model reads'
  const more: [ChatRequest, number][] = [
    [requestWith([{ type: 'text', text: words }]), 5],
    [requestWith([{ type: 'reasoning', text: words }]), 5],
    [requestWith([{ type: 'reasoning', text: '', redacted: 'x'.repeat(400) }]), 100],
    [requestWith([{ type: 'image', source: { url: 'https://x' } }]), 1600],
    [
      requestWith([
        { type: 'document', source: { data: Buffer.from(words).toString('base64'), mediaType: 'text/plain' } },
      ]),
      5,
    ],
    [requestWith([{ type: 'document', source: { fileId: 'f' } }]), 2250],
    [requestWith([{ type: 'audio', data: 'a'.repeat(100_000), format: 'mp3' }]), 320],
    [requestWith([{ type: 'tool-call', id: 'a', name: 'weather', arguments: `{"x":"${words}"}` }]), 9],
    [
      requestWith([{ type: 'tool-result', callId: 'a', parts: [{ type: 'image', source: { url: 'https://x' } }] }]),
      1600,
    ],
    [
      requestWith([], {
        tools: [
          {
            name: 'weather',
            description: words,
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
          },
        ],
      }),
      20,
    ],
    [
      requestWith([], {
        responseFormat: { type: 'json-schema', name: 'n', schema: { type: 'object', properties: {} } },
      }),
      5,
    ],
  ]
  for (const [request, least] of more) expect(estimateInput(request) - base).toBeWithin(least, least * 4)
})
