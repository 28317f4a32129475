/** Fixtures follow Ollama's docs/api.md and docs/openapi.yaml. */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { chatRequest, joined, readStream, targetOf } from '../../../tests/support/provider-rig.ts'
import { ollama } from './index.ts'

const chat = ollama.chat!
const ask = (more: Partial<ChatRequest> = {}, target = targetOf(ollama)) => {
  const { head, body, dropped } = chat.request(chatRequest(more), target)
  return { head, dropped, body: body as Record<string, any> }
}
const lines = (...all: object[]) => all.map(line => `${JSON.stringify(line)}\n`).join('')
const at = { model: 'qwen3', created_at: '2023-08-04T19:22:45.499127Z' }
const end = {
  done: true,
  done_reason: 'stop',
  total_duration: 4883583458,
  load_duration: 1334875,
  prompt_eval_count: 26,
  eval_count: 282,
}

describe('answers', () => {
  const calls = [
    { function: { name: 'get_weather', arguments: { city: 'Tōkyō', days: [1] } } },
    { id: 'call_x', function: { index: 1, name: 'now' } },
  ]
  const stream = lines(
    { ...at, message: { role: 'assistant', content: '', thinking: 'Hm ' }, done: false },
    { ...at, message: { role: 'assistant', content: '', thinking: '✓' }, done: false },
    { ...at, message: { role: 'assistant', content: 'The ' }, done: false },
    { ...at, message: { role: 'assistant', content: 'sky 😀' }, done: false },
    { ...at, message: { role: 'assistant', content: '', tool_calls: [calls[0]] }, done: false },
    { ...at, message: { role: 'assistant', content: '', tool_calls: [calls[1]] }, done: false },
    { ...at, message: { role: 'assistant', content: '' }, ...end },
  )
  const whole = {
    ...at,
    message: { role: 'assistant', content: 'The sky 😀', thinking: 'Hm ✓', tool_calls: calls },
    ...end,
  }

  test('a stream cut anywhere and the whole answer are the same events', () => {
    const expected = joined(chat.result(whole))
    expect(expected).toEqual([
      { type: 'start', id: '', model: 'qwen3', createdS: 1691176965 },
      { type: 'reasoning', choice: 0, text: 'Hm ✓' },
      { type: 'text', choice: 0, text: 'The sky 😀' },
      { type: 'tool-call-start', choice: 0, index: 0, id: '?', name: 'get_weather' },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{"city":"Tōkyō","days":[1]}' },
      { type: 'tool-call-end', choice: 0, index: 0 },
      { type: 'tool-call-start', choice: 0, index: 1, id: 'call_x', name: 'now' },
      { type: 'tool-call-arguments', choice: 0, index: 1, fragment: '{}' },
      { type: 'tool-call-end', choice: 0, index: 1 },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
      { type: 'usage', usage: { inputTokens: 26, outputTokens: 282 } },
    ])
    for (let size = 1; size < 300; size++) expect(readStream(chat, stream, size)).toEqual(expected)
    expect(readStream(chat, stream.trimEnd(), 11)).toEqual(expected)
  })

  test('the line with `done` is the last one; the same text in calls and answers is not', () => {
    const frames = stream
      .trimEnd()
      .split('\n')
      .map(data => ({ data }))
    expect(frames.map(frame => chat.isLast!(frame))).toEqual([...Array(6).fill(false), true])
    const said = {
      ...at,
      message: { content: '"done":true', tool_calls: [{ function: { name: 'f', arguments: { done: true } } }] },
      done: false,
    }
    expect([
      chat.isLast!({ data: JSON.stringify(said) }),
      chat.isLast!({ data: '{"message":{}, "done" : true}' }),
    ]).toEqual([false, true])
  })

  test('a limit is a cut answer; counts that are missing or absurd are no usage; probabilities stay', () => {
    const token = { token: 'x', logprob: -0.1, bytes: [120], top_logprobs: [] }
    const events = chat.result({
      ...at,
      message: { content: 'x' },
      logprobs: [token],
      done: true,
      done_reason: 'length',
      eval_count: 3,
    })
    expect(events.slice(1)).toEqual([
      { type: 'text', choice: 0, text: 'x' },
      { type: 'logprobs', choice: 0, content: [token] },
      { type: 'finish', choice: 0, reason: 'length' },
    ])
    expect(chat.result({ ...whole, prompt_eval_count: -1 }).some(event => event.type === 'usage')).toBe(false)
  })

  test('an error inside a stream, and one instead of an answer', () => {
    const cut = lines(
      { ...at, message: { content: 'x' }, done: false },
      { error: 'an error was encountered while running the model' },
    )
    expect(readStream(chat, cut, 13).at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'upstream-failed', message: 'an error was encountered while running the model' },
    })
    expect(chat.result({ error: 'out of memory' })).toMatchObject([
      { type: 'error', error: { message: 'out of memory' } },
    ])
  })

  test.each([
    [null],
    [[]],
    [{}],
    [{ ...at, message: { content: 'x' } }],
    [{ ...at, done: true, message: { tool_calls: [{}] } }],
  ])('%j is refused', body => {
    expect(() => chat.result(body)).toThrow('does not follow its protocol')
  })

  test('a line that is no JSON is refused', () => {
    expect(() => readStream(chat, '{"message":\n', 4)).toThrow()
    expect(() => readStream(chat, '[]\n', 4)).toThrow('no object')
  })

  test.each([
    [404, { error: "model 'x' not found" }, 'model-not-found'],
    [400, { error: '"gemma" does not support tools' }, 'upstream-refused'],
    [500, { error: 'model requires more system memory (8.0 GiB) than is available (4.0 GiB)' }, 'upstream-failed'],
    [503, { error: 'server busy, please try again. maximum pending requests exceeded' }, 'upstream-overloaded'],
    [401, { error: 'unauthorized' }, 'upstream-credentials'],
  ])('%d %j is %s', (status, body, kind) => {
    expect(classify({ host: 'ollama', status, body })).toMatchObject({ kind: kind as never, message: body.error })
  })
})

