/** Response headers and error bodies of each dialect. */
import { anthropicError } from './anthropic/messages.ts'
import type { JsonObject } from '../lib/json.ts'
import { azureError } from './azure/chat.ts'
import { bedrockError, bedrockErrorType } from './bedrock/converse.ts'
import { cohereError } from './cohere/chat.ts'
import { geminiError } from './gemini/error.ts'
import { mistralError } from './mistral/error.ts'
import { ollamaError } from './ollama/endpoints.ts'
import { openaiError } from './openai/error.ts'
import type { ErrorDetails } from './openai/error.ts'

type Header = readonly [string, string]

/** The differences between dialects that share paths and response formats. */
interface DialectConventions {
  /** Headers of every response. */
  headers(requestId: string): readonly Header[]
  error(details: ErrorDetails, requestId: string): JsonObject
  /** Additional headers of error responses. */
  errorHeaders?(details: ErrorDetails): readonly Header[]
  /** The message for a body without a model; absent = OpenAI's message. */
  readonly missingModelMessage?: string
}

const openai: DialectConventions = {
  headers: requestId => [
    ['x-request-id', requestId],
    ['openai-version', '2020-10-01'],
    ['openai-processing-ms', '5'],
  ],
  error: openaiError,
}

/** One entry for each dialect. Vendors that are compatible with OpenAI use OpenAI's. */
const dialects = {
  openai,
  azure: {
    headers: requestId => [
      ['apim-request-id', requestId],
      ['x-ms-region', 'East US'],
    ],
    error: azureError,
  },
  mistral: {
    headers: requestId => [['mistral-correlation-id', requestId]],
    error: mistralError,
    missingModelMessage: 'model: Field required',
  },
  anthropic: {
    headers: requestId => [['request-id', requestId]],
    error: anthropicError,
    missingModelMessage: 'model: Field required',
  },
  gemini: { headers: () => [['x-gemini-service-tier', 'standard']], error: geminiError },
  cohere: {
    headers: requestId => [['x-debug-trace-id', requestId]],
    error: cohereError,
    missingModelMessage: "invalid request: missing required field 'model'",
  },
  ollama: { headers: () => [], error: ollamaError, missingModelMessage: 'model is required' },
  bedrock: {
    headers: requestId => [['x-amzn-requestid', requestId]],
    error: bedrockError,
    errorHeaders: details => [['x-amzn-errortype', bedrockErrorType(details)]],
  },
} as const satisfies Record<string, DialectConventions>

/** The dialect of a response, decided by the path or by a header. */
export type Dialect = keyof typeof dialects

/** Typed as the interface, so that optional members can be read for every dialect. */
export const conventionsOf = (dialect: Dialect): DialectConventions => dialects[dialect]
