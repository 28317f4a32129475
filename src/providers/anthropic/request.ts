/** A chat request as the body of Anthropic's Messages API (docs: "Create a Message"). */
import { isTextType } from '../../core/hub/media-parts.ts'
import { refusedMedia } from '../common/refused-media.ts'
import { namesOfSet } from '../../core/hub/chat-fields.ts'
import type { CarriedProperty } from '../../core/hub/chat-fields.ts'
import type { CacheControl, ChatRequest, Message, Part, Source, Tool } from '../../core/hub/chat.ts'
import type { Target } from '../../core/provider.ts'
import { estimateInput } from '../../core/hub/input-tokens.ts'
import { argumentsObject } from '../../core/hub/tool-arguments.ts'
import { objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

import { claudeRule } from '../../../rules/claude.ts'
import type { ClaudeRule } from '../../../rules/claude.ts'
import { memoizePerTarget } from '../../core/target-cache.ts'
import { cacheMarksMax, cacheMarksOf, superfluousMarks } from '../common/cache-marks.ts'
import { withDistinctCallIds } from '../common/call-ids.ts'
import { lostInMessages } from '../common/lost-messages.ts'
import type { MessageWords } from '../common/lost-messages.ts'
import { claudeThinking } from './reasoning.ts'
import type { ClaudeThinking } from './reasoning.ts'
import { isClaudeSignature } from './signature.ts'
import { outputSchema } from './schema.ts'
import { answerTool, jsonPlan } from './structured.ts'
import type { JsonPlan } from './structured.ts'
import { webSearchTool } from './web-search.ts'

/** Of a model that neither the catalogue nor the configuration knows: what every Claude since 3.5 is able to. */
const unknownLimitTokens = 8192
/** What is left for the answer to a conversation that fills the window. */
const answerTokensMin = 1024

const ruleOf = memoizePerTarget(({ model }) => claudeRule(model))

/** Ends a conversation for models that do not go on with the assistant's last words. */
export const continueText = 'Continue.'

interface AnthropicBody {
  readonly body: Json
  readonly dropped: readonly string[]
}

/** The body, and the fields it cannot carry, by OpenAI's names. Throws `invalid-request` for audio. */
export function messagesBody(request: ChatRequest, target: Target): AnthropicBody {
  const dropped = droppedFields(request)
  const rule = ruleOf(target)
  const { system, turns } = conversation(request.messages, rule, dropped)
  const tokens = maxTokens(request, target)
  const reasoning = thinkingOf(request, { rule, turns, tokens, dropped })
  const body: Json = { model: target.model, max_tokens: tokens, messages: turns }
  const plan = jsonPlan(request, rule, reasoning.on)
  if (plan.instruction !== undefined) system.push({ type: 'text', text: plan.instruction })
  if (system.length > 0) body.system = system
  if (reasoning.thinking) body.thinking = reasoning.thinking
  const fixed = rule.sampling === 'never' || (reasoning.on && rule.sampling === 'unless-thinking')
  sampling(request, body, { dropped, fixed: fixed || isSamplingFixed(target) })
  if (request.stop) stopSequences(request.stop, body, dropped)
  tools(request, plan, { body, rule, dropped })
  webSearch(request, plan, { body, rule, dropped })
  if (limitCacheMarks(request, body)) dropped.push('cache_control')
  if (request.user !== undefined) body.metadata = { user_id: request.user }
  if (request.serviceTier === 'auto') body.service_tier = 'auto'
  else if (request.serviceTier === 'default') body.service_tier = 'standard_only'
  else if (request.serviceTier !== undefined) dropped.push('service_tier')
  if (reasoning.effort !== undefined || plan.outputConfig)
    body.output_config = { ...(reasoning.effort !== undefined && { effort: reasoning.effort }), ...plan.outputConfig }
  if (plan.lost) dropped.push(...plan.lost)
  if (request.extra.format === 'anthropic-messages')
    for (const [name, value] of Object.entries(request.extra.fields)) body[name] ??= value
  if (request.stream) body.stream = true
  return { body, dropped }
}

interface ThinkingOptions {
  readonly rule: ClaudeRule
  readonly turns: readonly Turn[]
  readonly tokens: number
  readonly dropped: string[]
}

function thinkingOf(request: ChatRequest, options: ThinkingOptions): ClaudeThinking {
  const { rule, turns, tokens, dropped } = options
  const planned = claudeThinking(request, {
    rule,
    maxTokens: tokens,
    forced: isForced(request),
    // Other vendors do not sign their thinking.
    unsignedCalls: rule.signsThinking && hasUnsignedCalls(turns),
    dropped,
  })
  // By default adaptive thinking is not returned.
  if (planned.thinking?.type === 'adaptive') planned.thinking.display = 'summarized'
  return planned
}

const isForced = ({ toolChoice }: ChatRequest): boolean => toolChoice === 'required' || typeof toolChoice === 'object'

/** true = the last assistant turn has calls without thinking, as sent by clients of OpenAI's dialect. */
function hasUnsignedCalls(turns: readonly Turn[]): boolean {
  const last = turns.findLast(one => one.role === 'assistant')?.content ?? []
  return last.some(one => one.type === 'tool_use') && !String(last[0]!.type).endsWith('thinking')
}

function maxTokens(request: ChatRequest, target: Target): number {
  if (request.maxOutputTokens !== undefined) return request.maxOutputTokens
  const configured = target.options.max_tokens
  if (typeof configured === 'number') return configured
  const { output = unknownLimitTokens, context } = target.limits ?? {}
  return context === undefined ? output : Math.min(output, roomFor(request, output, context))
}

/**
 * Claude before 4.5 refuses a call whose input and maximum together are above its window (platform.claude.com, "Context
 * windows"): a default must not be why. Only an input that may be so large is estimated, a tenth above the estimate.
 */
function roomFor(request: ChatRequest, output: number, context: number): number {
  if (!mayExceed(request, context - output)) return output
  return Math.max(context - Math.ceil(estimateInput(request) * 1.1), answerTokensMin)
}

/** Cheap: a character is two tokens at most in nearly every text. Media count as too large. */
function mayExceed({ messages, tools = [] }: ChatRequest, tokens: number): boolean {
  let characters = tools.length > 0 ? JSON.stringify(tools).length : 0
  for (const { parts } of messages)
    for (const part of parts) {
      if (part.type === 'text' || part.type === 'refusal' || part.type === 'reasoning') characters += part.text.length
      else if (part.type === 'tool-call') characters += part.arguments.length
      else if (part.type === 'tool-result') characters += charactersOf(part.parts)
      else return true
      if (2 * characters > tokens) return true
    }
  return 2 * characters > tokens
}

const charactersOf = (parts: readonly Part[]): number =>
  parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : Infinity), 0)

