import { expect, test } from 'bun:test'
import { bodyTokens } from './body-tokens.ts'
import { JsonBody } from '../json/json-body.ts'

const tokens = (body: object) => bodyTokens(JsonBody.read(Buffer.from(JSON.stringify(body))))

const words = 'The quick brown fox jumps over the lazy dog, and then it runs away through the forest.'
const wordTokens = tokens({ prompt: words })
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** A picture of 1000 x 500 pixels, with a tail that is not read. */
const picture = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452000003e8000001f40806000000', 'hex'),
  Buffer.alloc(600_000, 7),
]).toString('base64')
const pictureTokens = 667

test('every field that a model reads, in any dialect', () => {
  expect(wordTokens).toBeWithin(15, 28)
  const bodies: object[] = [
    { messages: [{ role: 'user', content: words }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: words }] }] },
    {
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: '', arguments: words } }],
        },
      ],
    },
    { input: words },
    { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: words }] }] },
    { instructions: words },
    { system: words, messages: [] },
    { system: [{ type: 'text', text: words, cache_control: { type: 'ephemeral' } }] },
    { contents: [{ role: 'user', parts: [{ text: words }] }] },
    { systemInstruction: { parts: [{ text: words }] } },
    { system_instruction: words },
    { generateContentRequest: { contents: [{ parts: [{ text: words }] }] } },
    { requests: [{ content: { parts: [{ text: words }] } }] },
    { query: words },
    { documents: [{ text: words }] },
  ]
  for (const body of bodies) expect([body, tokens(body)]).toEqual([body, wordTokens])
  expect(tokens({ query: words, documents: [words, words] })).toBeWithin(3 * wordTokens - 3, 3 * wordTokens + 1)
})

test('definitions of tools are read as JSON; settings are not read', () => {
  const tools = [
    {
      type: 'function',
      function: {
        name: 'weather',
        description: words,
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      },
    },
  ]
  expect(tokens({ tools })).toBeWithin(wordTokens + 15, wordTokens + 60)
  expect(tokens({ model: words, user: words, metadata: { a: words }, stop: [words], temperature: 1 })).toBe(0)
  expect(tokens({ messages: [{ role: 'user', content: '' }], tools: null, system: null })).toBe(0)
})

test('token ids are tokens', () => {
  expect([
    tokens({ input: [1, 2, 3] }),
    tokens({
      prompt: [
        [1, 2],
        [3, 4, 5],
      ],
    }),
  ]).toEqual([3, 5])
})

test('files count by what they are, never by their length', () => {
  const image = (url: string) => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  })
  const base64 = picture.slice(0, 100_000)
  expect(tokens(image(`data:image/png;base64,${base64}`))).toBe(pictureTokens)
  expect(tokens(image(`data:image/png;base64,${pixel}`))).toBe(1)
  expect(tokens(image('https://host.example/a-picture.png'))).toBe(1600)
  expect(
    tokens({
      messages: [{ content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }] }],
    }),
  ).toBe(pictureTokens)
  expect(tokens({ contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }] }] })).toBe(
    pictureTokens,
  )
  expect(
    tokens({ contents: [{ parts: [{ fileData: { mimeType: 'video/mp4', fileUri: 'gs://bucket/video' } }] }] }),
  ).toBe(1600)
  const pdf = Buffer.from('%PDF-1.4 /Type /Pages /Type /Page /x /Type/Page>>').toString('base64')
  expect(
    tokens({
      input: [
        { content: [{ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` }] },
      ],
    }),
  ).toBe(4500)
  expect(
    tokens({
      input: [
        {
          content: [
            { type: 'input_file', file_data: `data:text/plain;base64,${Buffer.from(words).toString('base64')}` },
          ],
        },
      ],
    }),
  ).toBe(wordTokens)
  const wav = Buffer.concat([Buffer.from('RIFF....WAVEfmt '), Buffer.alloc(75_000 - 16)]).toString('base64')
  expect(
    tokens({ messages: [{ content: [{ type: 'input_audio', input_audio: { data: wav, format: 'wav' } }] }] }),
  ).toBe(320)
})

test('large bodies: pages and sounds as in small ones', () => {
  const part = (data: string) => ({
    messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: data } }] }],
  })
  const page = Buffer.from('1 0 obj << /Type\n  /Page >> endobj /Type /Pages /Type/PageLabel /Type ')
  const pdf = Buffer.concat([Buffer.from('%PDF-1.7 '), ...Array.from({ length: 7 }, () => page), Buffer.alloc(300_000)])
  const sound = Buffer.concat([Buffer.from('RIFF....WAVEfmt '), Buffer.alloc(300_000 - 16)]).toString('base64')
  const others = 40
  for (const [data, expected] of [
    [`data:application/pdf;base64,${pdf.toString('base64')}`, 7 * 2250],
    [pdf.toString('base64'), 7 * 2250],
    [sound, Math.ceil((400_000 / 10_000) * 32)],
  ] as const)
    expect(tokens(part(data))).toBeWithin(expected, expected + others)
})

test('large bodies: files apart from texts, without parsing, in little time', () => {
  const text = words.repeat(5000)
  const asked = (url: string) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a "quoted" \\ word\\' },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ],
  })
  expect(tokens(asked(`data:image/png;base64,${picture}`))).toBeWithin(pictureTokens + 10, pictureTokens + 60)
  expect(tokens({ messages: [{ role: 'user', content: text }] }) / (5000 * wordTokens)).toBeWithin(0.7, 1.4)
  const huge = JsonBody.read(
    Buffer.from(
      JSON.stringify({
        messages: Array.from({ length: 20 }, () => asked(`data:image/png;base64,${picture}`).messages[0]),
      }),
    ),
  )
  expect(bodyTokens(huge)).toBeWithin(20 * pictureTokens, 20 * pictureTokens + 1200)
})
