/** Items of the Responses dialect about tools that the gateway runs, and what of them a model is sent. */
import type { Json } from '../../../lib/json/json-values.ts'
import type { FoundTool, RequestedServer } from './requested-tools.ts'
import type { RunCall } from './tool-runner.ts'

const newId = (prefix: string): string => `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`

/** The function that stands for a tool in the request to the model. */
export const functionOf = ({ tool }: FoundTool): Json => ({
  type: 'function',
  name: tool.offeredName,
  description: tool.description,
  parameters: tool.inputSchema,
  strict: false,
})

/** What a server offers, once for each server of a request. */
export const listItem = ({ label, tools }: RequestedServer): Json => ({
  id: newId('mcpl'),
  type: 'mcp_list_tools',
  server_label: label,
  tools: tools.map(tool => ({
    name: tool.offeredName,
    description: tool.description,
    input_schema: tool.inputSchema,
    annotations: tool.annotations ?? null,
  })),
  error: null,
})

/** A call of a tool before it is run: its id stays. */
export const begunCall = ({ server, tool }: FoundTool): Json => ({
  id: newId('mcp'),
  type: 'mcp_call',
  status: 'in_progress',
  server_label: server.label,
  name: tool.offeredName,
  arguments: '',
  output: null,
  error: null,
  approval_request_id: null,
})

/** The same call, with what became of it. */
export const endedCall = (begun: Json, { asked, output, error }: RunCall, approval: string | null = null): Json => ({
  ...begun,
  status: error === null ? 'completed' : 'failed',
  arguments: asked.arguments,
  output: error === null ? output : null,
  error,
  approval_request_id: approval,
})

/** A call that a person has to agree to first. */
export const approvalRequest = ({ server, tool }: FoundTool, given: string): Json => ({
  id: newId('mcpr'),
  type: 'mcp_approval_request',
  server_label: server.label,
  name: tool.offeredName,
  arguments: given,
})

/** A call of a function and its output, which every model understands. */
export function exchangeOf(callId: string, name: unknown, given: unknown, output: string): Json[] {
  return [
    { type: 'function_call', call_id: callId, name, arguments: typeof given === 'string' ? given : '{}' },
    { type: 'function_call_output', call_id: callId, output },
  ]
}

/** A call that was approved in this request, and has to be run before the model is asked. */
export interface ApprovedCall {
  readonly requestId: string
  readonly name: string
  readonly arguments: string
  /** Where its exchange belongs in the input. */
  readonly at: number
}

/** The input for a model, and what is still to be run for it. */
export interface ModelInput {
  readonly items: Json[]
  readonly approved: readonly ApprovedCall[]
}

/** Answers to calls that were refused. */
const refusedText = 'The user did not agree to this call.'

/**
 * Items about tools of the servers with these labels become calls of functions with their outputs: lists are left out,
 * calls that were refused have an output that says so, and those that were approved are to be run. The same list where
 * there is none.
 */
export function modelInput(items: readonly Json[], isOurs: (label: unknown) => boolean): ModelInput | undefined {
  const requests = new Map(
    items.flatMap(item => (item.type === 'mcp_approval_request' && isOurs(item.server_label) ? [[item.id, item]] : [])),
  )
  const isAbout = ({ type, server_label: label, approval_request_id: id }: Json) =>
    type === 'mcp_approval_response'
      ? requests.has(id)
      : (type === 'mcp_call' || type === 'mcp_list_tools' || type === 'mcp_approval_request') && isOurs(label)
  if (!items.some(isAbout)) return undefined
  const approved: ApprovedCall[] = []
  const made: Json[] = []
  const run = new Set(items.flatMap(item => (item.type === 'mcp_call' ? [item.approval_request_id] : [])))
  for (const item of items)
    if (!isAbout(item)) made.push(item)
    else if (item.type === 'mcp_call')
      made.push(...exchangeOf(newId('call'), item.name, item.arguments, String(item.output ?? item.error ?? '')))
    else if (item.type === 'mcp_approval_response' && !run.has(item.approval_request_id)) {
      run.add(item.approval_request_id)
      const asked = requests.get(item.approval_request_id)!
      const [requestId, name, given] = [asked.id, asked.name, asked.arguments].map(String)
      if (item.approve === true)
        approved.push({ requestId: requestId!, name: name!, arguments: given!, at: made.length })
      else made.push(...exchangeOf(newId('call'), name, given, refusedText))
    }
  return { items: made, approved }
}