const unknownProperties: readonly CarriedProperty[] = [
  'choices',
  'seed',
  'frequencyPenalty',
  'presencePenalty',
  'logitBias',
  'logprobs',
  'topLogprobs',
  'metadata',
]

/** OpenAI's chats ask for a search of the vendor by it. */
const searchField = 'web_search_options'

function droppedFields(request: ChatRequest): string[] {
  const dropped = namesOfSet(request, unknownProperties)
  dropped.push(...lostInMessages(request.messages, messageWords))
  if (request.extra.format !== 'anthropic-messages')
    for (const name in request.extra.fields) if (name !== searchField) dropped.push(name)
  return dropped
}

const messageWords: MessageWords = {
  names: false,
  imageDetail: false,
  fileName: () => true,
  cacheMarks: true,
  resultErrors: true,
  thinking: part => block(part) !== undefined,
  blank: () => false,
}

/** From this version of the API on `temperature`, `top_p` and `top_k` are refused. */
const versionOfFixedSampling = '2026-10-21'

function isSamplingFixed({ options, headers }: Target): boolean {
  const version = headers['anthropic-version'] ?? options.anthropic_version
  return typeof version === 'string' && /^\d{4}-/.test(version) && version >= versionOfFixedSampling
}

/**
 * OpenAI allows temperatures up to 2, Anthropic up to 1. `fixed` = sampling parameters are refused: with thinking, by
 * Claude since 4.7, and by newer versions of the API.
 */
function sampling(request: ChatRequest, body: Json, { dropped, fixed }: { dropped: string[]; fixed: boolean }): void {
  const { temperature, topP, topK } = request
  if (fixed) {
    // 1 is the default, so nothing is lost.
    if (temperature !== undefined && temperature !== 1) dropped.push('temperature')
    if (topP !== undefined && topP !== 1) dropped.push('top_p')
    if (topK !== undefined) dropped.push('top_k')
    return
  }
  if (temperature !== undefined) {
    body.temperature = Math.min(temperature, 1)
    if (temperature > 1) dropped.push('temperature')
  }
  if (topP !== undefined) {
    // Newer models refuse both at once; `temperature` takes precedence.
    if (body.temperature !== undefined) dropped.push('top_p')
    else body.top_p = topP
  }
  if (topK !== undefined) body.top_k = topK
}

