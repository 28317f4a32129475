/** Which calls belong together: agents and tracers say it in a header or in a field of the body, each in its own. */
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isSafeId } from '../request.ts'
import type { RequestHeaders } from '../request.ts'

/**
 * Headers by which clients name their session; the first that holds a usable id counts. Those that callers set by hand
 * stand first: ours, then LiteLLM's (its page "Request Headers"). The others are as the client's program sends them.
 */
export const sessionHeaders = [
  { name: 'x-proxy-session-id', client: 'any' },
  { name: 'x-litellm-session-id', client: 'LiteLLM' },
  { name: 'x-litellm-trace-id', client: 'LiteLLM' },
  { name: 'x-claude-code-session-id', client: 'Claude Code 2.1' },
  { name: 'x-session-id', client: 'opencode 1.18' },
  { name: 'session-id', client: 'Codex 0.171' },
  { name: 'x-opencode-session', client: 'opencode 1.18, to hosts of its own' },
  { name: 'x-session-affinity', client: 'opencode 1.18' },
  { name: 'session_id', client: 'earlier Codex' },
  { name: 'x-task-id', client: 'Cline 3' },
] as const

type FieldReader = (value: unknown) => string | undefined

const text: FieldReader = value => (typeof value === 'string' ? value : undefined)

/** Fields of the body, read after the headers; the first that holds a usable id counts. */
export const sessionFields = [
  { name: 'session_id', client: 'OpenRouter', read: text },
  { name: 'litellm_session_id', client: 'LiteLLM', read: text },
  { name: 'conversation', client: 'OpenAI Responses', read: conversationId },
  { name: 'prompt_cache_key', client: 'OpenAI, Codex', read: text },
  { name: 'metadata', client: 'Claude Code', read: sessionOfMetadata },
] as const satisfies readonly { readonly name: string; readonly client: string; readonly read: FieldReader }[]

/** Of W3C Trace Context: version, trace, span, flags. */
const traceForm = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/

/** What a call says of itself. */
interface SaidSession {
  readonly headers: RequestHeaders | undefined
  readonly body?: JsonBody | undefined
}

/**
 * The session, conversation or trace that a call says it is part of; null = it says none. An id that is too long or has
 * signs that do not belong in an address is passed over.
 */
export function sessionIdOf({ headers, body }: SaidSession): string | null {
  return (headers && inHeaders(headers)) ?? (body && inBody(body)) ?? (headers && traceOf(headers)) ?? null
}

function inHeaders(headers: RequestHeaders): string | undefined {
  for (const { name } of sessionHeaders) {
    const id = headers.get(name)
    if (id !== null && isSafeId(id)) return id
  }
  return undefined
}

function inBody(body: JsonBody): string | undefined {
  for (const { name, read } of sessionFields) {
    const id = body.has(name) ? read(body.get(name)) : undefined
    if (id !== undefined && isSafeId(id)) return id
  }
  return undefined
}

/** Whether `id` is the trace of the call: tracers begin one with each request, so that it may tie no two together. */
export function isTrace(id: string, { headers }: SaidSession): boolean {
  return headers !== undefined && traceOf(headers) === id
}

function traceOf(headers: RequestHeaders): string | undefined {
  const trace = headers.get('traceparent')
  return trace === null ? undefined : traceForm.exec(trace)?.[1]
}

const ofObject = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

/** An id, or an object with it. */
function conversationId(value: unknown): string | undefined {
  return text(value) ?? text(ofObject(value, 'id'))
}

/** Claude Code's `user_id`: JSON with `session_id`, or a text that ends with `_session_` and the id. */
const userIdForm = /(?:"session_id"\s*:\s*"|_session_)([0-9a-f-]{36})/

/** `session_id` of the metadata, or the session within Claude Code's `user_id`. */
function sessionOfMetadata(value: unknown): string | undefined {
  const said = text(ofObject(value, 'session_id'))
  if (said !== undefined) return said
  const userId = text(ofObject(value, 'user_id'))
  return userId === undefined ? undefined : userIdForm.exec(userId)?.[1]
}
