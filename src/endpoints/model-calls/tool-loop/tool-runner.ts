/** Runs the tools that a model has called: each a call of its own, with its limits, its budget and its row. */
import type { CallInAdmission } from '../../../core/call.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Services } from '../../../core/endpoint.ts'
import { toGatewayError } from '../../../core/errors.ts'
import type { HttpRequest } from '../../../core/request.ts'
import type { ToolContent, ToolGateway } from '../../../core/tools.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { exactText } from '../../../lib/json/exact-json.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { FoundTool } from './requested-tools.ts'

/** What a model may be told by one tool, in characters; what is beyond is cut, and the model is told so. */
const resultCharactersMax = 100_000
/** How often a model may go on after its tools; then it has to answer without them. */
const turnsMax = 25
/** Calls of tools in one request, unless it says fewer (`max_tool_calls`). */
const toolCallsMax = 128

/** One call that a model asks for. */
export interface AskedCall {
  /** The model's name of the call. */
  readonly id: string
  readonly found: FoundTool
  /** JSON text, as the model wrote it. */
  readonly arguments: string
}

/** What became of it. */
export interface RunCall {
  readonly asked: AskedCall
  /** For the model. */
  readonly output: string
  /** The tool failed, or was not called. */
  readonly error: string | null
}

/** For whom tools are run. */
export interface RunContext {
  readonly tools: ToolGateway
  readonly caller: Caller
  readonly request: HttpRequest
  readonly signal: AbortSignal
}

const mark = Buffer.from('"mcp')

/** Whether the body may name tool servers, or items about them: a search of its bytes. */
export const mentionsTools = ({ bytes }: JsonBody): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(mark)

/** For the client of a request, until it leaves. */
export function runnerFor(
  { caller }: Pick<CallInAdmission, 'caller'>,
  { request, services }: { readonly request: HttpRequest; readonly services: Pick<Services, 'tools'> },
  callsMax: number | undefined,
): ToolRunner {
  const ended = new AbortController()
  request.onLeft(() => ended.abort())
  return new ToolRunner({ tools: services.tools, caller, request, signal: ended.signal }, callsMax)
}

/**
 * A choice of tools for the turns behind the first, in OpenAI's dialects: what was demanded is done, and what was
 * forbidden stays so.
 */
export function laterChoice(choice: unknown): unknown {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return choice === 'none' ? 'none' : 'auto'
  const { allowed_tools: within } = choice
  return isObject(within) ? { ...choice, allowed_tools: { ...within, mode: 'auto' } } : { ...choice, mode: 'auto' }
}

/** Counts the turns and calls of one request. */
export class ToolRunner {
  readonly #context: RunContext
  #left: number
  #turns = 1
  #isOver = false

  /** `callsMax` = `max_tool_calls` of the request; undefined = it says nothing. */
  constructor(context: RunContext, callsMax: number | undefined) {
    this.#context = context
    this.#left = Math.min(callsMax ?? toolCallsMax, toolCallsMax)
  }

  /** The model was told to answer without tools: further calls are not run, and it is not asked again. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Counts a further turn; true = it is the last, in which the model has to answer without tools. */
  beginTurn(): boolean {
    this.#turns++
    this.#isOver = this.#turns >= turnsMax || this.#left <= 0
    return this.#isOver
  }

  /** Calls at once what the model asked for at once. Never rejects: what a tool refuses is told to the model. */
  run(
    calls: readonly AskedCall[],
    of: { readonly parentCallId: string; readonly sessionId: string | null },
  ): Promise<RunCall[]> {
    return Promise.all(calls.map(asked => this.#runOne(asked, of)))
  }

  async #runOne(asked: AskedCall, of: { parentCallId: string; sessionId: string | null }): Promise<RunCall> {
    if (this.#isOver || this.#left <= 0) return failed(asked, 'the request allows no further calls of tools')
    this.#left--
    const given = argumentsOf(asked.arguments)
    if (given === undefined) return failed(asked, 'the arguments are not a JSON object')
    const { tools, caller, request, signal } = this.#context
    const { server, name: tool } = asked.found.tool
    try {
      const { headers, clientAddress } = request
      const about = { caller, headers, signal, clientAddress, userAgent: headers.get('user-agent') ?? '' }
      const result = await tools.call({ ...about, server, tool, arguments: given, ...of })
      const output = shortened(textOf(result.content, result.structuredContent))
      return { asked, output, error: result.isError ? output : null }
    } catch (thrown) {
      return failed(asked, toGatewayError(thrown).message)
    }
  }
}

const failed = (asked: AskedCall, error: string): RunCall => ({ asked, output: `Error: ${error}`, error })

function argumentsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The texts of a result; of what is no text its kind and size. */
function textOf(content: readonly ToolContent[], structured: unknown): string {
  const parts = content.map(part => part.text ?? textOfPart(part))
  if (parts.length > 0) return parts.join('\n')
  return structured === undefined ? '' : exactText(structured)
}

function textOfPart({ type, mimeType, data, resource, uri }: ToolContent): string {
  if (isObject(resource) && typeof resource.text === 'string') return resource.text
  if (typeof uri === 'string') return uri
  const kind = mimeType === undefined ? type : `${type} of ${mimeType}`
  return `[${kind}, ${data?.length ?? 0} characters of base64: not shown]`
}

function shortened(text: string): string {
  if (text.length <= resultCharactersMax) return text
  const left = text.length - resultCharactersMax
  return `${text.slice(0, resultCharactersMax)}\n[the result is cut here: ${left} characters more]`
}