/** The API refuses blank ones. */
function stopSequences(requested: readonly string[], body: Json, dropped: string[]): void {
  const stops = requested.filter(stop => stop.trim() !== '')
  if (stops.length > 0) body.stop_sequences = stops
  if (stops.length < requested.length) dropped.push('stop')
}

/** A body under construction, by the rules of its model. */
interface Draft {
  readonly body: Json
  readonly rule: ClaudeRule
  readonly dropped: string[]
}

function tools(request: ChatRequest, plan: JsonPlan, { body, rule, dropped }: Draft): void {
  if (plan.tool) {
    body.tools = [plan.tool]
    body.tool_choice = { type: 'tool', name: answerTool, disable_parallel_tool_use: true }
    return
  }
  if (!request.tools || request.tools.length === 0) return
  const isRefused = rule.forcedTools === 'never' && isForced(request)
  if (isRefused) dropped.push('tool_choice')
  const { toolChoice: requestedChoice } = request
  // Where it cannot be forced, the named tool is the only one that is offered.
  const offered =
    isRefused && typeof requestedChoice === 'object'
      ? request.tools.filter(one => one.name === requestedChoice.name)
      : request.tools
  const strict = strictTools(offered, rule, dropped)
  body.tools = offered.map(one => tool(one, strict, dropped))
  const choice = isRefused ? 'auto' : requestedChoice
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  if (choice === 'none') body.tool_choice = { type: 'none' }
  else if (choice === 'required') body.tool_choice = { type: 'any', ...single }
  else if (typeof choice === 'object') body.tool_choice = { type: 'tool', name: choice.name, ...single }
  else if (choice === 'auto' || request.parallelToolCalls === false) body.tool_choice = { type: 'auto', ...single }
}

/** A forced answer excludes a search, and a call without tools of the client is free to search. */
function webSearch({ extra }: ChatRequest, plan: JsonPlan, { body, rule, dropped }: Draft): void {
  const options = extra.format === 'anthropic-messages' ? undefined : extra.fields[searchField]
  if (options == null) return
  if (!rule.webSearch || plan.tool) {
    dropped.push(searchField)
    return
  }
  const { tool: search, lost } = webSearchTool(options)
  body.tools = [...objectsOf(body.tools), search]
  dropped.push(...lost)
}

/** Of one request (docs: "Strict tool use", "Limitations", 2026-11-23). */
const strictToolsMax = 20

/** The tools whose arguments Claude is held to, by the models that know structured outputs. */
function strictTools(offered: readonly Tool[], rule: ClaudeRule, dropped: string[]): ReadonlySet<Tool> {
  const strict = offered.filter(one => one.strict === true)
  const taken = rule.outputSchema ? strict.slice(0, strictToolsMax) : []
  if (taken.length < strict.length) dropped.push('tools.function.strict')
  return new Set(taken)
}

function tool(requested: Tool, strict: ReadonlySet<Tool>, dropped: string[]): Json {
  const { name, description, parameters, cache } = requested
  const whole = { type: 'object', properties: {}, ...parameters }
  const { schema, lost } = strict.has(requested) ? outputSchema(whole) : { schema: whole, lost: [] }
  dropped.push(...lost.map(keyword => `tools.function.parameters.${keyword}`))
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: schema,
    ...(strict.has(requested) && { strict: true }),
    ...cacheControl(cache),
  }
}

const cacheControl = (cache: CacheControl | undefined): Json => (cache ? { cache_control: { ...cache } } : {})

interface Turn {
  role: 'user' | 'assistant'
  content: Json[]
}

/** Leading system messages become `system`; later ones become user text, because the API allows them only there. */
function conversation(
  messages: readonly Message[],
  rule: ClaudeRule,
  dropped: string[],
): { system: Json[]; turns: Turn[] } {
  const system: Json[] = []
  const turns: Turn[] = []
  for (const message of withDistinctCallIds(messages, toolId)) {
    const isSystem = message.role === 'system' || message.role === 'developer'
    if (isSystem && turns.length === 0) addBlocks(message.parts, system)
    else add(turns, message.role === 'assistant' ? 'assistant' : 'user', blocksOf(message.parts))
  }
  // Required by the API. After the loop: a turn may be merged from thousands of messages.
  turns.forEach(resultsFirst)
  // The first turn has to be the user's.
  if (turns.length === 0 || turns[0]!.role === 'assistant')
    turns.unshift({ role: 'user', content: [{ type: 'text', text: '.' }] })
  if (rule.prefill) trimPrefill(turns)
  else if (turns.at(-1)!.role === 'assistant') {
    turns.push({ role: 'user', content: [{ type: 'text', text: continueText }] })
    dropped.push('messages.prefill')
  }
  return { system, turns }
}

