/**
 * Context management of the Messages dialect, done here for upstreams that do not know it: old results of tools and old
 * thinking are cleared, and blocks with a summary stand for what came before them. Source:
 * platform.claude.com/docs/en/build-with-claude/context-editing and /compaction.
 */
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { compactedText, summaryTask } from '../common/compaction.ts'

/** What stands in the place of a result that was cleared, in Anthropic's words. */
const clearedResult = '[Old tool result content cleared]'
/** Defaults of the dialect. */
const defaults = { clearTokens: 100_000, keptToolUses: 3, compactTokens: 150_000, keptThinkingTurns: 1 } as const
/** A longer last message of the user is in the summary alone. */
const keptCharactersMax = 20_000

/** Counts the tokens of the request with these messages. */
export type CountTokens = (messages: readonly Json[]) => number

/** The edits of `context_management`, in order. */
export const editsOf = (management: unknown): Json[] => (isObject(management) ? objectsOf(management.edits) : [])

/** What was done, for `context_management.applied_edits` of the answer. */
export interface EditedMessages {
  readonly messages: readonly Json[]
  readonly applied: readonly Json[]
}

/** Clears what the edits say, one after the other; compaction is not one of them. */
export function clearedMessages(messages: readonly Json[], edits: readonly Json[], count: CountTokens): EditedMessages {
  let edited = messages
  const applied: Json[] = []
  for (const edit of edits) {
    const kind = String(edit.type)
    const cleared = kind.startsWith('clear_tool_uses')
      ? clearToolUses(edited, edit, count)
      : kind.startsWith('clear_thinking')
        ? clearThinking(edited, edit)
        : undefined
    if (!cleared) continue
    const tokens = count(edited) - count(cleared.messages)
    const least = amountOf(edit.clear_at_least, 'input_tokens')
    if (least !== undefined && tokens < least) continue
    edited = cleared.messages
    applied.push({ type: kind, ...cleared.counts, cleared_input_tokens: tokens })
  }
  return { messages: edited, applied }
}

interface Cleared {
  readonly messages: readonly Json[]
  readonly counts: Json
}

const blocksOf = (message: Json): Json[] => objectsOf(message.content)

/** `{type, value}` of this type. */
function amountOf(value: unknown, type: string): number | undefined {
  return isObject(value) && value.type === type && typeof value.value === 'number' ? value.value : undefined
}

function clearToolUses(messages: readonly Json[], edit: Json, count: CountTokens): Cleared | undefined {
  const excluded = new Set(Array.isArray(edit.exclude_tools) ? (edit.exclude_tools as unknown[]) : [])
  const uses = messages.flatMap(blocksOf).filter(({ type }) => type === 'tool_use')
  const byUses = amountOf(edit.trigger, 'tool_uses')
  const isDue =
    byUses === undefined
      ? count(messages) > (amountOf(edit.trigger, 'input_tokens') ?? defaults.clearTokens)
      : uses.length > byUses
  if (!isDue) return undefined
  const keep = amountOf(edit.keep, 'tool_uses') ?? defaults.keptToolUses
  const old = uses.slice(0, Math.max(0, uses.length - keep)).filter(({ name }) => !excluded.has(name))
  const ids = new Set(old.map(({ id }) => id))
  const { clear_tool_inputs: inputs } = edit
  const clearsInput = ({ name }: Json) => inputs === true || (Array.isArray(inputs) && inputs.includes(name))
  let results = 0
  const changed = messages.map(message =>
    mapBlocks(message, block => {
      if (block.type === 'tool_use' && ids.has(block.id) && clearsInput(block)) return { ...block, input: {} }
      if (block.type !== 'tool_result' || !ids.has(block.tool_use_id) || block.content === clearedResult) return block
      results++
      return { ...block, content: clearedResult }
    }),
  )
  return results === 0 ? undefined : { messages: changed, counts: { cleared_tool_uses: results } }
}

const isThinking = ({ type }: Json): boolean => type === 'thinking' || type === 'redacted_thinking'

