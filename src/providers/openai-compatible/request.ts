/** A chat request in OpenAI's dialect (API reference, "Create chat completion"). */
import { carriedFields, defaultEffort } from '../../core/hub/chat-fields.ts'
import type { ChatRequest, Message, Part, ReasoningEffort, ResponseFormat, Source, Tool } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { signatureContent, signatureMember, writeCallId } from '../../core/dialects/call-signature.ts'
import { removeMember } from '../../core/dialects/field-rules.ts'
import type { FieldRule, FieldRules } from '../../core/dialects/field-rules.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { effortOfBudget } from '../../../rules/efforts.ts'
import { lostInMessages } from '../common/lost-messages.ts'
import { mediaBehindResults } from '../common/result-media.ts'
import type { MessageWords } from '../common/lost-messages.ts'
import { RuledFields } from './field-rules.ts'
import type { CompatibleRow } from './row.ts'
import { joinTexts } from './texts.ts'

/** The body, and the fields it cannot carry. Throws `invalid-request` for an image by file id. */
export function chatBody(request: ChatRequest, target: Target, host: ChatHost): Omit<TranslatedCall, 'head'> {
  const rules = host.rules(target)
  const { fields, dropped } = chatFields(request, rules, host)
  const written = conversation(request.messages, rules)
  return {
    body: { model: target.model, messages: written.messages, ...fields },
    dropped: [...new Set([...dropped, ...written.dropped])],
  }
}

/** How chats are written for a host. */
export interface ChatHost extends Pick<CompatibleRow, 'maxTokensField' | 'topK'> {
  rules(target: Target): FieldRules
}

/** All fields of the body but `model` and `messages`. */
export function chatFields(
  asked: ChatRequest,
  rules: FieldRules,
  host: Pick<CompatibleRow, 'maxTokensField' | 'topK'> = {},
): { fields: Json; dropped: string[] } {
  const { request, unsaid } = withEffort(asked, rules.fields.get('reasoning_effort'))
  const checkedText = new RuledFields(rules, name => read(request, name))
  const { body, dropped } = checkedText
  if (request.extra.format === 'openai-chat')
    for (const [name, value] of Object.entries(request.extra.fields)) checkedText.set(name, value)
  else dropped.push(...Object.keys(request.extra.fields))
  for (const { name, property } of carriedFields) {
    if (request[property] === undefined) continue
    const write = writers[property]
    const value = write ? write(request) : request[property]
    if (property === 'maxOutputTokens') checkedText.set(host.maxTokensField ?? name, value, name)
    else if (property === 'topK' && !host.topK) dropped.push(name)
    else checkedText.set(name, value)
  }
  dropped.push(...withoutRefused(body.tools, 'tools', rules), ...unsaid)
  if (cachesTools(request)) dropped.push('cache_control')
  if (request.stream) {
    body.stream = true
    if (rules.streamOptions !== false) body.stream_options = { include_usage: true }
  }
  return { fields: body, dropped }
}

/** A field of the request by its name in OpenAI's dialect, for rules that depend on another field. */
function read(request: ChatRequest, name: string): unknown {
  if (name === 'reasoning_effort') return request.reasoning?.enabled === false ? 'none' : request.reasoning?.effort
  const field = carriedFields.find(one => one.name === name)
  return field ? request[field.property] : request.extra.fields[name]
}

/** The values of properties that have another form in OpenAI's dialect. */
const writers: { readonly [Property in keyof ChatRequest]?: (request: ChatRequest) => unknown } = {
  tools: ({ tools }) => tools?.map(tool),
  toolChoice,
  responseFormat: ({ responseFormat: format }) => format && responseFormat(format),
  reasoning: ({ reasoning }) => reasoning?.effort,
}

/** A request whose thinking is said by an effort alone. */
interface EffortRequest {
  readonly request: ChatRequest
  /** What of the client's setting cannot be said so, or only roughly, by the names of `reasoning`. */
  readonly unsaid: readonly string[]
}

