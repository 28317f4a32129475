/**
 * What of a conversation an upstream's dialect has no words for. Each adapter says all that its dialect can say: a
 * property that is added here is a question to every one of them, and `tests/golden/losses.test.ts` compares what it
 * says with what it sends.
 */
import type { Message, Part } from '../../core/hub/chat.ts'
import { readSignature } from '../gemini/signature.ts'

type Reasoning = Extract<Part, { type: 'reasoning' }>
type Document = Extract<Part, { type: 'document' }>

/** What an adapter sends of messages. */
export interface MessageWords {
  /** Names of those who speak. */
  readonly names: boolean
  /** How closely a picture is looked at (`detail`). */
  readonly imageDetail: boolean
  /** The name of this file. */
  fileName(document: Document): boolean
  /** Breakpoints for a cache; where only some of them are taken, the adapter names the others itself. */
  readonly cacheMarks: boolean
  /** That the result of a tool is a failure. */
  readonly resultErrors: boolean
  /** This thinking of an earlier answer. */
  thinking(part: Reasoning): boolean
  /** A message that says nothing, or nothing but white space; where it is left out, its neighbours may be one turn. */
  blank(message: Message): boolean
}

/** The names of what is left out, each once, in OpenAI's words where it has one. */
export function lostInMessages(messages: readonly Message[], words: MessageWords): string[] {
  const lost = new Set<string>()
  for (const message of messages) {
    const { name, role, parts } = message
    if (name !== undefined && role !== 'tool' && !words.names) lost.add('messages.name')
    if (isBlank(message) && !words.blank(message)) lost.add('messages.content')
    for (const part of parts) notePart(part, words, lost)
  }
  return [...lost]
}

function notePart(part: Part, words: MessageWords, lost: Set<string>): void {
  if (!words.cacheMarks && 'cache' in part && part.cache) lost.add('cache_control')
  switch (part.type) {
    case 'image':
      if (!words.imageDetail && part.detail !== undefined && part.detail !== 'auto')
        lost.add('messages.content.image_url.detail')
      return
    case 'document':
      if (part.name !== undefined && !words.fileName(part)) lost.add('messages.content.file.filename')
      return
    case 'reasoning':
      if (isThought(part) && !words.thinking(part)) lost.add('messages.reasoning_content')
      return
    case 'tool-result':
      if (part.isError && !words.resultErrors) lost.add('messages.content.is_error')
      for (const one of part.parts) notePart(one, words, lost)
  }
}

/** false = it only carries Gemini's signature of a call or a text, which is no thought. */
function isThought({ text, signature, redacted }: Reasoning): boolean {
  if (text !== '' || redacted !== undefined) return true
  const placed = readSignature(signature)
  return signature !== undefined && (placed === undefined || placed.kind === 'note')
}

/** Instructions that say nothing are no loss. */
function isBlank({ role, parts }: Message): boolean {
  const speaks = role === 'user' || role === 'assistant'
  return speaks && parts.every(part => (part.type === 'text' || part.type === 'refusal') && part.text.trim() === '')
}
