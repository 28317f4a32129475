import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { geminiBatchEmbedContents, geminiCountTokens, geminiEmbedContent, geminiGenerate } from './index.ts'
import { encodeThoughts } from './thought-signature.ts'
import { showsThoughts } from './decode.ts'

const bodyOf = (value: unknown): JsonBody => JsonBody.read(Buffer.from(JSON.stringify(value)))
const decode = (value: unknown): ChatRequest => geminiGenerate.decode(bodyOf(value))
const said = (...parts: object[]) => decode({ contents: [{ role: 'user', parts }] }).messages
const config = (generationConfig: object) => decode({ contents: [{ parts: [{ text: 'x' }] }], generationConfig })

describe('contents', () => {
  test('texts, instructions, media', () => {
    const { messages } = decode({
      system_instruction: { parts: { text: 'be kind' } },
      contents: [
        {
          parts: [
            { text: 'look' },
            { inline_data: { mime_type: 'image/PNG', data: 'ab-_' } },
            { inlineData: { mimeType: 'audio/mpeg', data: 'QUJD' } },
            { inlineData: { mimeType: 'application/pdf', data: 'QUJD', displayName: 'a.pdf' } },
            { fileData: { mimeType: 'image/jpeg', fileUri: 'gs://b/i.jpg' } },
            { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/x' } },
            { text: '' },
          ],
        },
      ],
    })
    expect(messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'be kind' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'look' },
          // Google's Python client writes base64 of URLs.
          { type: 'image', source: { data: 'ab+/', mediaType: 'image/png' } },
          { type: 'audio', data: 'QUJD', format: 'mp3' },
          { type: 'document', source: { data: 'QUJD', mediaType: 'application/pdf' }, name: 'a.pdf' },
          {
            type: 'image',
            source: { url: 'gs://b/i.jpg', mediaType: 'image/jpeg', field: 'contents.0.parts.4.fileData.fileUri' },
          },
          {
            type: 'document',
            source: {
              url: 'https://generativelanguage.googleapis.com/v1beta/files/x',
              field: 'contents.0.parts.5.fileData.fileUri',
            },
          },
        ],
      },
    ])
  })

  test('a turn that was recorded from a stream is one message', () => {
    const { messages } = decode({
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts: [{ text: 'Hel' }] },
        { role: 'model', parts: [{ text: 'lo' }] },
        { role: 'model', parts: [{ text: '' }] },
        { role: 'user', parts: [{ text: 'more' }] },
        { role: 'model', parts: [] },
      ],
    })
    expect(messages.map(one => [one.role, one.parts])).toEqual([
      ['user', [{ type: 'text', text: 'hi' }]],
      ['assistant', [{ type: 'text', text: 'Hello' }]],
      ['user', [{ type: 'text', text: 'more' }]],
    ])
  })

  test('results without ids belong to the calls by name and order', () => {
    const { messages } = decode({
      contents: [
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'f', args: { n: 1 } } },
            { functionCall: { name: 'g' } },
            { functionCall: { name: 'f', args: { n: 2 } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { text: 'go on' },
            { functionResponse: { name: 'f', response: { output: 'one' } } },
            { functionResponse: { name: 'f', response: { temperature: 2 } } },
            { functionResponse: { name: 'g', response: { error: 'no' } } },
          ],
        },
      ],
    })
    expect(messages).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'tool-call', id: 'call_0', name: 'f', arguments: '{"n":1}' },
          { type: 'tool-call', id: 'call_1', name: 'g', arguments: '{}' },
          { type: 'tool-call', id: 'call_2', name: 'f', arguments: '{"n":2}' },
        ],
      },
      {
        role: 'tool',
        parts: [{ type: 'tool-result', callId: 'call_0', name: 'f', parts: [{ type: 'text', text: 'one' }] }],
      },
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', callId: 'call_2', name: 'f', parts: [{ type: 'text', text: '{"temperature":2}' }] },
        ],
      },
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', callId: 'call_1', name: 'g', parts: [{ type: 'text', text: 'no' }], isError: true },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'go on' }] },
    ])
  })

  test('ids win over order, and a picture in a result stays in it', () => {
    const { messages } = decode({
      contents: [
        { role: 'model', parts: [{ functionCall: { id: 'a', name: 'f' } }, { functionCall: { id: 'b', name: 'f' } }] },
        {
          role: 'function',
          parts: [
            {
              functionResponse: {
                id: 'b',
                name: 'f',
                response: {},
                parts: [{ inlineData: { mimeType: 'image/png', data: 'QQ==' } }],
              },
            },
          ],
        },
      ],
    })
    expect(messages[1]).toEqual({
      role: 'tool',
      parts: [
        {
          type: 'tool-result',
          callId: 'b',
          name: 'f',
          parts: [
            { type: 'text', text: '{}' },
            { type: 'image', source: { data: 'QQ==', mediaType: 'image/png' } },
          ],
        },
      ],
    })
  })

  test('a response that answers nothing, or one call twice, is refused by its place', () => {
    const result = { functionResponse: { name: 'f', response: {} } }
    expect(() => said(result)).toThrow('contents.0.parts.0.functionResponse')
    expect(() =>
      decode({ contents: [{ role: 'model', parts: [{ functionCall: { name: 'f' } }] }, { parts: [result, result] }] }),
    ).toThrow('contents.1.parts.1.functionResponse')
  })

  test("results that repeat the function's name are the text beside it; with anything else they stay JSON", () => {
    const results = (...responses: object[]): unknown[] => {
      const calls = responses.map(() => ({ functionCall: { name: 'f', args: {} } }))
      const { messages } = decode({
        contents: [
          { role: 'model', parts: calls },
          { role: 'user', parts: responses.map(response => ({ functionResponse: { name: 'f', response } })) },
        ],
      })
      return messages
        .slice(1)
        .map(({ parts: [part] }) => (part?.type === 'tool-result' ? [part.parts, part.isError ?? false] : part))
    }
    const text = (words: string) => [{ type: 'text', text: words }]
    expect(
      results({ name: 'f', content: 'sunny' }, { name: 'f', content: '{"t":1}' }, { name: 'f', error: 'no' }),
    ).toEqual([
      [text('sunny'), false],
      [text('{"t":1}'), false],
      [text('no'), true],
    ])
    const others = [
      { name: 'g', content: 'x' },
      { name: 'f', content: { t: 1 } },
      { name: 'f', content: 'x', t: 1 },
      { name: 'f' },
      { name: 'f', content: 'x', error: 'y' },
    ]
    expect(results(...others)).toEqual(others.map(other => [text(JSON.stringify(other)), false]))
  })

  test('code that ran is text; parts that no other vendor has are refused', () => {
    const { messages } = decode({
      contents: [
        {
          role: 'model',
          parts: [
            { executableCode: { language: 'PYTHON', code: 'print(1)\n' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
          ],
        },
      ],
    })
    expect(messages[0]?.parts).toEqual([{ type: 'text', text: '\n```python\nprint(1)\n```\n\n```\n1\n```\n' }])
    expect(() => said({ toolCall: { id: 'x' } })).toThrow('contents.0.parts.0')
    expect(() => said({ functionCall: { name: 'f' } })).toThrow('role model')
  })
})