/**
 * The request with the effort for its switch or nearest to its budget of thinking tokens, where `rule` says what the
 * model takes: others may refuse every effort, and stay without. `fieldOf`: the value that the rule judges. A chat
 * template's own switch is passed on in `extra`.
 */
export function withEffort(
  request: ChatRequest,
  rule: FieldRule | undefined,
  fieldOf: (effort: string) => unknown = effort => effort,
): EffortRequest {
  const { reasoning, extra } = request
  if (!reasoning) return { request, unsaid: [] }
  const { enabled, budgetTokens } = reasoning
  const budget = budgetTokens === undefined ? [] : ['reasoning.budget_tokens']
  if (reasoning.effort !== undefined) return { request, unsaid: budget }
  // `default` = to think as the model sees fit, in the words of hosts that have one.
  const effort = enabled === false ? 'none' : (effortOfBudget(budgetTokens) ?? (enabled && defaultEffort))
  const verdict = effort && rule ? rule(fieldOf(effort), name => read(request, name)) : 'drop'
  if (verdict !== 'drop' && verdict !== 'omit')
    return { request: { ...request, reasoning: { ...reasoning, effort: effort as ReasoningEffort } }, unsaid: budget }
  // A model that never thinks does what "off" asks for.
  const isSaid =
    enabled === undefined || (enabled === false && verdict === 'omit') || 'chat_template_kwargs' in extra.fields
  return { request, unsaid: budget.length > 0 || isSaid ? budget : ['reasoning.enabled'] }
}

/** A tool has a breakpoint for a cache, which OpenAI's dialects have no word for. */
export const cachesTools = ({ tools }: ChatRequest): boolean => tools?.some(one => one.cache) ?? false

function tool({ name, description, parameters, strict }: Tool): Json {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
      ...(strict !== undefined && { strict }),
    },
  }
}

function toolChoice({ toolChoice: choice }: ChatRequest): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice
}

function responseFormat(format: ResponseFormat): Json {
  if (format.type === 'text') return { type: 'text' }
  if (format.type === 'json-object') return { type: 'json_object' }
  const { name, schema, strict, description } = format
  return {
    type: 'json_schema',
    json_schema: {
      name,
      schema,
      ...(strict !== undefined && { strict }),
      ...(description !== undefined && { description }),
    },
  }
}

interface WrittenMessages {
  readonly messages: Json[]
  readonly dropped: readonly string[]
}

/**
 * The messages in order. Tool messages hold only text and must be adjacent: images and files of results follow in a
 * user message. `dropped` = members that the host refuses.
 */
function conversation(messages: readonly Message[], rules: FieldRules): WrittenMessages {
  const written = plainConversation(rules.readsCallSignatures ? withSignedIds(messages) : messages, rules)
  const members = rules.inside?.get('messages')
  const dropped = lostInMessages(messages, messageWords)
  if (!members) return { messages: written, dropped }
  for (const message of written)
    for (const [path, name] of members.paths) {
      if (name === undefined || !(path in message)) continue
      message[name] = message[path]
      delete message[path]
    }
  return { messages: written, dropped: [...dropped, ...withoutRefused(written, 'messages', rules)] }
}

/** Of the dialect: what a host refuses of it is removed below. */
const messageWords: MessageWords = {
  names: true,
  imageDetail: true,
  fileName: ({ source }) => !('fileId' in source),
  cacheMarks: false,
  resultErrors: false,
  thinking: ({ text }) => text !== '',
  blank: () => true,
}

/** Removes what the host refuses inside of the objects of a list, and returns the paths of what is lost by that. */
function withoutRefused(list: unknown, field: string, { inside }: FieldRules): string[] {
  if (!Array.isArray(list)) return []
  const refusedPaths = [...(inside?.get(field)?.paths ?? [])].filter(([, name]) => name === undefined)
  return refusedPaths.filter(([path]) => removeMember(list, path.split('.'))).map(([path]) => `${field}.${path}`)
}

