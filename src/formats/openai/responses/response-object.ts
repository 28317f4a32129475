/** The Response object, as the API reference describes it ("The response object"). */
import type { GatewayError } from '../../../core/errors.ts'
import type { FaultKind } from '../../../core/errors.ts'
import { isObject, objectOf } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { createdOr } from '../answer-fields.ts'

/** Random: upstreams repeat theirs, and stored answers are found by it. */
export function newResponseId(): string {
  return `resp_${crypto.randomUUID().replaceAll('-', '')}`
}

/** A response without output yet. `fields` = the client's body, which the object repeats. */
export function newResponse(id: string, model: string, fields: Json): Json {
  const reasoning = objectOf(fields.reasoning)
  const text = objectOf(fields.text)
  const response: Json = {
    id,
    object: 'response',
    created_at: createdOr(undefined),
    status: 'in_progress',
    background: fields.background === true,
    error: null,
    incomplete_details: null,
    instructions: fields.instructions ?? null,
    max_output_tokens: fields.max_output_tokens ?? null,
    max_tool_calls: fields.max_tool_calls ?? null,
    model,
    output: [],
    parallel_tool_calls: fields.parallel_tool_calls ?? true,
    previous_response_id: fields.previous_response_id ?? null,
    prompt_cache_key: fields.prompt_cache_key ?? null,
    reasoning: { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
    safety_identifier: fields.safety_identifier ?? null,
    service_tier: 'default',
    store: fields.store !== false,
    temperature: fields.temperature ?? 1,
    text: { format: text.format ?? { type: 'text' }, verbosity: text.verbosity ?? 'medium' },
    tool_choice: fields.tool_choice ?? 'auto',
    tools: Array.isArray(fields.tools) ? fields.tools.map(shownTool) : [],
    top_logprobs: fields.top_logprobs ?? 0,
    top_p: fields.top_p ?? 1,
    truncation: fields.truncation ?? 'disabled',
    metadata: fields.metadata ?? {},
  }
  if (typeof fields.user === 'string') response.user = fields.user
  return response
}

/** The object names what a request may leave out. */
function shownTool(tool: unknown): unknown {
  if (!isObject(tool) || tool.type !== 'function') return tool
  return { ...tool, parameters: tool.parameters ?? null, strict: tool.strict ?? null }
}

const errorCodes: Partial<Record<FaultKind, string>> = {
  'rate-limited': 'rate_limit_exceeded',
  'upstream-rate-limited': 'rate_limit_exceeded',
  'invalid-request': 'invalid_prompt',
  unprocessable: 'invalid_prompt',
  'upstream-refused': 'invalid_prompt',
  'content-policy': 'invalid_prompt',
  // Not among the documented codes, but the one that Codex looks for.
  'context-too-long': 'context_length_exceeded',
}

/** `error` of a failed response. */
export function responseError(error: GatewayError): { code: string; message: string } {
  return { code: errorCodes[error.kind] ?? 'server_error', message: error.message }
}

/** One event of a stream. The type stands twice: in the event's name and in its data. */
export function sseEvent(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`
}
