/**
 * Messages with tools that the gateway runs: `mcp_servers` whose address is the gateway's (Anthropic's MCP connector).
 * What was run stands in the answer as `mcp_tool_use` and `mcp_tool_result`, and is sent back to the model as calls of
 * functions.
 */
import type { Answer } from '../../../core/answer.ts'
import type { CallInAdmission } from '../../../core/call.ts'
import type { Services } from '../../../core/endpoint.ts'
import { messageNames } from '../../../core/dialects/exact-names.ts'
import { readJsonBody } from '../../../core/request.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { anthropicMessages } from '../../../formats/anthropic/index.ts'
import { exactText } from '../../../lib/json/exact-json.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { byOfferedName, isOwnAddress, requestedServer, wholeBody } from './requested-tools.ts'
import type { FoundTool } from './requested-tools.ts'
import { runnerFor } from './tool-runner.ts'
import type { AskedCall, RunCall, ToolRunner } from './tool-runner.ts'
import { askAgain, beginningOf } from './turn-requests.ts'
import type { RunBeginning } from './turn-requests.ts'

/** A run under way. */
export interface MessagesRun {
  readonly beginning: RunBeginning
  /** The body as the model is sent it; `messages` grow with each turn. */
  readonly body: Json
  readonly found: ReadonlyMap<string, FoundTool>
  readonly runner: ToolRunner
  /** Of the call of the present turn. */
  callId: string
}

/** The body is given functions in place of the gateway's servers; undefined = it names none of them. */
export async function prepareMessagesRun(
  call: CallInAdmission,
  { request, services }: { readonly request: HttpRequest; readonly services: Services },
): Promise<MessagesRun | undefined> {
  const sent = call.body!
  const all = sent.get('mcp_servers')
  const named = (Array.isArray(all) ? all : []).filter(isObject)
  const own = named.filter(({ url }) => isOwnAddress(url))
  const left = named.filter(({ url }) => !isOwnAddress(url))
  const body = wholeBody(sent, messageNames)
  const messages = (Array.isArray(body.messages) ? (body.messages as Json[]) : []).flatMap(asFunctions(left))
  if (own.length === 0) {
    // Runs before this request, which names no server of the gateway: every model understands calls of functions.
    if (messages.length > 0 && exactText(messages) !== exactText(body.messages))
      call.body = readJsonBody(Buffer.from(exactText({ ...body, messages })))
    return undefined
  }
  const tools = (Array.isArray(body.tools) ? body.tools : []).filter(isObject)
  const servers = await Promise.all(
    own.map(server =>
      requestedServer(
        { tools: services.tools, caller: call.caller, request },
        {
          label: String(server.name),
          address: String(server.url),
          allowedTools: allowedIn(server, tools),
          needsApproval: () => false,
          param: 'mcp_servers',
        },
      ),
    ),
  )
  const names = new Set(own.map(({ name }) => name))
  const kept = tools.filter(tool => !(tool.type === 'mcp_toolset' && names.has(tool.mcp_server_name)))
  const found = byOfferedName(servers, new Set(kept.map(({ name }) => String(name))))
  body.tools = [...kept, ...[...found.values()].map(functionOf)]
  if (left.length > 0) body.mcp_servers = left
  else delete body.mcp_servers
  body.messages = messages
  call.body = readJsonBody(Buffer.from(exactText(body)))
  return {
    beginning: beginningOf(call, { request, services, format: anthropicMessages, route: '/v1/messages' }),
    body,
    found,
    runner: runnerFor(call, { request, services }, undefined),
    callId: call.id,
  }
}

/** `tool_configuration.allowed_tools` of the server, or the tools that its toolset enables by name. */
function allowedIn(server: Json, tools: readonly Json[]): readonly string[] | undefined {
  const configured = isObject(server.tool_configuration) ? server.tool_configuration.allowed_tools : undefined
  if (Array.isArray(configured)) return configured.map(String)
  const set = tools.find(tool => tool.type === 'mcp_toolset' && tool.mcp_server_name === server.name)
  const isOffByDefault = isObject(set?.default_config) && set.default_config.enabled === false
  if (!isOffByDefault || !isObject(set?.configs)) return undefined
  return Object.entries(set.configs).flatMap(([name, one]) => (isObject(one) && one.enabled === false ? [] : [name]))
}

const functionOf = ({ tool }: FoundTool): Json => ({
  name: tool.offeredName,
  description: tool.description,
  input_schema: tool.inputSchema,
})

