/** Requests in Gemini's dialect; fields that it lacks are reported. */
import { describe, expect, test } from 'bun:test'
import type { ChatRequest, Message, Part } from '../../core/hub/chat.ts'
import type { Target } from '../../core/provider.ts'
import type { EmbeddingsRequest } from '../../core/hub/embeddings.ts'
import type { ImagesRequest } from '../../core/hub/images.ts'
import type { SpeechRequest } from '../../core/hub/speech.ts'
import { Secret } from '../../lib/secret.ts'
import { providers } from '../index.ts'
import { gemini } from './index.ts'

const target = (model = 'gemini-2.5-flash', more: Partial<Target> = {}): Target => ({
  provider: gemini,
  model,
  baseUrl: gemini.defaultBaseUrl!,
  apiKey: new Secret('canary'),
  headers: {},
  options: {},
  ...more,
})
const user = (...parts: Part[]): Message => ({ role: 'user', parts })
const text = (words: string): Part => ({ type: 'text', text: words })
const request = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'public',
  stream: false,
  includeUsage: false,
  messages: [user(text('hi'))],
  extra: { format: 'openai-chat', fields: {} },
  ...more,
})
const ask = (more: Partial<ChatRequest>, model?: string) => {
  const { body, dropped } = gemini.chat!.request(request(more), target(model))
  return { ...(body as Record<string, unknown>), dropped: [...dropped] } as Record<string, unknown> & {
    dropped: string[]
  }
}

