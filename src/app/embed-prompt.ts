/** The embedding of a prompt, asked of a model of this gateway: an ordinary call of the caller's own key. */
import { toResponse } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { Services } from '../core/endpoint.ts'
import { internalJsonRequest, SignalClient } from '../core/internal-request.ts'
import { openaiEmbeddings } from '../formats/openai/embeddings.ts'

/** undefined = there is none: the call goes on without. Never rejects. */
export async function embedPrompt(
  callModel: Services['callModel'],
  { caller, clientAddress, userAgent }: Call,
  { model, text }: { readonly model: string; readonly text: string },
): Promise<Float32Array | undefined> {
  const request = internalJsonRequest({
    path: '/v1/embeddings',
    headers: { 'user-agent': userAgent },
    body: { model, input: text, encoding_format: 'float' },
    client: new SignalClient(new AbortController().signal, clientAddress),
  })
  try {
    const answer = toResponse(await callModel(request, caller, { format: openaiEmbeddings, route: '/v1/embeddings' }))
    const body = (await answer.json()) as { data?: readonly { readonly embedding?: unknown }[] }
    const embedding = answer.status === 200 ? body.data?.[0]?.embedding : undefined
    return Array.isArray(embedding) ? Float32Array.from(embedding as number[]) : undefined
  } catch {
    return undefined
  }
}
