/** A conversation that the gateway keeps. Its answers are made there, and go on when this page is gone. */
import { useQueryClient } from '@tanstack/react-query'
import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ask } from '../../api/client.ts'
import {
  refreshConversation,
  refreshConversationLists,
  showConversation,
  showNewConversation,
  useConversation,
  withMessage,
} from '../../api/conversations.ts'
import type { ConversationSettings } from '../../api/conversations.ts'
import type { ConversationAnswers } from '../../api/schema.d.ts'
import { reportError } from '../../components/report-error.ts'
import { apiUrl } from '../../lib/urls.ts'
import type { Chat, Question } from './chat-state.ts'
import { base64Of, prepared } from './files.ts'
import { followAnswer } from './follow.ts'
import { isRunning } from './tree.ts'
import type { Message } from './tree.ts'

interface StoredChat extends Chat {
  /** The conversation is on its way. */
  readonly isLoading: boolean
  readonly error: unknown
  retry(): void
}

const nothing: readonly Message[] = []

/** `id` empty = a new one, which begins with its first question; `onBegin` is told its id. */
export function useStoredChat(id: string, onBegin: (id: string) => void): StoredChat {
  const client = useQueryClient()
  const query = useConversation(id)
  const [draft, setDraft] = useState<ConversationSettings>({})
  const conversation = query.data
  const messages = conversation?.messages ?? nothing
  useFollowers(client, id, messages)
  const path = { conversation_id: id }
  return {
    title: conversation?.title ?? '',
    messages,
    currentId: conversation?.current_message_id ?? null,
    settings: conversation?.settings ?? draft,
    isLoading: query.isLoading,
    error: query.error,
    retry: () => void query.refetch(),
    async ask(question) {
      if (id !== '') return showAnswers(client, id, await askIn(id, question))
      onBegin(await begin(client, draft, question))
      setDraft({})
    },
    async answerAgain(questionId, models) {
      const operation = 'POST /chat/conversations/{conversation_id}/messages/{message_id}/answers'
      const made = await ask(operation, { path: { ...path, message_id: questionId }, body: { models: [...models] } })
      showAnswers(client, id, made)
    },
    stop() {
      for (const message of messages.filter(isRunning)) void stopAnswer(id, message.id).catch(reportError)
    },
    fileUrl: file => apiUrl(`/chat/conversations/${id}/attachments/${file}`).href,
    show(messageId) {
      showConversation(client, id, shown => ({ ...shown, current_message_id: messageId }))
      // Where it cannot be kept the branch is shown all the same.
      const body = { current_message_id: messageId }
      ask('PATCH /chat/conversations/{conversation_id}', { path, body }).catch(reportError)
    },
    async changeSettings(settings) {
      if (!conversation) return setDraft(settings)
      const body = { settings, version: conversation.version }
      const changed = await ask('PATCH /chat/conversations/{conversation_id}', { path, body })
      showConversation(client, id, shown => ({ ...shown, settings: changed.settings, version: changed.version }))
    },
  }
}

async function askIn(id: string, { text, files, parentId, models }: Question): Promise<ConversationAnswers> {
  const attachments = await Promise.all(
    files.map(async one =>
      'id' in one ? one : { name: one.file.name, data: await base64Of(await prepared(one.file)) },
    ),
  )
  return ask('POST /chat/conversations/{conversation_id}/messages', {
    path: { conversation_id: id },
    body: { text, attachments, parent_id: parentId, models: [...models] },
  })
}

/** Begins a conversation with its first question; one that is refused leaves none behind. */
async function begin(client: QueryClient, settings: ConversationSettings, question: Question): Promise<string> {
  const begun = await ask('POST /chat/conversations', { body: { settings } })
  try {
    const { message, answers } = await askIn(begun.id, question)
    const title = question.text.trim().split('\n')[0] || (message.content.attachments?.[0]?.name ?? '')
    const messages = [message, ...answers]
    showNewConversation(client, { ...begun, title, current_message_id: answers[0]!.id, messages })
    void refreshConversationLists(client)
    return begun.id
  } catch (error) {
    ask('DELETE /chat/conversations/{conversation_id}', { path: { conversation_id: begun.id } }).catch(() => undefined)
    throw error
  }
}

function showAnswers(client: QueryClient, id: string, { message, answers }: ConversationAnswers): void {
  showConversation(client, id, shown => ({
    ...shown,
    messages: [message, ...answers].reduce(withMessage, shown.messages),
    current_message_id: answers[0]!.id,
  }))
  void refreshConversationLists(client)
}

const stopAnswer = (conversation_id: string, message_id: string) =>
  ask('POST /chat/conversations/{conversation_id}/messages/{message_id}/stop', {
    path: { conversation_id, message_id },
  })

/** Follows every answer that goes on: those begun here, in another window, or before a reload. */
function useFollowers(client: QueryClient, conversationId: string, messages: readonly Message[]): void {
  const running = messages
    .filter(isRunning)
    .map(one => one.id)
    .join(' ')
  useEffect(() => {
    if (running === '') return undefined
    const controller = new AbortController()
    for (const messageId of running.split(' '))
      followAnswer({ conversationId, messageId, signal: controller.signal }, message =>
        showConversation(client, conversationId, shown => ({
          ...shown,
          messages: withMessage(shown.messages, message),
        })),
      ).catch(() => refreshConversation(client, conversationId))
    return () => controller.abort()
  }, [client, conversationId, running])
}
