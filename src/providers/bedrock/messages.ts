/**
 * A conversation as Converse's `system` and `messages`, which alternate between `user` and `assistant`
 * (docs.aws.amazon.com/bedrock, "Message", "ContentBlock").
 */
import { createHash } from 'node:crypto'
import type { CacheControl, Message, Part } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { argumentsObject } from '../../core/hub/tool-arguments.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { continueText } from '../anthropic/request.ts'
import { isClaudeSignature } from '../anthropic/signature.ts'
import { withDistinctCallIds } from '../common/call-ids.ts'
import { lostInMessages } from '../common/lost-messages.ts'
import type { MessageWords } from '../common/lost-messages.ts'
import { mediaBehindResults } from '../common/result-media.ts'
import { audioBlock, documentBlock, imageBlock } from './media.ts'
import type { BedrockModel } from './model.ts'
import { cachePoint } from './tools.ts'

const toolIdLengthMax = 64
/** Sent where a text is required: Converse refuses blank texts. */
const placeholder = '.'

/** For the body: `messages` begin with the user and alternate. Empty `system` = leave it out. */
export interface Conversation {
  readonly system: Json[]
  readonly messages: { role: Role; content: Json[] }[]
  /** Names of the tools in calls and results. */
  readonly usedTools: ReadonlySet<string>
}

type Role = 'user' | 'assistant'

/** A block and the cache point after it, which stay together when blocks are reordered. */
type Unit = Json[]

interface Turn {
  readonly role: Role
  units: Unit[]
}

interface Context {
  readonly model: BedrockModel
  readonly dropped: string[]
  readonly documents: Set<string>
  readonly usedTools: Set<string>
}

/** `instruction` is appended to the system prompt. Throws `invalid-request` for media that Converse does not take. */
export function conversation(
  messages: readonly Message[],
  { model, dropped, instruction }: { model: BedrockModel; dropped: string[]; instruction: string | undefined },
): Conversation {
  const context: Context = { model, dropped, documents: new Set(), usedTools: new Set() }
  const system: Unit[] = []
  const turns: Turn[] = []
  dropped.push(...lostInMessages(messages, messageWords(model)))
  // Only Claude and Nova see pictures in results (API reference, "ToolResultContentBlock").
  const readable = model.resultStatus ? messages : mediaBehindResults(messages, isPicture)
  for (const message of withDistinctCallIds(readable, toolId)) {
    const units = message.parts.flatMap(part => unit(part, context))
    if (isLeading(message, turns)) system.push(...units)
    else add(turns, message.role === 'assistant' ? 'assistant' : 'user', units)
  }
  if (instruction !== undefined) system.push([{ text: instruction }])
  // The first turn has to be the user's.
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', units: [] })
  if (!model.systemPrompt) turns[0]!.units.unshift(...system.splice(0))
  for (const turn of turns) complete(turn)
  if (model.claude?.prefill !== false) trimPrefill(turns)
  else if (turns.at(-1)!.role === 'assistant') {
    turns.push({ role: 'user', units: [[{ text: continueText }]] })
    dropped.push('messages.prefill')
  }
  return {
    system: system.flat(),
    messages: turns.map(({ role, units }) => ({ role, content: units.flat() })),
    usedTools: context.usedTools,
  }
}

const isPicture = ({ type }: Part): boolean => type === 'image'

const messageWords = (model: BedrockModel): MessageWords => ({
  names: false,
  imageDetail: false,
  fileName: () => true,
  // As each model takes them: `cachePoint`.
  cacheMarks: true,
  resultErrors: model.resultStatus,
  thinking: part => reasoningUnits(part, model).length > 0,
  blank: () => false,
})

/** true = part of `system`. Later instructions, and those with other parts than text, become user messages. */
function isLeading({ role, parts }: Message, turns: readonly Turn[]): boolean {
  return (role === 'system' || role === 'developer') && turns.length === 0 && parts.every(part => part.type === 'text')
}

