/**
 * Thought signatures through the hub. Gemini signs single parts (a call, a text, a thought) and wants each
 * signature back on its part; other dialects carry signatures only on thinking, which some of them move to
 * the front of a message. So a signature travels with the place that it belongs to:
 *
 *     gemini/call/002/<signature>     of the third call of the message
 *
 * The head has 16 letters of the base64 alphabet, so that clients that decode signatures still can. It also
 * tells Gemini's signatures from those of other vendors, which Gemini would refuse.
 * Source: ai.google.dev/gemini-api/docs/thought-signatures.
 */
export type SignedKind = 'call' | 'text' | 'note'

interface PlacedSignature {
  /** `note` = the thought itself. */
  readonly kind: SignedKind
  /** Which call of the message, from 0; 0 for the others. */
  readonly index: number
  readonly signature: string
}

const placed = /^gemini\/(call|text|note)\/(\d{3,6})\//

/** The text that travels with the client; `readSignature` takes it apart again. */
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
 * What Google documents for histories without signatures (other vendors' answers, clients that drop thinking):
 * Gemini 3 refuses the first call of a step without any.
 */
export const skipSignatureCheck = 'skip_thought_signature_validator'
