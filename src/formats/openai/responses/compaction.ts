/**
 * Compacted conversations in the Responses dialect (API reference, "Compaction"): what a model is asked for, what an
 * item of the gateway's holds, and what stands in the place of one in a later request.
 */
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { compactedText, summaryTask } from '../../common/compaction.ts'

/** Types of items that hold a compacted conversation; the others are earlier names of Codex's. */
const compactedTypes: ReadonlySet<unknown> = new Set(['compaction', 'compaction_summary', 'context_compaction'])
/** What of a compaction is kept beside its summary: a longer last message of the user is in the summary alone. */
const keptCharactersMax = 20_000
/** Instructions and questions stay in front of what was compacted, as OpenAI's clients keep them. */
const keptRoles: ReadonlySet<unknown> = new Set(['user', 'developer', 'system'])

/** A request for a summary at the end of the conversation. */
export const isTrigger = (item: Json): boolean => item.type === 'compaction_trigger'

/** An item in the place of a conversation. */
export const isCompacted = (item: Json): boolean => compactedTypes.has(item.type)

/** What an item of the gateway's holds, sealed. */
export interface CompactedConversation {
  readonly version: 1
  /** `all` = what came before the item is not to be sent any more; `answers` = what its user said stays. */
  readonly replaces: 'all' | 'answers'
  /** Stand in the place of the item. */
  readonly items: readonly Json[]
}

/** The conversation that the content of an item says. Throws for one of another version. */
export function readCompacted(content: Buffer): CompactedConversation {
  const found = JSON.parse(content.toString('utf8')) as CompactedConversation
  if (found.version !== 1) throw new Error(`a compacted conversation has the version ${String(found.version)}`)
  return found
}

/** Calls of the client's tools without a result. */
function openCalls(items: readonly Json[]): Json[] {
  const results = new Set(items.filter(item => /_call_output$/.test(String(item.type))).map(item => item.call_id))
  return items.filter(
    item => (item.type === 'function_call' || item.type === 'custom_tool_call') && !results.has(item.call_id),
  )
}

const messageOf = (text: string): Json => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
})

/** The input that asks for a summary of the conversation `items`, each of whose calls has a result. */
export function summaryInput(items: readonly Json[]): Json[] {
  const open = new Set(openCalls(items))
  const calls = [...open].map(({ name, arguments: given, input }) => `${String(name)}(${String(given ?? input)})`)
  return [...items.filter(item => !open.has(item)), messageOf(summaryTask(calls))]
}

/** What stands for the conversation `items` from now on. */
export function compactedConversation(
  items: readonly Json[],
  summary: string,
  replaces: CompactedConversation['replaces'],
): CompactedConversation {
  const question = replaces === 'all' ? items.findLast(item => isMessage(item) && item.role === 'user') : undefined
  const kept = question && JSON.stringify(question).length <= keptCharactersMax ? [question] : []
  return { version: 1, replaces, items: [messageOf(compactedText(summary)), ...kept, ...openCalls(items)] }
}

/** The items with the last compacted conversation in place of its item; `open` reads one, undefined = it is foreign. */
export function expanded(items: readonly Json[], open: (item: Json, at: number) => CompactedConversation | undefined) {
  let at = items.length
  while (--at >= 0) {
    const item = items[at]!
    const found = isCompacted(item) ? open(item, at) : undefined
    if (!found) continue
    const before = found.replaces === 'all' ? [] : items.slice(0, at).filter(isKept)
    return [...before, ...found.items, ...items.slice(at + 1)]
  }
  return items
}

const isMessage = ({ type, role }: Json): boolean => type === 'message' || (type == null && role !== undefined)
const isKept = (item: Json): boolean => isMessage(item) && keptRoles.has(item.role)

/** The text of an answer. */
export function answerText(output: unknown): string {
  const parts = (Array.isArray(output) ? output : []).flatMap((item: unknown) =>
    isObject(item) && item.type === 'message' && Array.isArray(item.content) ? (item.content as unknown[]) : [],
  )
  return parts
    .map(part => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('')
    .trim()
}

/** The messages of the user in a conversation, the last ones of up to 64,000 tokens, as `/responses/compact` gives. */
export function userMessages(items: readonly Json[]): Json[] {
  let left = 4 * 64_000
  const kept: Json[] = []
  for (const item of items.toReversed()) {
    if (!isMessage(item) || item.role !== 'user') continue
    left -= JSON.stringify(item.content).length
    if (left < 0) break
    kept.unshift(item)
  }
  return kept
}
