/** The items of `input`: shapes only, no meaning (API reference, "Create a model response", `input`). */
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { Path, ProblemList } from '../../common/field-checks.ts'
import { isMisplacedUrl } from '../url-source.ts'

const roles = new Set<unknown>(['user', 'assistant', 'system', 'developer'])
const quotedRoles = '"user", "assistant", "system" or "developer"'

/** Checks the `input` field; stops when enough problems are known. */
export function checkInput(value: unknown, problems: ProblemList): void {
  if (typeof value === 'string') return
  if (!Array.isArray(value)) return problems.wrong(['input'], 'a string or an array of items', value)
  for (let at = 0; at < value.length && !problems.full; at++) checkItem(value[at], ['input', at], problems)
}

/** Types that are not known here pass, and are left to the upstream or the translation. */
function checkItem(item: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(item)) return problems.wrong(path, 'an item (an object)', item)
  const { type } = item
  if (type != null && typeof type !== 'string')
    return problems.wrong([...path, 'type'], 'a string such as "message"', type)
  switch (type ?? (item.role === undefined && typeof item.id === 'string' ? 'item_reference' : 'message')) {
    case 'message':
      return checkMessage(item, path, problems)
    case 'function_call':
      return checkStrings(item, ['call_id', 'name', 'arguments'], path, problems)
    case 'custom_tool_call':
      return checkStrings(item, ['call_id', 'name', 'input'], path, problems)
    case 'function_call_output':
    case 'custom_tool_call_output':
      checkStrings(item, ['call_id'], path, problems)
      if (typeof item.output === 'string') return
      if (!Array.isArray(item.output))
        return problems.wrong([...path, 'output'], 'a string or an array of parts', item.output)
      return checkParts(item.output, [...path, 'output'], problems)
    case 'reasoning':
      if (item.summary != null && !Array.isArray(item.summary))
        problems.wrong([...path, 'summary'], 'an array of summary parts', item.summary)
      if (item.encrypted_content != null && typeof item.encrypted_content !== 'string')
        problems.wrong([...path, 'encrypted_content'], 'a string', item.encrypted_content)
      return
    case 'compaction':
    case 'compaction_summary':
      return checkStrings(item, ['encrypted_content'], path, problems)
    case 'item_reference':
      return checkStrings(item, ['id'], path, problems)
    case 'additional_tools':
      if (!Array.isArray(item.tools)) problems.wrong([...path, 'tools'], 'an array of tools', item.tools)
  }
}

function checkStrings(item: Json, names: readonly string[], path: Path, problems: ProblemList): void {
  for (const name of names) if (typeof item[name] !== 'string') problems.wrong([...path, name], 'a string', item[name])
}

function checkMessage(item: Json, path: Path, problems: ProblemList): void {
  const { role, content } = item
  if (!roles.has(role)) {
    if (typeof role === 'string') problems.unknownValue([...path, 'role'], quotedRoles, role)
    else problems.wrong([...path, 'role'], quotedRoles, role)
  }
  if (typeof content === 'string') return
  if (!Array.isArray(content)) return problems.wrong([...path, 'content'], 'a string or an array of parts', content)
  checkParts(content, [...path, 'content'], problems)
}

function checkParts(parts: readonly unknown[], path: Path, problems: ProblemList): void {
  for (let at = 0; at < parts.length && !problems.full; at++) {
    const part = parts[at]
    const where = [...path, at]
    if (!isObject(part)) problems.wrong(where, 'an object with a `type`', part)
    else if (typeof part.type !== 'string')
      problems.wrong([...where, 'type'], 'a string such as "input_text"', part.type)
    else checkPart(part, where, problems)
  }
}

function checkPart(part: Json, path: Path, problems: ProblemList): void {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return checkStrings(part, ['text'], path, problems)
    case 'refusal':
      return checkStrings(part, ['refusal'], path, problems)
    case 'input_image':
      if (typeof part.image_url !== 'string' && typeof part.file_id !== 'string')
        problems.wrong([...path, 'image_url'], 'a URL, a data: URL, or a `file_id` in its place', part.image_url)
      if (isMisplacedUrl('image', part.image_url)) problems.misplacedMedia = true
      return
    case 'input_file':
      if (!['file_data', 'file_url', 'file_id'].some(name => typeof part[name] === 'string'))
        problems.wrong([...path, 'file_data'], 'a string, or `file_url` or `file_id` in its place', part.file_data)
      if (isMisplacedUrl('document', part.file_data)) problems.misplacedMedia = true
      return
    case 'input_audio':
      if (!isObject(part.input_audio))
        problems.wrong([...path, 'input_audio'], 'an object with `data` and `format`', part.input_audio)
      else checkStrings(part.input_audio, ['data', 'format'], [...path, 'input_audio'], problems)
  }
}