describe('thoughts', () => {
  const sealed = encodeThoughts([{ text: 'I think', signature: 'c2ln' }, { redacted: 'cmVk' }])
  const turn = (...parts: object[]) => decode({ contents: [{ role: 'model', parts }] }).messages[0]!.parts

  test('sealed ones come back before their part, once, in place of the plain text', () => {
    const parts = turn(
      { text: 'I th', thought: true },
      { text: 'ink', thought: true },
      { functionCall: { id: 'a', name: 'f' }, thoughtSignature: sealed },
      { text: '', thoughtSignature: sealed },
    )
    expect(parts).toEqual([
      { type: 'reasoning', text: 'I think', signature: 'c2ln' },
      { type: 'reasoning', text: '', redacted: 'cmVk' },
      { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' },
    ])
  })

  test("plain ones stay plain, and Gemini's own signatures stay with Gemini", () => {
    expect(turn({ text: 'hm', thought: true }, { text: 'yes', thoughtSignature: 'CiQBVKhc7g==' })).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'yes' },
    ])
  })

  test('forged ones are ignored', () => {
    const forged = Buffer.from('modelgate-thoughts:[{"signature":5}]').toString('base64')
    expect(turn({ text: 'x', thoughtSignature: forged })).toEqual([{ type: 'text', text: 'x' }])
    const more = encodeThoughts([{ text: 't', signature: 's', type: 'tool-call' } as never])
    expect(turn({ text: 'x', thoughtSignature: more })[0]).toEqual({ type: 'reasoning', text: 't', signature: 's' })
  })
})

