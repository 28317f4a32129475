/** What signs for this installation, without saying how. */

/** A keyed signature of a text (HMAC), the same each time; it says nothing of the text to those without the key. */
export type Signer = (text: string) => Buffer
