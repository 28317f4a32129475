/** Conversations that the gateway keeps for this person: lists, one with its messages, and what is changed of them. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { QueryClient } from '@tanstack/react-query'
import { ask } from './client.ts'
import type { Conversation, ConversationMessage, ConversationWithMessages } from './schema.d.ts'

/** How the answers of a conversation are asked for. */
export type ConversationSettings = Conversation['settings']

const noun = 'conversations'
const listKey = [noun, 'list'] as const
const oneKey = (id: string) => [noun, 'one', id] as const

/** Latest first; `search` = words of titles and messages. */
export function useConversationList(search: string) {
  return useInfiniteQuery({
    queryKey: [...listKey, search],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /chat/conversations', { query: { search, cursor: pageParam, limit: 40 }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })
}

/** One with its messages; empty = there is none yet. */
export function useConversation(id: string) {
  return useQuery({
    queryKey: oneKey(id),
    queryFn: ({ signal }) =>
      ask('GET /chat/conversations/{conversation_id}', { path: { conversation_id: id }, signal }),
    enabled: id !== '',
  })
}

/** Changes what is shown of a conversation, before or without asking for it again. */
export function showConversation(
  client: QueryClient,
  id: string,
  change: (shown: ConversationWithMessages) => ConversationWithMessages,
): void {
  client.setQueryData<ConversationWithMessages>(oneKey(id), shown => shown && change(shown))
}

/** Shows a conversation that was just begun. */
export function showNewConversation(client: QueryClient, begun: ConversationWithMessages): void {
  client.setQueryData<ConversationWithMessages>(oneKey(begun.id), begun)
}

/** Asks for the lists again: a title, or their order, has changed. */
export const refreshConversationLists = (client: QueryClient) => client.invalidateQueries({ queryKey: listKey })

/** Asks for all of one again. */
export const refreshConversation = (client: QueryClient, id: string) =>
  client.invalidateQueries({ queryKey: oneKey(id) })

/** Of a conversation that is deleted; no id = of all. */
export function forgetConversation(client: QueryClient, id?: string): Promise<void> {
  client.removeQueries({ queryKey: id === undefined ? [noun, 'one'] : oneKey(id) })
  return refreshConversationLists(client)
}

/** A message in the place of the same one before; one that is new comes last. */
export function withMessage(
  messages: readonly ConversationMessage[],
  message: ConversationMessage,
): ConversationMessage[] {
  const isThere = messages.some(one => one.id === message.id)
  return isThere ? messages.map(one => (one.id === message.id ? message : one)) : [...messages, message]
}

/** How long this person's conversations are kept, and whether any can be. */
export function useChatSettings() {
  return useQuery({
    queryKey: [noun, 'settings'],
    queryFn: ({ signal }) => ask('GET /chat/settings', { signal }),
  })
}
