/**
 * Gemini's answers (ai.google.dev/api/generate-content; docs: "Function calling", "Thinking", "Grounding", "Image
 * generation").
 */
import { dataBytes } from './family.ts'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const usage = {
  promptTokenCount: 8,
  candidatesTokenCount: 12,
  totalTokenCount: 20,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: 8 }],
}
const tail = { usageMetadata: usage, modelVersion: 'gemini-2.5-flash', responseId: 'sqkLaPzSMMeN6NkP' }
const candidate = (parts: Json[] | undefined, more: Json = {}): Json => ({
  ...(parts && { content: { parts, role: 'model' } }),
  index: 0,
  ...more,
})
const answer = (parts: Json[] | undefined, more: Json = { finishReason: 'STOP' }, rest: Json = {}): Json => ({
  candidates: [candidate(parts, more)],
  ...tail,
  ...rest,
})
const piece = (parts: Json[], more: Json = {}): Json => ({
  candidates: [candidate(parts, more)],
  modelVersion: tail.modelVersion,
  responseId: tail.responseId,
  usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
})
const last = (parts: Json[] | undefined, reason = 'STOP'): Json => answer(parts, { finishReason: reason })
const weather = (city: string, more: Json = {}): Json => ({
  functionCall: { name: 'get_weather', args: { city }, ...more },
})

