/** What is typed and not sent, for each conversation by itself: it stays while other pages are looked at. */
import { useState } from 'react'
import { useSession } from '../../api/session.ts'

/** By person and conversation. In memory alone: chats are encrypted, and a browser's storage is not. */
const drafts = new Map<string, string>()

/**
 * `conversation` = its id, empty = one that has not begun, null = one of which nothing is kept. Where one begins while
 * its first question is sent (`isSending`), the text goes along.
 */
export function useDraft(
  conversation: string | null,
  isSending: boolean,
): readonly [text: string, change: (text: string) => void] {
  const user = useSession().data?.user_id ?? ''
  const place = conversation === null ? null : JSON.stringify([user, conversation])
  const kept = place === null ? '' : (drafts.get(place) ?? '')
  const [text, setText] = useState(kept)
  const [shown, setShown] = useState(place)
  if (shown !== place) {
    setShown(place)
    if (!isSending) setText(kept)
    else if (shown !== null) drafts.delete(shown)
  }
  const change = (next: string) => {
    setText(next)
    if (place === null) return
    if (next === '') drafts.delete(place)
    else drafts.set(place, next)
  }
  return [text, change]
}
