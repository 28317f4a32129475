/** One answer of a model, piece by piece, as a call of the person who is signed in. */
import { sendTo } from '../../api/client.ts'
import { apiUrl } from '../../lib/places.ts'
import { serverSentEvents } from '../../lib/server-sent-events.ts'

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** What has come so far. Tokens are null until the model reports them. */
export interface Answer {
  readonly text: string
  readonly thinking: string
  readonly inputTokens: number | null
  readonly outputTokens: number | null
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { content?: string | null; reasoning_content?: string | null } }[]
  readonly usage?: { prompt_tokens: number; completion_tokens: number } | null
  readonly error?: { readonly message?: string }
}

/**
 * Calls `onProgress` with the whole answer so far after each piece. Rejects with an `ApiError` when the gateway
 * refuses, with an `Error` when the answer is cut off, and when `signal` aborts.
 */
export async function streamAnswer(
  { model, messages, signal }: { model: string; messages: readonly Message[]; signal: AbortSignal },
  onProgress: (answer: Answer) => void,
): Promise<void> {
  const body = JSON.stringify({ model, messages, stream: true, stream_options: { include_usage: true } })
  const response = await sendTo(apiUrl('/v1/chat/completions'), { method: 'POST', body, signal })
  if (response.body === null) throw new Error('the answer has no body')
  let answer: Answer = { text: '', thinking: '', inputTokens: null, outputTokens: null }
  for await (const { data } of serverSentEvents(response.body)) {
    if (data === '[DONE]') return
    answer = withChunk(answer, JSON.parse(data) as Chunk)
    onProgress(answer)
  }
  throw new Error('the answer was cut off before its end')
}

function withChunk(answer: Answer, { choices, usage, error }: Chunk): Answer {
  if (error) throw new Error(error.message ?? 'the model failed in the middle of its answer')
  const delta = choices?.[0]?.delta
  return {
    text: answer.text + (delta?.content ?? ''),
    thinking: answer.thinking + (delta?.reasoning_content ?? ''),
    inputTokens: usage?.prompt_tokens ?? answer.inputTokens,
    outputTokens: usage?.completion_tokens ?? answer.outputTokens,
  }
}
