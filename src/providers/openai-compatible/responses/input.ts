/** Messages as the `input` of OpenAI's Responses: a flat list of messages, calls, results and reasoning. */
import { refusedMedia } from '../../common/refused-media.ts'
import type { Message, Part, Source } from '../../../core/hub/chat.ts'
import { freeTextOf } from '../../../core/hub/tool-arguments.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { lostInMessages } from '../../common/lost-messages.ts'
import type { MessageWords } from '../../common/lost-messages.ts'
import { address } from '../request.ts'
import { joinTexts } from '../texts.ts'
import { readItem } from './signature.ts'

interface InputItems {
  readonly items: Json[]
  /** What items have no field for. */
  readonly dropped: string[]
}

type Result = Extract<Part, { type: 'tool-result' }>

/**
 * The items in order. `textTools` = names of the tools that take free text. Reasoning is sent where `account` can read
 * it, and left out otherwise. Throws `invalid-request` for audio, which no model of this API takes.
 */
export function inputItems(messages: readonly Message[], textTools: ReadonlySet<string>, account: string): InputItems {
  const textCalls = new Set<string>()
  const dropped = new Set<string>()
  const items: Json[] = []
  for (const message of messages) {
    if (message.role === 'assistant') items.push(...assistantItems(message, { textTools, textCalls, account, dropped }))
    else items.push(...otherItems(message, textCalls))
  }
  return { items, dropped: [...dropped, ...lostInMessages(messages, messageWords(account))] }
}

const messageWords = (account: string): MessageWords => ({
  names: false,
  imageDetail: true,
  fileName: ({ source }) => 'data' in source,
  cacheMarks: false,
  resultErrors: false,
  thinking: part => reasoningItem(part, account) !== undefined,
  blank: ({ role, parts }) => role !== 'assistant' || parts.length > 0,
})

/** Results of tools, and what else the message says. */
function otherItems({ role, parts }: Message, textCalls: ReadonlySet<string>): Json[] {
  const results = parts.filter(part => part.type === 'tool-result')
  const rest = parts.filter(part => part.type !== 'tool-result')
  const items = results.map(result => resultItem(result, textCalls))
  if (rest.length > 0 || results.length === 0)
    items.push({ role: role === 'tool' ? 'user' : role, content: contentOf(rest) })
  return items
}

function resultItem({ callId, parts }: Result, textCalls: ReadonlySet<string>): Json {
  const type = textCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, call_id: callId, output: contentOf(parts) }
}

interface History {
  readonly textTools: ReadonlySet<string>
  /** Ids of the calls so far of tools that take free text. */
  readonly textCalls: Set<string>
  readonly account: string
  readonly dropped: Set<string>
}

/** What a model said or was said to have said, and this API takes from users alone. */
const ofUsersAlone: Partial<Record<Part['type'], string>> = {
  image: 'messages.content.image_url',
  document: 'messages.content.file',
  audio: 'messages.content.input_audio',
}

/** In the order of the parts: OpenAI refuses reasoning that is not followed by what it led to. */
function assistantItems({ parts }: Message, history: History): Json[] {
  const items: Json[] = []
  let texts: string[] = []
  const flush = (): void => {
    if (texts.length > 0) items.push({ role: 'assistant', content: joinTexts(texts) })
    texts = []
  }
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') texts.push(part.text)
    else if (part.type === 'tool-call') {
      flush()
      items.push(callItem(part, history))
    } else if (part.type === 'reasoning') {
      const item = reasoningItem(part, history.account)
      if (!item) continue
      flush()
      items.push(item)
    } else if (ofUsersAlone[part.type]) history.dropped.add(ofUsersAlone[part.type]!)
  }
  flush()
  while (items.at(-1)?.type === 'reasoning') items.pop()
  return items
}

function callItem(call: Extract<Part, { type: 'tool-call' }>, { textTools, textCalls }: History): Json {
  const { id, name } = call
  if (!textTools.has(name)) return { type: 'function_call', call_id: id, name, arguments: call.arguments || '{}' }
  textCalls.add(id)
  return { type: 'custom_tool_call', call_id: id, name, input: freeTextOf(call.arguments) }
}

function reasoningItem({ text, signature }: Extract<Part, { type: 'reasoning' }>, account: string): Json | undefined {
  const item = readItem(signature, account)
  return (
    item && {
      type: 'reasoning',
      id: item.id,
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
      encrypted_content: item.encrypted,
    }
  )
}

/** A string where all parts are text. */
function contentOf(parts: readonly Part[]): string | Json[] {
  if (parts.every(part => part.type === 'text')) return joinTexts(parts.map(part => part.text))
  return parts.map(contentPart)
}

function contentPart(part: Part): Json {
  switch (part.type) {
    case 'image':
      return { type: 'input_image', detail: part.detail ?? 'auto', ...imageOf(part.source) }
    case 'document':
      return { type: 'input_file', ...fileOf(part.source, part.name) }
    case 'audio':
      throw refusedMedia(part, 'its text, pictures or documents')
    default:
      return { type: 'input_text', text: 'text' in part ? part.text : '' }
  }
}

const imageOf = (source: Source): Json =>
  'fileId' in source ? { file_id: source.fileId } : { image_url: address(source) }

function fileOf(source: Source, name: string | undefined): Json {
  if ('fileId' in source) return { file_id: source.fileId }
  if ('url' in source) return { file_url: source.url }
  return { filename: name ?? 'document', file_data: address(source) }
}