describe('tools', () => {
  const declared = (tools: unknown, toolConfig?: object) =>
    decode({ contents: [{ parts: [{ text: 'x' }] }], tools, toolConfig })

  test("OpenAPI's schemas become JSON Schema", () => {
    const { tools } = declared([
      {
        function_declarations: [
          {
            name: 'f',
            description: 'does',
            parameters: {
              type: 'OBJECT',
              propertyOrdering: ['b', 'a'],
              required: ['a'],
              properties: {
                a: { type: 'STRING', nullable: true, enum: ['x', 'y'], format: 'enum' },
                b: { type: 'array', items: { type: 'INTEGER', format: 'int32' }, min_items: '1' },
                type: { anyOf: [{ type: 'NUMBER' }, { type: 'BOOLEAN' }], nullable: true },
              },
            },
          },
          { name: 'g', parametersJsonSchema: { type: 'object', properties: { snake_case: { type: 'string' } } } },
        ],
      },
    ])
    expect(tools).toEqual([
      {
        name: 'f',
        description: 'does',
        parameters: {
          type: 'object',
          required: ['a'],
          properties: {
            b: { type: 'array', items: { type: 'integer', format: 'int32' }, minItems: 1 },
            a: { type: ['string', 'null'], enum: ['x', 'y', null] },
            type: { anyOf: [{ type: 'number' }, { type: 'boolean' }, { type: 'null' }] },
          },
        },
      },
      { name: 'g', parameters: { type: 'object', properties: { snake_case: { type: 'string' } } } },
    ])
    expect(Object.keys(tools![0]!.parameters!.properties as object)).toEqual(['b', 'a', 'type'])
  })

  test('what Google runs itself is reported, never silently lost', () => {
    const request = declared(
      [
        { googleSearch: {} },
        { codeExecution: {}, functionDeclarations: [{ name: 'f', response: { type: 'STRING' } }] },
      ],
      {
        functionCallingConfig: { mode: 'VALIDATED' },
        retrievalConfig: { languageCode: 'de' },
      },
    )
    expect(request.tools).toEqual([{ name: 'f' }])
    expect(request.toolChoice).toBe('auto')
    expect([...request.dropped!].sort()).toEqual([
      'toolConfig.functionCallingConfig.mode',
      'toolConfig.retrievalConfig',
      'tools.codeExecution',
      'tools.functionDeclarations.response',
      'tools.googleSearch',
    ])
  })

  test.each([
    ['AUTO', undefined, 'auto', ['f', 'g']],
    ['none', undefined, 'none', ['f', 'g']],
    ['ANY', undefined, 'required', ['f', 'g']],
    ['ANY', ['g'], { name: 'g' }, ['g']],
    ['ANY', ['g', 'f'], 'required', ['f', 'g']],
  ])('mode %s with %j', (mode, allowedFunctionNames, choice, names) => {
    const request = declared(
      { functionDeclarations: [{ name: 'f' }, { name: 'g' }] },
      { functionCallingConfig: { mode, allowedFunctionNames } },
    )
    expect(request.toolChoice as unknown).toEqual(choice)
    expect(request.tools!.map(tool => tool.name)).toEqual(names)
  })

  test('allowed functions that are not declared are refused', () => {
    expect(() =>
      declared(
        { functionDeclarations: [{ name: 'f' }] },
        { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['x'] } },
      ),
    ).toThrow('allowedFunctionNames')
  })
})

