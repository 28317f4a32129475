/** What a model lacks is played for it: pure decorators around its provider's chat adapter, chosen by its profile. */
import type { ChatRequest, Message } from '../core/chat.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { ChatAdapter } from '../core/provider.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { decorated } from './decorate.ts'
import type { Emulation } from './decorate.ts'
import { checkGuardInput } from './guard.ts'
import { jsonContract, promptJson } from './json-output.ts'
import type { JsonContract } from './json-output.ts'
import { retellCalls } from './tool-prompt.ts'
import { splitThinking } from './thinking.ts'
import { promptTools } from './tools.ts'
import { alternateTurns, takesTurns } from './turns.ts'

export { moderationsByGuard } from './guard.ts'
export { checkReferences, correction, judgeJson, misfit } from './json-output.ts'
export type { JsonContract } from './json-output.ts'

/** How a call reaches a model for which something is played. */
interface Played {
  /** For exactly the request it was made for, and for continuations of its conversation. */
  readonly adapter: ChatAdapter
  /** What the answer has to fit; the caller judges it and asks again. */
  readonly contract: JsonContract | undefined
}

/**
 * Undefined = nothing has to be played for this request. Throws `invalid-request` or `unprocessable` for what this
 * model can never take.
 */
export function emulate(adapter: ChatAdapter, profile: ModelProfile, request: ChatRequest): Played | undefined {
  if (profile.guard) checkGuardInput(request)
  const contract = jsonContract(profile, request)
  const emulations = [...chosen(profile, request, contract)]
  if (emulations.length === 0) return undefined
  return { adapter: emulations.reduce(decorated, adapter), contract }
}

/**
 * true = `emulate` would find nothing to do for this body, whatever else stands in it: seen without the hub, which has
 * no words for all that an upstream may take. false = it has to be asked.
 */
export function isPlayedByNobody(profile: ModelProfile, body: JsonBody): boolean {
  const { toolCalling, thinking, alternateRoles, structuredOutput, guard } = profile
  if (guard || thinking !== 'separate') return false
  if (alternateRoles && !rolesTakeTurns(body)) return false
  const bytes = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength)
  const says = (word: string) => bytes.includes(word)
  // Written as an escape, a letter of these words could not be found.
  if (says('\\u00')) return false
  if ((toolCalling !== 'native' || alternateRoles) && callWords.some(says)) return false
  return structuredOutput === 'native' || !jsonWords.some(says)
}

/** How the names of tools and calls, and of formats, begin or end in every dialect. */
const callWords = ['"tool', '"function']
const jsonWords = ['"json_', 'application/json"']

/** As far as `messages` say; other dialects have to be translated to know. */
function rolesTakeTurns(body: JsonBody): boolean {
  let messages: unknown
  try {
    messages = body.get('messages')
  } catch {
    // Not JSON: who translates it says so.
  }
  return Array.isArray(messages) && messages.every(isMessage) && takesTurns(messages)
}

const isMessage = (value: unknown): value is Pick<Message, 'role'> =>
  typeof value === 'object' && value !== null && 'role' in value && typeof value.role === 'string'

/** From the model outwards: events pass the first one first, requests the last one first. */
function* chosen(
  profile: ModelProfile,
  request: ChatRequest,
  contract: JsonContract | undefined,
): Generator<Emulation> {
  const tools = promptTools(profile, request)
  if (profile.alternateRoles && (contract || !takesTurns(tools ? retellCalls(request) : request.messages)))
    yield alternateTurns
  if (profile.thinking !== 'separate') yield splitThinking(request, profile.thinking === 'tags-open')
  const mayCall = (request.tools?.length ?? 0) > 0 && request.toolChoice !== 'none'
  if (contract) yield promptJson(profile, contract, mayCall)
  if (tools) yield tools
}
