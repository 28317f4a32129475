/** Content that is made once and then served as the same bytes, with a strong ETag (RFC 9110, 8.8.3). */
import { createHash } from 'node:crypto'
import type { Answer } from '../../core/answer.ts'
import type { HttpRequest } from '../../core/request.ts'

/** Bytes that never change, and the headers that go with them. */
export interface FixedContent {
  readonly bytes: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** `headers` = the media type and what else goes with it; the ETag is added. */
export function fixedContent(bytes: Uint8Array, headers: Readonly<Record<string, string>>): FixedContent {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  return { bytes, headers: { ...headers, etag } }
}

/** 200 with the bytes, or 304 for a client that has them. */
export function answerFixed({ headers: requestHeaders }: Pick<HttpRequest, 'headers'>, content: FixedContent): Answer {
  const known = requestHeaders.get('if-none-match')
  if (matchesTag(known, content.headers.etag!)) {
    const { 'content-type': _, ...headers } = content.headers
    return { status: 304, headers, body: null }
  }
  return { status: 200, headers: { ...content.headers }, body: content.bytes }
}

/** The weak comparison, as for every `If-None-Match` (RFC 9110, 13.1.2). null = the client has sent none. */
export function matchesTag(known: string | null, etag: string): boolean {
  if (!known) return false
  return known.split(',').some(one => {
    const tag = one.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}
