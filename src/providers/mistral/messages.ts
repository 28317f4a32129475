/**
 * A conversation by Mistral's rules (github.com/mistralai/mistral-common, `protocol/instruct/validator.py`): `system`
 * only at the start and next to user messages, `assistant` after `tool`, the last message from the user, a tool, or a
 * prefix; ids of tool calls are 9 letters and digits.
 */
import { isTextType } from '../../core/hub/media-parts.ts'
import { createHash } from 'node:crypto'
import type { Message, Part } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { lostInMessages } from '../common/lost-messages.ts'
import type { MessageWords } from '../common/lost-messages.ts'
import { address } from '../openai-compatible/request.ts'
import { joinTexts, textOrParts } from '../openai-compatible/texts.ts'

interface MistralMessage extends Json {
  role: 'system' | 'user' | 'assistant' | 'tool'
}

interface Context {
  /** The model takes its earlier thinking back; others refuse such parts. */
  readonly thinking: boolean
  /** Collects the fields that Mistral lacks. */
  readonly dropped: string[]
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Mistral's own ids stay; others are hashed to nine characters, so that a call and its result still match. */
function callId(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id
  const digest = createHash('sha256').update(id).digest()
  return Array.from(digest.subarray(0, 9), byte => alphabet[byte % alphabet.length]!).join('')
}

/** Converts messages. Where the rules require a turn, `.` by the user or `OK.` by the assistant is inserted. */
export function mistralMessages(messages: readonly Message[], context: Context): MistralMessage[] {
  const out: MistralMessage[] = []
  for (const message of messages) {
    for (const one of converted(message, context)) push(out, one)
  }
  context.dropped.push(...lostInMessages(messages, messageWords(context)))
  // The first turn must not be the assistant's.
  if (out[0]?.role === 'assistant') out.unshift({ role: 'user', content: '.' })
  const last = out.at(-1)
  // A trailing assistant message is a prefix that the model continues.
  if (last?.role === 'assistant' && last.tool_calls === undefined) last.prefix = true
  return out
}

const messageWords = ({ thinking }: Context): MessageWords => ({
  names: false,
  imageDetail: true,
  // Sent as text or by id it has none.
  fileName: ({ source }) => !('fileId' in source) && !('data' in source && isTextType(source.mediaType)),
  cacheMarks: false,
  resultErrors: false,
  thinking: ({ text }) => thinking && text !== '',
  blank: ({ role, parts }) => role !== 'assistant' || parts.some(part => 'text' in part && part.text !== ''),
})

function push(out: MistralMessage[], message: MistralMessage): void {
  const before = out.at(-1)?.role
  const late = message.role === 'system' && (before === 'assistant' || before === 'tool')
  const next: MistralMessage = late ? { ...message, role: 'user' } : message
  // Only an assistant message may follow a tool message.
  if (before === 'tool' && next.role === 'user') out.push({ role: 'assistant', content: 'OK.' })
  out.push(next)
}

function converted(message: Message, context: Context): MistralMessage[] {
  if (message.role === 'assistant') return assistant(message.parts, context)
  const results: MistralMessage[] = []
  const rest: Part[] = []
  for (const part of message.parts) {
    if (part.type !== 'tool-result') rest.push(part)
    else
      results.push({
        role: 'tool',
        tool_call_id: callId(part.callId),
        ...(part.name !== undefined && { name: part.name }),
        content: content(part.parts),
      })
  }
  if (rest.length === 0 && results.length > 0) return results
  const role = message.role === 'developer' ? 'system' : message.role
  return [...results, { role, content: content(rest) }]
}

function assistant(parts: readonly Part[], { thinking }: Context): MistralMessage[] {
  const texts = parts.flatMap(part =>
    (part.type === 'text' || part.type === 'refusal') && part.text !== '' ? [contentPart(part)] : [],
  )
  const thoughts = thinking ? joinTexts(parts.map(part => (part.type === 'reasoning' ? part.text : ''))) : ''
  const calls = parts.filter(part => part.type === 'tool-call')
  // Empty assistant messages are refused.
  if (texts.length === 0 && thoughts === '' && calls.length === 0) return []
  return [
    {
      role: 'assistant',
      content:
        thoughts === ''
          ? textOrParts(texts)
          : [{ type: 'thinking', thinking: [{ type: 'text', text: thoughts }] }, ...texts],
      ...(calls.length > 0 && {
        tool_calls: calls.map(call => ({
          id: callId(call.id),
          type: 'function',
          function: { name: call.name, arguments: call.arguments.trim() === '' ? '{}' : call.arguments },
        })),
      }),
    },
  ]
}

const content = (parts: readonly Part[]): unknown => textOrParts(parts.map(contentPart))

function contentPart(part: Part): Json {
  switch (part.type) {
    case 'image': {
      if ('fileId' in part.source) return { type: 'file', file_id: part.source.fileId }
      const url = address(part.source)
      return { type: 'image_url', image_url: part.detail ? { url, detail: part.detail } : url }
    }
    case 'document': {
      const { source } = part
      if ('fileId' in source) return { type: 'file', file_id: source.fileId }
      if ('data' in source && isTextType(source.mediaType))
        return { type: 'text', text: Buffer.from(source.data, 'base64').toString('utf8') }
      return {
        type: 'document_url',
        document_url: address(source),
        ...(part.name !== undefined && { document_name: part.name }),
      }
    }
    case 'audio':
      return { type: 'input_audio', input_audio: part.data }
    default:
      return { type: 'text', text: 'text' in part ? part.text : '' }
  }
}