describe('requests', () => {
  test('a conversation with an image, thinking, calls and results', () => {
    const { body, head, dropped } = ask({
      stream: true,
      messages: [
        { role: 'developer', parts: [{ type: 'text', text: 'be kind' }] },
        {
          role: 'user',
          parts: [
            { type: 'text', text: 'see ' },
            { type: 'image', source: { data: 'AAAA', mediaType: 'image/png' } },
            { type: 'text', text: 'this' },
          ],
        },
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'hm' },
            { type: 'tool-call', id: 'a', name: 'f', arguments: '{"x":1}' },
            { type: 'tool-call', id: 'b', name: 'g', arguments: '{broken' },
          ],
        },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', parts: [{ type: 'text', text: 'sunny' }] }] },
        {
          role: 'user',
          parts: [
            { type: 'document', source: { data: Buffer.from('note').toString('base64'), mediaType: 'text/markdown' } },
          ],
        },
      ],
    })
    expect(head).toEqual({
      url: 'http://127.0.0.1:11434/api/chat',
      headers: { 'content-type': 'application/json', authorization: 'Bearer canary' },
    })
    expect(body).toEqual({
      model: 'up-model',
      stream: true,
      messages: [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'see this', images: ['AAAA'] },
        {
          role: 'assistant',
          content: '',
          thinking: 'hm',
          tool_calls: [
            { id: 'a', function: { name: 'f', arguments: { x: 1 } } },
            { id: 'b', function: { name: 'g', arguments: { invalid_json: '{broken' } } },
          ],
        },
        { role: 'tool', content: 'sunny', tool_name: 'f', tool_call_id: 'a' },
        { role: 'user', content: 'note' },
      ],
    })
    expect(dropped).toEqual([])
  })

  test('options: the client over the operator, and what cannot be said is named', () => {
    const target = targetOf(ollama, {
      baseUrl: 'http://gpu:11434/v1',
      apiKey: undefined,
      options: { num_ctx: 8192, keep_alive: '10m' },
    })
    const { body, dropped, head } = ask(
      {
        maxOutputTokens: 9,
        temperature: 0.5,
        topP: 0.9,
        topK: 20,
        seed: 4,
        stop: ['END'],
        frequencyPenalty: 1,
        presencePenalty: 1.5,
        logprobs: true,
        topLogprobs: 2,
        choices: 2,
        user: 'u',
        toolChoice: 'required',
        tools: [{ name: 't' }],
        responseFormat: { type: 'json-schema', name: 'x', schema: { type: 'object' } },
        extra: {
          format: 'openai-chat',
          fields: { min_p: 0.1, options: { num_ctx: 100, num_gpu: 1 }, modalities: ['text'] },
        },
      },
      target,
    )
    expect(head).toEqual({ url: 'http://gpu:11434/api/chat', headers: { 'content-type': 'application/json' } })
    expect(body).toMatchObject({
      keep_alive: '10m',
      format: { type: 'object' },
      logprobs: true,
      top_logprobs: 2,
      stream: false,
      tools: [
        { type: 'function', function: { name: 't', description: '', parameters: { type: 'object', properties: {} } } },
      ],
    })
    expect(body.options).toEqual({
      num_ctx: 100,
      num_gpu: 1,
      min_p: 0.1,
      num_predict: 9,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 20,
      seed: 4,
      stop: ['END'],
      frequency_penalty: 1,
      presence_penalty: 1.5,
    })
    expect([...dropped].sort()).toEqual(['modalities', 'n', 'tool_choice', 'user'])
    expect(() => ask({ extra: { format: 'openai-chat', fields: { options: 'num_ctx=1' } } })).toThrow(
      "options: must be an object of Ollama's options",
    )
  })

  test('no tools are offered when none may be called; JSON without a schema', () => {
    const { body, dropped } = ask({
      tools: [{ name: 't' }],
      toolChoice: 'none',
      responseFormat: { type: 'json-object' },
    })
    expect([body.tools, body.format, dropped]).toEqual([undefined, 'json', []])
  })

  test.each([
    ['qwen3', { enabled: true }, true, []],
    ['qwen3', { effort: 'high' }, true, ['reasoning_effort']],
    ['qwen3', { effort: 'none' }, false, []],
    ['qwen3', { enabled: false }, false, []],
    ['gpt-oss:20b', { effort: 'high' }, 'high', []],
    ['gpt-oss:20b', { effort: 'minimal' }, 'low', ['reasoning_effort']],
    ['gpt-oss:20b', { effort: 'xhigh' }, 'high', ['reasoning_effort']],
    ['gpt-oss:20b', { effort: 'none' }, 'low', ['reasoning_effort']],
    ['gpt-oss:20b', { enabled: true }, 'medium', []],
    ['deepseek-v4-flash:cloud', { effort: 'max' }, 'max', []],
    ['deepseek-v4-flash:cloud', { effort: 'none' }, false, []],
  ] as const)('%s thinks %j as %j', (model, reasoning, think, lost) => {
    const { body, dropped } = ask({ reasoning }, targetOf(ollama, { model }))
    expect([body.think, dropped]).toEqual([think, [...lost]])
  })

  test.each([
    ['an image elsewhere', { type: 'image', source: { url: 'https://x/y.png' } }, 'data: URL'],
    ['an image by id', { type: 'image', source: { fileId: 'f' } }, '`data:` URL'],
    ['a PDF', { type: 'document', source: { data: 'AA', mediaType: 'application/pdf' } }, 'send its text instead'],
    ['audio', { type: 'audio', data: 'AA', format: 'wav' }, 'send text and pictures'],
  ] as const)('%s is refused with a remedy', (_, part, words) => {
    expect(() => ask({ messages: [{ role: 'user', parts: [part] }] })).toThrow(words)
  })
})

