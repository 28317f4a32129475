import { expect, test } from 'bun:test'
import { writtenCharacters } from './written-characters.ts'

test('what the model wrote is counted in every dialect, and nothing else', () => {
  const answers: [string, object, number][] = [
    [
      'chat',
      {
        id: 'x',
        model: 'm',
        choices: [
          { message: { role: 'assistant', content: '12345', reasoning_content: '123' }, finish_reason: 'stop' },
        ],
      },
      8,
    ],
    [
      'tools',
      {
        choices: [
          { message: { content: null, tool_calls: [{ id: 'call', function: { name: 'f', arguments: '{"a":1}' } }] } },
        ],
      },
      7,
    ],
    ['completion', { choices: [{ text: '1234' }] }, 4],
    [
      'messages',
      {
        content: [
          { type: 'thinking', thinking: '12' },
          { type: 'text', text: '123' },
        ],
      },
      5,
    ],
    ['responses', { output: [{ type: 'message', content: [{ type: 'output_text', text: '123456' }] }] }, 6],
    ['gemini', { candidates: [{ content: { parts: [{ text: '12' }, { text: '3' }], role: 'model' } }] }, 3],
    ['embeddings', { data: [{ embedding: [1, 2] }], model: 'm' }, 0],
  ]
  for (const [name, answer, characters] of answers) {
    const text = JSON.stringify(answer)
    expect([name, writtenCharacters(text), writtenCharacters(Buffer.from(text))]).toEqual([
      name,
      characters,
      characters,
    ])
  }
  expect(writtenCharacters('no JSON')).toBeUndefined()
  expect(writtenCharacters(new Uint8Array(300_000))).toBeUndefined()
})

test('answers of more than 256 KiB are not read', () => {
  const around = JSON.stringify({ text: '' }).length
  const textOf = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - around) })
  expect(writtenCharacters(textOf(256 * 1024))).toBe(256 * 1024 - around)
  expect(writtenCharacters(textOf(256 * 1024 + 1))).toBeUndefined()
})

test('what a tool of the upstream found, and what stands beside the text, is not written by the model', () => {
  const found = { type: 'web_search_tool_result', content: [{ text: '123456789' }] }
  expect(writtenCharacters(JSON.stringify({ content: [found, { type: 'text', text: '12' }] }))).toBe(2)
  expect(writtenCharacters(JSON.stringify({ content: [{ type: 7, text: '12' }, null, 5] }))).toBe(2)
  expect(writtenCharacters(JSON.stringify({ text: '12', usage: { text: '345' }, logprobs: { content: '6' } }))).toBe(2)
})
