/** What a dialect says around its answers: headers, and the bodies of errors. */
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

/** What dialects that share paths and answers differ in. */
interface DialectConventions {
  /** Headers of every answer. */
  headers(requestId: string): readonly Header[]
  error(details: ErrorDetails, requestId: string): JsonObject
  /** Headers of an error, beside those of every answer. */
  errorHeaders?(details: ErrorDetails): readonly Header[]
  /** What it says to a body that names no model; absent = OpenAI's words. */
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

/** One for every vendor. Who speaks OpenAI's words has no entry of its own. */
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

/** Whose words an answer is written in, as the path or a header says. */
export type Dialect = keyof typeof dialects

/** With the type that hides which dialects have the optional parts. */
export const conventionsOf = (dialect: Dialect): DialectConventions => dialects[dialect]