describe('generationConfig', () => {
  test('every field has its place, the rest is reported', () => {
    const request = config({
      temperature: 0,
      topP: 0.5,
      topK: 3,
      candidateCount: 2,
      max_output_tokens: 9,
      stopSequences: ['.'],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      responseLogprobs: true,
      logprobs: 3,
      responseModalities: ['TEXT', 'AUDIO'],
      speechConfig: {},
      mediaResolution: 'LOW',
    })
    expect(request).toMatchObject({
      temperature: 0,
      topP: 0.5,
      topK: 3,
      choices: 2,
      maxOutputTokens: 9,
      stop: ['.'],
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      logprobs: true,
      topLogprobs: 3,
    })
    expect(request.dropped).toEqual([
      'generationConfig.responseModalities',
      'generationConfig.speechConfig',
      'generationConfig.mediaResolution',
    ])
  })

  test.each([
    [{ thinkingBudget: 0 }, { enabled: false }, false],
    [{ thinkingBudget: -1, includeThoughts: true }, { enabled: true }, true],
    [{ thinking_budget: 512 }, { budgetTokens: 512 }, false],
    [{ thinkingLevel: 'low', includeThoughts: true }, { effort: 'low' }, true],
    [{ includeThoughts: false }, undefined, false],
  ])('thinking %j', (thinkingConfig, reasoning, shown) => {
    const request = config({ thinkingConfig })
    expect(request.reasoning as unknown).toEqual(reasoning)
    expect(showsThoughts({ ...request })).toBe(shown)
  })

  test('answers in JSON', () => {
    expect(config({ responseMimeType: 'application/json' }).responseFormat).toEqual({ type: 'json-object' })
    expect(
      config({ responseMimeType: 'application/json', responseSchema: { type: 'ARRAY', items: { type: 'STRING' } } })
        .responseFormat,
    ).toEqual({
      type: 'json-schema',
      name: 'response',
      schema: { type: 'array', items: { type: 'string' } },
    })
    expect(() => config({ responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a'] } })).toThrow(
      'text/x.enum',
    )
    expect(() => config({ responseSchema: { type: 'STRING' } })).toThrow('application/json')
  })
})

test('fields of the top level: kept for Gemini, and what cannot travel is refused', () => {
  const contents = [{ parts: [{ text: 'x' }] }]
  const request = decode({
    contents,
    safety_settings: [{ category: 'x' }],
    labels: { a: 'b' },
    serviceTier: 'standard',
    model: 'models/x',
    api_key: 'no',
  })
  expect(request.extra).toEqual({
    format: 'gemini-generate',
    fields: { safetySettings: [{ category: 'x' }], labels: { a: 'b' } },
  })
  expect(request.serviceTier).toBe('default')
  expect(() => decode({ contents, cachedContent: 'cachedContents/1' })).toThrow('cachedContent')
})

test('countTokens reads the inner request', () => {
  const inner = {
    model: 'models/x',
    contents: { parts: { text: 'hi' } },
    systemInstruction: { parts: [{ text: 'sys' }] },
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
  }
  const request = geminiCountTokens.decode(bodyOf({ generate_content_request: inner }))
  expect(request.messages.map(one => one.role)).toEqual(['system', 'user'])
  expect(request.tools).toEqual([{ name: 'f' }])
  expect(geminiCountTokens.encode({ inputTokens: 31 }, 'm', request)).toEqual({ totalTokens: 31 })
})

describe('embeddings', () => {
  const content = (text: string) => ({ role: 'user', parts: [{ text }] })
  const usage = { inputTokens: 3, outputTokens: 0 }

  test('one content', () => {
    const request = geminiEmbedContent.decode(
      bodyOf({
        model: 'models/x',
        content: { parts: [{ text: 'a' }, { text: 'b' }] },
        task_type: 'RETRIEVAL_QUERY',
        outputDimensionality: 2,
      }),
    )
    expect(request).toEqual({
      model: '',
      inputs: ['a\nb'],
      encoding: 'float',
      dimensions: 2,
      extra: { format: 'gemini-embeddings', fields: { taskType: 'RETRIEVAL_QUERY' } },
    })
    expect(geminiEmbedContent.encode({ vectors: [new Float32Array([0.5, 1])], usage }, 'm', request)).toEqual({
      embedding: { values: [0.5, 1] },
      usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
    })
  })

  test('several, with the same settings', () => {
    const request = geminiBatchEmbedContents.decode(
      bodyOf({
        requests: [
          { content: content('a'), title: 't' },
          { content: content('b'), title: 't' },
        ],
      }),
    )
    expect(request.inputs).toEqual(['a', 'b'])
    const vectors = [new Float32Array([1]), new Float32Array([2])]
    expect(
      geminiBatchEmbedContents.encode({ vectors, usage: { inputTokens: 0, outputTokens: 0 } }, 'm', request),
    ).toEqual({ embeddings: [{ values: [1] }, { values: [2] }] })
    expect(() => geminiBatchEmbedContents.encode({ vectors: vectors.slice(1), usage }, 'm', request)).toThrow(
      '1 vectors for 2 inputs',
    )
    expect(() =>
      geminiBatchEmbedContents.encode({ vectors: [vectors[0]!, new Float32Array([NaN])], usage }, 'm', request),
    ).toThrow('not a number')
  })

  test('settings that differ, and pictures, are refused', () => {
    expect(() =>
      geminiBatchEmbedContents.decode(
        bodyOf({ requests: [{ content: content('a') }, { content: content('b'), outputDimensionality: 5 }] }),
      ),
    ).toThrow('requests.1')
    expect(() =>
      geminiEmbedContent.decode(bodyOf({ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'x' } }] } })),
    ).toThrow('content.parts.0')
  })
})
