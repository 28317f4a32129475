/** Checks of `messages` and `system` that need no model (platform.claude.com/docs/en/api/messages). */
import { isMisplaced, mediaTypeOfData } from '../../core/hub/media-parts.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Path, ProblemList } from '../common/field-checks.ts'

/** `system` is a role since API version 2026-10-21, and in betas before. */
const roles: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system'])
const hints: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    tool: '; results of tools are `tool_result` blocks in a user message',
    developer: '; instructions go into `system`',
    function: '; results of tools are `tool_result` blocks in a user message',
  }),
)

/** Looks into every block until `problems` is full. Kinds of blocks that are not known here pass. */
export function checkMessages(value: unknown, problems: ProblemList): void {
  if (!Array.isArray(value)) return problems.wrong(['messages'], 'an array of messages', value)
  for (let at = 0; at < value.length && !problems.full; at++) checkMessage(value[at], ['messages', at], problems)
}

function checkMessage(message: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(message)) return problems.wrong(path, 'an object with `role` and `content`', message)
  const { role, content } = message
  if (!roles.has(role)) {
    const what = `"user" or "assistant"${typeof role === 'string' ? (hints.get(role) ?? '') : ''}`
    if (typeof role === 'string') problems.unknownValue([...path, 'role'], what, role)
    else problems.wrong([...path, 'role'], what, role)
  }
  checkContent(content, [...path, 'content'], problems)
}

/** A text, or blocks. */
function checkContent(content: unknown, path: Path, problems: ProblemList): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content)) return problems.wrong(path, 'a string or an array of content blocks', content)
  for (let at = 0; at < content.length && !problems.full; at++) checkBlock(content[at], [...path, at], problems)
}

/** A string, or an array of text blocks: `system` holds nothing else. */
export function checkSystem(value: unknown, problems: ProblemList): void {
  if (typeof value === 'string') return
  if (!Array.isArray(value)) return problems.wrong(['system'], 'a string or an array of text blocks', value)
  for (let at = 0; at < value.length && !problems.full; at++) {
    const block: unknown = value[at]
    if (isObject(block) && typeof block.type === 'string' && block.type !== 'text')
      problems.unknownValue(['system', at, 'type'], '"text"', block.type)
    else checkBlock(block, ['system', at], problems)
  }
}

/** The fields that each kind needs, all texts. Other kinds are newer than this gateway, and left to the upstream. */
const needs: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries<readonly string[]>({
    text: ['text'],
    thinking: ['thinking', 'signature'],
    redacted_thinking: ['data'],
    tool_use: ['id', 'name'],
    tool_result: ['tool_use_id'],
    search_result: ['source', 'title'],
  }),
)

function checkBlock(block: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(block)) return problems.wrong(path, 'an object with a `type`', block)
  const { type } = block
  if (typeof type !== 'string') return problems.wrong([...path, 'type'], 'a string such as "text"', type)
  for (const field of needs.get(type) ?? [])
    if (typeof block[field] !== 'string') problems.wrong([...path, field], 'a string', block[field])
  checkCacheControl(block.cache_control, [...path, 'cache_control'], problems)
  if (type === 'image' || type === 'document') {
    checkSource(block.source, [...path, 'source'], problems)
    if (isMisplacedSource(type, block.source)) problems.misplacedMedia = true
  }
  if (type === 'tool_use' && !isObject(block.input)) problems.wrong([...path, 'input'], 'an object', block.input)
  if (type === 'search_result') checkContent(block.content, [...path, 'content'], problems)
  if (type === 'tool_result') checkResult(block, path, problems)
}

function checkResult(block: Json, path: Path, problems: ProblemList): void {
  if (block.content != null) checkContent(block.content, [...path, 'content'], problems)
  if (block.is_error != null && typeof block.is_error !== 'boolean')
    problems.wrong([...path, 'is_error'], 'true or false', block.is_error)
}

/** Also a picture of another type than is declared: the API refuses it. */
function isMisplacedSource(kind: 'image' | 'document', source: unknown): boolean {
  if (!isObject(source) || source.type !== 'base64') return false
  const { media_type: type, data } = source
  if (typeof type !== 'string' || typeof data !== 'string') return false
  return isMisplaced(kind, type, data) || (kind === 'image' && mediaTypeOfData(type, data) !== type)
}

const sourceNeeds: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries<readonly string[]>({
    base64: ['media_type', 'data'],
    text: ['data'],
    url: ['url'],
    file: ['file_id'],
  }),
)

function checkSource(source: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(source))
    return problems.wrong(path, 'an object such as {"type": "base64", "media_type": ..., "data": ...}', source)
  if (typeof source.type !== 'string')
    return problems.wrong([...path, 'type'], '"base64", "url" or "file"', source.type)
  for (const field of sourceNeeds.get(source.type) ?? [])
    if (typeof source[field] !== 'string') problems.wrong([...path, field], 'a string', source[field])
  if (source.type === 'content') checkContent(source.content, [...path, 'content'], problems)
}

/** Absent, null or any object: types and lifetimes are left to the upstream. */
export function checkCacheControl(value: unknown, path: Path, problems: ProblemList): void {
  if (value != null && !isObject(value)) problems.wrong(path, 'an object such as {"type": "ephemeral"}', value)
}
