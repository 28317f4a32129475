/** A conversation in Cohere's messages; documents of users stand beside it (docs.cohere.com/v2/docs/rag-complete-example). */
import type { Message, Part } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { address } from '../openai-compatible/request.ts'

interface Conversation {
  readonly messages: Json[]
  /** For the field `documents`. */
  readonly documents: Json[]
}

/** Adds to `dropped` what no message can carry. Throws `invalid-request` for parts that Cohere does not take. */
export function conversation(messages: readonly Message[], dropped: string[]): Conversation {
  const documents: Json[] = []
  const written = messages.flatMap(message => {
    if (message.name !== undefined) dropped.push('messages.name')
    if (message.parts.some(part => 'cache' in part && part.cache)) dropped.push('cache_control')
    return message.role === 'assistant' ? assistant(message.parts) : others(message, documents)
  })
  return { messages: written, documents }
}

function others(message: Message, documents: Json[]): Json[] {
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
  return [...results, { role: message.role === 'developer' ? 'system' : message.role, content: plain(rest) }]
}

/** One text is a string; several stay parts, so that no word of one runs into the next. */
function plain(parts: readonly Json[]): unknown {
  const said = parts.filter(part => part.type !== 'text' || part.text !== '')
  if (said.length === 0) return ''
  return said.length === 1 && said[0]!.type === 'text' ? said[0]!.text : said
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

/** Documents are texts by name; the model quotes them by their id. */
function documentData(part: Extract<Part, { type: 'document' }>): Json {
  const { source, name } = part
  if (!('data' in source) || !source.mediaType.startsWith('text/'))
    throw new GatewayError(
      'invalid-request',
      'this model takes documents as inline text only; send their text instead of the file',
      {
        param: 'messages',
      },
    )
  return { ...(name !== undefined && { title: name }), text: Buffer.from(source.data, 'base64').toString('utf8') }
}

function resultContent(parts: readonly Part[]): unknown {
  if (!parts.some(part => part.type === 'document')) return plain(parts.map(resultPart))
  return parts.map(part =>
    part.type === 'document' ? { type: 'document', document: { data: documentData(part) } } : resultPart(part),
  )
}

function resultPart(part: Part): Json {
  const written = contentPart(part)
  if (written.type === 'text') return written
  throw new GatewayError(
    'invalid-request',
    'this model takes tool results as text only; send the image in a user message',
    {
      param: 'messages',
    },
  )
}

/** Beside calls there is a `tool_plan` for everything that was said; else thinking and text are content. */
function assistant(parts: readonly Part[]): Json[] {
  const calls = parts.filter(part => part.type === 'tool-call')
  // Thinking that only another vendor can read has no text.
  const said = parts.filter(
    part => (part.type === 'reasoning' || part.type === 'text' || part.type === 'refusal') && part.text !== '',
  )
  if (calls.length === 0 && said.length === 0) return []
  const content = said.map(part =>
    part.type === 'reasoning' ? { type: 'thinking', thinking: part.text } : contentPart(part),
  )
  if (calls.length === 0) return [{ role: 'assistant', content: plain(content) }]
  const plan = said.map(part => ('text' in part ? part.text : '')).join('\n')
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
