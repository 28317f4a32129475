/** An answer that the gateway makes in the background, followed as it comes: also after a reload, or a lost network. */
import { ApiError, send } from '../../api/client.ts'
import { serverSentEvents } from '../../lib/server-sent-events.ts'
import { waitFor } from '../../lib/wait.ts'
import { isRunning } from './tree.ts'
import type { Message } from './tree.ts'

const retryMs = 500
const retryMsMax = 8000
/** Pieces come more often than a person reads. */
const showMs = 40

interface Following {
  readonly conversationId: string
  readonly messageId: string
  readonly signal: AbortSignal
}

/**
 * Calls `onMessage` with the whole answer so far, again and again until it has ended. Begins again where the connection
 * breaks. Rejects with an `ApiError` when the answer is gone.
 */
export async function followAnswer(
  { conversationId, messageId, signal }: Following,
  onMessage: (message: Message) => void,
): Promise<void> {
  const path = { conversation_id: conversationId, message_id: messageId }
  for (let waitMs = retryMs; !signal.aborted; waitMs = Math.min(2 * waitMs, retryMsMax)) {
    try {
      const operation = 'GET /chat/conversations/{conversation_id}/messages/{message_id}/events'
      const { body } = await send(operation, { path, signal })
      if (body && (await readEvents(body, onMessage))) return
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) throw error
    }
    await waitFor(waitMs, signal)
  }
}

/** true = the answer has ended. */
async function readEvents(body: ReadableStream<Uint8Array>, onMessage: (message: Message) => void): Promise<boolean> {
  let message: Message | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const show = () => {
    timer = undefined
    if (message) onMessage(message)
  }
  try {
    for await (const { name, data } of serverSentEvents(body)) {
      if (name === 'message') message = JSON.parse(data) as Message
      else if (name === 'delta' && message) message = withPiece(message, JSON.parse(data) as Piece)
      else continue
      timer ??= setTimeout(show, showMs)
    }
  } finally {
    clearTimeout(timer)
    show()
  }
  return message !== undefined && !isRunning(message)
}

/** What was added to text and thoughts, and all so far of the others. */
type Piece = Partial<Pick<Message['content'], 'text' | 'thinking' | 'tool_calls' | 'sources'>>

function withPiece(message: Message, { text = '', thinking = '', ...others }: Piece): Message {
  const { content } = message
  const more = { ...others, text: content.text + text, thinking: (content.thinking ?? '') + thinking }
  return { ...message, content: { ...content, ...more } }
}
