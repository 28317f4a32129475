/**
 * Chat completions with tools that the gateway runs. The answer is that of the last turn; what was run before it stands
 * in `provider_specific_fields` of its message, under LiteLLM's names. A tool that a person has to agree to is a call
 * for the client, as a function of its own would be.
 */
import type { Answer } from '../../../core/answer.ts'
import type { CallInAdmission } from '../../../core/call.ts'
import type { Services } from '../../../core/endpoint.ts'
import { messageNames } from '../../../core/dialects/exact-names.ts'
import { GatewayError } from '../../../core/errors.ts'
import { readJsonBody } from '../../../core/request.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { openaiChat } from '../../../formats/openai/chat/index.ts'
import { exactText } from '../../../lib/json/exact-json.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { byOfferedName, otherTools, ownEntries, serversOf, wholeBody } from './requested-tools.ts'
import type { FoundTool } from './requested-tools.ts'
import { laterChoice, mentionsTools, runnerFor } from './tool-runner.ts'
import type { AskedCall, RunCall, ToolRunner } from './tool-runner.ts'
import { askAgain, beginningOf } from './turn-requests.ts'
import type { RunBeginning } from './turn-requests.ts'

/** A run under way. */
export interface ChatRun {
  readonly beginning: RunBeginning
  /** The body as the model is sent it; `messages` grow with each turn. */
  readonly body: Json
  readonly found: ReadonlyMap<string, FoundTool>
  readonly runner: ToolRunner
  /** Of the call of the present turn. */
  callId: string
  /** The choice of tools for the turns behind the first. */
  readonly laterChoice: unknown
  readonly calls: Json[]
  readonly results: Json[]
}

/** The body is given functions in place of the gateway's tools; undefined = there are none. */
export async function prepareChatRun(
  call: CallInAdmission,
  { request, services }: { readonly request: HttpRequest; readonly services: Services },
): Promise<ChatRun | undefined> {
  const sent = call.body!
  if (!mentionsTools(sent)) return undefined
  const entries = ownEntries(sent.get('tools'))
  if (entries.length === 0) return undefined
  const choices = sent.get('n')
  if (typeof choices === 'number' && choices > 1)
    throw new GatewayError('invalid-request', 'tools of the gateway are run for one choice; leave `n` out', {
      param: 'n',
    })
  const servers = await serversOf(entries, { tools: services.tools, caller: call.caller, request })
  const body = wholeBody(sent, messageNames)
  const kept = otherTools(body.tools)
  const found = byOfferedName(servers, new Set(kept.map(tool => String(isObject(tool.function) && tool.function.name))))
  body.tools = [...kept, ...[...found.values()].map(functionOf)]
  call.body = readJsonBody(Buffer.from(exactText(body)))
  return {
    beginning: beginningOf(call, { request, services, format: openaiChat, route: '/v1/chat/completions' }),
    body,
    found,
    runner: runnerFor(call, { request, services }, undefined),
    callId: call.id,
    laterChoice: laterChoice(body.tool_choice),
    calls: [],
    results: [],
  }
}

const functionOf = ({ tool }: FoundTool): Json => ({
  type: 'function',
  function: { name: tool.offeredName, description: tool.description, parameters: tool.inputSchema },
})

/** The call of a message that the gateway runs now; undefined = it is the client's. */
export function runNow(run: ChatRun, { id, function: called }: Json): AskedCall | undefined {
  if (!isObject(called)) return undefined
  const found = run.found.get(String(called.name))
  return found && !found.server.needsApproval(found.tool)
    ? { id: String(id), found, arguments: String(called.arguments ?? '') }
    : undefined
}

/**
 * Runs what the message of a turn has asked for, and asks the model again; undefined = the run is over: nothing is left
 * to be run, or the client has calls of its own to answer.
 */
export async function nextChatTurn(run: ChatRun, message: Json): Promise<Answer | undefined> {
  const all = (Array.isArray(message.tool_calls) ? message.tool_calls : []).filter(isObject)
  const asked = all.flatMap(one => runNow(run, one) ?? [])
  if (asked.length === 0) return undefined
  const { beginning, callId: parentCallId } = run
  const results = await run.runner.run(asked, { parentCallId, sessionId: beginning.sessionId })
  run.calls.push(...all.filter(one => runNow(run, one)))
  run.results.push(...results.map(shownResult))
  if (all.length > asked.length || run.runner.isOver || beginning.request.left) return undefined
  const messages = Array.isArray(run.body.messages) ? (run.body.messages as Json[]) : []
  const outputs = results.map(
    ({ asked: { id }, output }): Json => ({ role: 'tool', tool_call_id: id, content: output }),
  )
  run.body.messages = [...messages, { ...message, role: 'assistant' }, ...outputs]
  run.body.tool_choice = run.runner.beginTurn() ? 'none' : run.laterChoice
  const { answer, id } = await askAgain(beginning, run.body)
  run.callId = id
  return answer
}

const shownResult = ({ asked: { id, found }, output, error }: RunCall): Json => ({
  tool_call_id: id,
  name: found.tool.offeredName,
  result: output,
  is_error: error !== null,
})

/** What the message of the answer says of the run; the client's own calls alone are left in it. */
export function shownRun(run: ChatRun): Json {
  return {
    mcp_list_tools: [...run.found.values()].map(functionOf),
    mcp_tool_calls: run.calls,
    mcp_call_results: run.results,
  }
}
