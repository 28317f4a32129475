/**
 * Breakpoints of prompt caches that the operator sets for a model: at given messages as LiteLLM has them (its page
 * "Auto-Inject Prompt Caching Checkpoints"), or where an agent's prompt grows. A request with marks of its own gets
 * none.
 */
import type { CacheControl, ChatRequest, Message, Part } from '../hub/chat.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** Where a mark stands: behind the tools, or behind messages of a role or at an index, below 0 from the end. */
export interface CachePoint {
  readonly location: 'message' | 'tool_config'
  readonly role?: string | undefined
  readonly index?: number | undefined
  readonly control?: CacheControl | undefined
}

/** The marks of a model. */
export interface PromptMarks {
  readonly points: readonly CachePoint[]
  /** Behind the tools, the system prompt, and the last but one turn of the user. */
  readonly isAutomatic: boolean
}

/** No request may have more. */
const marksMax = 4
const plain: CacheControl = { type: 'ephemeral' }

/** `tools`, or the index of a message -> the mark behind it. */
type Places = ReadonlyMap<'tools' | number, CacheControl>

interface Prompt {
  readonly hasTools: boolean
  /** Of the messages, a system prompt first. */
  readonly roles: readonly string[]
}

function placesOf(prompt: Prompt, { points, isAutomatic }: PromptMarks): Places {
  const places = new Map<'tools' | number, CacheControl>()
  const add = (place: 'tools' | number, control = plain) => {
    if (places.size < marksMax && !places.has(place)) places.set(place, control)
  }
  for (const point of points) for (const place of matching(prompt, point)) add(place, point.control)
  if (!isAutomatic) return places
  if (prompt.hasTools) add('tools')
  const { roles } = prompt
  const firstOther = roles.findIndex(role => !isSystem(role))
  const systemEnd = (firstOther < 0 ? roles.length : firstOther) - 1
  if (systemEnd >= 0) add(systemEnd)
  const turns = roles.flatMap((role, at) => (isTurn(role) && !isTurn(roles[at + 1] ?? '') ? [at] : []))
  const lastButOne = turns.at(-2)
  if (lastButOne !== undefined) add(lastButOne)
  return places
}

const isSystem = (role: string): boolean => role === 'system' || role === 'developer'
/** What the client says, results of tools included; several in a row are one turn. */
const isTurn = (role: string): boolean => role === 'user' || role === 'tool'

function matching({ hasTools, roles }: Prompt, { location, role, index }: CachePoint): ('tools' | number)[] {
  if (location === 'tool_config') return hasTools ? ['tools'] : []
  if (index === undefined) return roles.flatMap((one, at) => (one === role ? [at] : []))
  const at = index < 0 ? roles.length + index : index
  return at in roles && (role === undefined || roles[at] === role) ? [at] : []
}

/** The request with the marks. */
export function withMarks(request: ChatRequest, marks: PromptMarks): ChatRequest {
  const { messages, tools = [] } = request
  if (tools.some(one => one.cache) || messages.some(({ parts }) => parts.some(hasMark))) return request
  const places = placesOf({ hasTools: tools.length > 0, roles: messages.map(({ role }) => role) }, marks)
  if (places.size === 0) return request
  const ofTools = places.get('tools')
  return {
    ...request,
    messages: messages.map((message, at) => markedMessage(message, places.get(at))),
    ...(ofTools && { tools: tools.map((tool, at) => (at === tools.length - 1 ? { ...tool, cache: ofTools } : tool)) }),
  }
}

const hasMark = (part: Part): boolean =>
  ('cache' in part && part.cache !== undefined) || (part.type === 'tool-result' && part.parts.some(hasMark))
const takesMark = ({ type }: Part): boolean => type !== 'audio' && type !== 'reasoning' && type !== 'refusal'

function markedMessage(message: Message, cache: CacheControl | undefined): Message {
  const at = cache ? message.parts.findLastIndex(takesMark) : -1
  if (at < 0) return message
  return { ...message, parts: message.parts.map((part, index) => (index === at ? ({ ...part, cache } as Part) : part)) }
}

/** Fields of a Messages body that change; `fields` = those that hold the prompt. Empty = nothing is marked. */
export function markedFields({ system, messages, tools }: Json, marks: PromptMarks): Json {
  const list = objectsIn(messages)
  const toolList = objectsIn(tools)
  const blocks = [toolList, blocksOf(system), ...list.map(({ content }) => blocksOf(content))].flat()
  if (blocks.some(block => block.cache_control != null)) return {}
  const hasSystem = blocksOf(system).length > 0
  const roles = list.map(({ role }) => String(role))
  const places = placesOf({ hasTools: toolList.length > 0, roles: hasSystem ? ['system', ...roles] : roles }, marks)
  const changed: Json = {}
  const ofTools = places.get('tools')
  if (ofTools) changed.tools = toolList.with(-1, { ...toolList.at(-1), cache_control: ofTools })
  const offset = hasSystem ? 1 : 0
  const ofSystem = hasSystem ? places.get(0) : undefined
  if (ofSystem) changed.system = markedBlocks(system, ofSystem)
  const marked = list.map((message, at) => {
    const mark = places.get(at + offset)
    const content = mark ? markedBlocks(message.content, mark) : message.content
    return content === message.content ? message : { ...message, content }
  })
  return marked.some((message, at) => message !== list[at]) ? { ...changed, messages: marked } : changed
}

const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? (value as unknown[]).filter(isObject) : [])

const blocksOf = (content: unknown): Json[] =>
  typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : objectsIn(content)

/** Thinking takes no mark, and neither do empty texts. */
function markedBlocks(content: unknown, mark: CacheControl): unknown {
  const blocks = blocksOf(content)
  const at = blocks.findLastIndex(({ type, text }) => !/thinking/.test(String(type)) && text !== '')
  return at < 0 ? content : blocks.with(at, { ...blocks[at], cache_control: mark })
}
