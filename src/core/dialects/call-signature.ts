/**
 * Gemini's signature of a tool call, on its way through clients that keep nothing of a call but its id and arguments.
 * Gemini 3 refuses a history whose calls come back without it (ai.google.dev/gemini-api/docs/thought-signatures,
 * 2026-11-28). It is written in two places, and either is enough:
 *
 *     "id": "call_1__thought__<signature>"                              as LiteLLM writes it, in every dialect
 *     "extra_content": {"google": {"thought_signature": "..."}}         as Google's own chat completions have it
 *
 * In an id the signature is base64 of the alphabet for URLs without padding, because Anthropic's clients and hosts take
 * letters, digits, `_` and `-` alone. Both alphabets are read. OpenAI takes ids of 40 characters in chats and of 64 in
 * Responses, so that such an id is sent to Gemini alone.
 */
import { editMembers } from '../../lib/json/json-members.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { isObject, objectOf, textOf } from '../../lib/json/json-values.ts'

const separator = '__thought__'

/** A call's id, and Gemini's signature of the call in standard base64. */
interface SignedCallId {
  readonly id: string
  readonly signature?: string
}

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** The id and the signature in it. An id without one, or with something else behind the separator, is itself. */
export function readCallId(text: string): SignedCallId {
  const at = text.indexOf(separator)
  if (at <= 0) return { id: text }
  const encoded = text.slice(at + separator.length)
  if (!base64.test(encoded)) return { id: text }
  const standard = encoded.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/')
  return { id: text.slice(0, at), signature: standard.padEnd(Math.ceil(standard.length / 4) * 4, '=') }
}

/** The inverse of `readCallId`. It leaves out a signature that would not come back as it was: no canonical base64. */
export function writeCallId(id: string, signature: string | undefined): string {
  if (signature === undefined || id === '') return id
  const encoded = signature.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
  const text = id + separator + encoded
  return readCallId(text).signature === signature ? text : id
}

/** Google's member of a call in chat completions. */
export const signatureMember = 'extra_content'

/** The value of `signatureMember`. */
export const signatureContent = (signature: string): object => ({ google: { thought_signature: signature } })

/** The id and signature of a call in a client's dialect, whose id is `id`: by Google's member, else in the id. */
export function readSignedCall(call: Readonly<Record<string, unknown>>, id: string): SignedCallId {
  const read = readCallId(id)
  const { google } = objectOf(call[signatureMember])
  const signature = isObject(google) ? textOf(google.thought_signature) : ''
  return signature === '' ? read : { id: read.id, signature }
}

/** What both places have in common. */
const needle = Buffer.from('thought_')
/** The member of an object that holds the id of a call, up to the separator, and the signature. */
const signedIds = new RegExp(
  String.raw`("(?:id|call_id|tool_call_id|tool_use_id)"\s*:\s*"[^"\\]+?)${separator}[A-Za-z0-9+/_=-]+(?=")`,
  'g',
)
const memberPaths = new Map([[`tool_calls.${signatureMember}`, undefined]])

/**
 * A client's body as hosts take it whose models have no such signatures: ids as they were made, of calls and results
 * alike, and no member of Google's. The same body where there is nothing of both.
 */
export function withoutCallSignatures(body: JsonBody): JsonBody {
  if (!body.has('messages') && !body.has('input')) return body
  const bytes = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength)
  if (!bytes.includes(needle)) return body
  const text = bytes.toString('utf8')
  const plain = text.replace(signedIds, '$1')
  const changed = plain.length === text.length ? body : JsonBody.read(Buffer.from(plain, 'utf8'))
  const messages = changed.has('messages') ? editMembers(changed.rawText('messages')!, memberPaths) : undefined
  if (!messages) return changed
  return JsonBody.read(Buffer.concat(changed.edited([{ set: 'messages', json: messages.json }])))
}
