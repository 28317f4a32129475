/**
 * Signatures of thinking. Claude signs its own, wherever it runs, and those travel as they are. Thinking of other
 * models has no signature, or one that Claude's hosts would refuse; clients keep only thinking that is signed, and some
 * models need theirs back. So such thinking gets a mark in place of a signature:
 *
 *     modelgate-unsigned
 *     modelgate-signature-<signature of another vendor>
 *
 * The forward lane takes marked thinking out: the upstream could not verify it.
 */
import { isObject } from '../../lib/json/json-values.ts'

const unsigned = 'modelgate-unsigned'
const foreignPrefix = 'modelgate-signature-'
/** In place of what Anthropic's own search would prove a citation with. */
export const unprovenIndex = 'modelgate-unproven'
/** What every text of ours begins with. */
const ownPrefix = 'modelgate-'

/** Signatures that name their vendor and place, as providers of other dialects write them: `vendor/kind/000/...`. */
const placed = /^[a-z_]+\/[a-z]+\/\d{3,6}\//

/** The `signature` for the client, to be read by `decodeSignature`; undefined or empty = unsigned. */
export function encodeSignature(signature: string | undefined): string {
  if (signature === undefined || signature === '') return unsigned
  return placed.test(signature) ? foreignPrefix + signature : signature
}

/** Undefined = unsigned thinking. */
export function decodeSignature(text: string): string | undefined {
  if (text === '' || text === unsigned) return undefined
  return text.startsWith(foreignPrefix) ? text.slice(foreignPrefix.length) : text
}

/** A quick look: bytes without the mark need no rewriting. */
export function mayHoldMarks(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(`"${ownPrefix}`) >= 0
}

const isOwn = (value: unknown): boolean => typeof value === 'string' && value.startsWith(ownPrefix)

/** The messages without marked thinking and citations, and what that took out; undefined = there are none. */
export function withoutMarked(messages: unknown): { messages: unknown[]; dropped: string[] } | undefined {
  if (!Array.isArray(messages)) return undefined
  const dropped = new Set<string>()
  const clean = messages.flatMap((message: unknown) => {
    if (!isObject(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return [message]
    const content = message.content.flatMap((block: unknown) => withoutMarkedIn(block, dropped))
    // Messages that are left without content would be refused.
    return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content }]
  })
  return dropped.size > 0 ? { messages: clean, dropped: [...dropped] } : undefined
}

function withoutMarkedIn(block: unknown, dropped: Set<string>): unknown[] {
  if (!isObject(block)) return [block]
  if (block.type === 'thinking' && isOwn(block.signature)) {
    dropped.add('messages.content.thinking')
    return []
  }
  if (!Array.isArray(block.citations)) return [block]
  const { citations, ...rest } = block
  const proven = (citations as unknown[]).filter(one => !(isObject(one) && isOwn(one.encrypted_index)))
  if (proven.length === block.citations.length) return [block]
  dropped.add('messages.content.citations')
  return [proven.length > 0 ? { ...rest, citations: proven } : rest]
}