function clearThinking(messages: readonly Json[], { keep }: Json): Cleared | undefined {
  if (keep === 'all' || (isObject(keep) && keep.type === 'all')) return undefined
  const turns = messages.filter(message => message.role === 'assistant' && blocksOf(message).some(isThinking))
  const kept = amountOf(keep, 'thinking_turns') ?? defaults.keptThinkingTurns
  const old = new Set(turns.slice(0, Math.max(0, turns.length - kept)))
  if (old.size === 0) return undefined
  const changed = messages.flatMap(message => {
    if (!old.has(message)) return [message]
    const content = blocksOf(message).filter(block => !isThinking(block))
    return content.length > 0 ? [{ ...message, content }] : []
  })
  return { messages: changed, counts: { cleared_thinking_turns: old.size } }
}

function mapBlocks(message: Json, change: (block: Json) => Json): Json {
  return Array.isArray(message.content) ? { ...message, content: blocksOf(message).map(change) } : message
}

const userMessage = (text: string): Json => ({ role: 'user', content: [{ type: 'text', text }] })
const isCompaction = ({ type }: Json): boolean => type === 'compaction'

/** The messages with what the last `compaction` block says in place of all that came before it. */
export function expandedMessages(messages: readonly Json[]): readonly Json[] {
  if (!messages.some(message => blocksOf(message).some(isCompaction))) return messages
  const withoutEmpty = messages.map(message =>
    Array.isArray(message.content)
      ? { ...message, content: blocksOf(message).filter(block => !isCompaction(block) || readable(block)) }
      : message,
  )
  const at = withoutEmpty.findLastIndex(message => blocksOf(message).some(isCompaction))
  if (at < 0) return withoutEmpty
  const blocks = blocksOf(withoutEmpty[at]!)
  const place = blocks.findLastIndex(isCompaction)
  const rest = blocks.slice(place + 1)
  return [
    userMessage(compactedText(String(blocks[place]!.content))),
    ...(rest.length > 0 ? [{ ...withoutEmpty[at]!, content: rest }] : []),
    ...withoutEmpty.slice(at + 1),
  ]
}

/** A block without content is of a compaction that failed. */
const readable = ({ content }: Json): boolean => typeof content === 'string' && content !== ''

/** A compaction that is due. */
export interface DueCompaction {
  /** The block is the whole answer. */
  readonly pauses: boolean
  readonly instructions: string
}

/** The compaction that the edits ask for at this size; undefined = none is due. */
export function dueCompaction(
  messages: readonly Json[],
  edits: readonly Json[],
  count: CountTokens,
): DueCompaction | undefined {
  const edit = edits.find(({ type }) => String(type).startsWith('compact_'))
  if (!edit || count(messages) < (amountOf(edit.trigger, 'input_tokens') ?? defaults.compactTokens)) return undefined
  const instructions = typeof edit.instructions === 'string' ? edit.instructions : ''
  return { pauses: edit.pause_after_compaction === true, instructions }
}

/** The messages that ask for a summary of `messages`. Calls without results are named in it, and left out. */
export function summaryMessages(messages: readonly Json[], instructions: string): Json[] {
  const results = new Set(messages.flatMap(blocksOf).map(({ tool_use_id: id }) => id))
  const isOpen = (block: Json): boolean => block.type === 'tool_use' && !results.has(block.id)
  const open = messages.flatMap(blocksOf).filter(isOpen)
  const asked = messages.flatMap(message => {
    if (!Array.isArray(message.content) || !blocksOf(message).some(isOpen)) return [message]
    const content = blocksOf(message).filter(block => !isOpen(block))
    return content.length > 0 ? [{ ...message, content }] : []
  })
  const calls = open.map(({ name, input }) => `${String(name)}(${JSON.stringify(input)})`)
  return [...asked, userMessage(summaryTask(calls, instructions))]
}

/** The messages that go on behind a summary: it, and the last message of the user where that is short. */
export function messagesAfter(messages: readonly Json[], summary: string): Json[] {
  const last = messages.findLast(({ role }) => role === 'user')
  const isQuestion =
    last &&
    (typeof last.content === 'string' || blocksOf(last).every(({ type }) => type !== 'tool_result')) &&
    JSON.stringify(last).length <= keptCharactersMax
  return [userMessage(compactedText(summary)), ...(isQuestion ? [last] : [])]
}

/** The text of an answer. */
export function messageText({ content }: Json): string {
  const texts = objectsOf(content).map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
  return texts.join('').trim()
}

/** The block of an answer. */
export const compactionBlock = (summary: string): Json => ({
  type: 'compaction',
  content: summary,
  encrypted_content: null,
})
