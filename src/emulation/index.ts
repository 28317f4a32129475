/** What a model lacks is played for it: pure decorators around its provider's chat adapter, chosen by its profile. */
import type { ChatRequest } from '../core/chat.ts'
import type { ModelProfile } from '../core/deployment.ts'
import type { ChatAdapter } from '../core/provider.ts'
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
export { correction, judgeJson } from './json-output.ts'
export type { JsonContract } from './json-output.ts'

export interface Played {
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

/** From the model outwards: events pass the first one first, requests the last one first. */
function* chosen(profile: ModelProfile, request: ChatRequest, contract: JsonContract | undefined): Generator<Emulation> {
  const tools = promptTools(profile, request)
  if (profile.alternateRoles && (contract || !takesTurns(tools ? retellCalls(request) : request.messages))) yield alternateTurns
  if (profile.thinking !== 'separate') yield splitThinking(request, profile.thinking === 'tags-open')
  const mayCall = (request.tools?.length ?? 0) > 0 && request.toolChoice !== 'none'
  if (contract) yield promptJson(profile, contract, mayCall)
  if (tools) yield tools
}