test('data of tools with names that Gemini takes for those of its parts stay text, at any depth; other data is structure', () => {
  const responseTo = (result: string): unknown => {
    const call: Part = { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' }
    const answered: Part = { type: 'tool-result', callId: 'a', parts: [text(result)] }
    const { contents } = ask({
      messages: [
        { role: 'assistant', parts: [call] },
        { role: 'tool', parts: [answered] },
      ],
    })
    return (contents as { parts: { functionResponse?: { response: unknown } }[] }[]).at(-1)!.parts[0]!.functionResponse!
      .response
  }
  for (const data of [
    '{"$ref":"#/components/schemas/Error"}',
    '{"a":[1,null,{"schema":{"\\u0024ref":"#/$defs/X"}}]}',
    '{"$defs":{}}',
    '{"b":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}',
  ])
    expect(responseTo(data)).toEqual({ output: data })
  for (const data of ['{"price":"$5","a":[{"b$":null}]}', '{}']) expect(responseTo(data)).toEqual(JSON.parse(data))
})

describe('addresses', () => {
  test('the stream is another path; the key is a header; a model is one step', () => {
    expect(gemini.chat!.request(request({ stream: true }), target()).head).toEqual({
      url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      headers: { 'content-type': 'application/json', 'x-goog-api-key': 'canary' },
    })
    const url = (model: string, baseUrl = gemini.defaultBaseUrl!) =>
      gemini.speaks['gemini-generate']!(target(model, { baseUrl }), false).url
    expect(url('models/x', 'http://proxy')).toBe('http://proxy/v1beta/models/x:generateContent')
    expect(url('tunedModels/mine')).toEndWith('/v1beta/tunedModels/mine:generateContent')
    expect(url('../../evil?x=1#')).toEndWith('/v1beta/models/..%2F..%2Fevil%3Fx%3D1%23:generateContent')
    expect(gemini.speaks['gemini-embeddings']!(target('e'), false).url).toEndWith('/models/e:batchEmbedContents')
    expect(gemini.speaks['gemini-count-tokens']!(target('e'), false).url).toEndWith('/models/e:countTokens')
  })
})

describe('messages', () => {
  test('system apart, neighbours merged, a late system message is said by the user', () => {
    expect(
      ask({
        messages: [
          { role: 'system', parts: [text('be kind')] },
          { role: 'developer', parts: [text('be brief'), text('')] },
          { role: 'assistant', parts: [text('hello')] },
          user(text('a')),
          { role: 'system', parts: [text('now in French')] },
          user(text('b')),
        ],
      }),
    ).toEqual({
      systemInstruction: { parts: [{ text: 'be kind' }, { text: 'be brief' }] },
      contents: [
        { role: 'user', parts: [{ text: '.' }] },
        { role: 'model', parts: [{ text: 'hello' }] },
        { role: 'user', parts: [{ text: 'a' }, { text: 'now in French' }, { text: 'b' }] },
      ],
      dropped: [],
    })
    expect(
      ask({ messages: [{ role: 'system', parts: [text('s')] }, user(text('u'))] }, 'gemma-3-27b-it').contents,
    ).toEqual([{ role: 'user', parts: [{ text: 's' }, { text: 'u' }] }])
  })

  test('media: bytes inline, files at Google by address', () => {
    const { contents, dropped } = ask({
      messages: [
        user(
          { type: 'image', source: { data: 'aW1n', mediaType: 'image/webp' }, detail: 'high' },
          { type: 'image', source: { url: 'gs://bucket/cat.JPG' } },
          { type: 'audio', data: 'bXAz', format: 'mp3' },
          { type: 'document', source: { data: 'cGRm', mediaType: 'application/pdf' }, name: 'a.pdf' },
          { type: 'document', source: { fileId: 'files/abc-1' } },
          { type: 'document', source: { url: 'https://www.youtube.com/watch?v=1' } },
        ),
      ],
    })
    expect((contents as { parts: unknown }[])[0]!.parts).toEqual([
      { inlineData: { mimeType: 'image/webp', data: 'aW1n' } },
      { fileData: { fileUri: 'gs://bucket/cat.JPG', mimeType: 'image/jpeg' } },
      { inlineData: { mimeType: 'audio/mp3', data: 'bXAz' } },
      { inlineData: { mimeType: 'application/pdf', data: 'cGRm' } },
      { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc-1' } },
      { fileData: { fileUri: 'https://www.youtube.com/watch?v=1' } },
    ])
    expect(dropped).toEqual(['messages.content.image_url.detail', 'messages.content.file.filename'])
  })

  test('the name of a file: dropped and named here, carried on Vertex AI; also in the result of a tool', () => {
    const nameless = { type: 'document' as const, source: { data: 'cGRm', mediaType: 'application/pdf' } }
    const named = { ...nameless, name: 'a.pdf' }
    const stored = { type: 'document' as const, source: { url: 'gs://bucket/b.pdf' }, name: 'b.pdf' }
    const messages: Message[] = [
      user(stored),
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'f', arguments: '{}' }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'c', parts: [named] }] },
    ]
    expect(ask({ messages }).dropped).toEqual(['messages.content.file.filename'])
    expect(ask({ messages: [user(nameless)] }).dropped).toEqual([])
    const vertex = providers.get('vertex_ai')!
    const atVertex = target('gemini-2.5-pro', { provider: vertex, options: { vertex_project: 'p' } })
    const { body, dropped } = vertex.chat!.request(request({ messages }), atVertex)
    expect(dropped).toEqual([])
    expect((body as { contents: { parts: unknown }[] }).contents.map(turn => turn.parts)).toEqual([
      [{ fileData: { fileUri: 'gs://bucket/b.pdf', mimeType: 'application/pdf', displayName: 'b.pdf' } }],
      [{ functionCall: { name: 'f', args: {} } }],
      [
        { functionResponse: { name: 'f', response: { output: '' } } },
        { inlineData: { mimeType: 'application/pdf', data: 'cGRm', displayName: 'a.pdf' } },
      ],
    ])
  })

  test.each<[string, Message[], string]>([
    [
      'a picture on the web',
      [user({ type: 'image', source: { url: 'http://x.example/cat.png?sig=secret' } })],
      'does not fetch the image "http://x.example/cat.png";',
    ],
    [
      'an id of another vendor',
      [user({ type: 'document', source: { fileId: 'file-123' } })],
      'cannot fetch the file "file-123"',
    ],
    ['a format that is none', [user({ type: 'audio', data: '', format: 'a b' })], 'must be a name such as "wav"'],
    [
      'a picture in a system message',
      [{ role: 'system', parts: [{ type: 'image', source: { data: '', mediaType: 'image/png' } }] }],
      'can only hold text',
    ],
    [
      'a result without its call',
      [{ role: 'tool', parts: [{ type: 'tool-result', callId: 'nope', parts: [] }] }],
      'answers no tool call',
    ],
  ])('%s is refused', (_, messages, words) => {
    expect(() => ask({ messages })).toThrow(words)
  })

  test('results pair by name and follow the order of their calls; media follow them', () => {
    const { contents } = ask({
      messages: [
        user(text('?')),
        {
          role: 'assistant',
          parts: [
            { type: 'tool-call', id: 'a', name: 'f', arguments: '[1]' },
            { type: 'tool-call', id: 'b', name: 'g', arguments: '{bad' },
          ],
        },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'b', parts: [text('oops')], isError: true }] },
        {
          role: 'tool',
          parts: [
            {
              type: 'tool-result',
              callId: 'a',
              parts: [text('seen'), { type: 'image', source: { data: 'aQ==', mediaType: 'image/png' } }],
            },
          ],
        },
        user(text('and?')),
      ],
    })
    expect((contents as unknown[]).slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'a', name: 'f', args: { value: [1] } } },
          { functionCall: { id: 'b', name: 'g', args: { invalid_json: '{bad' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'f', response: { output: 'seen' } } },
          { functionResponse: { id: 'b', name: 'g', response: { error: 'oops' } } },
          { inlineData: { mimeType: 'image/png', data: 'aQ==' } },
          { text: 'and?' },
        ],
      },
    ])
  })
})

