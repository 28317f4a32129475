/** Decodes messages of an OpenAI body into hub types. Takes only what passed the inspection (`inspect-messages.ts`). */
import type { CacheControl, Message, Part, Role, Source } from '../../../core/hub/chat.ts'
import { readCallId, readSignedCall } from '../../../core/dialects/call-signature.ts'
import { mediaPart } from '../../../core/hub/media-parts.ts'
import { freeTextArguments } from '../../../core/hub/tool-arguments.ts'
import { readCacheControl } from '../../common/cache-control.ts'
import { shown } from '../../common/field-checks.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { Path } from '../../common/field-checks.ts'
import { untranslatable } from '../../common/untranslatable.ts'
import { audioPart, sourceOf, undeclaredType } from '../url-source.ts'

/** The messages in order. Throws `unprocessable` for a part that only this dialect knows. */
export function decodeMessages(messages: readonly Json[]): Message[] {
  const calls: EarlierCalls = { functions: new Map(), open: [] }
  return messages.map((message, at) => decodeMessage(message, at, calls))
}

/** What results without an id answer. */
interface EarlierCalls {
  /** The old function messages have no ids: each answers the latest call of its name. */
  readonly functions: Map<string, string>
  /** Ids of the last tool calls that have no result yet, in order. */
  open: string[]
}

/** Without `tool_call_id` results answer the open calls in order. Throws `unprocessable` when none is open. */
function answeredCall(message: Json, at: number, calls: EarlierCalls): string {
  const written = message.tool_call_id ?? calls.open[0]
  if (typeof written !== 'string')
    throw untranslatable(
      ['messages', at, 'tool_call_id'],
      'is missing, and no tool call before it is without its result; send the `id` of the call that this answers',
    )
  const { id } = readCallId(written)
  calls.open = calls.open.filter(one => one !== id)
  return id
}

function decodeMessage(message: Json, at: number, calls: EarlierCalls): Message {
  const cache = readCacheControl(message.cache_control)
  switch (message.role) {
    case 'tool':
      return toolMessage(message, at, answeredCall(message, at, calls))
    case 'function': {
      const name = message.name as string
      return toolMessage(message, at, calls.functions.get(name) ?? `call_${name}`)
    }
    case 'assistant': {
      const parts = assistantParts(message, at)
      calls.open = parts.flatMap(part => (part.type === 'tool-call' ? [part.id] : []))
      const legacy = legacyCall(message.function_call, at)
      if (legacy) {
        calls.functions.set(legacy.name, legacy.id)
        parts.push(legacy)
      }
      return finished('assistant', message, cacheLast(parts, cache))
    }
    default:
      return finished(message.role as Role, message, cacheLast(decodeContent(message.content, at), cache))
  }
}

function finished(role: Role, message: Json, parts: Part[]): Message {
  return typeof message.name === 'string' ? { role, parts, name: message.name } : { role, parts }
}

/** A breakpoint on a message means: after its last part that can carry one. */
function cacheLast(parts: Part[], cache: CacheControl | undefined): Part[] {
  if (!cache) return parts
  for (let at = parts.length - 1; at >= 0; at--) {
    const part = parts[at]!
    if (part.type === 'audio' || part.type === 'reasoning' || part.type === 'refusal') continue
    part.cache ??= cache
    break
  }
  return parts
}

function toolMessage(message: Json, at: number, callId: string): Message {
  const part: Part = { type: 'tool-result', callId, parts: decodeContent(message.content, at) }
  if (typeof message.name === 'string') part.name = message.name
  if (message.is_error === true) part.isError = true
  const cache = readCacheControl(message.cache_control)
  if (cache) part.cache = cache
  return { role: 'tool', parts: [part] }
}

function legacyCall(value: unknown, at: number): Extract<Part, { type: 'tool-call' }> | undefined {
  if (!isObject(value)) return undefined
  return {
    type: 'tool-call',
    id: `call_${at}`,
    name: value.name as string,
    arguments: value.arguments as string,
  }
}

function assistantParts(message: Json, at: number): Part[] {
  const parts = reasoningParts(message)
  parts.push(...decodeContent(message.content, at))
  if (typeof message.refusal === 'string' && message.refusal !== '')
    parts.push({ type: 'refusal', text: message.refusal })
  const calls = (message.tool_calls ?? []) as Json[]
  calls.forEach((call, index) => parts.push(toolCall(call, ['messages', at, 'tool_calls', index])))
  if (parts.length === 0 && isObject(message.audio))
    throw untranslatable(['messages', at, 'audio'], 'earlier audio by id is only known to the vendor that spoke it')
  return parts
}

