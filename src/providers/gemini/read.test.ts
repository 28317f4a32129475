/** Answers of Gemini: whole and streamed give the same events, errors are named, signatures keep their parts. */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import { readCallId } from '../../core/dialects/call-signature.ts'
import type { Target } from '../../core/provider.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { Secret } from '../../lib/secret.ts'
import { SseSplitter } from '../../lib/sse.ts'
import { gemini } from './index.ts'
import { generateReader, generateResult } from './read.ts'

const sse = (answers: readonly unknown[]) => answers.map(one => `data: ${JSON.stringify(one)}\r\n\r\n`).join('')

function streamed(text: string, size: number): ChatEvent[] {
  const splitter = new SseSplitter()
  const read = generateReader()
  const bytes = Buffer.from(text)
  const events: ChatEvent[] = []
  for (let at = 0; at < bytes.length; at += size)
    for (const frame of splitter.push(bytes.subarray(at, at + size))) events.push(...read(frame))
  return joined(events)
}

/** Deltas of one block joined, the last usage at the end. */
function joined(events: readonly ChatEvent[]): ChatEvent[] {
  const out: ChatEvent[] = []
  for (const event of events.filter(one => one.type !== 'usage')) {
    const last = out.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text += event.text
    else if (event.type === 'reasoning' && last?.type === 'reasoning' && event.text && last.text)
      last.text += event.text
    else out.push({ ...event })
  }
  return [...out, ...events.filter(event => event.type === 'usage').slice(-1)]
}

const candidate = (parts: object[], more: object = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
})
const about = { modelVersion: 'gemini-3-flash-preview', responseId: 'Il0taoSYJ5' }
const usageMetadata = {
  promptTokenCount: 20,
  candidatesTokenCount: 30,
  thoughtsTokenCount: 12,
  totalTokenCount: 65,
  toolUsePromptTokenCount: 3,
  cachedContentTokenCount: 8,
  promptTokensDetails: [
    { modality: 'TEXT', tokenCount: 15 },
    { modality: 'AUDIO', tokenCount: 5 },
  ],
}
const calls = [
  { functionCall: { name: 'weather', args: { city: 'Paris' } }, thoughtSignature: 'U0lH' },
  { functionCall: { name: 'weather', args: { city: 'Köln' }, id: 'own-id' } },
  { functionCall: { name: 'clock' } },
]
const whole = {
  ...candidate(
    [{ text: 'Grübel ✓', thought: true }, { text: 'Let me look 😀', thoughtSignature: 'VEVYVA==' }, ...calls],
    { finishReason: 'STOP' },
  ),
  usageMetadata,
  ...about,
}
const pieces = [
  { ...candidate([{ text: 'Grübel ', thought: true }]), usageMetadata: { promptTokenCount: 20 }, ...about },
  { ...candidate([{ text: '✓', thought: true }]), ...about },
  { ...candidate([{ text: 'Let me ' }]), usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 2 }, ...about },
  { ...candidate([{ text: 'look 😀' }]), ...about },
  { ...candidate([{ text: '', thoughtSignature: 'VEVYVA==' }]), ...about },
  { ...candidate(calls.slice(0, 1)), ...about },
  { ...candidate(calls.slice(1)), ...about },
  { ...candidate([{ text: '' }], { finishReason: 'STOP' }), usageMetadata, ...about },
]

