/** Responses with tools that the gateway runs: turns of the model and calls of its tools, as one answer. */
import { callableDeployments, unaliased } from '../../../access/models/model-access.ts'
import type { Answer } from '../../../core/answer.ts'
import type { CallInAdmission } from '../../../core/call.ts'
import type { Services } from '../../../core/endpoint.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'
import { GatewayError } from '../../../core/errors.ts'
import { readJsonBody } from '../../../core/request.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { itemsOf } from '../../../formats/openai/responses/decode.ts'
import { openaiResponses } from '../../../formats/openai/responses/index.ts'
import type { OfferedTool } from '../../../core/tools.ts'
import { exactText } from '../../../lib/json/exact-json.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { byOfferedName, otherTools, ownEntries, serversOf, wholeBody } from './requested-tools.ts'
import type { FoundTool, RequestedServer } from './requested-tools.ts'
import {
  begunCall,
  endedCall,
  exchangeOf,
  functionOf,
  listItem,
  modelInput,
  approvalRequest,
} from './responses-items.ts'
import { usageOf } from './run-answer.ts'
import { laterChoice, mentionsTools, runnerFor } from './tool-runner.ts'
import type { AskedCall, ToolRunner } from './tool-runner.ts'
import { askAgain, beginningOf } from './turn-requests.ts'
import type { RunBeginning } from './turn-requests.ts'

/** A run under way: what every turn needs. */
export interface ResponsesRun {
  readonly beginning: RunBeginning
  /** The body as the model is sent it; `input` grows with each turn. */
  readonly body: Json
  readonly found: ReadonlyMap<string, FoundTool>
  readonly runner: ToolRunner
  /** Of the call of the present turn. */
  callId: string
  /** Items of the answer that are not of the present turn, in their order. */
  readonly items: Json[]
  /** The choice of tools for the turns behind the first. */
  readonly laterChoice: unknown
  /** The client's own tools, which the answer repeats. */
  readonly shown: { readonly tools: unknown; readonly toolChoice: unknown }
}

/**
 * Where the request has tools of this gateway, the body is given functions in their place, and what was approved is
 * run; undefined = there is nothing for the gateway to run. Throws where an entry offers no tool.
 */
export async function prepareResponsesRun(
  call: CallInAdmission,
  { request, services }: { readonly request: HttpRequest; readonly services: Services },
): Promise<ResponsesRun | undefined> {
  const sent = call.body!
  if (!mentionsTools(sent)) return undefined
  const entries = ownEntries(sent.get('tools'))
  if (entries.length === 0) {
    tellOfEarlierCalls(call, sent)
    return undefined
  }
  if (sent.get('background') === true)
    throw new GatewayError('invalid-request', 'tools of the gateway are not run in the background; leave it out', {
      param: 'background',
    })
  const { tools } = services
  const servers = await serversOf(entries, { tools, caller: call.caller, request })
  const body = wholeBody(sent, schemaNames)
  const run = begin(call, { body, servers, request, services })
  const input = modelInput(itemsOf(body.input), isNoVendors(sent.get('tools')))
  if (input && input.approved.length > 0) {
    // What was agreed to is run once the model can be asked what to make of it.
    const callable = callableDeployments(call.caller, unaliased(call.caller, call.model), call.models)
    if (callable instanceof GatewayError) throw callable
    body.input = await withApproved(run, input)
  } else if (input) body.input = input.items
  run.items.unshift(...servers.map(listItem))
  call.body = readJsonBody(Buffer.from(exactText(body)))
  return run
}

const notOffered = (name: string) =>
  new GatewayError('invalid-request', `the tool '${name}' was approved, and is not offered any more`, {
    param: 'input',
  })

/** Whether items of a label are not about a server of the vendor in this request: then they mean nothing to it. */
function isNoVendors(tools: unknown): (label: unknown) => boolean {
  const others = otherTools(tools).filter(({ type }) => type === 'mcp')
  const vendors = new Set(others.map(({ server_label: label }) => label))
  return label => !vendors.has(label)
}

/** Items of runs before this request, which has no tools of the gateway, become calls that every model understands. */
function tellOfEarlierCalls(call: CallInAdmission, sent: JsonBody): void {
  const body = wholeBody(sent, schemaNames)
  const input = modelInput(itemsOf(body.input), isNoVendors(sent.get('tools')))
  if (!input) return
  const [approved] = input.approved
  if (approved) throw notOffered(approved.name)
  body.input = input.items
  call.body = readJsonBody(Buffer.from(exactText(body)))
}

interface RunParts {
  readonly body: Json
  readonly servers: readonly RequestedServer[]
  readonly request: HttpRequest
  readonly services: Services
}

function begin(call: CallInAdmission, { body, servers, request, services }: RunParts): ResponsesRun {
  const kept = otherTools(body.tools)
  const found = byOfferedName(servers, new Set(kept.map(({ name }) => String(name))))
  const shown = { tools: body.tools, toolChoice: body.tool_choice ?? 'auto' }
  body.tools = [...kept, ...[...found.values()].map(functionOf)]
  if (body.tool_choice !== undefined) body.tool_choice = functionChoice(body.tool_choice, servers)
  const callsMax = typeof body.max_tool_calls === 'number' ? body.max_tool_calls : undefined
  delete body.max_tool_calls
  return {
    beginning: beginningOf(call, { request, services, format: openaiResponses, route: '/v1/responses' }),
    body,
    found,
    runner: runnerFor(call, { request, services }, callsMax),
    callId: call.id,
    items: [],
    laterChoice: laterChoice(body.tool_choice),
    shown,
  }
}