/** Ids as such an upstream's own answers have them: gateways like LiteLLM look for the signature there. */
function withSignedIds(messages: readonly Message[]): readonly Message[] {
  const ids = new Map<string, string>()
  return messages.map(message => ({
    ...message,
    parts: message.parts.map((part): Part => {
      if (part.type === 'tool-result') return { ...part, callId: ids.get(part.callId) ?? part.callId }
      if (part.type !== 'tool-call' || part.signature === undefined) return part
      const id = writeCallId(part.id, part.signature)
      ids.set(part.id, id)
      return { ...part, id }
    }),
  }))
}

function plainConversation(messages: readonly Message[], rules: FieldRules): Json[] {
  const out: Json[] = []
  for (const message of mediaBehindResults(messages, part => !isText(part))) {
    const { results, rest } = parted(message)
    for (const result of results)
      out.push({ role: 'tool', tool_call_id: result.callId, content: plainOrParts(result.parts.filter(isText)) })
    if (rest.length > 0 || results.length === 0) out.push(written(message, rest, rules))
  }
  return out
}

const isText = (part: Part): boolean => part.type === 'text' || part.type === 'refusal'

function parted({ parts }: Message): { results: Extract<Part, { type: 'tool-result' }>[]; rest: Part[] } {
  const results = parts.filter(part => part.type === 'tool-result')
  return { results, rest: results.length > 0 ? parts.filter(part => part.type !== 'tool-result') : parts }
}

function written(message: Message, parts: readonly Part[], rules: FieldRules): Json {
  const name = message.name === undefined ? {} : { name: message.name }
  if (message.role === 'assistant') return { role: 'assistant', ...assistant(parts, rules), ...name }
  const role = message.role === 'developer' && rules.noDeveloperRole ? 'system' : message.role
  return { role, content: plainOrParts(parts), ...name }
}

function assistant(parts: readonly Part[], { readsCallSignatures }: FieldRules): Json {
  const text = joinTexts(parts.filter(part => part.type === 'text').map(part => part.text))
  const refusal = joinTexts(parts.filter(part => part.type === 'refusal').map(part => part.text))
  const thinking = joinTexts(parts.filter(part => part.type === 'reasoning').map(part => part.text))
  const calls = parts.filter(part => part.type === 'tool-call')
  return {
    content: text === '' && (calls.length > 0 || refusal) ? null : text,
    ...(refusal && { refusal }),
    ...(thinking && { reasoning_content: thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(call => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
        ...(readsCallSignatures &&
          call.signature !== undefined && { [signatureMember]: signatureContent(call.signature) }),
      })),
    }),
  }
}

/** A string where all parts are text, because some hosts take no parts. */
function plainOrParts(parts: readonly Part[]): unknown {
  if (parts.every(part => part.type === 'text')) return joinTexts(parts.map(part => part.text))
  return parts.map(contentPart)
}

function contentPart(part: Part): Json {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
      return {
        type: 'image_url',
        image_url: { url: address(part.source), ...(part.detail && { detail: part.detail }) },
      }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    case 'document':
      return { type: 'file', file: file(part.source, part.name) }
    case 'refusal':
      return { type: 'refusal', refusal: part.text }
    default:
      return { type: 'text', text: 'text' in part ? part.text : '' }
  }
}

/** The source as a URL (`data:` for inline bytes). Throws `invalid-request` for a file id, known only to its host. */
export function address(source: Source): string {
  if ('url' in source) return source.url
  if ('data' in source) return `data:${source.mediaType};base64,${source.data}`
  throw new GatewayError(
    'invalid-request',
    'an image by file id can only go to the provider that holds the file; send the image itself',
  )
}

function file(source: Source, name: string | undefined): Json {
  if ('fileId' in source) return { file_id: source.fileId }
  return { file_data: address(source), filename: name ?? 'document' }
}
