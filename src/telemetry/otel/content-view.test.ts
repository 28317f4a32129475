import { expect, test } from 'bun:test'
import type { CallContent, StoredBody } from '../../core/ledger/stored-bodies.ts'
import { readContent } from './content-view.ts'

const body = (value: unknown, isCut = false): StoredBody => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { text, contentType: 'application/json', bytes: text.length, isCut }
}

function read(request: unknown, answer: unknown) {
  const said = {
    request: { ...body(request), headers: {}, isChanged: false },
    answer: { ...body(answer), status: 200, isStream: false },
  } satisfies CallContent
  const { input, output, system } = readContent(said)
  const json = (text: string | undefined) => (text === undefined ? undefined : (JSON.parse(text) as unknown))
  return { input: json(input), output: json(output), system: json(system) }
}

const text = (content: string) => ({ type: 'text', content })

test("OpenAI's chats, with calls of tools", () => {
  const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }
  const given = read(
    {
      messages: [
        { role: 'system', content: 'be short' },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      ],
    },
    { choices: [{ message: { role: 'assistant', content: 'rain' }, finish_reason: 'stop' }] },
  )
  expect(given.input).toEqual([
    { role: 'system', parts: [text('be short')] },
    { role: 'user', parts: [text('hi')] },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'rain' }] },
  ])
  expect(given.output).toEqual([{ role: 'assistant', parts: [text('rain')], finish_reason: 'stop' }])
})

test('Messages, Gemini and Responses', () => {
  const messages = read(
    { system: 'be short', messages: [{ role: 'user', content: 'hi' }] },
    {
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'yes' },
      ],
      stop_reason: 'end_turn',
    },
  )
  expect(messages.system).toEqual([text('be short')])
  expect(messages.output).toEqual([
    { role: 'assistant', parts: [{ type: 'reasoning', content: 'hm' }, text('yes')], finish_reason: 'end_turn' },
  ])
  const gemini = read(
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], systemInstruction: { parts: [{ text: 'short' }] } },
    { candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: { a: 1 } } }] }, finishReason: 'STOP' }] },
  )
  expect(gemini).toEqual({
    input: [{ role: 'user', parts: [text('hi')] }],
    system: [text('short')],
    output: [
      { role: 'assistant', parts: [{ type: 'tool_call', name: 'f', arguments: { a: 1 } }], finish_reason: 'stop' },
    ],
  })
  const responses = read(
    { instructions: 'short', input: 'hi' },
    {
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] }],
    },
  )
  expect(responses).toEqual({
    input: [{ role: 'user', parts: [text('hi')] }],
    system: [text('short')],
    output: [{ role: 'assistant', parts: [text('yes')], finish_reason: 'completed' }],
  })
})

test('what is cut or no JSON is given as one text, and no answer is none', () => {
  const { input, output } = readContent({
    request: { ...body('{"messages":[{"ro', true), headers: {}, isChanged: false },
    answer: null,
  })
  expect(JSON.parse(input!)).toEqual([{ role: 'user', parts: [text('{"messages":[{"ro')] }])
  expect(output).toBeUndefined()
})
