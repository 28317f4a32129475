/** Messages of threads: the request body, the stored object, and the message of a chat request. */
import { z } from 'zod'
import type { Services } from '../core/endpoint.ts'
import type { AssistantObject } from '../core/objects/assistants.ts'
import { newObject, nowS } from './objects.ts'
import type { Json } from '../lib/json/json-values.ts'
import { attachmentsField, metadataField } from './fields.ts'
import { lazy } from '../lib/lazy.ts'

/** OpenAI's limit of a message's text. */
const text = lazy(() => z.string().min(1).max(256_000))
const part = lazy(() =>
  z.discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('text'), text: text() }),
      z.strictObject({
        type: z.literal('image_url'),
        image_url: z.strictObject({
          url: z.string().regex(/^(https?:\/\/|data:image\/)/, 'must be an http(s) URL or a data: URL of an image'),
          detail: z.enum(['auto', 'low', 'high']).optional(),
        }),
      }),
    ],
    'must be "text" or "image_url"; files are not kept for assistants, so send a picture as its URL',
  ),
)

/** OpenAI API reference, "Create message". Files are refused. */
export const messageBody = lazy(() =>
  z
    .strictObject({
      role: z.enum(['user', 'assistant']),
      content: z.union([text(), z.array(part()).min(1)]),
      attachments: attachmentsField(),
      metadata: metadataField(),
    })
    .refine(
      ({ role, content }) =>
        role === 'user' || typeof content === 'string' || content.every(one => one.type === 'text'),
      {
        path: ['content'],
        error: 'of a message of the assistant may only be text; send pictures in a message of the user',
      },
    ),
)

type MessageBody = z.infer<ReturnType<typeof messageBody>>
type Thread = Pick<AssistantObject, 'id' | 'keyId'>

/** A message that a client adds. */
export function newMessage(
  services: Services,
  thread: Thread,
  { role, content, metadata }: MessageBody,
): AssistantObject {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  const message = bareMessage(services, thread, { role })
  const stored = parts.map(one =>
    one.type === 'text' ? { type: 'text', text: { value: one.text, annotations: [] } } : one,
  )
  // OpenAI's status of messages that clients add.
  return {
    ...message,
    body: {
      ...message.body,
      status: 'completed',
      completed_at: nowS(services),
      content: stored,
      metadata: metadata ?? {},
    },
  }
}

/** A message without content: the state in which a model's answer begins. */
export function bareMessage(
  services: Services,
  thread: Thread,
  given: { role: string; run?: AssistantObject },
): AssistantObject {
  const { role, run } = given
  return newObject(
    services,
    { kind: 'message', keyId: thread.keyId, parentId: thread.id, runId: run?.id ?? null },
    {
      thread_id: thread.id,
      status: 'in_progress',
      incomplete_details: null,
      completed_at: null,
      incomplete_at: null,
      role,
      content: [],
      assistant_id: run?.body.assistant_id ?? null,
      run_id: run?.id ?? null,
      attachments: [],
      metadata: {},
    },
  )
}

/** As a message of a chat request; undefined = it is empty. */
export function chatMessage({ body }: AssistantObject): Json | undefined {
  const parts = (body.content as Json[]).map(chatPart)
  if (parts.length === 0) return undefined
  const texts = parts.filter(one => one.type === 'text').map(one => one.text as string)
  // Chat models do not accept pictures in assistant messages.
  if (body.role === 'assistant')
    return texts.join('') === '' ? undefined : { role: 'assistant', content: texts.join('\n') }
  return { role: body.role, content: parts.length === 1 && texts.length === 1 ? texts[0] : parts }
}

function chatPart(one: Json): Json {
  if (one.type === 'text') return { type: 'text', text: (one.text as Json).value }
  return one.type === 'refusal' ? { type: 'text', text: one.refusal } : one
}
