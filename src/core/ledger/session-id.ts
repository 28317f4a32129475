/** Which calls belong together: agents and tracers say it in a header, each in its own. */
import { isSafeId } from '../request.ts'
import type { RequestHeaders } from '../request.ts'

/**
 * The first that a client sends counts. LiteLLM's names stand first, because callers set these by hand (LiteLLM's page
 * "Request Headers"); then those of Claude Code 2.1, opencode 1.18 and Codex 0.169, as each sent them on 2026-11-20.
 */
const sessionHeaders = [
  'x-litellm-session-id',
  'x-litellm-trace-id',
  'x-claude-code-session-id',
  'x-session-id',
  'session-id',
] as const

/** Of W3C Trace Context: version, trace, span, flags. */
const traceForm = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/

/**
 * The session, conversation or trace that a call says it is part of; null = it says none, or one that is too long or
 * has signs that do not belong in an address.
 */
export function sessionIdOf(headers: RequestHeaders | undefined): string | null {
  if (headers === undefined) return null
  for (const name of sessionHeaders) {
    const id = headers.get(name)
    if (id !== null) return isSafeId(id) ? id : null
  }
  const trace = headers.get('traceparent')
  return (trace === null ? null : traceForm.exec(trace)?.[1]) ?? null
}