describe('settings', () => {
  test('every one has its place, the rest is named', () => {
    const { generationConfig, safetySettings, serviceTier, toolConfig, dropped } = ask({
      temperature: 1.5,
      topP: 0.9,
      topK: 40,
      choices: 2,
      maxOutputTokens: 99,
      stop: ['1', '', '2', '3', '4', '5', '6'],
      seed: 2 ** 40 + 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      logprobs: true,
      topLogprobs: 3,
      logitBias: { 1: 1 },
      user: 'u',
      metadata: { a: 1 },
      serviceTier: 'flex',
      parallelToolCalls: false,
      tools: [{ name: 't', strict: true }],
      extra: {
        format: 'openai-chat',
        fields: {
          modalities: ['text', 'image'],
          safety_settings: [{ category: 'c' }],
          audio: { voice: 'alloy', format: 'mp3' },
          prediction: {},
        },
      },
    })
    expect(generationConfig).toEqual({
      temperature: 1.5,
      topP: 0.9,
      topK: 40,
      candidateCount: 2,
      maxOutputTokens: 99,
      stopSequences: ['1', '2', '3', '4', '5'],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      responseLogprobs: true,
      logprobs: 3,
      responseModalities: ['TEXT', 'IMAGE'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    })
    expect(safetySettings).toEqual([{ category: 'c' }])
    expect(serviceTier).toBe('flex')
    expect(toolConfig).toEqual({ functionCallingConfig: { mode: 'VALIDATED' } })
    expect(dropped.sort()).toEqual([
      'audio.format',
      'audio.voice',
      'logit_bias',
      'metadata',
      'parallel_tool_calls',
      'prediction',
      'seed',
      'stop',
      'user',
    ])
  })

  test("Gemini's own extra fields go in as they came", () => {
    const body = ask({
      temperature: 0,
      extra: {
        format: 'gemini-generate',
        fields: {
          cachedContent: 'c',
          tools: [{ googleSearch: {} }],
          generationConfig: { temperature: 1, mediaResolution: 'LOW' },
        },
      },
    })
    expect(body).toMatchObject({
      cachedContent: 'c',
      tools: [{ googleSearch: {} }],
      generationConfig: { temperature: 0, mediaResolution: 'LOW' },
      dropped: [],
    })
    expect(ask({ extra: { format: 'openai-chat', fields: { web_search_options: {} } } }).tools).toEqual([
      { googleSearch: {} },
    ])
  })

  const thinking: [string, ChatRequest['reasoning'], unknown, string[]][] = [
    ['gemini-2.5-flash', { effort: 'medium' }, { thinkingBudget: 8192, includeThoughts: true }, []],
    ['gemini-2.5-flash', { effort: 'none' }, { thinkingBudget: 0 }, []],
    ['gemini-2.5-pro', { effort: 'none' }, { thinkingBudget: 128 }, ['reasoning_effort']],
    [
      'gemini-2.5-pro',
      { budgetTokens: 99_999 },
      { thinkingBudget: 32_768, includeThoughts: true },
      ['thinking.budget_tokens'],
    ],
    [
      'gemini-2.5-flash-lite',
      { budgetTokens: 10 },
      { thinkingBudget: 512, includeThoughts: true },
      ['thinking.budget_tokens'],
    ],
    ['gemini-2.5-flash', { effort: 'high' }, { thinkingBudget: 24_576, includeThoughts: true }, []],
    ['gemini-2.5-flash', { effort: 'xhigh' }, { thinkingBudget: 24_576, includeThoughts: true }, ['reasoning_effort']],
    ['gemini-2.5-pro', { effort: 'max' }, { thinkingBudget: 32_768, includeThoughts: true }, ['reasoning_effort']],
    [
      'gemini-2.5-pro',
      { effort: 'high', budgetTokens: 2000 },
      { thinkingBudget: 2000, includeThoughts: true },
      ['reasoning_effort'],
    ],
    ['gemini-2.5-flash', { enabled: true }, { thinkingBudget: -1, includeThoughts: true }, []],
    [
      'gemini-3-pro-preview',
      { effort: 'medium' },
      { thinkingLevel: 'LOW', includeThoughts: true },
      ['reasoning_effort'],
    ],
    ['gemini-3.1-pro-preview', { effort: 'medium' }, { thinkingLevel: 'MEDIUM', includeThoughts: true }, []],
    ['gemini-3-flash-preview', { enabled: false }, { thinkingLevel: 'MINIMAL' }, []],
    [
      'gemini-flash-latest',
      { effort: 'xhigh' },
      { thinkingLevel: 'HIGH', includeThoughts: true },
      ['reasoning_effort'],
    ],
    ['gemini-4-hydrogen', { effort: 'xhigh' }, { thinkingLevel: 'XHIGH', includeThoughts: true }, []],
    ['gemini-4-hydrogen', { effort: 'max' }, { thinkingLevel: 'XHIGH', includeThoughts: true }, ['reasoning_effort']],
    ['gemini-2.0-flash', { effort: 'low' }, undefined, ['reasoning_effort']],
    ['gemini-2.5-flash-image', { effort: 'low' }, undefined, ['reasoning_effort']],
  ]
  test.each(thinking)('thinking of %s with %j', (model, reasoning, expected, lost) => {
    const { generationConfig, dropped } = ask({ reasoning }, model)
    expect([(generationConfig as { thinkingConfig?: unknown } | undefined)?.thinkingConfig, dropped]).toEqual([
      expected,
      lost,
    ])
  })

  test.each<[ChatRequest['toolChoice'], unknown]>([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ name: 't' }, { mode: 'ANY', allowedFunctionNames: ['t'] }],
  ])('tool choice %j', (toolChoice, functionCallingConfig) => {
    expect(ask({ tools: [{ name: 't' }], toolChoice }).toolConfig).toEqual({ functionCallingConfig })
  })
})