function toolCall(call: Json, path: Path): Part {
  const { custom } = call
  const signed = readSignedCall(call, call.id as string)
  if (isObject(custom) && typeof custom.name === 'string' && typeof custom.input === 'string')
    return { type: 'tool-call', ...signed, name: custom.name, arguments: freeTextArguments(custom.input) }
  if (!isObject(call.function))
    throw untranslatable([...path, 'type'], `tool calls of type ${shown(call.type)} cannot be translated`)
  const part: Part = {
    type: 'tool-call',
    ...signed,
    name: call.function.name as string,
    arguments: call.function.arguments as string,
  }
  const cache = readCacheControl(call.cache_control)
  if (cache) part.cache = cache
  return part
}

/** Blocks carry signatures and win over the plain text, which repeats them. */
function reasoningParts(message: Json): Part[] {
  const parts: Part[] = []
  for (const block of (message.thinking_blocks ?? []) as unknown[]) {
    const part = thinkingPart(block)
    if (part) parts.push(part)
  }
  if (parts.length > 0) return parts
  const text = message.reasoning_content ?? message.reasoning
  return typeof text === 'string' && text !== '' ? [{ type: 'reasoning', text }] : []
}

function thinkingPart(block: unknown): Part | undefined {
  if (!isObject(block)) return undefined
  if (block.type === 'redacted_thinking' && typeof block.data === 'string')
    return { type: 'reasoning', text: '', redacted: block.data }
  if (block.type !== 'thinking' || typeof block.thinking !== 'string') return undefined
  return typeof block.signature === 'string' && block.signature !== ''
    ? { type: 'reasoning', text: block.thinking, signature: block.signature }
    : { type: 'reasoning', text: block.thinking }
}

function decodeContent(content: unknown, at: number): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.map((part: Json, index) => {
    const path = ['messages', at, 'content', index]
    const decoded = decodePart(part, path)
    const cache = readCacheControl(part.cache_control)
    if (cache && (decoded.type === 'text' || decoded.type === 'image' || decoded.type === 'document'))
      decoded.cache = cache
    return decoded
  })
}

function decodePart(part: Json, path: Path): Part {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text as string }
    case 'refusal':
      return { type: 'refusal', text: part.refusal as string }
    case 'image_url':
      return imagePart(part.image_url, path)
    case 'input_audio': {
      return audioPart(part.input_audio as Json, [...path, 'input_audio', 'data'])
    }
    case 'file':
      return documentPart(part.file as Json, path)
    case 'thinking':
    case 'redacted_thinking': {
      const thinking = thinkingPart(part)
      if (thinking) return thinking
    }
  }
  throw untranslatable([...path, 'type'], `content parts of type ${shown(part.type)} cannot be translated`)
}

function imagePart(value: unknown, path: Path): Part {
  const image = isObject(value) ? value : { url: value }
  const urlPath = [...path, 'image_url', ...(isObject(value) ? ['url'] : [])]
  const { detail, format } = image
  const source = sourceOf(image.url as string, urlPath)
  // LiteLLM's clients say the type of an address so.
  return mediaPart('url' in source && typeof format === 'string' ? { ...source, mediaType: format } : source, {
    kind: 'image',
    path: urlPath,
    ...((detail === 'auto' || detail === 'low' || detail === 'high') && { detail }),
  })
}

function documentPart(file: Json, path: Path): Part {
  const dataPath = [...path, 'file', 'file_data']
  const name = typeof file.filename === 'string' ? { name: file.filename } : {}
  return mediaPart(fileSource(file, dataPath), { kind: 'document', path: dataPath, ...name })
}

/** `file_data` is a data: URL by the reference, bare base64 by habit. */
function fileSource(file: Json, path: Path): Source {
  const data = file.file_data
  if (typeof data !== 'string') {
    const id = file.file_id as string
    return /^https?:\/\//i.test(id) ? { url: id } : { fileId: id }
  }
  if (/^(?:data:|https?:\/\/)/i.test(data)) return sourceOf(data, path)
  return { data, mediaType: typeof file.format === 'string' ? file.format : undeclaredType(data, file.filename) }
}
