/** Answers in Gemini's dialect (ai.google.dev/api/generate-content, /embeddings, /tokens, /models). */
import {
  anyObject,
  boolean,
  constant,
  described,
  either,
  integer,
  listOf,
  number,
  oneOf,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Schema } from './schema.ts'

const inlineData = shape({ mimeType: text, data: described('Base64.', text) })
const part = shape(
  {},
  {
    text,
    thought: described('The text is what the model thought.', boolean),
    thoughtSignature: described('To be sent back with the part.', text),
    inlineData,
    fileData: shape({ fileUri: text }, { mimeType: text }),
    functionCall: shape({ name: text }, { id: text, args: anyObject }),
    executableCode: anyObject,
    codeExecutionResult: anyObject,
  },
)
const logprob = shape({ token: text, logProbability: number }, { tokenId: integer })
const modalityCounts = listOf(shape({ modality: text, tokenCount: integer }))

const candidate = shape(
  { content: shape({ role: constant('model') }, { parts: listOf(part) }) },
  {
    index: integer,
    finishReason: oneOf('STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'MALFORMED_FUNCTION_CALL', 'OTHER'),
    finishMessage: text,
    avgLogprobs: number,
    safetyRatings: listOf(anyObject),
    citationMetadata: anyObject,
    groundingMetadata: anyObject,
    logprobsResult: shape({
      chosenCandidates: listOf(logprob),
      topCandidates: listOf(shape({ candidates: listOf(logprob) })),
    }),
  },
)

const promptUsage = { usageMetadata: shape({ promptTokenCount: integer }, { totalTokenCount: integer }) }
const embedding = shape({ values: listOf(number) })

/** By their names under `#/components/schemas/`. */
export const geminiAnswerSchemas: Readonly<Record<string, Schema>> = {
  GenerateContentResponse: shape(
    { candidates: listOf(candidate), modelVersion: text, responseId: text },
    { usageMetadata: reference('GeminiUsage'), promptFeedback: anyObject, createTime: text },
  ),
  GenerateContentStream: either(reference('GenerateContentResponse'), reference('GeminiError')),
  GenerateContentArray: listOf(reference('GenerateContentStream')),
  GeminiUsage: shape(
    { promptTokenCount: integer, totalTokenCount: integer },
    {
      candidatesTokenCount: integer,
      thoughtsTokenCount: integer,
      cachedContentTokenCount: integer,
      toolUsePromptTokenCount: integer,
      promptTokensDetails: modalityCounts,
      candidatesTokensDetails: modalityCounts,
      cacheTokensDetails: modalityCounts,
      trafficType: text,
    },
  ),
  GeminiTokenCount: shape(
    { totalTokens: integer },
    { cachedContentTokenCount: integer, promptTokensDetails: modalityCounts },
  ),
  GeminiEmbedding: shape({ embedding }, promptUsage),
  GeminiEmbeddings: shape({ embeddings: listOf(embedding) }, promptUsage),
  GeminiModel: shape(
    {
      name: described('`models/` and the name of the model.', text),
      version: text,
      displayName: text,
      supportedGenerationMethods: listOf(text),
    },
    { description: text, inputTokenLimit: integer, outputTokenLimit: integer, thinking: boolean },
  ),
  GeminiModelList: shape({ models: listOf(reference('GeminiModel')) }, { nextPageToken: text }),
}
