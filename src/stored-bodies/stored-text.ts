/** Bodies as texts of a bounded length. */
import { gatewayKeyHeaders, vendorKeyHeaders } from '../core/client-credential.ts'
import type { StoredBody } from '../core/ledger/stored-bodies.ts'

/** Bytes of these types are text. */
const textTypes = /^text\/|[/+](?:json|xml|yaml|x-ndjson|jsonl|javascript)\b/i

/** A body as it is stored: cut to `bytesMax`, between two characters; what is no text is left out. */
export function storedBody(
  body: Uint8Array | string,
  { contentType, bytesMax }: { readonly contentType: string; readonly bytesMax: number },
): StoredBody {
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  if (contentType !== '' && !textTypes.test(contentType))
    return { text: '', contentType, bytes, isCut: false, omitted: 'binary' }
  const isCut = bytes > bytesMax
  return { text: textOf(body, isCut ? bytesMax : undefined), contentType, bytes, isCut }
}

/** The beginning of a text in at most `bytesMax` bytes of UTF-8; undefined = all of it. */
function textOf(body: Uint8Array | string, bytesMax: number | undefined): string {
  // A unit of UTF-16 takes at least one byte, so that no more than these are encoded.
  const bytes = typeof body === 'string' ? Buffer.from(bytesMax === undefined ? body : body.slice(0, bytesMax)) : body
  // `stream` leaves out a character that is not complete.
  return new TextDecoder().decode(bytes.subarray(0, bytesMax), { stream: bytesMax !== undefined })
}

/** Headers that say something about the client. */
const shown = [
  'accept content-type content-encoding user-agent x-request-id x-litellm-tags idempotency-key traceparent',
  'anthropic-version anthropic-beta openai-beta openai-organization openai-project session_id x-session-id',
  'x-stainless-lang x-stainless-package-version x-stainless-runtime x-stainless-runtime-version',
]
  .join(' ')
  .split(' ')
/** Headers with keys and cookies: only that they were there is stored. */
const secret = ['proxy-authorization', 'cookie', ...vendorKeyHeaders, ...gatewayKeyHeaders, 'x-litellm-key']
const headerLengthMax = 500

/** The headers that are stored; all others are left out, because no list of secret ones is complete. */
export function storedHeaders(
  headers: { get(name: string): string | null } | undefined,
): Readonly<Record<string, string>> {
  const stored: Record<string, string> = {}
  for (const name of shown) {
    const value = headers?.get(name)
    if (value != null) stored[name] = value.slice(0, headerLengthMax)
  }
  for (const name of secret) if (headers?.get(name) != null) stored[name] = '[redacted]'
  return stored
}