/**
 * Messages of earlier answers: what the gateway ran in them becomes calls and results of functions. `vendors` = the
 * servers that the vendor runs itself in this request: blocks about them stay.
 */
function asFunctions(vendors: readonly Json[]): (message: Json) => Json[] {
  const others = new Set(vendors.map(({ name }) => name))
  return message => withFunctions(message, others)
}

function withFunctions(message: Json, vendors: ReadonlySet<unknown>): Json[] {
  const blocks = Array.isArray(message.content) ? (message.content as Json[]) : []
  const uses = blocks.filter(block => block.type === 'mcp_tool_use' && !vendors.has(block.server_name))
  if (message.role !== 'assistant' || uses.length === 0) return [message]
  const ids = new Set(uses.map(({ id }) => id))
  const made: { role: string; content: Json[] }[] = []
  const add = (role: string, block: Json) => {
    const last = made.at(-1)
    if (last?.role === role) last.content.push(block)
    else made.push({ role, content: [block] })
  }
  // The client's own calls stand last: their results follow in its next message.
  const isClients = ({ type }: Json) => type === 'tool_use'
  for (const block of [...blocks.filter(one => !isClients(one)), ...blocks.filter(isClients)]) {
    const { type, id, name, input, tool_use_id: useId, content, is_error: isError } = block
    if (type === 'mcp_tool_use' && ids.has(id)) add('assistant', { type: 'tool_use', id, name, input })
    else if (type === 'mcp_tool_result' && ids.has(useId))
      add('user', { type: 'tool_result', tool_use_id: useId, content, ...(isError === true && { is_error: true }) })
    else add('assistant', block)
  }
  return made.map((one): Json => ({ ...one }))
}

/** The call of a block that the gateway runs; undefined = it is another block, or the client's. */
export function askedInBlock(run: MessagesRun, block: Json): AskedCall | undefined {
  const found = block.type === 'tool_use' ? run.found.get(String(block.name)) : undefined
  return found && { id: String(block.id), found, arguments: exactText(block.input ?? {}) }
}

/** The call as the client sees it. */
export const shownUse = (block: Json, { found }: AskedCall): Json => ({
  ...block,
  type: 'mcp_tool_use',
  server_name: found.server.label,
})

/** Its result as the client sees it. */
export const shownResult = ({ asked: { id }, output, error }: RunCall): Json => ({
  type: 'mcp_tool_result',
  tool_use_id: id,
  is_error: error !== null,
  content: [{ type: 'text', text: output }],
})

/** What a turn has brought beside its own blocks. */
export interface EndedTurn {
  readonly results: readonly RunCall[]
  /** Of the next turn; undefined = the run is over. */
  readonly answer: Answer | undefined
}

/** What was demanded of the first turn is done; what was forbidden, and one call at a time, hold for all. */
function laterChoice(choice: unknown): Json | undefined {
  if (!isObject(choice) || choice.type === 'none') return choice as Json | undefined
  const { disable_parallel_tool_use: isSerial } = choice
  return isSerial === undefined ? undefined : { type: 'auto', disable_parallel_tool_use: isSerial }
}

/** Runs what the blocks of a turn ask for, and asks the model again. */
export async function nextMessagesTurn(run: MessagesRun, content: readonly Json[]): Promise<EndedTurn> {
  const asked = content.flatMap(block => askedInBlock(run, block) ?? [])
  if (asked.length === 0) return { results: [], answer: undefined }
  const { beginning, callId: parentCallId } = run
  const results = await run.runner.run(asked, { parentCallId, sessionId: beginning.sessionId })
  const isLeftToClient = content.filter(({ type }) => type === 'tool_use').length > asked.length
  if (isLeftToClient || run.runner.isOver || beginning.request.left) return { results, answer: undefined }
  const outputs = results.map(one => ({
    type: 'tool_result',
    tool_use_id: one.asked.id,
    content: one.output,
    ...(one.error !== null && { is_error: true }),
  }))
  const messages = (run.body.messages ?? []) as Json[]
  run.body.messages = [...messages, { role: 'assistant', content }, { role: 'user', content: outputs }]
  if (run.runner.beginTurn()) run.body.tool_choice = { type: 'none' }
  else run.body.tool_choice = laterChoice(run.body.tool_choice)
  const { answer, id } = await askAgain(beginning, run.body)
  run.callId = id
  return { results, answer }
}