describe('events', () => {
  const expected = joined(generateResult(whole))

  test('a whole answer', () => {
    const [, , , , , first] = expected
    expect(expected).toEqual([
      { type: 'start', id: 'Il0taoSYJ5', model: 'gemini-3-flash-preview' },
      { type: 'reasoning', choice: 0, text: 'Grübel ✓' },
      { type: 'text', choice: 0, text: 'Let me look 😀' },
      { type: 'reasoning', choice: 0, signature: 'gemini/text/000/VEVYVA==' },
      { type: 'reasoning', choice: 0, signature: 'gemini/call/000/U0lH' },
      {
        type: 'tool-call-start',
        choice: 0,
        index: 0,
        id: (first as { id: string }).id,
        name: 'weather',
        signature: 'U0lH',
      },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{"city":"Paris"}' },
      { type: 'tool-call-end', choice: 0, index: 0 },
      { type: 'tool-call-start', choice: 0, index: 1, id: 'own-id', name: 'weather' },
      { type: 'tool-call-arguments', choice: 0, index: 1, fragment: '{"city":"Köln"}' },
      { type: 'tool-call-end', choice: 0, index: 1 },
      {
        type: 'tool-call-start',
        choice: 0,
        index: 2,
        id: expect.stringMatching(/^call_[0-9a-f]{24}$/) as never,
        name: 'clock',
      },
      { type: 'tool-call-arguments', choice: 0, index: 2, fragment: '{}' },
      { type: 'tool-call-end', choice: 0, index: 2 },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
      {
        type: 'usage',
        usage: { inputTokens: 23, outputTokens: 42, cachedInputTokens: 8, reasoningTokens: 12, inputAudioTokens: 5 },
      },
    ])
    expect((first as { id: string }).id).toMatch(/^call_[0-9a-f]{24}$/)
  })

  test('a stream cut anywhere says the same, ids included', () => {
    const text = sse(pieces)
    for (let size = 1; size < 160; size++) expect(streamed(text, size)).toEqual(expected)
    expect(streamed(text, text.length)).toEqual(expected)
  })

  test('the same call in two answers has two ids', () => {
    const ids = [about, { responseId: 'other' }].map(id =>
      generateResult({ ...candidate(calls.slice(0, 1), { finishReason: 'STOP' }), ...id }),
    )
    expect(ids[0]!.find(one => one.type === 'tool-call-start')).not.toEqual(
      ids[1]!.find(one => one.type === 'tool-call-start') as never,
    )
  })

  test('images, audio, code and its output; drafts inside thinking are left out', () => {
    const events = generateResult({
      ...candidate(
        [
          { inlineData: { mimeType: 'image/png', data: 'ZHJhZnQ=' }, thought: true },
          { inlineData: { mimeType: 'image/png', data: 'cGlj' } },
          { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: 'c291bmQ=' } },
          { fileData: { fileUri: 'gs://b/x.png', mimeType: 'image/png' } },
          { executableCode: { language: 'PYTHON', code: 'print(1)\n' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
          { videoMetadata: {} },
        ],
        { finishReason: 'STOP' },
      ),
      createTime: '2026-01-02T03:04:05.678Z',
    })
    expect(events).toEqual([
      { type: 'start', id: '', model: '', createdS: 1767323045 },
      { type: 'image', choice: 0, source: { data: 'cGlj', mediaType: 'image/png' } },
      { type: 'audio', choice: 0, data: 'c291bmQ=' },
      { type: 'image', choice: 0, source: { url: 'gs://b/x.png' } },
      { type: 'text', choice: 0, text: '\n```python\nprint(1)\n```\n' },
      { type: 'text', choice: 0, text: '\n```\n1\n```\n' },
      { type: 'finish', choice: 0, reason: 'stop' },
    ])
  })

  test("choices apart, logprobs in OpenAI's shape", () => {
    const logprobsResult = {
      topCandidates: [
        {
          candidates: [
            { token: 'ja', tokenId: 1, logProbability: -0.1 },
            { token: 'ö', tokenId: 2, logProbability: -3 },
          ],
        },
      ],
      chosenCandidates: [{ token: 'ja', tokenId: 1, logProbability: -0.1 }],
    }
    const events = generateResult({
      candidates: [
        { content: { parts: [{ text: 'ja' }] }, index: 0, finishReason: 'STOP', logprobsResult },
        { content: { parts: [{ text: 'nein' }] }, index: 1, finishReason: 'MAX_TOKENS' },
      ],
    })
    expect(events).toContainEqual({
      type: 'logprobs',
      choice: 0,
      content: [
        {
          token: 'ja',
          logprob: -0.1,
          bytes: [106, 97],
          top_logprobs: [
            { token: 'ja', logprob: -0.1, bytes: [106, 97] },
            { token: 'ö', logprob: -3, bytes: [195, 182] },
          ],
        },
      ],
    })
    expect(events.filter(one => one.type === 'finish')).toEqual([
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'finish', choice: 1, reason: 'length' },
    ])
  })

  test('sources are citations with places in characters, each once', () => {
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }, { web: { uri: 'https://b.example' } }, {}],
      groundingSupports: [
        { segment: { startIndex: 5, endIndex: 9, text: 'warm' }, groundingChunkIndices: [0, 1, 2, 99] },
      ],
    }
    const text = sse([
      candidate([{ text: 'Öö: warm' }], { groundingMetadata }),
      candidate([{ text: '.' }], {
        groundingMetadata,
        citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 4, uri: 'https://c.example' }] },
        finishReason: 'STOP',
      }),
    ])
    expect(
      streamed(text, 1000)
        .filter(one => one.type === 'citation')
        .map(one => one.citation),
    ).toEqual([
      { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 3, end_index: 7 },
      { type: 'url_citation', url: 'https://b.example', title: '', start_index: 3, end_index: 7 },
      { type: 'url_citation', url: 'https://c.example', title: '', start_index: 0, end_index: 2 },
    ])
  })
})

