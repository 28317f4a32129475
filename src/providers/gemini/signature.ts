/**
 * Thought signatures (ai.google.dev/gemini-api/docs/thought-signatures). Gemini signs single parts (a call, a text, a
 * thought) and requires each signature back on its part. Other dialects carry signatures only on thinking, which some
 * clients move to the front of a message. So a signature is sent to clients with the position of its part:
 *
 *     gemini/call/002/<signature>     of the third call of the message
 *
 * The prefix has 16 characters of the base64 alphabet, so that clients that decode signatures still can. It also
 * distinguishes Gemini's signatures from those of other vendors, which Gemini would refuse.
 */
export type SignedKind = 'call' | 'text' | 'note'

interface PlacedSignature {
  /** `note` = the thought itself. */
  readonly kind: SignedKind
  /** The position of the call among the message's calls, from 0; 0 for the other kinds. */
  readonly index: number
  readonly signature: string
}

const placed = /^gemini\/(call|text|note)\/(\d{3,6})\//

/** The signature as clients get it; `readSignature` is the inverse. */
export function placeSignature({ kind, index, signature }: PlacedSignature): string {
  return `gemini/${kind}/${String(index).padStart(3, '0')}/${signature}`
}

/** Undefined = not one of Gemini's. */
export function readSignature(text: string | undefined): PlacedSignature | undefined {
  const head = text === undefined ? null : placed.exec(text)
  if (!head) return undefined
  return { kind: head[1] as SignedKind, index: Number(head[2]), signature: text!.slice(head[0].length) }
}

/**
 * The value that Google documents for histories without signatures (answers of other vendors, clients that drop
 * thinking): Gemini 3 refuses a step whose first call has none.
 */
export const skipSignatureCheck = 'skip_thought_signature_validator'
