/** One answer of a model to a temporary chat, piece by piece, as a call of the person who is signed in. */
import { ask, sendTo } from '../../api/client.ts'
import type { SpendLog } from '../../api/schema.d.ts'
import { apiUrl } from '../../lib/urls.ts'
import { serverSentEvents } from '../../lib/server-sent-events.ts'
import type { Message } from './tree.ts'

type Content = Message['content']

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null }
    readonly finish_reason?: string | null
  }[]
  readonly error?: { readonly message?: string; readonly code?: string | null }
}

const settledPollMs = 300
const settledPollsMax = 20

/**
 * Calls `onProgress` with what was added to the answer's content. Rejects with an `ApiError` when the gateway refuses,
 * with an `Error` when the answer is cut off, and when `signal` aborts.
 */
export async function streamAnswer(
  body: object,
  signal: AbortSignal,
  onProgress: (change: (content: Content) => Content) => void,
): Promise<void> {
  const startedMs = performance.now()
  const text = JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } })
  const response = await sendTo(apiUrl('/v1/chat/completions'), { method: 'POST', body: text, signal })
  const callId = [...response.headers].find(([name]) => name.endsWith('-call-id'))?.[1] ?? null
  onProgress(content => ({ ...content, call_id: callId }))
  for await (const { data } of serverSentEvents(response.body!)) {
    if (data === '[DONE]') return
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error) throw new Error(chunk.error.message ?? 'the model failed in the middle of its answer')
    onProgress(content => withChunk(content, chunk, performance.now() - startedMs))
  }
  throw new Error('the answer was cut off before its end')
}

function withChunk(content: Content, { choices }: Chunk, afterMs: number): Content {
  const [choice] = choices ?? []
  const text = choice?.delta?.content ?? ''
  const thinking = choice?.delta?.reasoning_content ?? ''
  return {
    ...content,
    text: content.text + text,
    thinking: (content.thinking ?? '') + thinking,
    finish_reason: choice?.finish_reason ?? content.finish_reason ?? null,
    first_token_ms: content.first_token_ms ?? (text + thinking === '' ? null : Math.round(afterMs)),
  }
}

/** What the call took and cost, once it is settled: a moment after its end. */
export async function factsOfCall(callId: string | null | undefined): Promise<Partial<Content>> {
  for (let poll = 0; callId && poll < settledPollsMax; poll++) {
    const { data } = await ask('GET /spend/logs/v2', { query: { request_id: callId, cursor: 'first' } })
    if (data[0]) return factsOf(data[0])
    await new Promise(resolve => setTimeout(resolve, settledPollMs))
  }
  return {}
}

function factsOf({ input_tokens, output_tokens, spend, cache_hit_kind, guardrails }: SpendLog): Partial<Content> {
  return {
    input_tokens,
    output_tokens,
    cost: spend,
    cached: cache_hit_kind !== null,
    guardrails: verdictsOf(guardrails),
  }
}

/** Reads `personal-data:mask(EMAIL_ADDRESS=2),words:pass`, as the ledger has it. */
function verdictsOf(text: string | null): NonNullable<Content['guardrails']> {
  return [...(text ?? '').matchAll(/([\w.-]+):(\w+)(?:\(([^)]*)\))?/g)].map(
    ([, name = '', verdict = '', found = '']) => ({
      name,
      verdict,
      found: Object.fromEntries(
        [...found.matchAll(/([^=\s]+)=(\d+)/g)].map(([, kind, count]) => [kind!, Number(count)]),
      ),
    }),
  )
}
