/** Decodes `messages` and `system` into hub types. Takes only what passed the inspection (`inspect-messages.ts`). */
import type { CacheControl, Message, Part, Source } from '../../core/hub/chat.ts'
import { shown } from '../common/field-checks.ts'
import type { Path } from '../common/field-checks.ts'
import { readCacheControl } from '../common/cache-control.ts'
import { untranslatable } from '../common/untranslatable.ts'
import { decodeSignature } from './thinking-signature.ts'
import { readCallId, readSignedCall } from '../../core/dialects/call-signature.ts'
import { mediaPart } from '../../core/hub/media-parts.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { exactText } from '../../lib/json/exact-json.ts'

/** Claude Code's first system block: new in every conversation, it would defeat other vendors' prompt caches. */
const billingHeader = /^x-anthropic-billing-header\s*:/i
/** What Anthropic's servers did in an earlier turn; other models were not there. */
const serverBlock = /^(?:server_tool_use|mcp_tool_use|[a-z_]+_tool_result)$/
/** What only Claude can make sense of in the result of a tool. */
const claudeOnly: ReadonlySet<unknown> = new Set(['tool_reference', 'browser_state'])

/** Whose content blocks are decoded. */
type Turn = 'user' | 'assistant'

const withCache = <P extends Part>(part: P, cache: CacheControl | undefined): P => (cache ? { ...part, cache } : part)

/** `dropped` takes the names of what is left out. Throws `unprocessable` for what no other vendor has. */
export class MessagesDecoder {
  readonly #dropped: Set<string>
  /** Names of the calls so far, by id: other vendors want them with the results. */
  readonly #calls = new Map<string, string>()

  constructor(dropped: Set<string>) {
    this.#dropped = dropped
  }

  /** No message when there is nothing to say. */
  system(value: unknown): Message[] {
    const parts = this.#instructions(value)
    return parts.length > 0 ? [{ role: 'system', parts }] : []
  }

  messages(list: readonly Json[]): Message[] {
    return list.flatMap((message, at) => {
      const path = ['messages', at, 'content']
      if (message.role === 'system') return this.system(message.content)
      return message.role === 'assistant' ? this.#answer(message.content, path) : this.#user(message.content, path)
    })
  }

