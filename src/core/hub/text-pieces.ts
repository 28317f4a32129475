/** Events that carry a piece of a text: content, reasoning, a refusal, a transcript, the JSON of a call's arguments. */
import type { ChatEvent } from './chat.ts'

/** An event with a piece of a text. */
export type TextPiece = Extract<ChatEvent, { type: 'text' | 'reasoning' | 'refusal' | 'tool-call-arguments' | 'audio' }>

/** Empty where the event has none, as the signature of a thinking block. */
export function textOfPiece(event: TextPiece): string {
  if (event.type === 'tool-call-arguments') return event.fragment
  return (event.type === 'audio' ? event.transcript : event.text) ?? ''
}

/** The same event with another text. */
export function withPieceText(event: TextPiece, text: string): TextPiece {
  if (event.type === 'tool-call-arguments') return { ...event, fragment: text }
  return event.type === 'audio' ? { ...event, transcript: text } : { ...event, text }
}
