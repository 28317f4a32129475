import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiCompletions } from './index.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))
const decode = (fields: object): ChatRequest => {
  const body = bodyOf({ model: 'm', ...fields })
  expect(openaiCompletions.inspect(body).problems).toEqual([])
  return openaiCompletions.decode(body)
}
const pathsOf = (fields: object) =>
  openaiCompletions.inspect(bodyOf(fields)).problems.map(({ loc, type }) => `${loc.slice(1).join('.')}:${type}`)

const refused: [string, object, string[]][] = [
  ['no prompt', {}, ['prompt:missing']],
  ['a prompt of null', { prompt: null }, ['prompt:missing']],
  ['a prompt of a number', { prompt: 5 }, ['prompt:wrong_type']],
  ['a prompt of nothing', { prompt: [] }, ['prompt:out_of_range']],
  ['prompts of two kinds', { prompt: ['a', [1]] }, ['prompt.1:wrong_type']],
  ['token ids below 0', { prompt: [1, -1] }, ['prompt.1:out_of_range']],
  ['fractional token ids', { prompt: [[1, 1.5]] }, ['prompt.0.1:out_of_range']],
  ['empty token lists', { prompt: [[1], []] }, ['prompt.1:out_of_range']],
  ['logprobs of true', { prompt: 'x', logprobs: true }, ['logprobs:wrong_type']],
  ['an echo of text', { prompt: 'x', echo: 'yes' }, ['echo:wrong_type']],
  ['a best_of of 21', { prompt: 'x', best_of: 21 }, ['best_of:out_of_range']],
  ['a suffix of a number', { prompt: 'x', suffix: 1 }, ['suffix:wrong_type']],
  ['negative tokens', { prompt: 'x', max_tokens: -1 }, ['max_tokens:out_of_range']],
  ['a cold temperature', { prompt: 'x', temperature: -1 }, ['temperature:out_of_range']],
]

describe('inspecting a completion body', () => {
  for (const [what, fields, problems] of refused)
    test(`refuses ${what}`, () => expect(pathsOf(fields)).toEqual(problems))
  for (const prompt of ['', 'x', [''], ['a', 'b'], [1, 2], [[1], [2, 3]]])
    test(`accepts the prompt ${JSON.stringify(prompt)}`, () => expect(pathsOf({ prompt })).toEqual([]))

  test('points chat messages to the chat path', () => {
    const [problem] = openaiCompletions.inspect(bodyOf({ messages: [] })).problems
    expect(problem!.msg).toContain('/v1/chat/completions')
  })
})

describe('emulating a completion', () => {
  test('the prompt is one user message', () => {
    const request = decode({
      prompt: ['Once'],
      max_tokens: 5,
      n: 2,
      stop: ['.'],
      logprobs: 2,
      min_p: 0.5,
      caching: true,
    })
    expect(request).toEqual({
      model: 'm',
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'Once' }] }],
      stream: false,
      includeUsage: false,
      maxOutputTokens: 5,
      choices: 2,
      stop: ['.'],
      logprobs: true,
      topLogprobs: 2,
      extra: { format: 'openai-completions', fields: { min_p: 0.5 } },
    })
  })

  test('defaults of what cannot be emulated are accepted', () => {
    decode({ prompt: 'x', suffix: '', echo: false, best_of: 1 })
    decode({ prompt: 'x', suffix: null, echo: null, best_of: null })
    decode({ prompt: 'x', n: 3, best_of: 3 })
  })

  test('further prompts are conversations of their own, as many as 128 answers take', () => {
    const user = (text: string) => [{ role: 'user', parts: [{ type: 'text', text }] }]
    const request = decode({ prompt: ['a', '', 'b'], n: 2 })
    expect([request.messages, request.series, request.choices]).toEqual([user('a'), [user(''), user('b')], 2] as never)
    expect(decode({ prompt: Array<string>(64).fill('x'), n: 2 }).series).toHaveLength(63)
  })

  test('a suffix goes along and must not get lost; an echo is made here', () => {
    expect(decode({ prompt: 'def f():', suffix: 'return x', echo: true, min_p: 1 })).toMatchObject({
      extra: { format: 'openai-completions', fields: { suffix: 'return x', echo: true, min_p: 1 } },
      essentialExtra: ['suffix'],
      understoodExtra: ['echo'],
    })
  })

  for (const [field, fields] of [
    ['echo', { echo: true, logprobs: 0 }],
    ['best_of', { best_of: 2 }],
    ['best_of', { best_of: 3, n: 2 }],
    ['max_tokens', { max_tokens: 0 }],
    ['prompt', { prompt: Array<string>(43).fill('x'), n: 3 }],
    ['prompt', { prompt: [1, 2] }],
    ['prompt', { prompt: [[1]] }],
  ] as [string, object][])
    test(`refuses ${JSON.stringify(fields).slice(0, 60)} with 400 and its name`, () => {
      try {
        decode({ prompt: 'x', ...fields })
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(GatewayError)
        const error = thrown as GatewayError
        expect([error.kind, error.status, error.param]).toEqual(['invalid-request', 400, field])
        expect(error.message).toContain('only chats')
        return
      }
      throw new Error('was not refused')
    })
})

