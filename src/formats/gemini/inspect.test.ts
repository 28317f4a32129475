import { describe, expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { geminiBatchEmbedContents, geminiCountTokens, geminiEmbedContent, geminiGenerate } from './index.ts'

const bodyOf = (value: unknown): JsonBody => JsonBody.read(Buffer.from(JSON.stringify(value)))
const problems = (value: unknown, format: { inspect: typeof geminiGenerate.inspect } = geminiGenerate): string[] =>
  format.inspect(bodyOf(value)).problems.map(({ loc, type }) => `${loc.slice(1).join('.')} ${type}`)
const user = { role: 'user', parts: [{ text: 'hi' }] }

test('what Google documents passes, in both spellings and without brackets', () => {
  const full = {
    contents: [
      user,
      { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'AAAA' }] },
    ],
    systemInstruction: { role: 'system', parts: [{ text: 'be kind' }] },
    tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] }, { googleSearch: {} }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    generationConfig: {
      temperature: 1,
      topP: 0.9,
      topK: 40,
      candidateCount: 1,
      maxOutputTokens: 10,
      stopSequences: ['x'],
      seed: -5,
      responseMimeType: 'application/json',
      responseSchema: { type: 'STRING' },
      thinkingConfig: { thinkingBudget: -1, includeThoughts: true },
    },
  }
  expect(problems(full)).toEqual([])
  // The form of Google's own curl examples.
  expect(
    problems({
      system_instruction: { parts: { text: 'You are a cat.' } },
      contents: { parts: { text: 'Good morning!' } },
      generation_config: { max_output_tokens: 5, thinking_config: { include_thoughts: true } },
      tools: { function_declarations: { name: 'f' } },
    }),
  ).toEqual([])
})

test.each([
  [{}, ['contents missing']],
  [{ contents: null }, ['contents missing']],
  [{ contents: [] }, ['contents out_of_range']],
  [{ contents: ['hi'] }, ['contents.0 wrong_type']],
  [{ contents: { parts: { text: 5 } } }, ['contents.parts.text wrong_type']],
  [{ contents: [{ role: 'system', parts: [{ text: 'x' }] }] }, ['contents.0.role unknown_value']],
  [{ contents: [{ parts: [{}] }] }, ['contents.0.parts.0 missing']],
  [
    { contents: [{ parts: [{ text: 'a', inlineData: { mimeType: 'a/b', data: 'x' } }] }] },
    ['contents.0.parts.0 invalid'],
  ],
  [
    { contents: [{ parts: [{ inline_data: { mime_type: 'image/png' } }] }] },
    ['contents.0.parts.0.inlineData.data missing'],
  ],
  [
    { contents: [{ parts: [{ functionCall: { name: 'f', args: 'x' } }] }] },
    ['contents.0.parts.0.functionCall.args wrong_type'],
  ],
  [{ contents: [{ parts: [{ text: 'a', thoughtSignature: 1 }] }] }, ['contents.0.parts.0.thoughtSignature wrong_type']],
  [{ contents: [user], systemInstruction: 'x' }, ['systemInstruction wrong_type']],
  [
    { contents: [user], generationConfig: { temperature: 3, topP: 'x', seed: 1.5 } },
    [
      'generationConfig.temperature out_of_range',
      'generationConfig.topP wrong_type',
      'generationConfig.seed wrong_type',
    ],
  ],
  [
    {
      contents: [user],
      generationConfig: { stopSequences: 'x', responseSchema: [], thinkingConfig: { thinkingBudget: -2 } },
    },
    [
      'generationConfig.stopSequences wrong_type',
      'generationConfig.responseSchema wrong_type',
      'generationConfig.thinkingConfig.thinkingBudget out_of_range',
    ],
  ],
  [
    { contents: [user], tools: [{ functionDeclarations: [{ description: 'x' }] }] },
    ['tools.0.functionDeclarations.0.name missing'],
  ],
  [
    { contents: [user], toolConfig: { functionCallingConfig: { mode: 'SOMETIMES' } } },
    ['toolConfig.functionCallingConfig.mode unknown_value'],
  ],
  [{ contents: [user], generationConfig: {}, generation_config: {} }, ['generation_config invalid']],
  [{ contents: [user], generationConfig: { topP: 1, top_p: 1 } }, ['generationConfig.top_p invalid']],
  [
    { contents: [{ parts: [{ fileData: { fileUri: 'https://a.example/b', file_uri: 'files/of-the-operator' } }] }] },
    ['contents.0.parts.0.fileData.file_uri invalid'],
  ],
])('%j is refused by name', (body, expected) => {
  expect(problems(body)).toEqual(expected)
})

test('the error for an OpenAI body names its path', () => {
  const [problem] = geminiGenerate.inspect(bodyOf({ messages: [] })).problems
  expect(problem?.msg).toContain('/v1/chat/completions')
})

test('a flood of problems stops at 20, and large fields are checked as small ones', () => {
  const many = { contents: Array.from({ length: 5000 }, () => 5) }
  expect(problems(many).length).toBe(20)
  const large = { contents: [{ role: 'user', parts: [{ text: 'x'.repeat(300_000) }, { text: 7 }] }] }
  expect(geminiGenerate.inspect(bodyOf(large)).problems.map(one => one.loc.join('.'))).toEqual([
    'body.contents.0.parts.1.text',
  ])
})

describe('the small operations', () => {
  test('embedContent', () => {
    expect(problems({ content: { parts: [{ text: 'x' }] }, output_dimensionality: 3 }, geminiEmbedContent)).toEqual([])
    expect(problems({ outputDimensionality: 0, taskType: 1 }, geminiEmbedContent)).toEqual([
      'content missing',
      'taskType wrong_type',
      'outputDimensionality wrong_type',
    ])
  })

  test('batchEmbedContents', () => {
    expect(
      problems({ requests: [{ model: 'models/x', content: { parts: [{ text: 'x' }] } }] }, geminiBatchEmbedContents),
    ).toEqual([])
    expect(problems({}, geminiBatchEmbedContents)).toEqual(['requests missing'])
    expect(problems({ requests: [] }, geminiBatchEmbedContents)).toEqual(['requests out_of_range'])
    expect(problems({ requests: [{}, 5] }, geminiBatchEmbedContents)).toEqual([
      'requests.0.content missing',
      'requests.1 wrong_type',
    ])
  })

  test('countTokens: contents, or a whole request', () => {
    expect(problems({ contents: [user] }, geminiCountTokens)).toEqual([])
    expect(problems({ generateContentRequest: { model: 'models/x', contents: [user] } }, geminiCountTokens)).toEqual([])
    expect(problems({ generateContentRequest: { generationConfig: { topP: 5 } } }, geminiCountTokens)).toEqual([
      'generationConfig.topP out_of_range',
      'contents missing',
    ])
    expect(problems({ generateContentRequest: 5, contents: [user] }, geminiCountTokens)).toEqual([
      'generateContentRequest wrong_type',
      'contents invalid',
    ])
  })
})