describe('ends and errors', () => {
  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content-filter'],
    ['RECITATION', 'content-filter'],
    ['BLOCKLIST', 'content-filter'],
    ['PROHIBITED_CONTENT', 'content-filter'],
    ['SPII', 'content-filter'],
    ['IMAGE_SAFETY', 'content-filter'],
    ['CONTINUATION', 'length'],
    ['ESCALATION', 'content-filter'],
  ])('%s is %s', (finishReason, reason) => {
    expect(generateResult({ candidates: [{ finishReason }] }).at(-1)).toEqual({
      type: 'finish',
      choice: 0,
      reason,
    } as ChatEvent)
  })

  test('a call that the upstream could not read is a failure, not an empty answer', () => {
    const events = generateResult({
      candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'print(' }],
    })
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'upstream-failed', code: 'MALFORMED_FUNCTION_CALL' },
    })
    expect(events.some(one => one.type === 'finish')).toBe(false)
  })

  test('a blocked prompt and an error inside a stream', () => {
    expect(
      generateResult({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 1 } }),
    ).toMatchObject([
      { type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } },
      { type: 'error', error: { kind: 'content-policy', param: 'messages' } },
    ])
    const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
    for (const body of [error, [error]])
      expect(streamed(sse([candidate([{ text: 'a' }]), body]), 7).at(-1)).toMatchObject({
        type: 'error',
        error: { kind: 'upstream-overloaded', message: 'The model is overloaded.', code: 'UNAVAILABLE' },
      })
  })

  test.each([[null], ['text'], [7], [[]], [{}], [{ candidates: null }], [{ usageMetadata: {} }]])(
    '%j is no answer',
    body => {
      expect(() => generateResult(body)).toThrow('does not follow its protocol')
    },
  )

  test('hostile shapes break nothing, absurd counts are no usage', () => {
    const events = generateResult({
      candidates: [
        null,
        3,
        {
          index: 'x',
          content: { parts: [null, { text: 5 }, { functionCall: { name: {}, args: [] } }, { inlineData: {} }] },
          logprobsResult: [],
          groundingMetadata: { groundingChunks: 3, groundingSupports: [{}] },
          finishReason: 'STOP',
        },
      ],
      usageMetadata: { promptTokenCount: -1, candidatesTokenCount: 1e300 },
    })
    expect(events.map(one => one.type)).toEqual([
      'start',
      'tool-call-start',
      'tool-call-arguments',
      'tool-call-end',
      'finish',
    ])
    expect(() => generateReader()({ data: '{"candidates": [' })).toThrow()
  })

  test.each([
    [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'upstream-credentials'],
    [
      400,
      'INVALID_ARGUMENT',
      'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
      'context-too-long',
    ],
    [400, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit: 20971520 bytes.', 'too-large'],
    [400, 'INVALID_ARGUMENT', 'Invalid JSON payload received. Unknown name "x"', 'upstream-refused'],
    [400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.', 'upstream-credentials'],
    [403, 'PERMISSION_DENIED', 'no', 'upstream-credentials'],
    [404, 'NOT_FOUND', 'models/x is not found for API version v1beta', 'model-not-found'],
    [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota', 'upstream-rate-limited'],
    [499, 'CANCELLED', 'cancelled', 'upstream-failed'],
    [500, 'INTERNAL', 'oops', 'upstream-failed'],
    [503, 'UNAVAILABLE', 'overloaded', 'upstream-overloaded'],
    [504, 'DEADLINE_EXCEEDED', 'late', 'upstream-timeout'],
  ])('%d %s "%s" is %s', (code, status, message, kind) => {
    for (const body of [{ error: { code, message, status } }, [{ error: { code, message, status } }]]) {
      const fault = classify({ host: 'gemini', status: code, body })
      expect(fault).toMatchObject({ kind: kind as never, message })
      // Clients look for OpenAI's `context_length_exceeded`.
      expect(fault.code).toBe(kind === 'context-too-long' ? undefined : status)
    }
  })

  test('RetryInfo is read, bodies of other shapes fall back to the status', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37.5s' }]
    expect(
      classify({
        host: 'gemini',
        status: 429,
        body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'm', details } },
      }).retryAfterMs,
    ).toBe(37_500)
    expect(
      classify({
        host: 'gemini',
        status: 400,
        body: {
          error: {
            code: 400,
            status: 'INVALID_ARGUMENT',
            message: "The prompt violates Google's Responsible AI practices",
          },
        },
      }).kind,
    ).toBe('content-policy')
    expect(classify({ host: 'gemini', status: 502, body: '<html>' }).kind).toBe('upstream-broken')
    expect(classify({ host: 'gemini', status: 429, body: { error: 'slow' } })).toMatchObject({
      kind: 'upstream-rate-limited',
      message: 'slow',
    })
  })
})

