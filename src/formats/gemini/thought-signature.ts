/**
 * Thinking on its way through a client of Gemini's dialect. Other vendors sign whole thoughts and want text and
 * signature back; Gemini's clients keep `thoughtSignature` on every part but may drop the thoughts
 * themselves. So the signed thoughts before a part travel inside that part's signature, which is bytes in
 * base64 by Google's rules (ai.google.dev/gemini-api/docs/thought-signatures) and opaque to every client.
 */
import { isObject } from '../../lib/json/json-values.ts'

/** One thought that its vendor wants back unchanged. */
export type SignedThought = { text: string; signature: string } | { redacted: string }

const mark = 'modelgate-thoughts:'
const markBase64 = Buffer.from(mark).toString('base64').replace(/=*$/, '').slice(0, -1)

/** Base64 for `thoughtSignature`, to be read by `decodeThoughts`. Encoded, not encrypted. */
export function encodeThoughts(thoughts: readonly SignedThought[]): string {
  return Buffer.from(mark + JSON.stringify(thoughts), 'utf8').toString('base64')
}

/** Undefined = not one of ours: Gemini's own signature, which means nothing to other vendors. */
export function decodeThoughts(signature: string): SignedThought[] | undefined {
  if (!signature.startsWith(markBase64)) return undefined
  const text = Buffer.from(signature, 'base64').toString('utf8')
  if (!text.startsWith(mark)) return undefined
  try {
    const list: unknown = JSON.parse(text.slice(mark.length))
    if (!Array.isArray(list)) return undefined
    const thoughts = list.map(readThought)
    return thoughts.every(thought => thought !== undefined) ? thoughts : undefined
  } catch {
    return undefined
  }
}

/** A client could have written anything: only the known fields are taken. */
function readThought(value: unknown): SignedThought | undefined {
  if (!isObject(value)) return undefined
  const { text, signature, redacted } = value
  if (typeof redacted === 'string') return { redacted }
  return typeof text === 'string' && typeof signature === 'string' ? { text, signature } : undefined
}
