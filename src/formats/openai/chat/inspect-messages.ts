/** The messages of a chat request: shapes only, no meaning. */
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { Path, ProblemList } from '../../common/field-checks.ts'
import { isMisplacedUrl } from '../url-source.ts'

const roles = new Set<unknown>(['user', 'assistant', 'tool', 'system', 'function', 'developer'])
const quotedRoles = '"system", "developer", "user", "assistant", "tool" or "function"'

/** Checks the `messages` field; stops when enough problems are known. */
export function checkMessages(value: unknown, problems: ProblemList): void {
  if (!Array.isArray(value)) return problems.wrong(['messages'], 'an array of messages', value)
  if (value.length === 0)
    return problems.add(['messages'], '`messages` must hold at least one message; got an empty array', 'out_of_range')
  for (let at = 0; at < value.length && !problems.full; at++) checkMessage(value[at], at, problems)
}

function checkMessage(message: unknown, at: number, problems: ProblemList): void {
  if (!isObject(message)) return problems.wrong(['messages', at], 'an object with `role` and `content`', message)
  const { role, content } = message
  if (!roles.has(role)) {
    if (typeof role === 'string') problems.unknownValue(['messages', at, 'role'], quotedRoles, role)
    else problems.wrong(['messages', at, 'role'], quotedRoles, role)
  }
  if (typeof content !== 'string' && content != null) {
    if (Array.isArray(content)) checkParts(content, at, problems)
    else problems.wrong(['messages', at, 'content'], 'a string, null or an array of parts', content)
  }
  if (role === 'user' && content == null)
    problems.wrong(['messages', at, 'content'], 'a string or an array of parts', content)
  if (role === 'user' || role === 'system') return checkName(message, at, problems)
  const { tool_call_id: callId } = message
  if (role === 'tool' && callId != null && (typeof callId !== 'string' || callId === ''))
    problems.wrong(['messages', at, 'tool_call_id'], 'the `id` of the tool call that this answers', callId)
  if (role === 'function' && (typeof message.name !== 'string' || message.name === ''))
    problems.wrong(['messages', at, 'name'], 'the name of the function that this answers', message.name)
  else checkName(message, at, problems)
  if (role === 'assistant') checkAssistant(message, at, problems)
}

function checkName(message: Json, at: number, problems: ProblemList): void {
  if (message.name != null && typeof message.name !== 'string')
    problems.wrong(['messages', at, 'name'], 'a string', message.name)
}

function checkParts(parts: unknown[], at: number, problems: ProblemList): void {
  for (let index = 0; index < parts.length && !problems.full; index++) {
    const part = parts[index]
    const path = ['messages', at, 'content', index]
    if (!isObject(part)) problems.wrong(path, 'an object with a `type`', part)
    else if (typeof part.type !== 'string') problems.wrong([...path, 'type'], 'a string such as "text"', part.type)
    else checkPart(part, path, problems)
  }
}

/** Types that are not known here are newer than this gateway: they pass, and are left to the upstream. */
function checkPart(part: Json, path: Path, problems: ProblemList): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      if (typeof part[part.type] !== 'string') problems.wrong([...path, part.type], 'a string', part[part.type])
      return
    case 'image_url': {
      if (isMisplacedUrl('image', isObject(part.image_url) ? part.image_url.url : part.image_url))
        problems.misplacedMedia = true
      if (typeof part.image_url === 'string') return
      if (!isObject(part.image_url))
        return problems.wrong([...path, 'image_url'], 'an object with a `url`', part.image_url)
      if (typeof part.image_url.url !== 'string')
        problems.wrong([...path, 'image_url', 'url'], 'a URL or a data: URL', part.image_url.url)
      return
    }
    case 'input_audio': {
      const audio = part.input_audio
      if (!isObject(audio)) return problems.wrong([...path, 'input_audio'], 'an object with `data` and `format`', audio)
      for (const field of ['data', 'format'])
        if (typeof audio[field] !== 'string') problems.wrong([...path, 'input_audio', field], 'a string', audio[field])
      return
    }
    case 'file': {
      const { file } = part
      if (!isObject(file) || !(typeof file.file_data === 'string' || typeof file.file_id === 'string'))
        problems.wrong([...path, 'file'], 'an object with `file_data` or `file_id`', file)
      else if (isMisplacedUrl('document', file.file_data)) problems.misplacedMedia = true
    }
  }
}

function checkAssistant(message: Json, at: number, problems: ProblemList): void {
  const calls = message.tool_calls
  if (calls != null) {
    if (Array.isArray(calls)) checkToolCalls(calls, at, problems)
    else problems.wrong(['messages', at, 'tool_calls'], 'an array of tool calls', calls)
  }
  const call = message.function_call
  if (call != null) {
    if (isObject(call)) checkCalled(call, ['messages', at, 'function_call'], problems)
    else problems.wrong(['messages', at, 'function_call'], 'an object with `name` and `arguments`', call)
  }
  for (const field of ['refusal', 'reasoning_content', 'reasoning'])
    if (message[field] != null && typeof message[field] !== 'string')
      problems.wrong(['messages', at, field], 'a string', message[field])
  if (message.thinking_blocks != null && !Array.isArray(message.thinking_blocks))
    problems.wrong(['messages', at, 'thinking_blocks'], 'an array', message.thinking_blocks)
}

function checkToolCalls(calls: unknown[], at: number, problems: ProblemList): void {
  for (let index = 0; index < calls.length && !problems.full; index++) {
    const call = calls[index]
    const path = ['messages', at, 'tool_calls', index]
    if (!isObject(call)) {
      problems.wrong(path, 'an object with `id` and `function`', call)
      continue
    }
    if (typeof call.id !== 'string') problems.wrong([...path, 'id'], 'a string', call.id)
    if (call.type != null && typeof call.type !== 'string') problems.wrong([...path, 'type'], '"function"', call.type)
    if (call.type != null && call.type !== 'function') continue
    if (isObject(call.function)) checkCalled(call.function, [...path, 'function'], problems)
    else problems.wrong([...path, 'function'], 'an object with `name` and `arguments`', call.function)
  }
}

function checkCalled(call: Json, path: Path, problems: ProblemList): void {
  if (typeof call.name !== 'string' || call.name === '')
    problems.wrong([...path, 'name'], 'the name of a function', call.name)
  if (typeof call.arguments !== 'string')
    problems.wrong([...path, 'arguments'], 'a string that holds JSON (use JSON.stringify)', call.arguments)
}
