/** The tokens that a call takes from limits before they are known. */
import type { Call } from '../../core/call.ts'

/** The tokens of larger bodies are taken once they are read: the bytes of an inline picture say little about them. */
export const announcedBytesMax = 64 * 1024
/** About how many bytes of a text are one token. */
export const bytesPerToken = 4

/** Of a body that was read. */
export function bodyTokens(call: Call): number {
  const bytes = call.body?.size ?? 0
  return bytes > announcedBytesMax ? call.estimatedInputTokens() : Math.ceil(bytes / bytesPerToken)
}

/** The same, without counting anything; undefined = only the texts of a large body would say it. */
export function inputTokensAtHand({ body, knownInputTokens }: Call): number | undefined {
  if (knownInputTokens !== undefined) return knownInputTokens
  const bytes = body?.size ?? 0
  return bytes > announcedBytesMax ? undefined : Math.ceil(bytes / bytesPerToken)
}