/** Adjacent messages of one role become one turn. */
function add(turns: Turn[], role: Role, units: readonly Unit[]): void {
  if (units.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.units.push(...units)
  else turns.push({ role, units: [...units] })
}

/** Puts tool results first, and adds a text to a turn that has none but needs one (with documents, or empty). */
function complete(turn: Turn): void {
  const is = (name: string) => (one: Unit) => one[0]?.[name] !== undefined
  const isResult = is('toolResult')
  if (turn.units.some(isResult))
    turn.units = [...turn.units.filter(isResult), ...turn.units.filter(one => !isResult(one))]
  const lacksText = turn.role === 'user' && turn.units.some(is('document')) && !turn.units.some(is('text'))
  if (lacksText || turn.units.length === 0) turn.units.push([{ text: placeholder }])
}

/** A trailing assistant message (prefill) must not end in white space. */
function trimPrefill(turns: readonly Turn[]): void {
  const last = turns.at(-1)
  const block = last?.role === 'assistant' ? last.units.at(-1)?.[0] : undefined
  if (typeof block?.text === 'string') block.text = block.text.trimEnd()
}

/** The units of a part; none for a blank text. */
function unit(part: Part, context: Context): Unit[] {
  switch (part.type) {
    case 'text':
      return textUnits(part.text, part.cache, context)
    case 'refusal':
      return textUnits(part.text, undefined, context)
    case 'image':
      return [cached(imageBlock(part), part.cache, context)]
    case 'document':
      return [cached(documentBlock(part, context.documents), part.cache, context)]
    case 'audio':
      return [[audioBlock(part)]]
    case 'reasoning':
      return reasoningUnits(part, context.model)
    case 'tool-call':
      context.usedTools.add(part.name)
      return [
        cached(
          { toolUse: { toolUseId: part.id, name: part.name, input: argumentsObject(part.arguments) } },
          part.cache,
          context,
        ),
      ]
    case 'tool-result':
      return [cached(toolResult(part, context), part.cache, context)]
  }
}

function cached(block: Json, cache: CacheControl | undefined, { model, dropped }: Context): Unit {
  return [block, ...cachePoint(cache, model, { allowed: model.caches.messages, dropped })]
}

function textUnits(text: string, cache: CacheControl | undefined, context: Context): Unit[] {
  return text.trim() === '' ? [] : [cached({ text }, cache, context)]
}

/** Only Claude takes its signed thinking back; thinking without its signature would be refused. */
function reasoningUnits(
  { text, signature, redacted }: Extract<Part, { type: 'reasoning' }>,
  model: BedrockModel,
): Unit[] {
  if (model.family !== 'claude' && model.family !== 'hidden') return []
  if (redacted !== undefined) return [[{ reasoningContent: { redactedContent: redacted } }]]
  return isClaudeSignature(signature) ? [[{ reasoningContent: { reasoningText: { text, signature } } }]] : []
}

function toolResult(part: Extract<Part, { type: 'tool-result' }>, context: Context): Json {
  const { model, usedTools } = context
  // Converse requires a declared tool also for a result without its call.
  if (usedTools.size === 0) usedTools.add(part.name ?? 'tool')
  const content = part.parts.flatMap(one => resultBlock(one, context))
  return {
    toolResult: {
      toolUseId: part.callId,
      content: content.length > 0 ? content : [{ text: '(empty)' }],
      ...(part.isError && model.resultStatus && { status: 'error' }),
    },
  }
}

function resultBlock(part: Part, context: Context): Json[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.trim() === '' ? [] : [{ text: part.text }]
    case 'image':
      return [imageBlock(part)]
    case 'document':
      return [documentBlock(part, context.documents)]
    default:
      throw new GatewayError(
        'invalid-request',
        `a tool's result cannot hold a part of the type ${part.type}; send text, images or documents`,
        {
          param: 'messages',
        },
      )
  }
}

/** Converse allows letters, digits, `_` and `-`, at most 64. The same id always gives the same result. */
function toolId(id: string): string {
  const plain = id.replace(/[^A-Za-z0-9_-]/g, '_')
  return plain.length <= toolIdLengthMax ? plain : createHash('sha256').update(id).digest('hex')
}
