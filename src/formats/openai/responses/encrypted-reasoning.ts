/**
 * Proofs of thinking inside `encrypted_content`. Other vendors sign their thinking, or hide it; the Responses
 * dialect has one opaque field that clients keep and send back. A prefix says whose it is:
 *
 *     modelgate-signature-<signature of the thinking in `summary`>
 *     modelgate-redacted-<thinking that only its vendor can read>
 */
const signaturePrefix = 'modelgate-signature-'
const redactedPrefix = 'modelgate-redacted-'

/** What every text of ours begins with: no other vendor could read it. */
export const ownPrefix = 'modelgate-'

/** What a vendor wants back with its thinking; where both are given, `redacted` counts. */
export interface Proof {
  readonly signature?: string
  readonly redacted?: string
}

/** Undefined when there is nothing to prove. */
export function encodeProof({ signature, redacted }: Proof): string | undefined {
  if (redacted !== undefined) return redactedPrefix + redacted
  return signature === undefined ? undefined : signaturePrefix + signature
}

/** Undefined = not one of ours. */
export function decodeProof(text: unknown): Proof | undefined {
  if (typeof text !== 'string') return undefined
  if (text.startsWith(signaturePrefix)) return { signature: text.slice(signaturePrefix.length) }
  if (text.startsWith(redactedPrefix)) return { redacted: text.slice(redactedPrefix.length) }
  return undefined
}