describe("a conversation through OpenAI's dialect", () => {
  const target: Target = {
    provider: gemini,
    model: 'gemini-3-pro-preview',
    baseUrl: gemini.defaultBaseUrl!,
    apiKey: new Secret('k'),
    headers: {},
    options: {},
  }
  const decode = (body: object): ChatRequest => openaiChat.decode(JsonBody.read(Buffer.from(JSON.stringify(body))))
  const ask = { role: 'user', content: 'weather?' }
  const modelTurn = (message: object, results: object[] = []) => {
    const request = decode({ model: 'm', messages: [ask, message, ...results] })
    return (gemini.chat!.request(request, target).body as { contents: { role: string; parts: object[] }[] }).contents
  }

  test('calls, texts and thoughts come back with their signatures', () => {
    const encoded = openaiChat.encode(generateResult(whole), 'public', decode({ model: 'm', messages: [ask] })) as {
      choices: { message: { tool_calls: { id: string }[] } }[]
    }
    const { message } = encoded.choices[0]!
    const results = message.tool_calls
      .map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: at === 0 ? '{"c":21}' : 'mild' }))
      .reverse()
    const ids = message.tool_calls.map(call => readCallId(call.id).id)
    expect(ids[0]).not.toContain('U0lH')
    expect(modelTurn(message, results).slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { text: 'Grübel ✓', thought: true },
          { text: 'Let me look 😀', thoughtSignature: 'VEVYVA==' },
          { functionCall: { id: ids[0], name: 'weather', args: { city: 'Paris' } }, thoughtSignature: 'U0lH' },
          { functionCall: { id: ids[1], name: 'weather', args: { city: 'Köln' } } },
          { functionCall: { id: ids[2], name: 'clock', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: ids[0], name: 'weather', response: { c: 21 } } },
          { functionResponse: { id: ids[1], name: 'weather', response: { output: 'mild' } } },
          { functionResponse: { id: ids[2], name: 'clock', response: { output: 'mild' } } },
        ],
      },
    ])
  })

  test("without signatures, or with another vendor's, the first call asks for leniency; older models need none", () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '' } }
    const foreign = {
      role: 'assistant',
      content: null,
      tool_calls: [call, { ...call, id: 'b' }],
      thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 'EqQBclaude' }],
    }
    expect(modelTurn(foreign)[1]!.parts).toEqual([
      { functionCall: { id: 'a', name: 'f', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
      { functionCall: { id: 'b', name: 'f', args: {} } },
    ])
    const old = gemini.chat!.request(decode({ model: 'm', messages: [ask, foreign] }), {
      ...target,
      model: 'gemini-2.5-flash',
    })
    expect(JSON.stringify(old.body)).not.toContain('thoughtSignature')
  })
})
