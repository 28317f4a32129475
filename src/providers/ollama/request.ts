/** A chat request as the body of Ollama's `/api/chat` (Ollama's docs/api.md, docs/openapi.yaml, docs/modelfile.md). */
import { isTextType } from '../../core/hub/media-parts.ts'
import { refusedMedia } from '../common/refused-media.ts'
import { namesOfSet } from '../../core/hub/chat-fields.ts'
import type { CarriedProperty } from '../../core/hub/chat-fields.ts'
import type { ChatRequest, Message, Part, Tool } from '../../core/hub/chat.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import { argumentsObject } from '../../core/hub/tool-arguments.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { refuseImageUrls } from '../common/image-urls.ts'
import { lostInMessages } from '../common/lost-messages.ts'
import type { MessageWords } from '../common/lost-messages.ts'
import { joinTexts } from '../openai-compatible/texts.ts'
import { fittedEffort } from '../../../rules/efforts.ts'
import { ollamaThinking } from '../../../rules/ollama.ts'

/** Ollama's own fields that a client may send in addition to OpenAI's. */
const ownFields = new Set(['keep_alive', 'truncate', 'shift'])
/** Ollama's model options, which a client may send at the top level or inside `options`. */
const ownOptions = new Set([
  'num_ctx',
  'num_keep',
  'num_batch',
  'num_gpu',
  'main_gpu',
  'num_thread',
  'use_mmap',
  'min_p',
  'typical_p',
  'tfs_z',
  'repeat_last_n',
  'repeat_penalty',
  'mirostat',
  'mirostat_tau',
  'mirostat_eta',
  'penalize_newline',
])

/**
 * The body, and the fields it cannot carry, by OpenAI's names. Throws `invalid-request` for parts that Ollama does not
 * take, `unprocessable` for `options` that are no object.
 */
export function chatBody(request: ChatRequest, target: Target): Omit<TranslatedCall, 'head'> {
  refuseImageUrls(request.messages, target)
  const dropped = droppedFields(request)
  const body: Json = { model: target.model, messages: conversation(request.messages, dropped), stream: request.stream }
  const { keep_alive: keepAlive } = target.options
  if (keepAlive !== undefined) body.keep_alive = keepAlive
  for (const [name, value] of Object.entries(request.extra.fields)) if (ownFields.has(name)) body[name] = value
  const options = optionsOf(request, target)
  if (Object.keys(options).length > 0) body.options = options
  const offered = offeredTools(request)
  if (offered.length > 0) body.tools = offered.map(tool)
  const { responseFormat: format } = request
  if (format?.type === 'json-object') body.format = 'json'
  if (format?.type === 'json-schema') body.format = format.schema
  const think = thinkOf(request, target, dropped)
  if (think !== undefined) body.think = think
  if (request.logprobs) body.logprobs = true
  if (request.topLogprobs !== undefined) body.top_logprobs = request.topLogprobs
  return { body, dropped: [...new Set(dropped)] }
}

const unknownProperties: readonly CarriedProperty[] = [
  'choices',
  'logitBias',
  'parallelToolCalls',
  'user',
  'metadata',
  'serviceTier',
]
const forcedUnknownProperties: readonly CarriedProperty[] = ['toolChoice', ...unknownProperties]

function droppedFields(request: ChatRequest): string[] {
  const { toolChoice: choice } = request
  // A call cannot be forced; `none` is kept by offering no tools.
  const isForced = choice === 'required' || typeof choice === 'object'
  const dropped = namesOfSet(request, isForced ? forcedUnknownProperties : unknownProperties)
  const unknown = {
    'reasoning.budget_tokens': request.reasoning?.budgetTokens,
    'tools.function.strict': request.tools?.some(one => one.strict === true) || undefined,
  }
  for (const [name, value] of Object.entries(unknown)) if (value !== undefined) dropped.push(name)
  if (request.tools?.some(one => one.cache)) dropped.push('cache_control')
  const carried = (name: string) => name === 'options' || ownFields.has(name) || ownOptions.has(name)
  return [...dropped, ...Object.keys(request.extra.fields).filter(name => !carried(name))]
}

/** The client's options override the configured ones, and OpenAI's fields override Ollama's options. */
function optionsOf(request: ChatRequest, target: Target): Json {
  const { options: given, ...fields } = request.extra.fields
  if (given !== undefined && !isObject(given))
    throw unprocessable([
      {
        loc: ['body', 'options'],
        msg: 'must be an object of Ollama\'s options, as {"num_ctx": 8192}',
        type: 'wrong_type',
      },
    ])
  const { num_ctx: contextTokens } = target.options
  const named = {
    num_predict: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    seed: request.seed,
    stop: request.stop,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
  }
  return {
    ...(contextTokens !== undefined && { num_ctx: contextTokens }),
    ...given,
    ...Object.fromEntries(Object.entries(fields).filter(([name]) => ownOptions.has(name))),
    ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)),
  }
}

