/**
 * A conversation as Cohere's `messages`. Documents in it go to the body's `documents`
 * (docs.cohere.com/v2/docs/rag-complete-example).
 */
import { isTextType } from '../../core/hub/media-parts.ts'
import { refusedMedia } from '../common/refused-media.ts'
import type { Message, Part } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { lostInMessages } from '../common/lost-messages.ts'
import { mediaBehindResults } from '../common/result-media.ts'
import type { MessageWords } from '../common/lost-messages.ts'
import { address } from '../openai-compatible/request.ts'
import { textOrParts } from '../openai-compatible/texts.ts'

interface Conversation {
  readonly messages: Json[]
  /** For the field `documents`. */
  readonly documents: Json[]
}

/** Adds fields that Cohere lacks to `dropped`. Throws `invalid-request` for parts that Cohere does not take. */
export function conversation(messages: readonly Message[], dropped: string[]): Conversation {
  const documents: Json[] = []
  const converted = mediaBehindResults(messages, part => part.type === 'image').flatMap(message =>
    message.role === 'assistant' ? assistant(message.parts) : inputMessages(message, documents),
  )
  dropped.push(...lostInMessages(messages, messageWords))
  return { messages: converted, documents }
}

const messageWords: MessageWords = {
  names: false,
  imageDetail: true,
  fileName: () => true,
  cacheMarks: false,
  resultErrors: false,
  thinking: ({ text }) => text !== '',
  blank: ({ role, parts }) => role !== 'assistant' || parts.some(part => 'text' in part && part.text !== ''),
}

/** A user, system or tool message: tool results become messages of their own, documents are added to `documents`. */
function inputMessages(message: Message, documents: Json[]): Json[] {
  const results: Json[] = []
  const rest: Json[] = []
  const before = documents.length
  for (const part of message.parts) {
    if (part.type === 'tool-result')
      results.push({ role: 'tool', tool_call_id: part.callId, content: resultContent(part.parts) })
    else if (part.type === 'document') documents.push({ id: `doc_${documents.length}`, data: documentData(part) })
    else rest.push(contentPart(part))
  }
  if (rest.length === 0 && (results.length > 0 || documents.length > before)) return results
  return [...results, { role: message.role === 'developer' ? 'system' : message.role, content: textOrParts(rest) }]
}

function contentPart(part: Part): Json {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return { type: 'text', text: part.text }
    case 'image':
      return {
        type: 'image_url',
        image_url: { url: address(part.source), ...(part.detail && { detail: part.detail }) },
      }
    case 'audio':
      throw refusedMedia(part, 'text and pictures')
    default:
      throw new GatewayError(
        'invalid-request',
        `this model does not take ${part.type} input; leave it out of \`messages\``,
        {
          param: 'messages',
        },
      )
  }
}

/** The `data` of a document: inline text with an optional title. */
function documentData(part: Extract<Part, { type: 'document' }>): Json {
  const { source, name } = part
  if (!('data' in source) || !isTextType(source.mediaType)) throw refusedMedia(part, 'its text instead of the file')
  return { ...(name !== undefined && { title: name }), text: Buffer.from(source.data, 'base64').toString('utf8') }
}

function resultContent(parts: readonly Part[]): unknown {
  if (!parts.some(part => part.type === 'document')) return textOrParts(parts.map(contentPart))
  return parts.map(part =>
    part.type === 'document' ? { type: 'document', document: { data: documentData(part) } } : contentPart(part),
  )
}

/** With tool calls all text is sent as `tool_plan`, because `content` is not allowed; otherwise it is the content. */
function assistant(parts: readonly Part[]): Json[] {
  const calls = parts.filter(part => part.type === 'tool-call')
  // Encrypted thinking of another vendor has no text.
  const texts = parts.filter(
    part => (part.type === 'reasoning' || part.type === 'text' || part.type === 'refusal') && part.text !== '',
  )
  if (calls.length === 0 && texts.length === 0) return []
  const content = texts.map(part =>
    part.type === 'reasoning' ? { type: 'thinking', thinking: part.text } : contentPart(part),
  )
  if (calls.length === 0) return [{ role: 'assistant', content: textOrParts(content) }]
  const plan = texts.map(part => ('text' in part ? part.text : '')).join('\n')
  return [
    {
      role: 'assistant',
      ...(plan !== '' && { tool_plan: plan }),
      tool_calls: calls.map(call => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments.trim() === '' ? '{}' : call.arguments },
      })),
    },
  ]
}
