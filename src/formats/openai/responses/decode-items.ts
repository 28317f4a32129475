/** Items of a Responses body as messages. Only for items that passed the inspection. */
import type { Message, Part, Role, Source } from '../../../core/hub/chat.ts'
import { unprocessable } from '../../../core/errors.ts'
import { readCallId, readSignedCall } from '../../../core/dialects/call-signature.ts'
import { freeTextArguments } from '../../../core/hub/tool-arguments.ts'
import { shown } from '../../common/field-checks.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { Path } from '../../common/field-checks.ts'
import { untranslatable } from '../../common/untranslatable.ts'
import { mediaPart } from '../../../core/hub/media-parts.ts'
import { audioPart, sourceOf, undeclaredType } from '../url-source.ts'
import { decodeProof } from './encrypted-reasoning.ts'
import type { ClientTool, ToolNames } from './tools.ts'

interface DecodedItems {
  readonly messages: Message[]
  readonly dropped: string[]
}

/**
 * What a vendor's own tools left behind. The answer that follows them says what came of them, so that a
 * conversation goes on without; what the client itself ran for such a tool cannot be left out.
 */
const vendorItems = new Set<unknown>([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_call',
])

/** The items in order; adjacent ones of the model are one message. Throws `unprocessable` for what the hub lacks. */
export function decodeItems(items: readonly Json[], names: ToolNames): DecodedItems {
  const result: DecodedItems = { messages: [], dropped: [] }
  items.forEach((item, at) => decodeItem(result, item, { path: ['input', at], names }))
  return result
}

interface DecodeContext {
  readonly path: Path
  readonly names: ToolNames
}

function decodeItem(result: DecodedItems, item: Json, { path, names }: DecodeContext): void {
  // As the inspection has it: an item with nothing but an id stands for a stored one.
  const type = item.type ?? (item.role === undefined && typeof item.id === 'string' ? 'item_reference' : 'message')
  if (vendorItems.has(type)) return void result.dropped.push(`input.${String(type)}`)
  switch (type) {
    case 'message':
      return addMessage(result, item, path)
    case 'reasoning':
      return addReasoning(result, item)
    case 'function_call':
    case 'custom_tool_call':
      return addAssistant(result, [toolCall(item, names)])
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { output } = item
      const parts = typeof output === 'string' ? textParts(output) : decodeParts(output as Json[], [...path, 'output'])
      const { id: callId } = readCallId(item.call_id as string)
      result.messages.push({ role: 'tool', parts: [{ type: 'tool-result', callId, parts }] })
      return
    }
    // Its tools were read with the others.
    case 'additional_tools':
      return
    case 'item_reference':
      throw unprocessable([
        { loc: ['body', ...path, 'id'], msg: 'no stored item has this id; send the item itself', type: 'invalid' },
      ])
  }
  throw untranslatable([...path, 'type'], `items of type ${shown(type)} cannot be translated`)
}

function addMessage(result: DecodedItems, item: Json, path: Path): void {
  const { content } = item
  const parts = typeof content === 'string' ? textParts(content) : decodeParts(content as Json[], [...path, 'content'])
  if (item.role === 'assistant') addAssistant(result, parts)
  else result.messages.push({ role: item.role as Role, parts })
}

function addAssistant(result: DecodedItems, parts: Part[]): void {
  const last = result.messages.at(-1)
  if (last?.role === 'assistant') last.parts.push(...parts)
  else result.messages.push({ role: 'assistant', parts })
}

/** Thinking with a proof of ours goes back to its vendor whole; a foreign proof can only be left out. */
function addReasoning(result: DecodedItems, item: Json): void {
  const proof = decodeProof(item.encrypted_content)
  const text = joined(item.content) || joined(item.summary)
  if (proof?.redacted !== undefined)
    return addAssistant(result, [{ type: 'reasoning', text: '', redacted: proof.redacted }])
  if (!proof && typeof item.encrypted_content === 'string' && item.encrypted_content !== '')
    result.dropped.push('input.encrypted_content')
  if (text === '' && !proof) return
  const signature = proof?.signature === undefined ? {} : { signature: proof.signature }
  addAssistant(result, [{ type: 'reasoning', text, ...signature }])
}

function joined(parts: unknown): string {
  if (!Array.isArray(parts)) return ''
  return parts
    .map((part: unknown) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .filter(text => text !== '')
    .join('\n\n')
}

function toolCall(item: Json, names: ToolNames): Part {
  const kind = item.type === 'custom_tool_call' ? 'custom' : 'function'
  const namespace = typeof item.namespace === 'string' ? { namespace: item.namespace } : {}
  const tool: ClientTool = { kind, name: item.name as string, ...namespace }
  return {
    type: 'tool-call',
    ...readSignedCall(item, item.call_id as string),
    name: names.nameOf(tool),
    arguments: kind === 'custom' ? freeTextArguments(item.input as string) : (item.arguments as string),
  }
}

function textParts(text: string): Part[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function decodeParts(parts: readonly Json[], path: Path): Part[] {
  return parts.map((part, at) => decodePart(part, [...path, at]))
}

function decodePart(part: Json, path: Path): Part {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text as string }
    case 'refusal':
      return { type: 'refusal', text: part.refusal as string }
    case 'input_image':
      return imagePart(part, path)
    case 'input_file':
      return documentPart(part, path)
    case 'input_audio': {
      return audioPart(part.input_audio as Json, [...path, 'input_audio', 'data'])
    }
  }
  throw untranslatable([...path, 'type'], `content parts of type ${shown(part.type)} cannot be translated`)
}

function imagePart(part: Json, path: Path): Part {
  const source: Source =
    typeof part.image_url === 'string'
      ? sourceOf(part.image_url, [...path, 'image_url'])
      : { fileId: part.file_id as string }
  // `original` asks for more than any other vendor has a word for.
  const detail = part.detail === 'original' ? 'high' : part.detail
  return mediaPart(source, {
    kind: 'image',
    path: [...path, 'image_url'],
    ...((detail === 'auto' || detail === 'low' || detail === 'high') && { detail }),
  })
}

function documentPart(part: Json, path: Path): Part {
  const name = typeof part.filename === 'string' ? { name: part.filename } : {}
  return mediaPart(fileSource(part, path), { kind: 'document', path: [...path, 'file_data'], ...name })
}

/** `file_data` is a data: URL by the reference, bare base64 by habit. */
function fileSource(part: Json, path: Path): Source {
  if (typeof part.file_url === 'string') return sourceOf(part.file_url, [...path, 'file_url'])
  if (typeof part.file_data !== 'string') return { fileId: part.file_id as string }
  return part.file_data.startsWith('data:')
    ? sourceOf(part.file_data, [...path, 'file_data'])
    : { data: part.file_data, mediaType: undeclaredType(part.file_data, part.filename) }
}