const fixtures: AnswerFixture[] = [
  {
    name: 'text',
    whole: answer([{ text: 'AI learns. 🤖' }]),
    stream: [piece([{ text: 'AI ' }]), piece([{ text: 'learns.' }]), last([{ text: ' 🤖' }])],
    request: { includeUsage: true },
  },
  {
    name: 'function call',
    whole: answer([weather('Paris', { id: 'call-1' })]),
    stream: [last([weather('Paris', { id: 'call-1' })])],
  },
  {
    name: 'two function calls without ids',
    whole: answer([weather('Paris'), weather('Rome')]),
    stream: [piece([weather('Paris')]), last([weather('Rome')])],
  },
  { name: 'function call without arguments', whole: answer([{ functionCall: { name: 'get_time' } }]) },
  {
    name: 'thinking',
    whole: answer(
      [{ text: '**Think**', thought: true }, { text: 'Yes.' }],
      { finishReason: 'STOP' },
      { usageMetadata: { ...usage, thoughtsTokenCount: 100, totalTokenCount: 120 } },
    ),
    stream: [
      piece([{ text: '**Thi', thought: true }]),
      piece([{ text: 'nk**', thought: true }]),
      answer(
        [{ text: 'Yes.' }],
        { finishReason: 'STOP' },
        { usageMetadata: { ...usage, thoughtsTokenCount: 100, totalTokenCount: 120 } },
      ),
    ],
  },
  {
    name: 'signed calls',
    whole: answer([
      { text: 'Plan.', thought: true },
      { ...weather('Paris', { id: 'a' }), thoughtSignature: 'CiQB+/8=' },
      weather('Rome', { id: 'b' }),
    ]),
    stream: [
      piece([{ text: 'Plan.', thought: true }]),
      piece([{ ...weather('Paris', { id: 'a' }), thoughtSignature: 'CiQB+/8=' }]),
      last([weather('Rome', { id: 'b' })]),
    ],
  },
  {
    name: 'a signature behind the text',
    whole: answer([{ text: 'Hi.', thoughtSignature: 'AbCd' }]),
    stream: [piece([{ text: 'Hi.' }]), last([{ text: '', thoughtSignature: 'AbCd' }])],
  },
  {
    name: 'length',
    whole: answer([{ text: 'Once' }], { finishReason: 'MAX_TOKENS' }),
    stream: [piece([{ text: 'Once' }]), last(undefined, 'MAX_TOKENS')],
  },
  {
    name: 'nothing but thinking until the limit',
    whole: answer(
      undefined,
      { finishReason: 'MAX_TOKENS' },
      { usageMetadata: { promptTokenCount: 8, thoughtsTokenCount: 64, totalTokenCount: 72 } },
    ),
  },
  {
    name: 'safety',
    whole: answer(undefined, {
      finishReason: 'SAFETY',
      safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'HIGH', blocked: true }],
    }),
    stream: [piece([{ text: 'Well' }]), last(undefined, 'SAFETY')],
    apart: true,
  },
  {
    name: 'a blocked prompt',
    whole: {
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
      modelVersion: 'gemini-2.5-flash',
    },
    stream: [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 8 } }],
    apart: true,
  },
  {
    name: 'a malformed call',
    whole: answer(undefined, {
      finishReason: 'MALFORMED_FUNCTION_CALL',
      finishMessage: 'Malformed function call: print(',
    }),
    stream: [last(undefined, 'MALFORMED_FUNCTION_CALL')],
    apart: true,
  },
  {
    name: 'grounding',
    whole: answer([{ text: 'Spain won Euro 2024.' }], {
      finishReason: 'STOP',
      groundingMetadata: {
        webSearchQueries: ['euro 2024'],
        groundingChunks: [{ web: { uri: 'https://vertexaisearch.example/r/1', title: 'aljazeera.com' } }],
        groundingSupports: [
          { segment: { startIndex: 0, endIndex: 20, text: 'Spain won Euro 2024.' }, groundingChunkIndices: [0] },
        ],
      },
    }),
    stream: [
      piece([{ text: 'Spain won ' }]),
      answer([{ text: 'Euro 2024.' }], {
        finishReason: 'STOP',
        groundingMetadata: {
          groundingChunks: [{ web: { uri: 'https://vertexaisearch.example/r/1', title: 'aljazeera.com' } }],
          groundingSupports: [{ segment: { startIndex: 0, endIndex: 20 }, groundingChunkIndices: [0] }],
        },
      }),
    ],
  },
  {
    name: 'recitation with sources',
    whole: answer([{ text: 'Größe zählt' }], {
      finishReason: 'STOP',
      citationMetadata: {
        citationSources: [{ startIndex: 0, endIndex: 7, uri: 'https://source.example', license: 'mit' }],
      },
    }),
  },
  {
    name: 'picture',
    whole: answer([{ text: 'Here:' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }]),
    stream: [piece([{ text: 'Here:' }]), last([{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }])],
  },
  {
    name: 'code that ran',
    whole: answer([
      { executableCode: { language: 'PYTHON', code: 'print(1)\n' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
      { text: 'One.' },
    ]),
  },
  {
    name: 'two candidates',
    whole: {
      ...tail,
      candidates: [
        candidate([{ text: 'A' }], { finishReason: 'STOP' }),
        { ...candidate([{ text: 'B' }], { finishReason: 'MAX_TOKENS' }), index: 1 },
      ],
    },
    request: { choices: 2 },
  },
  {
    name: 'logprobs',
    whole: answer([{ text: 'Hi' }], {
      finishReason: 'STOP',
      avgLogprobs: -0.1,
      logprobsResult: {
        topCandidates: [
          {
            candidates: [
              { token: 'Hi', tokenId: 1, logProbability: -0.1 },
              { token: 'Yo', tokenId: 2, logProbability: -2.5 },
            ],
          },
        ],
        chosenCandidates: [{ token: 'Hi', tokenId: 1, logProbability: -0.1 }],
      },
    }),
    request: { logprobs: true },
  },
  {
    name: 'usage with cache and sound',
    whole: answer(
      [{ text: 'Hi.' }],
      { finishReason: 'STOP' },
      {
        usageMetadata: {
          promptTokenCount: 1000,
          cachedContentTokenCount: 800,
          candidatesTokenCount: 5,
          toolUsePromptTokenCount: 20,
          totalTokenCount: 1025,
          promptTokensDetails: [
            { modality: 'AUDIO', tokenCount: 300 },
            { modality: 'TEXT', tokenCount: 700 },
          ],
        },
      },
    ),
    request: { includeUsage: true },
  },
  {
    name: 'error in the stream',
    stream: [
      piece([{ text: 'Once' }]),
      { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
    ],
  },
  {
    name: 'error as a list',
    stream: [
      piece([{ text: 'Once' }]),
      [
        {
          error: {
            code: 429,
            message: 'Quota exceeded',
            status: 'RESOURCE_EXHAUSTED',
            details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37s' }],
          },
        },
      ],
    ],
  },
  { name: 'cut before its end', stream: [piece([{ text: 'Once' }])] },
  { name: 'not JSON', stream: [piece([{ text: 'Once' }]), 'data: {"candidates": [\r\n\r\n'] },
]

export const geminiFamily: AnswerFamily = {
  name: 'gemini',
  providers: ['gemini', 'vertex_ai'],
  bytes: dataBytes('\r\n'),
  fixtures,
}