function offeredTools({ tools, toolChoice: choice }: ChatRequest): readonly Tool[] {
  if (!tools || choice === 'none') return []
  return typeof choice === 'object' ? tools.filter(one => one.name === choice.name) : tools
}

function tool({ name, description, parameters }: Tool): Json {
  return {
    type: 'function',
    function: { name, description: description ?? '', parameters: { type: 'object', properties: {}, ...parameters } },
  }
}

/** `think`: true or false for most models; some have levels, and gpt-oss always thinks (Ollama's docs, "Thinking"). */
function thinkOf({ reasoning }: ChatRequest, target: Target, dropped: string[]): boolean | string | undefined {
  if (!reasoning) return undefined
  const { efforts, canStop } = ollamaThinking(target.model)
  const isOff = reasoning.enabled === false || reasoning.effort === 'none'
  if (isOff && canStop) return false
  const effort = isOff ? 'none' : reasoning.effort
  if (effort === undefined) return efforts.length === 0 || 'medium'
  const fitted = fittedEffort(effort, efforts)
  if (fitted.lost) dropped.push('reasoning_effort')
  return fitted.effort ?? true
}

function conversation(messages: readonly Message[], dropped: string[]): Json[] {
  /** Tool names by call id: `tool_name` of a result is the tool's name. */
  const names = new Map<string, string>()
  dropped.push(...lostInMessages(messages, messageWords))
  return messages.flatMap(message => {
    for (const part of message.parts) if (part.type === 'tool-call') names.set(part.id, part.name)
    return message.role === 'assistant' ? [assistant(message.parts)] : inputMessages(message, names)
  })
}

const messageWords: MessageWords = {
  names: false,
  imageDetail: false,
  fileName: () => false,
  cacheMarks: false,
  resultErrors: false,
  thinking: ({ text }) => text !== '',
  blank: () => true,
}

/** A user, system or tool message; tool results become messages of their own. */
function inputMessages(message: Message, names: ReadonlyMap<string, string>): Json[] {
  const results: Json[] = []
  const rest: Part[] = []
  for (const part of message.parts) {
    if (part.type !== 'tool-result') rest.push(part)
    else {
      const name = part.name ?? names.get(part.callId)
      results.push({
        role: 'tool',
        ...content(part.parts),
        ...(name !== undefined && { tool_name: name }),
        tool_call_id: part.callId,
      })
    }
  }
  if (rest.length === 0 && results.length > 0) return results
  return [...results, { role: message.role === 'developer' ? 'system' : message.role, ...content(rest) }]
}

function assistant(parts: readonly Part[]): Json {
  const calls = parts.filter(part => part.type === 'tool-call')
  const thinking = joinTexts(parts.map(part => (part.type === 'reasoning' ? part.text : '')))
  return {
    role: 'assistant',
    ...content(parts.filter(part => part.type !== 'tool-call' && part.type !== 'reasoning')),
    ...(thinking !== '' && { thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(call => ({
        id: call.id,
        function: { name: call.name, arguments: argumentsObject(call.arguments) },
      })),
    }),
  }
}

/** All texts joined, and the images in a field of their own. */
function content(parts: readonly Part[]): { content: string; images?: string[] } {
  const texts: string[] = []
  const images: string[] = []
  for (const part of parts) {
    if (part.type === 'image') images.push(imageData(part))
    else texts.push(textOf(part))
  }
  return { content: joinTexts(texts), ...(images.length > 0 && { images }) }
}

function imageData({ source }: Extract<Part, { type: 'image' }>): string {
  if ('data' in source) return source.data
  throw refused('images inline only; send the image as a `data:` URL instead of a file id')
}

function textOf(part: Part): string {
  if (part.type === 'text' || part.type === 'refusal' || part.type === 'reasoning') return part.text
  if (part.type === 'document' && 'data' in part.source && isTextType(part.source.mediaType))
    return Buffer.from(part.source.data, 'base64').toString('utf8')
  if (part.type === 'document') throw refusedMedia(part, 'its text instead of the file')
  if (part.type === 'audio') throw refusedMedia(part, 'text and pictures')
  throw refused(`text and images; leave ${part.type} out of \`messages\``)
}

function refused(takes: string): GatewayError {
  return new GatewayError('invalid-request', `this model takes ${takes}`, { param: 'messages' })
}
