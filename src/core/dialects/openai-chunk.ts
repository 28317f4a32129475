/** What both lanes have to judge alike in OpenAI's chunks and whole answers. */
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { failureOfBody, frameworkError } from './classify.ts'
import { saysError } from './error-body.ts'
import type { FinishReason } from '../hub/chat.ts'
import type { GatewayError } from '../errors.ts'
import { endingOf, openaiFinishReasons } from './finish-reasons.ts'

/** Bounds the numbers of choices; far above what the API generates. */
const choicesMax = 4096

/** The choice's number; `fallback` where a host leaves it out; undefined = an invalid one. */
export function choiceIndex({ index }: Json, fallback: number): number | undefined {
  if (typeof index !== 'number') return fallback
  return Number.isInteger(index) && index >= 0 && index < choicesMax ? index : undefined
}

/**
 * The choice's finish reason; '' = it has none. While a choice goes on hosts write null, an empty text, `null` as a
 * text (DashScope) or nothing.
 */
export function finishReasonOf({ finish_reason: reason }: Json): string {
  return typeof reason === 'string' && reason !== 'null' ? reason : ''
}

/**
 * The upstream's words about a failure: `{error}`, alone or beside the fields of a chunk
 * (openrouter.ai/docs/api/reference/streaming), `{object: "error", message}` as vLLM and Mistral write it, and in the
 * place of choices `{detail}` or `{message}`, as web frameworks write them. Undefined = no error is reported.
 */
export function reportedError(body: Json): GatewayError | undefined {
  if (saysError(body)) return failureOfBody(body)
  if (Array.isArray(body.choices) || isObject(body.usage)) return undefined
  return frameworkError(body)
}

/**
 * Why the choice ended, by its finish reason, which is not ''. For `error`, as Mistral and OpenRouter write it, the
 * words are those of `error`, which stands in the choice or beside the choices: the model failed while it answered.
 */
export function choiceEnding(choice: Json, error: unknown = choice.error): FinishReason | GatewayError {
  const word = finishReasonOf(choice)
  if (word !== 'error') return endingOf(openaiFinishReasons, word)
  return failureOfBody({ error: error || 'the upstream failed while it answered' })
}