/** Functions stand for the tools of these servers that it names, also in a list of `allowed_tools`. */
function functionChoice(choice: unknown, servers: readonly RequestedServer[]): unknown {
  if (!isObject(choice)) return choice
  if (choice.type === 'allowed_tools' && Array.isArray(choice.tools)) {
    const tools = (choice.tools as Json[]).flatMap(one => namedTools(one, servers)?.map(chosen) ?? [one])
    return { ...choice, tools }
  }
  const named = namedTools(choice, servers)
  if (!named) return choice
  return named.length === 1 ? chosen(named[0]!) : 'required'
}

const chosen = ({ offeredName: name }: OfferedTool): Json => ({ type: 'function', name })

/** The tools that a choice of type `mcp` names: one, or all of its server; undefined = none of these servers. */
function namedTools(
  { type, server_label: label, name }: Json,
  servers: readonly RequestedServer[],
): readonly OfferedTool[] | undefined {
  const tools = type === 'mcp' ? servers.filter(one => one.label === label).flatMap(one => one.tools) : []
  if (tools.length === 0) return undefined
  const named = tools.filter(one => [one.name, one.offeredName].includes(String(name)))
  return named.length > 0 ? named.slice(0, 1) : tools
}

async function withApproved(run: ResponsesRun, input: NonNullable<ReturnType<typeof modelInput>>): Promise<Json[]> {
  const items = [...input.items]
  const asked = input.approved.map(({ name, arguments: given, requestId }): AskedCall => {
    const found = run.found.get(name)
    if (!found) throw notOffered(name)
    return { id: requestId, found, arguments: given }
  })
  const { callId: parentCallId, beginning } = run
  const ended = await run.runner.run(asked, { parentCallId, sessionId: beginning.sessionId })
  for (const [at, one] of [...ended.entries()].reverse()) {
    const approved = input.approved[at]!
    items.splice(
      approved.at,
      0,
      ...exchangeOf(`call_${approved.requestId}`, approved.name, approved.arguments, one.output),
    )
    run.items.unshift(endedCall(begunCall(one.asked.found), one, approved.requestId))
  }
  return items
}

/** The call of a function in a turn, if it is one of the gateway's. */
export function askedIn(run: ResponsesRun, item: Json): AskedCall | undefined {
  const found = item.type === 'function_call' ? run.found.get(String(item.name)) : undefined
  return found && { id: String(item.call_id), found, arguments: String(item.arguments ?? '') }
}

/** Whether the gateway runs it now; false = a person has to agree first. */
export const isRunNow = ({ found: { server, tool } }: AskedCall): boolean => !server.needsApproval(tool)

/**
 * Runs what a turn has asked for, and asks the model again; undefined = the run is over: it has asked for nothing, or
 * for something that the client has to answer.
 */
export async function nextTurn(
  run: ResponsesRun,
  output: readonly Json[],
  ended: (item: Json, at: number) => Json = item => item,
): Promise<Answer | undefined> {
  const asked = output.map(item => askedIn(run, item))
  const calls = asked.filter((one): one is AskedCall => one !== undefined && isRunNow(one))
  const { callId: parentCallId, beginning } = run
  const results = await run.runner.run(calls, { parentCallId, sessionId: beginning.sessionId })
  for (const [at, item] of output.entries()) {
    const call = asked[at]
    const result = results.find(one => one.asked === call)
    if (!call) run.items.push(item)
    else if (result) run.items.push(ended(endedCall(begunCall(call.found), result), at))
    else run.items.push(ended(approvalRequest(call.found, call.arguments), at))
  }
  const isLeftToClient = output.some(
    (item, at) => isForClient(item, output) && !results.some(one => one.asked === asked[at]),
  )
  if (calls.length === 0 || isLeftToClient || run.runner.isOver || beginning.request.left) return undefined
  const outputs = results.map(
    ({ asked: { id }, output: text }): Json => ({ type: 'function_call_output', call_id: id, output: text }),
  )
  run.body.input = [...itemsOf(run.body.input), ...output.map(withoutIds), ...outputs]
  run.body.tool_choice = run.runner.beginTurn() ? 'none' : run.laterChoice
  delete run.body.previous_response_id
  const { answer, id } = await askAgain(beginning, { ...run.body, store: false })
  run.callId = id
  return answer
}

/** The item waits for its client: a call of any kind that has no output beside it, or a vendor's question. */
function isForClient({ type, call_id: id }: Json, output: readonly Json[]): boolean {
  if (type === 'mcp_approval_request') return true
  const isCall = typeof type === 'string' && type.endsWith('_call') && typeof id === 'string'
  return isCall && !output.some(one => one.type === `${type}_output` && one.call_id === id)
}

/** An item of an answer as part of the next input: upstreams that stored nothing do not know its id. */
function withoutIds({ id, status: _, ...item }: Json): Json {
  return item.type === 'reasoning' ? { id, ...item } : item
}

/** The response of the last turn, with the items of all, what they used together, and the client's own tools. */
export function wholeResponse(run: ResponsesRun, last: Json, usages: readonly unknown[]): Json {
  const { tools, toolChoice } = run.shown
  return { ...last, output: run.items, tools, tool_choice: toolChoice, usage: usageOf(usages) }
}