test('embeddings: the documented request and answer', () => {
  const request = {
    model: 'p',
    inputs: ['a', 'b'],
    encoding: 'float' as const,
    dimensions: 2,
    extra: { format: 'gemini-embeddings', fields: { truncate: false, taskType: 'X' } },
  }
  const { head, body, dropped } = ollama.embeddings!.request(request, targetOf(ollama))
  expect(head.url).toBe('http://127.0.0.1:11434/api/embed')
  expect(body).toEqual({ model: 'up-model', input: ['a', 'b'], dimensions: 2, truncate: false })
  expect(dropped).toEqual(['taskType'])
  const result = ollama.embeddings!.result(
    {
      model: 'm',
      embeddings: [
        [0.5, 1],
        [0, 2],
      ],
      prompt_eval_count: 8,
    },
    request,
  )
  expect([result.vectors.map(one => [...one]), result.usage]).toEqual([
    [
      [0.5, 1],
      [0, 2],
    ],
    { inputTokens: 8, outputTokens: 0 },
  ])
  expect(() => ollama.embeddings!.result({ embeddings: [[1]] }, request)).toThrow('one embedding for each')
  expect(() => ollama.embeddings!.request({ ...request, inputs: [[1]] }, targetOf(ollama))).toThrow('token ids')
})

test('chat is translated, text completions and embeddings are forwarded', () => {
  const target = targetOf(ollama, { baseUrl: 'http://gpu:11434/api', apiKey: undefined })
  expect(Object.entries(ollama.speaks).map(([dialect, head]) => [dialect, head!(target, false).url])).toEqual([
    ['openai-completions', 'http://gpu:11434/v1/completions'],
    ['openai-embeddings', 'http://gpu:11434/v1/embeddings'],
  ])
})
