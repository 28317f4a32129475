/**
 * What `/utils/token_counter` is sent: a text, or the input of a chat in the words of OpenAI, Anthropic or Gemini
 * (the peer's TokenCountRequest).
 */
import type { ChatRequest, Message } from '../core/hub/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { FieldNames } from '../core/dialects/field-names.ts'
import type { Inspection, UnaryFormat } from '../core/format.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { anthropicCountTokens } from './anthropic/index.ts'
import { geminiCountTokens } from './gemini/index.ts'
import { ProblemList, readField, textOf } from './common/field-checks.ts'
import { isObject } from '../lib/json/json-values.ts'
import { openaiChat } from './openai/chat/index.ts'
import { openaiErrorBody } from './openai/error.ts'

/** What is to be counted stands in exactly one of these. */
const inputFields = ['messages', 'prompt', 'contents']
const isGiven = (body: JsonBody, field: string): boolean => body.has(field) && readField(body, field) !== null

/** Blocks that only Anthropic's dialect has. */
const anthropicBlocks: ReadonlySet<unknown> = new Set([
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'document',
  'search_result',
])

const isAnthropicBlock = (part: unknown): boolean =>
  isObject(part) && (anthropicBlocks.has(part.type) || (part.type === 'image' && isObject(part.source)))

/** `system` beside the messages, tools with an `input_schema`, or such a block. */
function isAnthropic(body: JsonBody): boolean {
  if (isGiven(body, 'system')) return true
  const [messages, tools] = [readField(body, 'messages'), readField(body, 'tools')]
  if (Array.isArray(tools) && tools.some(tool => isObject(tool) && tool.input_schema !== undefined)) return true
  return (
    Array.isArray(messages) &&
    messages.some(
      message => isObject(message) && Array.isArray(message.content) && message.content.some(isAnthropicBlock),
    )
  )
}

/** The format that the input is written in; undefined = a prompt. */
function dialectOf(
  body: JsonBody,
): { inspect(body: JsonBody): Inspection; decode(body: JsonBody): ChatRequest } | undefined {
  if (isGiven(body, 'contents')) return geminiCountTokens
  if (!isGiven(body, 'messages')) return undefined
  return isAnthropic(body) ? anthropicCountTokens : openaiChat
}

const kinds = 'a string or an array of strings'

function inspect(body: JsonBody): Inspection {
  const list = new ProblemList()
  const model = textOf(body, 'model')
  if (model === '') list.wrong(['model'], 'the name of a model', readField(body, 'model'))
  const given = inputFields.filter(field => isGiven(body, field))
  if (given.length === 0)
    list.add(['messages'], `send one of ${inputFields.join(', ')}: there is nothing to count`, 'missing')
  else if (given.length > 1) list.add([given[1]!], `send one of ${given.join(', ')}, not several`, 'invalid')
  else if (given[0] === 'prompt') checkPrompt(readField(body, 'prompt'), list)
  const problems = given.length === 1 ? (dialectOf(body)?.inspect(body).problems ?? []) : []
  return {
    model,
    stream: false,
    endUser: '',
    problems: [...list.problems, ...problems.filter(({ loc }) => loc[1] !== 'model')],
  }
}

function checkPrompt(prompt: unknown, list: ProblemList): void {
  if (typeof prompt === 'string') return
  if (!Array.isArray(prompt)) return list.wrong(['prompt'], kinds, prompt)
  for (let at = 0; at < prompt.length && !list.full; at++)
    if (typeof prompt[at] !== 'string') list.wrong(['prompt', at], 'a string', prompt[at])
}

/** The texts of `prompt`; undefined = it is a chat. Only for bodies without problems. */
export function promptTexts(body: JsonBody): readonly string[] | undefined {
  const prompt = readField(body, 'prompt')
  if (typeof prompt === 'string') return [prompt]
  return Array.isArray(prompt) ? (prompt as string[]) : undefined
}

function decode(body: JsonBody): ChatRequest {
  const dialect = dialectOf(body)
  if (dialect) return { ...dialect.decode(body), stream: false }
  const message: Message = { role: 'user', parts: (promptTexts(body) ?? []).map(text => ({ type: 'text', text })) }
  return {
    model: textOf(body, 'model'),
    messages: [message],
    stream: false,
    includeUsage: false,
    extra: { format: 'openai-chat', fields: {} },
  }
}

/** For the provider's own counter; its answer is kept as it came. */
export const tokenCounter: UnaryFormat<'count-tokens'> = {
  dialect: 'token-counter',
  operation: 'count-tokens',
  fieldNames: new FieldNames(['model', ...inputFields, 'system', 'tools', 'contents']),
  inspect,
  decode,
  encode: ({ inputTokens }, _model, _request, upstream) => ({ input_tokens: inputTokens, upstream }),
  errorBody: openaiErrorBody,
  forward: {
    edits: () => ({ edits: [], dropped: [] }),
    answer: neverForwarded,
    relay: neverForwarded,
  },
}

function neverForwarded(): never {
  throw new GatewayError('internal', 'these bytes are never forwarded')
}
