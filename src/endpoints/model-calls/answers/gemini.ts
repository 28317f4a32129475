/** Answers in Gemini's dialect (ai.google.dev/api/generate-content, /embeddings, /tokens, /models). */
import {
  anyObject,
  boolean,
  constant,
  described,
  either,
  integer,
  json,
  jsonOrEvents,
  listOf,
  named,
  number,
  oneOf,
  shape,
  text,
} from '../../openapi/schema.ts'
import type { Success } from '../../openapi/schema.ts'
import { geminiErrorSchema } from '../../openapi/errors.ts'

const inlineData = shape({ mimeType: text, data: described('The bytes are written in base64.', text) })

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

const generateContentResponseSchema = named('GenerateContentResponse', () =>
  shape(
    { candidates: listOf(candidate), modelVersion: text, responseId: text },
    { usageMetadata: geminiUsageSchema, promptFeedback: anyObject, createTime: text },
  ),
)

const generateContentStreamSchema = named('GenerateContentStream', () =>
  either(generateContentResponseSchema, geminiErrorSchema),
)

const generateContentArraySchema = named('GenerateContentArray', () => listOf(generateContentStreamSchema))

const geminiUsageSchema = named('GeminiUsage', () =>
  shape(
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
)

const geminiTokenCountSchema = named('GeminiTokenCount', () =>
  shape({ totalTokens: integer }, { cachedContentTokenCount: integer, promptTokensDetails: modalityCounts }),
)

const geminiEmbeddingSchema = named('GeminiEmbedding', () => shape({ embedding }, promptUsage))
const geminiEmbeddingsSchema = named('GeminiEmbeddings', () => shape({ embeddings: listOf(embedding) }, promptUsage))

/** A model in Gemini's dialect. */
export const geminiModelSchema = named('GeminiModel', () =>
  shape(
    {
      name: described('It is `models/` and the name of the model.', text),
      version: text,
      displayName: text,
      supportedGenerationMethods: listOf(text),
    },
    { description: text, inputTokenLimit: integer, outputTokenLimit: integer, thinking: boolean },
  ),
)

/** Models in Gemini's dialect. */
export const geminiModelListSchema = named('GeminiModelList', () =>
  shape({ models: listOf(geminiModelSchema) }, { nextPageToken: text }),
)

/** Content that was generated is answered whole. */
export const generateSuccess: Success = json(generateContentResponseSchema)

/** A stream is an array, or events with `alt=sse`. */
export const streamGenerateSuccess: Success = jsonOrEvents(generateContentArraySchema, generateContentStreamSchema)

/** A count of tokens is answered whole. */
export const countTokensSuccess: Success = json(geminiTokenCountSchema)

/** One embedding is answered whole. */
export const embedSuccess: Success = json(geminiEmbeddingSchema)

/** Several embeddings are answered whole. */
export const batchEmbedSuccess: Success = json(geminiEmbeddingsSchema)

/** Models are listed in pages. */
export const modelListSuccess: Success = json(geminiModelListSchema)

/** One model is answered whole. */
export const modelSuccess: Success = json(geminiModelSchema)