  /** A turn that holds only what other models cannot be sent leaves no message. */
  #answer(content: unknown, path: Path): Message[] {
    const parts = this.#content(content, path, 'assistant')
    return parts.length > 0 ? [{ role: 'assistant', parts }] : []
  }

  #instructions(value: unknown): Part[] {
    if (typeof value === 'string')
      return value === '' || billingHeader.test(value) ? [] : [{ type: 'text', text: value }]
    return objectsOf(value)
      .filter(block => block.type === 'text' && block.text !== '' && !billingHeader.test(String(block.text)))
      .map(block => withCache({ type: 'text', text: String(block.text) }, readCacheControl(block.cache_control)))
  }

  /** Results first, each in a message of its own: they answer the calls of the message before. */
  #user(content: unknown, path: Path): Message[] {
    if (!Array.isArray(content)) return [{ role: 'user', parts: this.#content(content, path, 'user') }]
    const results: Message[] = []
    const rest: Part[] = []
    content.forEach((block: Json, at) => {
      if (block.type === 'tool_result') results.push({ role: 'tool', parts: [this.#result(block, [...path, at])] })
      else rest.push(...this.#block(block, [...path, at], 'user'))
    })
    return rest.length === 0 && results.length > 0 ? results : [...results, { role: 'user', parts: rest }]
  }

  #result(block: Json, path: Path): Part {
    const { id: callId } = readCallId(String(block.tool_use_id))
    const name = this.#calls.get(callId)
    const part: Part = {
      type: 'tool-result',
      callId,
      parts: this.#content(block.content, [...path, 'content'], 'user'),
    }
    if (name !== undefined) part.name = name
    if (block.is_error === true) part.isError = true
    return withCache(part, readCacheControl(block.cache_control))
  }

  #content(content: unknown, path: Path, role: Turn): Part[] {
    if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
    return objectsOf(content).flatMap((block, at) => this.#block(block, [...path, at], role))
  }

  #block(block: Json, path: Path, role: Turn): Part[] {
    const cache = readCacheControl(block.cache_control)
    switch (block.type) {
      case 'text':
        return block.text === '' ? [] : [withCache({ type: 'text', text: String(block.text) }, cache)]
      case 'image':
        if (block.transformations != null) this.#dropped.add('messages.content.transformations')
        return [withCache(media(block.source as Json, 'image', [...path, 'source']), cache)]
      case 'document':
        return this.#document(block, path, cache)
      case 'search_result':
        return [withCache({ type: 'text', text: searchResult(block) }, cache)]
      case 'thinking':
        return thinking(block)
      case 'redacted_thinking':
        return [{ type: 'reasoning', text: '', redacted: String(block.data) }]
      case 'tool_use': {
        const name = String(block.name)
        const { id, ...signature } = readSignedCall(block, String(block.id))
        this.#calls.set(id, name)
        return [withCache({ type: 'tool-call', id, ...signature, name, arguments: exactText(block.input) }, cache)]
      }
    }
    if ((role === 'assistant' && serverBlock.test(String(block.type))) || claudeOnly.has(block.type)) {
      this.#dropped.add(`messages.content.${String(block.type)}`)
      return []
    }
    throw untranslatable([...path, 'type'], `content blocks of type ${shown(block.type)} cannot be translated`)
  }

  /** Title and context of a document stand before it, as Claude reads them. */
  #document(block: Json, path: Path, cache: CacheControl | undefined): Part[] {
    const { source, title, context, citations } = block
    if (isObject(citations) && citations.enabled === true) this.#dropped.add('messages.content.citations')
    const parts: Part[] = typeof context === 'string' && context !== '' ? [{ type: 'text', text: context }] : []
    if (isObject(source) && source.type === 'content') {
      if (typeof title === 'string' && title !== '') parts.push({ type: 'text', text: title })
      parts.push(...this.#content(source.content, [...path, 'source', 'content'], 'user'))
      return parts
    }
    const name = typeof title === 'string' && title !== '' ? { name: title } : {}
    return [...parts, withCache(media(source as Json, 'document', [...path, 'source'], name), cache)]
  }
}

function thinking(block: Json): Part[] {
  const signature = decodeSignature(String(block.signature))
  const text = String(block.thinking)
  if (signature !== undefined) return [{ type: 'reasoning', text, signature }]
  return text === '' ? [] : [{ type: 'reasoning', text }]
}

function media(source: Json, kind: 'image' | 'document', path: Path, more: { name?: string } = {}): Part {
  const from = sourceOf(source, path)
  if (source.type === 'text') return { type: 'document', source: from, ...more }
  return mediaPart(from, { kind, path: [...path, 'data'], ...more })
}

function sourceOf(source: Json, path: Path): Source {
  switch (source.type) {
    case 'base64':
      return { data: String(source.data), mediaType: String(source.media_type) }
    case 'text':
      return { data: Buffer.from(String(source.data), 'utf8').toString('base64'), mediaType: 'text/plain' }
    case 'url':
      return { url: String(source.url), field: [...path, 'url'].join('.') }
    case 'file':
      return { fileId: String(source.file_id) }
  }
  throw untranslatable([...path, 'type'], `sources of type ${shown(source.type)} cannot be translated`)
}

/** Other vendors have no such block: title and source as words, so that the model can name them. */
function searchResult({ title, source, content }: Json): string {
  const texts = typeof content === 'string' ? [content] : objectsOf(content).map(block => String(block.text ?? ''))
  return [`Search result: ${String(title)}`, `Source: ${String(source)}`, ...texts].join('\n')
}
