/** Recognizes the turns of a conversation whose client names no session: by its beginning, which all of them share. */
import type { JsonBody } from '../../lib/json/json-body.ts'
import { backslash, closeBrace, closeBracket, openBrace, openBracket, quote } from '../../lib/json/json-bytes.ts'

/**
 * Bytes of the shortest body that is recognized. No vendor caches a prefix of less than 1,024 tokens (pages of OpenAI
 * and Anthropic on prompt caching, 2026-11), which no shorter body has; such calls are spread as if there were no
 * sessions.
 */
const bodyBytesMin = 4096
/** The list of messages, as each dialect calls it. */
const listNames = ['messages', 'input', 'contents'] as const
const userRole = Buffer.from('"user"')
/** The first message of the user is looked for in so many bytes of the list. */
const searchedBytes = 256 * 1024
/** Of the first message of the user, on either side of its role. */
const hashedBytes = 512

/** A number of 32 bits by the first message of the user; undefined = the conversation is too short, or has none. */
export function conversationHash(body: JsonBody, seed: number): number | undefined {
  if (body.size < bodyBytesMin) return undefined
  const name = listNames.find(one => body.has(one))
  const raw = name === undefined ? undefined : body.rawBytes(name)
  if (raw === undefined || raw[0] !== openBracket) return undefined
  const list = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, searchedBytes))
  const role = roleIn(list, body)
  // Without a role the first message is the user's (Gemini).
  const from = role < 0 ? list.indexOf(openBrace) + 1 : role + userRole.length
  if (from === 0) return undefined
  const end = messageEnd(list, from, Math.min(list.length, from + hashedBytes))
  return Bun.hash.xxHash32(list.subarray(Math.max(0, from - hashedBytes), end), seed)
}

/** Where the first role of a user is; -1 = there is none. Long texts are not searched: they are most of a prompt. */
function roleIn(list: Buffer, { bytes, longStrings }: JsonBody): number {
  const offset = list.byteOffset - bytes.byteOffset
  let from = 0
  for (let next = 0; next < longStrings.length; next += 2) {
    const start = longStrings[next]! - offset
    if (start < from) continue
    if (start >= list.length) break
    const found = list.subarray(from, start).indexOf(userRole)
    if (found >= 0) return from + found
    from = longStrings[next + 1]! - offset
  }
  const found = list.subarray(from).indexOf(userRole)
  return found < 0 ? -1 : from + found
}

/** Where the message ends that `from` stands in, between two of its values; at most `most`. */
function messageEnd(bytes: Buffer, from: number, most: number): number {
  let depth = 1
  for (let at = from; at < most; at++) {
    const byte = bytes[at]
    if (byte === quote) at = stringEnd(bytes, at + 1, most)
    else if (byte === openBrace || byte === openBracket) depth++
    else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return at
  }
  return most
}

/** The quote that ends the string that begins at `from`; `most` = it is not before that. */
function stringEnd(bytes: Buffer, from: number, most: number): number {
  for (let at = from; at < most; at++) {
    if (bytes[at] === backslash) at++
    else if (bytes[at] === quote) return at
  }
  return most
}