/** Roles have to alternate: adjacent messages of one role become one turn. */
function add(turns: Turn[], role: Turn['role'], blocks: Json[]): void {
  if (blocks.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.content.push(...blocks)
  else turns.push({ role, content: blocks })
}

function resultsFirst(turn: Turn): void {
  const isResult = (one: Json) => one.type === 'tool_result'
  if (turn.role === 'user' && turn.content.some(isResult))
    turn.content = [...turn.content.filter(isResult), ...turn.content.filter(one => !isResult(one))]
}

/** A trailing assistant message (prefill) must not end in white space. */
function trimPrefill(turns: readonly Turn[]): void {
  const last = turns.at(-1)
  const block = last?.role === 'assistant' ? last.content.at(-1) : undefined
  if (block?.type === 'text') block.text = String(block.text).trimEnd()
}

function blocksOf(parts: readonly Part[]): Json[] {
  const blocks: Json[] = []
  addBlocks(parts, blocks)
  return blocks
}

function addBlocks(parts: readonly Part[], blocks: Json[]): void {
  for (const part of parts) {
    const made = block(part)
    if (made) blocks.push(made)
  }
}

/** undefined = a blank text, which the API refuses, or thinking that it would refuse. */
function block(part: Part): Json | undefined {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? undefined : textBlock(part.text, part.cache)
    case 'refusal':
      return part.text.trim() === '' ? undefined : { type: 'text', text: part.text }
    case 'image':
      return { type: 'image', source: imageSource(part), ...cacheControl(part.cache) }
    case 'document':
      return document(part)
    case 'reasoning':
      if (part.redacted !== undefined) return { type: 'redacted_thinking', data: part.redacted }
      // Without a signature, or with another vendor's.
      return isClaudeSignature(part.signature)
        ? { type: 'thinking', thinking: part.text, signature: part.signature }
        : undefined
    case 'tool-call':
      return {
        type: 'tool_use',
        id: part.id,
        name: part.name,
        input: argumentsObject(part.arguments),
        ...cacheControl(part.cache),
      }
    case 'tool-result':
      return {
        type: 'tool_result',
        tool_use_id: part.callId,
        content: blocksOf(part.parts),
        ...(part.isError && { is_error: true }),
        ...cacheControl(part.cache),
      }
    case 'audio':
      throw refusedMedia(part, 'its text, pictures or documents')
  }
}

const textBlock = (text: string, cache: CacheControl | undefined): Json =>
  cache ? { type: 'text', text, ...cacheControl(cache) } : { type: 'text', text }

/** The API allows letters, digits, `_` and `-` in ids. */
const toolId = (id: string): string => id.replace(/[^A-Za-z0-9_-]/g, '_')

function source(from: Source): Json {
  if ('fileId' in from) return { type: 'file', file_id: from.fileId }
  if ('url' in from) return { type: 'url', url: from.url }
  return { type: 'base64', media_type: from.mediaType, data: from.data }
}

/** platform.claude.com/docs/en/build-with-claude/vision (2026-11). */
const imageTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

function imageSource(part: Extract<Part, { type: 'image' }>): Json {
  const { source: from } = part
  if (!('data' in from) || imageTypes.has(from.mediaType)) return source(from)
  if (from.mediaType === 'image/jpg') return source({ ...from, mediaType: 'image/jpeg' })
  throw refusedMedia(part, 'JPEG, PNG, GIF or WebP')
}

function document(part: Extract<Part, { type: 'document' }>): Json {
  const { source: from } = part
  const isText = 'data' in from && isTextType(from.mediaType)
  if ('data' in from && !isText && !from.mediaType.startsWith('application/pdf'))
    throw refusedMedia(part, 'PDF or text')
  return {
    type: 'document',
    source: isText
      ? { type: 'text', media_type: 'text/plain', data: Buffer.from(from.data, 'base64').toString('utf8') }
      : source(from),
    ...(part.name !== undefined && { title: part.name }),
    ...cacheControl(part.cache),
  }
}

/** true = some were removed. The order is that in which Claude reads a request. */
function limitCacheMarks(request: ChatRequest, body: Json): boolean {
  if (cacheMarksOf(request) <= cacheMarksMax) return false
  const marked = [body.tools, body.system, ...objectsOf(body.messages).map(({ content }) => content)].flatMap(markedIn)
  const superfluous = superfluousMarks(marked)
  for (const one of superfluous) delete one.cache_control
  return superfluous.length > 0
}

const markedIn = (blocks: unknown): Json[] =>
  objectsOf(blocks).flatMap(one => [...markedIn(one.content), ...(one.cache_control === undefined ? [] : [one])])
