/**
 * The words with which upstreams say why a choice ended, and what each of them means. Both lanes judge by these tables,
 * whole answers and streams alike: a word that is in none of them is a failure that carries the word, never `stop`.
 */
import { failureOfBody } from './classify.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { FinishReason } from '../hub/chat.ts'
import { GatewayError } from '../errors.ts'
import type { FaultKind } from '../errors.ts'

/** What a finish reason means: the reason that clients get, or the kind of the upstream's failure. */
export type Ending =
  | FinishReason
  | Extract<FaultKind, 'upstream-failed' | 'upstream-overloaded' | 'upstream-timeout' | 'upstream-credentials'>

/** What the finish reasons of one dialect mean. */
export type FinishReasonTable = ReadonlyMap<string, Ending>

const tableOf = (words: Record<string, Ending>): FinishReasonTable => new Map(Object.entries(words))

/**
 * OpenAI's `finish_reason` and what hosts of its dialect write there; no word has two meanings. Sources, all read on
 * 2026-11-23: types of openai 7.55, groq-sdk 1.6, @mistralai/mistralai 2.7 (npm), together 3.1, cerebras_cloud_sdk
 * 1.91, fireworks-ai 1.2, perplexityai 0.46 (PyPI); api-docs.deepseek.com/api/create-chat-completion;
 * docs.z.ai/api-reference/llm/chat-completion; vllm/v1/engine (`FINISH_REASON_STRINGS`); sglang's protocol.py;
 * text-generation-inference's `FinishReason`.
 */
export const openaiFinishReasons: FinishReasonTable = tableOf({
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
  // Together.
  eos: 'stop',
  // text-generation-inference, Hugging Face.
  eos_token: 'stop',
  stop_sequence: 'stop',
  // Hosts that pass Anthropic's words on.
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
  // Mistral: the context is full.
  model_length: 'length',
  // vLLM cuts an answer that repeats itself, where the request asks for that.
  repetition: 'length',
  // Z.ai.
  model_context_window_exceeded: 'length',
  sensitive: 'content-filter',
  network_error: 'upstream-failed',
  // DeepSeek.
  insufficient_system_resource: 'upstream-overloaded',
  // Mistral, OpenRouter, Fireworks, vLLM.
  error: 'upstream-failed',
  // vLLM, SGLang: the server gave the request up.
  abort: 'upstream-failed',
  // Gemini under OpenAI's dialect: `function_call_filter: MALFORMED_FUNCTION_CALL`, `content_filter: SAFETY`.
  function_call_filter: 'upstream-failed',
  malformed_function_call: 'upstream-failed',
})

/** `incomplete_details.reason` of a Response: types of openai 7.55 (2026-11). A steered one is continued by another. */
export const responsesFinishReasons: FinishReasonTable = tableOf({
  max_output_tokens: 'length',
  max_messages: 'length',
  steered: 'length',
  content_filter: 'content-filter',
})

/**
 * `stop_reason` of the Messages API: `BetaStopReason` of @anthropic-ai/sdk 1.11 (2026-11). A paused turn and a
 * compaction are to be continued by another request: no `stop`, where a client would take the answer for whole.
 */
export const messagesFinishReasons: FinishReasonTable = tableOf({
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  pause_turn: 'length',
  compaction: 'length',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
})

/** `FinishReason` of @google/genai 3.1 and google-genai 3.4 (2026-11); ai.google.dev/api/generate-content. */
export const geminiFinishReasons: FinishReasonTable = tableOf({
  STOP: 'stop',
  MAX_TOKENS: 'length',
  // The limit of one request; the rest has to be requested.
  CONTINUATION: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  LANGUAGE: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  MODEL_ARMOR: 'content-filter',
  ESCALATION: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
  IMAGE_PROHIBITED_CONTENT: 'content-filter',
  IMAGE_RECITATION: 'content-filter',
  OTHER: 'upstream-failed',
  IMAGE_OTHER: 'upstream-failed',
  NO_IMAGE: 'upstream-failed',
  MALFORMED_FUNCTION_CALL: 'upstream-failed',
  MALFORMED_RESPONSE: 'upstream-failed',
  UNEXPECTED_TOOL_CALL: 'upstream-failed',
  TOO_MANY_TOOL_CALLS: 'upstream-failed',
  MISSING_THOUGHT_SIGNATURE: 'upstream-failed',
  // The account is limited for its violations of Google's policy.
  PUP_LIMITED_DISABLED: 'upstream-credentials',
})

/** The candidate's finish reason; '' = it has none, for which some servers write the protocol's default value. */
export function geminiFinishReason({ finishReason: word }: Json): string {
  return typeof word === 'string' && word !== 'FINISH_REASON_UNSPECIFIED' ? word : ''
}

/** `StopReason` of Bedrock's Converse: botocore 1.44, service model bedrock-runtime (2026-11). */
export const converseFinishReasons: FinishReasonTable = tableOf({
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  guardrail_intervened: 'content-filter',
  content_filtered: 'content-filter',
  malformed_model_output: 'upstream-failed',
  malformed_tool_use: 'upstream-failed',
})

/** `ChatFinishReason` of cohere-ai 8.1 (2026-11), and `FinishReason` of its API of before. */
export const cohereFinishReasons: FinishReasonTable = tableOf({
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  // The context is full.
  ERROR_LIMIT: 'length',
  TOOL_CALL: 'tool-calls',
  ERROR_TOXIC: 'content-filter',
  ERROR: 'upstream-failed',
  USER_CANCEL: 'upstream-failed',
  TIMEOUT: 'upstream-timeout',
})

/** `done_reason`: `DoneReason` in Ollama's llm/server.go, and those of requests that generate nothing (2026-11). */
export const ollamaFinishReasons: FinishReasonTable = tableOf({
  stop: 'stop',
  length: 'length',
  load: 'upstream-failed',
  unload: 'upstream-failed',
})

/** Of a word in messages and codes. */
const wordLengthMax = 100

/**
 * What the upstream's word means; a failure as an error that has the word as its code. `detail` = the upstream's own
 * sentence about it; '' = it wrote none.
 */
export function endingOf(table: FinishReasonTable, word: string, detail = ''): FinishReason | GatewayError {
  // Some hosts write their words in capitals, or add their own reason after a colon.
  const ending = table.get(word) ?? table.get(word.toLowerCase().split(':', 1)[0]!)
  if (ending && !isFailure(ending)) return ending
  const shown = word.slice(0, wordLengthMax).toWellFormed()
  const kind = ending ?? 'upstream-failed'
  const what = ending ? 'broke off its answer' : 'ended its answer for a reason that is not known here'
  const message = `the upstream ${what} (${shown})${detail === '' ? '' : `: ${detail}`}`
  // What it says beside the word may tell more than the word.
  if (detail !== '') return failureOfBody({ error: { message, code: shown } }, { kind })
  return new GatewayError(kind, message, { code: shown })
}

function isFailure(ending: Ending): ending is Exclude<Ending, FinishReason> {
  return ending.startsWith('upstream-')
}

/** A model that calls tools awaits their results: a plain `stop` beside calls, as some hosts write it, is that. */
export const withCalls = (reason: FinishReason, sawCalls: boolean): FinishReason =>
  sawCalls && reason === 'stop' ? 'tool-calls' : reason
