/** The body of the call that makes an answer: the branch of the conversation that leads to it. */
import type { Attachment, Conversation, ConversationMessage } from '../core/objects/conversations.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { HoldBytes } from '../core/objects/object-pages.ts'
import type { Json } from '../lib/json/json-values.ts'
import { partOf } from './attachments.ts'
import { branchTo } from './branch.ts'

interface PromptRequest {
  readonly conversation: Conversation
  /** Every message that is stored. */
  readonly messages: readonly ConversationMessage[]
  /** The question, stored or not yet. */
  readonly question: ConversationMessage
  /** Files that are not stored yet, by their ids. */
  readonly given: ReadonlyMap<string, Buffer>
  readonly hold: HoldBytes
}

/**
 * A chat request without its model, streamed. Throws `too-large` beyond the limit of a body, and what `hold` throws:
 * it is called with the size of files before they are read.
 */
export async function promptOf(services: Services, request: PromptRequest): Promise<Json> {
  const { settings } = request.conversation
  const branch = [...branchTo(request.messages, request.question.parentId), request.question].filter(isSaid)
  const { bodyBytesMax } = services.current.settings
  const files = branch.flatMap(({ content }) => content.attachments ?? [])
  // In base64 a third is added.
  if (files.reduce((sum, one) => sum + one.bytes, 0) * (4 / 3) > bodyBytesMax) throw tooLong(bodyBytesMax)
  const messages: Json[] = []
  for (const { role, content } of branch) messages.push({ role, content: await contentOf(services, request, content) })
  if (settings.system_prompt) messages.unshift({ role: 'system', content: settings.system_prompt })
  const { temperature, top_p, max_tokens, reasoning_effort, thinking_mode } = settings
  const body: Json = {
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(max_tokens !== undefined && { max_tokens }),
    ...(reasoning_effort !== undefined && { reasoning_effort }),
    ...(thinking_mode !== undefined && { chat_template_kwargs: { thinking_mode } }),
  }
  if (JSON.stringify(body).length > bodyBytesMax) throw tooLong(bodyBytesMax)
  return body
}

const tooLong = (bytesMax: number): GatewayError =>
  new GatewayError(
    'too-large',
    `the conversation and its files have more than ${bytesMax} bytes; send smaller files, or begin a new one`,
  )

/** An answer that failed before its first word has nothing to say to the model. */
const isSaid = ({ role, content }: ConversationMessage): boolean => role === 'user' || content.text !== ''

async function contentOf(
  services: Services,
  { conversation, given, hold }: PromptRequest,
  { text, attachments = [] }: ConversationMessage['content'],
): Promise<string | Json[]> {
  if (attachments.length === 0) return text
  const bytesOf = async ({ id, bytes }: Attachment): Promise<Buffer> => {
    // As bytes, and in base64.
    hold(2 * bytes)
    const added = given.get(id)
    if (added) return added
    const stored = await services.conversations.attachment(conversation, id)
    if (!stored) throw new GatewayError('not-found', 'a file of this conversation is not there any more')
    return stored.content
  }
  const parts: Json[] = []
  for (const one of attachments) parts.push(partOf(one, await bytesOf(one)))
  return text === '' ? parts : [...parts, { type: 'text', text }]
}
