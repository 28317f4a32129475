/**
 * Simulated chat: deterministic, and marked as simulated. It follows the fields of a request that programs depend on:
 * tools, JSON schemas, stop, length, choices, usage.
 */
import { estimateTokenCount } from 'tokenx'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { LocalRefusal } from './refusal.ts'
import { synthesise } from './synthesise.ts'

/** One choice: a text or one call, before it is written as an answer or a stream. */
export interface LocalChoice {
  readonly text: string
  readonly calls: readonly { id: string; name: string; arguments: string }[]
  /** `function_call` = the request has the deprecated `functions`, whose answer holds one call. */
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'function_call'
}

/** The result of `answerChat`. Counts are estimates; the prompt counts once for all choices. */
export interface LocalAnswer {
  readonly id: string
  readonly choices: readonly LocalChoice[]
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number }
}

const echoLengthMax = 400
/** Characters of the last user message that are searched for the name of a tool. */
const searchedLengthMax = 10_000
const stopsMax = 16
const choicesMax = 128
/** Characters of all choices of an answer; a stream sends an event for every few of them. */
const charactersMax = 256 * 1024
/** Characters of the prompt that are counted; the rest is extrapolated, to bound the time. */
const countedLengthMax = 1024 * 1024

/** Text of a message's content, whether a string or parts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map(part => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

/** Answers a chat completion request of OpenAI's shape. Throws LocalRefusal for answers that would be too large. */
export function answerChat(body: Json): LocalAnswer {
  const messages = objectsOf(body.messages)
  const call = requestedCall(body, messages)
  const single = call ? undefined : applyStopAndLength(replyText(body, messages), body)
  const id = `chatcmpl-simulated-${Bun.hash(JSON.stringify([body.model, body.messages, body.seed ?? 0])).toString(36)}`
  const count = choiceCount(body.n)
  const characters = call ? call.name.length + call.arguments.length : single!.text.length
  if (characters * count > charactersMax)
    throw new LocalRefusal('n', `the built-in model writes at most ${charactersMax} characters; ask for fewer choices`)
  const choices = Array.from({ length: count }, (_, at): LocalChoice => {
    if (!call) return { text: single!.text, calls: [], finish: single!.finish }
    const { isLegacy, ...made } = call
    return {
      text: '',
      calls: [{ ...made, id: `call_simulated_${at}` }],
      finish: isLegacy ? 'function_call' : 'tool_calls',
    }
  })
  const input = messages.map(message => contentText(message.content)).join('\n')
  const promptTokens = Math.max(countTokens(input), 1)
  const completionTokens = tokensOf(choices[0]!) * count
  return {
    id,
    choices,
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  }
}

function choiceCount(value: unknown): number {
  if (value === undefined || value === null) return 1
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= choicesMax) return value
  throw new LocalRefusal('n', `\`n\` must be an integer from 1 to ${choicesMax}`)
}

/** An estimate; for a long text, extrapolated from its beginning. */
function countTokens(text: string): number {
  if (text.length <= countedLengthMax) return estimateTokenCount(text)
  return Math.ceil((estimateTokenCount(text.slice(0, countedLengthMax)) * text.length) / countedLengthMax)
}

function tokensOf(choice: LocalChoice): number {
  return splitTokens(choice.text + choice.calls.map(call => call.name + call.arguments).join('')).length
}

/** The pieces of a stream, which also count as tokens. */
export function splitTokens(text: string): string[] {
  return text.match(/\s*\S{1,6}|\s+/gu) ?? []
}

interface RequestedCall {
  readonly name: string
  readonly arguments: string
  /** Declared in `functions`, so that it is answered as `function_call`. */
  readonly isLegacy: boolean
}

/** The call to make: a forced tool, or one that the last user message names; at most one. */
function requestedCall(body: Json, messages: readonly Json[]): RequestedCall | undefined {
  const choice = chosenTool(body.tool_choice ?? body.function_call)
  const functions = objectsOf(body.functions)
  const tools = [...objectsOf(body.tools).map(functionOf), ...functions].filter(
    one => choice.allowed?.has(one.name) ?? true,
  )
  if (tools.length === 0 || choice.mode === 'none') return undefined
  const last = messages.at(-1)
  const userText = last?.role === 'user' ? contentText(last.content).slice(0, searchedLengthMax) : ''
  const tool =
    choice.name !== undefined
      ? tools.find(one => one.name === choice.name)
      : choice.mode === 'required'
        ? tools[0]
        : tools.find(one => typeof one.name === 'string' && userText.includes(one.name))
  if (!tool || typeof tool.name !== 'string') return undefined
  const isLegacy = functions.length > 0 && (body.tools === undefined || body.tools === null)
  return { name: tool.name, arguments: JSON.stringify(tool.parameters ? synthesise(tool.parameters) : {}), isLegacy }
}

function functionOf(tool: Json): Json {
  if (isObject(tool.function)) return tool.function
  throw new LocalRefusal('tools', 'the built-in model calls tools of type `function` only; leave the others out')
}

interface ChosenTool {
  /** `auto` by default. */
  readonly mode: unknown
  /** The forced tool. */
  readonly name?: unknown
  /** The tools that may be called; absent = all. */
  readonly allowed?: ReadonlySet<unknown>
}

/** Reads a mode, `{type, function: {name}}`, the deprecated `{name}`, or `allowed_tools`. */
function chosenTool(choice: unknown): ChosenTool {
  if (!isObject(choice)) return { mode: choice ?? 'auto' }
  if (isObject(choice.allowed_tools)) {
    const { mode, tools } = choice.allowed_tools
    return {
      mode,
      allowed: new Set(objectsOf(tools).map(tool => (isObject(tool.function) ? tool.function.name : tool.name))),
    }
  }
  return { mode: 'required', name: isObject(choice.function) ? choice.function.name : choice.name }
}

function replyText(body: Json, messages: readonly Json[]): string {
  const format = isObject(body.response_format) ? body.response_format : {}
  const last = messages.at(-1)
  const echo = contentText(last?.content).slice(0, echoLengthMax)
  if (format.type === 'json_schema' && isObject(format.json_schema))
    return JSON.stringify(synthesise(format.json_schema.schema ?? {}))
  if (format.type === 'json_object') return JSON.stringify({ simulated: true, you_said: echo })
  if (last?.role === 'tool' || last?.role === 'function') return `[simulated] The tool answered: ${echo}`
  return `[simulated] This is Modelgate's built-in echo; no model has read it. You said: ${echo}`
}

/** Cuts the text at the first stop sequence, then at the length limit. */
function applyStopAndLength(text: string, body: Json): { text: string; finish: 'stop' | 'length' } {
  const given: unknown[] = Array.isArray(body.stop) ? body.stop.slice(0, stopsMax) : [body.stop]
  const stops = given.filter(one => typeof one === 'string' && one !== '') as string[]
  const ends = stops.map(stop => text.indexOf(stop)).filter(at => at >= 0)
  const stopped = ends.length > 0 ? text.slice(0, Math.min(...ends)) : text
  const limit = body.max_completion_tokens ?? body.max_tokens
  const tokens = splitTokens(stopped)
  if (typeof limit !== 'number' || limit < 0 || tokens.length <= limit) return { text: stopped, finish: 'stop' }
  return { text: tokens.slice(0, limit).join(''), finish: 'length' }
}
