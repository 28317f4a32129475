/** Parts of OpenAI's answers that whole answers and streams share. */
import type { ChatRequest, FinishReason, Source } from '../../core/hub/chat.ts'
import { signatureContent, signatureMember, writeCallId } from '../../core/dialects/call-signature.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { systemClock } from '../../lib/clock.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { citedSource } from '../../core/dialects/citations.ts'
import type { CitationEvent } from '../../core/dialects/citations.ts'

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}

/** OpenAI's word; `legacy` clients know calls as `function_call`. */
export function finishReason(reason: FinishReason, legacy = false): string {
  return legacy && reason === 'tool-calls' ? 'function_call' : finishReasons[reason]
}

/** Seconds since 1970: the upstream's own, else now. */
export function createdOr(createdS: number | undefined): number {
  return createdS !== undefined && Number.isSafeInteger(createdS) ? createdS : Math.floor(systemClock.epochMs() / 1000)
}

/** OpenAI's usage object, with Anthropic's cache fields where a cache was at work (LiteLLM writes both). */
export function usageObject(usage: Usage): Record<string, unknown> {
  const cached = usage.cachedInputTokens
  const written = usage.cacheWriteTokens
  const input: Record<string, number> = {
    cached_tokens: cached ?? 0,
    audio_tokens: usage.inputAudioTokens ?? 0,
  }
  if (written !== undefined) input.cache_write_tokens = written
  const object: Record<string, unknown> = {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: input,
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens ?? 0,
      audio_tokens: usage.outputAudioTokens ?? 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
  if (written !== undefined) object.cache_creation_input_tokens = written
  if (cached !== undefined) object.cache_read_input_tokens = cached
  return object
}

/**
 * The end of each chunk of a stream, from behind its choices: where usage is requested, it is null until the last one.
 */
export const chunkEnd = ({ includeUsage }: ChatRequest): string => (includeUsage ? '],"usage":null}\n\n' : ']}\n\n')

/** The chunk without choices that reports the usage; `head` = a chunk up to its choices. */
export const usageChunk = (head: string, usage: Usage): string =>
  `${head}],"usage":${JSON.stringify(usageObject(usage))}}\n\n`

/** The event that ends every stream of this dialect. */
export const doneEvent = 'data: [DONE]\n\n'

/**
 * OpenAI's `annotations` entry; undefined for a citation without a URL, which OpenAI has no word for. `base` = the
 * place in the choice's text from which positions are counted; unknown positions are 0.
 */
export function annotation(event: CitationEvent, base = 0): Json | undefined {
  const { url, title, span } = citedSource(event)
  if (url === undefined) return undefined
  const { start, end } = span ?? { start: 0, end: 0 }
  const { url_citation: own } = event.citation
  return {
    type: 'url_citation',
    url_citation: { ...(isObject(own) && own), ...positions(start - base, end - base), url, title },
  }
}

/** A citation without a URL in its vendor's words, with the text of the answer that it is about where that is known. */
export function ownCitation({ citation, span }: CitationEvent, base = 0): Json {
  return span ? { ...citation, ...positions(span.start - base, span.end - base) } : citation
}

const positions = (start: number, end: number): Json => ({
  start_index: Math.max(0, start),
  end_index: Math.max(0, end),
})

/** An image of an answer, as OpenRouter and LiteLLM write it (`message.images`). */
export function imageObject(source: Source): Record<string, unknown> {
  let url: string
  if ('url' in source) url = source.url
  else if ('data' in source) url = `data:${source.mediaType};base64,${source.data}`
  else url = source.fileId
  return { type: 'image_url', image_url: { url } }
}

/** The id of a call and, where Gemini signed the call, what else brings the signature back. */
export function signedFields({ id, signature }: { readonly id: string; readonly signature?: string | undefined }): {
  id: string
  [signatureMember]?: object
} {
  if (signature === undefined) return { id }
  return { id: writeCallId(id, signature), [signatureMember]: signatureContent(signature) }
}

/** `{type: 'thinking', thinking, signature}` as LiteLLM's clients send it back. */
export function thinkingBlock(text: string, signature: string): Record<string, unknown> {
  return { type: 'thinking', thinking: text, signature }
}

/** Thinking that only its vendor can read. */
export function redactedBlock(data: string): Record<string, unknown> {
  return { type: 'redacted_thinking', data }
}