describe('schemas', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    required: ['kind', 'gone'],
    properties: {
      kind: { const: 'a' },
      size: { type: ['integer', 'null'], format: 'int32', exclusiveMinimum: 0 },
      code: { type: 'string', pattern: '^a', format: 'uuid' },
      node: { $ref: '#/definitions/node' },
      either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      level: { enum: [1, 2] },
      list: { type: 'array' },
      all: {
        allOf: [
          { properties: { x: { type: 'string' } }, required: ['x'] },
          { properties: { y: { type: 'number' } }, required: ['y'] },
        ],
        type: 'object',
      },
    },
    definitions: {
      node: {
        type: 'object',
        properties: { next: { $ref: '#/definitions/node' }, name: { type: 'string', default: 'x' } },
      },
    },
  }
  const wanted = { responseFormat: { type: 'json-schema', name: 'x', schema } } as const

  test('newer models get a subset of JSON Schema, and tools the schema as it is', () => {
    const { generationConfig, dropped } = ask(wanted)
    expect(generationConfig).toEqual({
      responseMimeType: 'application/json',
      responseJsonSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['kind', 'gone'],
        properties: {
          kind: { enum: ['a'] },
          size: { type: ['integer', 'null'], format: 'int32' },
          code: { type: 'string', format: 'uuid' },
          node: { $ref: '#/$defs/node' },
          either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          level: { enum: [1, 2] },
          list: { type: 'array' },
          all: { type: 'object', properties: { x: { type: 'string' }, y: { type: 'number' } }, required: ['x', 'y'] },
        },
        $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, name: { type: 'string' } } } },
      },
    })
    expect(dropped.sort()).toEqual([
      'response_format.json_schema.schema.exclusiveMinimum',
      'response_format.json_schema.schema.pattern',
    ])
    expect(ask({ tools: [{ name: 't', description: 'd', parameters: schema }] }).tools).toEqual([
      { functionDeclarations: [{ name: 't', description: 'd', parametersJsonSchema: schema }] },
    ])
  })

  test('older models get OpenAPI: references written out, circles cut, null as nullable', () => {
    const { tools, dropped } = ask(
      {
        tools: [
          { name: 't', parameters: schema },
          { name: 'none', parameters: { type: 'object', properties: {} } },
        ],
      },
      'gemini-2.0-flash',
    )
    const node = {
      type: 'OBJECT',
      properties: { next: { type: 'OBJECT' }, name: { type: 'STRING' } },
      propertyOrdering: ['next', 'name'],
    }
    expect((tools as { functionDeclarations: unknown[] }[])[0]!.functionDeclarations).toEqual([
      {
        name: 't',
        parameters: {
          type: 'OBJECT',
          required: ['kind'],
          propertyOrdering: ['kind', 'size', 'code', 'node', 'either', 'level', 'list', 'all'],
          properties: {
            kind: { type: 'STRING', enum: ['a'] },
            size: { type: 'INTEGER', nullable: true, format: 'int32' },
            code: { type: 'STRING', pattern: '^a' },
            node,
            either: { type: 'STRING', nullable: true },
            level: {},
            list: { type: 'ARRAY', items: { type: 'STRING' } },
            all: {
              type: 'OBJECT',
              properties: { x: { type: 'STRING' }, y: { type: 'NUMBER' } },
              required: ['x', 'y'],
              propertyOrdering: ['x', 'y'],
            },
          },
        },
      },
      { name: 'none' },
    ])
    expect(dropped.sort()).toEqual(
      ['$ref', 'enum', 'exclusiveMinimum', 'format'].map(word => `tools.function.parameters.${word}`),
    )
    expect(ask(wanted, 'gemini-2.0-flash').generationConfig).toHaveProperty('responseSchema')
  })

  test('before Gemini 3, tools and a JSON answer exclude each other', () => {
    expect(ask({ ...wanted, tools: [{ name: 't' }] })).toMatchObject({ dropped: ['response_format'] })
    expect(ask({ ...wanted, tools: [{ name: 't' }] }, 'gemini-3-flash').generationConfig).toHaveProperty(
      'responseJsonSchema',
    )
    expect(ask({ responseFormat: { type: 'json-object' } }).generationConfig).toEqual({
      responseMimeType: 'application/json',
    })
  })
})