const token = (word: string) => ({
  token: word,
  logprob: -1,
  bytes: null,
  top_logprobs: [{ token: 'z', logprob: -2, bytes: null }],
})
const events: ChatEvent[] = [
  { type: 'start', id: 'chatcmpl-7', model: 'u', createdS: 1700000000 },
  { type: 'text', choice: 0, text: 'Once "\n' },
  { type: 'logprobs', choice: 0, content: [token('Once'), token(' "\n')] },
  { type: 'text', choice: 1, text: 'Twice' },
  { type: 'reasoning', choice: 0, text: 'hidden' },
  { type: 'text', choice: 0, text: ' upon' },
  { type: 'logprobs', choice: 0, content: [token(' upon')] },
  { type: 'finish', choice: 1, reason: 'length' },
  { type: 'finish', choice: 0, reason: 'tool-calls' },
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 4 } },
]

describe('answering a completion', () => {
  test('a whole answer has text, index, logprobs and reason', () => {
    const body: any = openaiCompletions.encode(events, 'public', decode({ prompt: 'x' }))
    expect(body).toMatchObject({
      id: 'cmpl-7',
      object: 'text_completion',
      created: 1700000000,
      model: 'public',
      choices: [
        { text: 'Once "\n upon', index: 0, finish_reason: 'stop' },
        { text: 'Twice', index: 1, logprobs: null, finish_reason: 'length' },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    })
    expect(body.choices[0].logprobs).toEqual({
      tokens: ['Once', ' "\n', ' upon'],
      token_logprobs: [-1, -1, -1],
      top_logprobs: [{ z: -2 }, { z: -2 }, { z: -2 }],
      text_offset: [0, 4, 7],
    })
  })

  test('a stream joins to the same answer', () => {
    const request = decode({ prompt: 'x', stream: true, stream_options: { include_usage: true } })
    const writer = openaiCompletions.writer('public', request)
    const frames = (events.map(event => writer.write(event)).join('') + writer.end()).split('\n\n')
    expect(frames.pop()).toBe('')
    expect(frames.pop()).toBe('data: [DONE]')
    const chunks = frames.map(frame => JSON.parse(frame.slice('data: '.length)))
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 7 } })
    const whole: any = openaiCompletions.encode(events, 'public', request)
    for (const { index, text, logprobs, finish_reason } of whole.choices) {
      const own = chunks.flatMap(chunk => chunk.choices).filter(choice => choice.index === index)
      expect(own.map(choice => choice.text).join('')).toBe(text)
      expect(own.at(-1).finish_reason).toBe(finish_reason)
      const offsets = own.flatMap(choice => choice.logprobs?.text_offset ?? [])
      expect(offsets).toEqual(logprobs?.text_offset ?? [])
    }
  })

  test('an echo stands before each choice, in a stream once', () => {
    const request = decode({ prompt: ['Q: ', 'R: '], echo: true, stream: true })
    const answers: ChatEvent[] = [
      { type: 'start', id: 'x', model: 'u' },
      { type: 'text', choice: 0, text: 'a' },
      { type: 'text', choice: 0, text: 'b' },
      { type: 'finish', choice: 0, reason: 'stop' },
      // An empty answer still repeats its prompt.
      { type: 'finish', choice: 1, reason: 'stop' },
    ]
    const body: any = openaiCompletions.encode(answers, 'public', request)
    expect(body.choices.map((choice: any) => choice.text)).toEqual(['Q: ab', 'R: '])
    const writer = openaiCompletions.writer('public', request)
    const frames = answers.map(event => writer.write(event)).filter(frame => frame !== '')
    const choices = frames.map(frame => JSON.parse(frame.slice('data: '.length)).choices[0])
    expect(choices.map(choice => [choice.index, choice.text, choice.finish_reason])).toEqual([
      [0, 'Q: a', null],
      [0, 'b', null],
      [0, '', 'stop'],
      [1, 'R: ', 'stop'],
    ])
  })
})
