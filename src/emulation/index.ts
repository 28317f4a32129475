/** Emulates abilities that a model lacks: pure decorators around its provider's chat adapter, chosen by its profile. */
import type { ChatRequest, Message } from '../core/hub/chat.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { ChatAdapter } from '../core/provider.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { decorated } from './decorate.ts'
import type { Emulation } from './decorate.ts'
import { checkGuardInput } from './guard.ts'
import { outputSchemaFor, promptJson } from './json-output.ts'
import type { OutputSchema } from './json-output.ts'
import { toolCallsAsText } from './tool-prompt.ts'
import { splitThinking } from './thinking.ts'
import { promptTools } from './tools.ts'
import { alternateTurns, rolesAlternate } from './alternate-roles.ts'

export { moderationsByGuard } from './guard.ts'
export { checkReferences, correctionPrompt, validateJson, schemaMismatch } from './json-output.ts'
export type { OutputSchema } from './json-output.ts'

/** How a call reaches a model for which at least one ability is emulated. */
interface EmulatedCall {
  /** Valid for the request it was made for and for continuations of that conversation. */
  readonly adapter: ChatAdapter
  /** What the answer must conform to: the caller validates it and asks the model again; undefined = no such check. */
  readonly outputSchema: OutputSchema | undefined
}

/**
 * The adapter with every emulation that this request needs; undefined = it needs none. Throws `invalid-request` or
 * `unprocessable` for a request that this model can never take.
 */
export function emulate(adapter: ChatAdapter, profile: ModelProfile, request: ChatRequest): EmulatedCall | undefined {
  if (profile.guard) checkGuardInput(request)
  const outputSchema = outputSchemaFor(profile, request)
  const emulations = [...neededEmulations(profile, request, outputSchema)]
  if (emulations.length === 0) return undefined
  return { adapter: emulations.reduce(decorated, adapter), outputSchema }
}

/**
 * true = `emulate` would return undefined for this body. Decided on the raw bytes, without decoding into the hub's
 * request: a decoded request loses fields that the hub does not know. false = undecided, `emulate` has to be called.
 */
export function needsNoEmulation(profile: ModelProfile, body: JsonBody): boolean {
  const { toolCalling, thinking, alternateRoles, structuredOutput, guard } = profile
  if (guard || thinking !== 'separate') return false
  if (alternateRoles && !bodyRolesAlternate(body)) return false
  const bytes = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength)
  const contains = (marker: string) => bytes.includes(marker)
  // An ASCII letter written as `\u00xx` would hide a marker from the byte search.
  if (contains('\\u00')) return false
  if ((toolCalling !== 'native' || alternateRoles) && toolMarkers.some(contains)) return false
  return structuredOutput === 'native' || !jsonMarkers.some(contains)
}

/** Beginnings of every field name and value with which a dialect sends tools, tool calls or tool results. */
const toolMarkers = ['"tool', '"function']
/** The same for response formats: `json_object`, `json_schema`, and Gemini's `responseMimeType`. */
const jsonMarkers = ['"json_', 'application/json"']

/** Reads OpenAI's and Anthropic's `messages` only; false for dialects without it, which have to be decoded. */
function bodyRolesAlternate(body: JsonBody): boolean {
  let messages: unknown
  try {
    messages = body.get('messages')
  } catch {
    // Not JSON: the decoder of the dialect reports it.
  }
  return Array.isArray(messages) && messages.every(hasRole) && rolesAlternate(messages)
}

const hasRole = (value: unknown): value is Pick<Message, 'role'> =>
  typeof value === 'object' && value !== null && 'role' in value && typeof value.role === 'string'

/** From the innermost to the outermost: events pass the first one first, requests the last one first. */
function* neededEmulations(
  profile: ModelProfile,
  request: ChatRequest,
  outputSchema: OutputSchema | undefined,
): Generator<Emulation> {
  const tools = promptTools(profile, request)
  if (profile.alternateRoles && (outputSchema || !rolesAlternate(tools ? toolCallsAsText(request) : request.messages)))
    yield alternateTurns
  if (profile.thinking !== 'separate') yield splitThinking(request, profile.thinking === 'tags-open')
  const mayCall = (request.tools?.length ?? 0) > 0 && request.toolChoice !== 'none'
  if (outputSchema) yield promptJson(profile, outputSchema, mayCall)
  if (tools) yield tools
}