describe('other operations', () => {
  const embeddings = (more: Partial<EmbeddingsRequest>): EmbeddingsRequest => ({
    model: 'm',
    inputs: ['a', 'b'],
    encoding: 'float',
    extra: { format: 'openai-embeddings', fields: {} },
    ...more,
  })

  test('embeddings in one batch', () => {
    const call = gemini.embeddings!.request(
      embeddings({
        dimensions: 8,
        user: 'u',
        extra: { format: 'openai-embeddings', fields: { task_type: 'RETRIEVAL_QUERY', odd: 1 } },
      }),
      target('gemini-embedding-001'),
    )
    const one = (words: string) => ({
      model: 'models/gemini-embedding-001',
      content: { parts: [{ text: words }] },
      taskType: 'RETRIEVAL_QUERY',
      outputDimensionality: 8,
    })
    expect([call.head.url.split('/').at(-1), call.body, call.dropped]).toEqual([
      'gemini-embedding-001:batchEmbedContents',
      { requests: [one('a'), one('b')] },
      ['odd', 'user'],
    ])
    expect(
      gemini.embeddings!.result(
        { embeddings: [{ values: [0.5, -1] }], usageMetadata: { promptTokenCount: 4 } },
        embeddings({}),
      ),
    ).toEqual({
      vectors: [Float32Array.from([0.5, -1])],
      usage: { inputTokens: 4, outputTokens: 0 },
    })
    expect(() => gemini.embeddings!.request(embeddings({ inputs: [[1, 2]] }), target())).toThrow(
      'embeds texts, not token ids',
    )
    for (const body of [{}, { embeddings: [{}] }, { embeddings: [{ values: ['1'] }] }])
      expect(() => gemini.embeddings!.result(body, embeddings({}))).toThrow('protocol')
  })

  test('tokens are counted with tools and the system instruction', () => {
    const call = gemini.countTokens!.request(request({ tools: [{ name: 't' }] }), target())
    expect(call.body).toEqual({
      generateContentRequest: {
        model: 'models/gemini-2.5-flash',
        contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
        tools: [{ functionDeclarations: [{ name: 't' }] }],
      },
    })
    expect(gemini.countTokens!.result({ totalTokens: 31 }, request())).toEqual({ inputTokens: 31 })
    expect(() => gemini.countTokens!.result({ totalTokens: -1 }, request())).toThrow('protocol')
  })

  const speech = (more: Partial<SpeechRequest>): SpeechRequest => ({
    model: 'm',
    input: 'Hi',
    voice: 'Puck',
    format: 'wav',
    extra: { format: 'openai-speech', fields: {} },
    ...more,
  })

  test('speech is samples, in a WAV file when asked; nothing is mislabelled', () => {
    const call = gemini.speech!.request(
      speech({ instructions: 'Say cheerfully', speed: 2 }),
      target('gemini-2.5-flash-preview-tts'),
    )
    expect(call).toMatchObject({
      body: {
        contents: [{ role: 'user', parts: [{ text: 'Say cheerfully:\nHi' }] }],
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } } },
        },
      },
      dropped: ['speed'],
    })
    expect(() => gemini.speech!.request(speech({ format: 'mp3' }), target())).toThrow(
      'speaks `wav` and `pcm`, not `mp3`',
    )
    const samples = Buffer.from([1, 0, 2, 0])
    const body = {
      candidates: [
        {
          content: {
            parts: [{ inlineData: { mimeType: 'audio/L16;codec=pcm;rate=16000', data: samples.toString('base64') } }],
          },
        },
      ],
    }
    const { audio, mediaType } = gemini.speech!.result!(body, speech({}))
    const head = Buffer.from(audio.subarray(0, 44))
    expect([
      mediaType,
      audio.length,
      head.toString('latin1', 0, 4),
      head.readUInt32LE(4),
      head.readUInt32LE(24),
      head.readUInt32LE(40),
    ]).toEqual(['audio/wav', 48, 'RIFF', 40, 16000, 4])
    expect(Buffer.from(gemini.speech!.result!(body, speech({ format: 'pcm' })).audio)).toEqual(samples)
    expect(() => gemini.speech!.result!({ candidates: [{ finishReason: 'SAFETY' }] }, speech({}))).toThrow(
      'did not speak',
    )
    expect(() => gemini.speech!.result!({}, speech({}))).toThrow('protocol')
  })

  const images = (more: Partial<ImagesRequest>): ImagesRequest => ({
    model: 'm',
    prompt: 'a cat',
    response: 'b64_json',
    extra: { format: 'openai-images', fields: {} },
    ...more,
  })

  test('Imagen paints by predict', () => {
    const call = gemini.images!.request(
      images({
        count: 2,
        size: '1792x1008',
        quality: 'hd',
        outputFormat: 'jpeg',
        extra: { format: 'x', fields: { negative_prompt: 'dogs' } },
      }),
      target('imagen-4.0-generate-001'),
    )
    expect(call.head.url).toEndWith(':predict')
    expect([call.body, call.dropped]).toEqual([
      {
        instances: [{ prompt: 'a cat' }],
        parameters: {
          sampleCount: 2,
          aspectRatio: '16:9',
          outputOptions: { mimeType: 'image/jpeg' },
          negativePrompt: 'dogs',
        },
      },
      ['quality'],
    ])
    expect(
      gemini.images!.result(
        {
          predictions: [
            { bytesBase64Encoded: 'eA==', mimeType: 'image/png', prompt: 'one cat' },
            { raiFilteredReason: 'no' },
          ],
        },
        images({}),
      ),
    ).toEqual({
      createdS: 0,
      images: [{ source: { data: 'eA==', mediaType: 'image/png' }, revisedPrompt: 'one cat' }],
      usage: { inputTokens: 0, outputTokens: 0, images: 1 },
    })
    for (const body of [{}, { predictions: [{ raiFilteredReason: 'violence' }] }])
      expect(() => gemini.images!.result(body, images({}))).toThrow('held back every picture')
    expect(() => gemini.images!.request(images({ count: 9 }), target('imagen-4'))).toThrow('1 to 4 pictures')
    expect(() => gemini.images!.request(images({ size: 'big' }), target('imagen-4'))).toThrow('WIDTHxHEIGHT')
  })

  test('Gemini paints in an answer', () => {
    const call = gemini.images!.request(images({ count: 2, size: '1536x1024' }), target('gemini-2.5-flash-image'))
    expect(call.head.url).toEndWith(':generateContent')
    expect([call.body, call.dropped]).toEqual([
      {
        contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
        generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '3:2' } },
      },
      ['n'],
    ])
    const answer = (parts: object[], finishReason = 'STOP') => ({
      candidates: [{ content: { parts }, finishReason }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1290 },
    })
    expect(
      gemini.images!.result(
        answer([{ text: 'Here:' }, { inlineData: { mimeType: 'image/png', data: 'eA==' } }]),
        images({}),
      ),
    ).toEqual({
      createdS: 0,
      images: [{ source: { data: 'eA==', mediaType: 'image/png' } }],
      usage: { inputTokens: 3, outputTokens: 1290, images: 1 },
    })
    expect(() => gemini.images!.result(answer([{ text: 'I would rather not' }]), images({}))).toThrow(
      'words instead of a picture',
    )
    expect(() => gemini.images!.result(answer([], 'IMAGE_SAFETY'), images({}))).toThrow('held back every picture')
    expect(() => gemini.images!.result({ promptFeedback: { blockReason: 'SAFETY' } }, images({}))).toThrow(
      'blocked the prompt',
    )
  })
})
