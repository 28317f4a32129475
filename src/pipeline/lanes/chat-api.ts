/** By which API of its upstream a chat goes: chat completions, or OpenAI's Responses (docs/decisions/0017). */
import type { ChatRequest } from '../../core/hub/chat.ts'
import { defaultEffort } from '../../core/hub/chat-fields.ts'
import { nativeProfile } from '../../core/deployment.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { ChatAdapter, Dialect } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { decorated } from '../../emulation/decorate.ts'
import { fitToolNames, isFittingToolName } from '../../emulation/tool-names.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** Which adapter a chat goes through, and the request for it. */
interface ChatRoute {
  readonly adapter: ChatAdapter
  readonly request: ChatRequest
}

/**
 * What a client asked for as a Response goes to the upstream as one, where it has them; so do tools of plain text,
 * where it knows these. `clientHeaders` = those that belong to the client's own dialect. undefined = the upstream has
 * no chats.
 */
export function chatRoute(
  deployment: Deployment,
  request: ChatRequest,
  clientHeaders?: Readonly<Record<string, string>>,
): ChatRoute | undefined {
  const route = plainRoute(deployment, request)
  const { restrictions, target } = deployment
  // Fields of the client's dialect go along, and so does what they were written for: without its beta one is refused.
  const headers = target.provider.speaks[request.extra.format as Dialect] && clientHeaders
  if (!route || (!restrictions && !headers)) return route
  const { adapter } = route
  const changed: ChatAdapter['request'] = (one, to) => {
    const { head, body, dropped } = adapter.request(one, to)
    return {
      head: withHeaders(head, headers),
      body: restrictions ? { ...restrictions, ...(body as Json) } : body,
      dropped,
    }
  }
  return { ...route, adapter: { ...adapter, request: changed } }
}

/** The client's version and betas replace the deployment's: only the client knows what its body needs. */
export function withHeaders(head: CallHead, headers: Readonly<Record<string, string>> | undefined): CallHead {
  return headers === undefined ? head : { url: head.url, headers: { ...head.headers, ...headers } }
}

function plainRoute(deployment: Deployment, request: ChatRequest): ChatRoute | undefined {
  const { chat, chatByResponses, speaks, textTools } = deployment.target.provider
  if (!chat) return undefined
  if (!chatByResponses) return { adapter: fitted(chat, request), request }
  const { tools, reasoning, extra } = request
  const isNative = deployment.profile === nativeProfile
  const isResponse = isNative && extra.format === 'openai-responses' && speaks['openai-responses'] !== undefined
  const hasTexts = isNative && textTools === true && (tools?.some(tool => tool.freeText) ?? false)
  const usesResponses =
    isResponse || hasTexts || takesResponses(deployment, (tools?.length ?? 0) > 0, reasoning?.effort)
  if (!usesResponses) return { adapter: fitted(chat, request), request }
  const dropped = textTools && request.dropped?.filter(name => name !== 'tools.format')
  return {
    adapter: fitted(chatByResponses(deployment.target), request),
    request: dropped ? { ...request, dropped } : request,
  }
}

function fitted(adapter: ChatAdapter, request: ChatRequest): ChatAdapter {
  const names = fitToolNames(request)
  return names ? decorated(adapter, names) : adapter
}

/**
 * The same for a body that may be forwarded, without decoding it: true = it has to be translated, to Responses or
 * because the upstream does not know its tools.
 */
export function needsTranslation(deployment: Deployment, dialect: Dialect, body: JsonBody): boolean {
  const { responsesOnly } = deployment
  if (dialect === 'openai-completions') return responsesOnly === 'everything'
  // Refused by the translation, in words that the client knows.
  if (dialect === 'anthropic-messages')
    return body.has('thread') && body.get('thread') !== null && !deployment.target.provider.threads
  if (dialect !== 'openai-chat') return false
  if (responsesOnly !== undefined && takesResponses(deployment, hasTools(body), effortOf(body))) return true
  if (hasMediaInResults(body)) return true
  return body.has('tools') && (hasForeignTextTools(deployment, body) || hasUnfitToolName(body))
}

const mediaTypes = ['"image_url"', '"input_audio"', '"file"'].map(type => Buffer.from(type))
const resultKey = Buffer.from('"tool_call_id"')

/** Tool messages of the dialect hold text alone; the translation puts a picture where the host can read it. */
function hasMediaInResults(body: JsonBody): boolean {
  const bytes = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength)
  if (!bytes.includes(resultKey) || !mediaTypes.some(type => bytes.includes(type))) return false
  return objectsOf(body.get('messages')).some(
    ({ role, content }) =>
      role === 'tool' && objectsOf(content).some(({ type }) => type !== 'text' && type !== 'refusal'),
  )
}

const nameKey = Buffer.from('"name"')
/** Of what follows `"name"`: longer than any name that fits, with white space. */
const nameBytesMax = 80
/** No colon (it is a text itself), no text behind it (the property of a schema), or a name that fits. */
const fittingValue = /^\s*(?:[^\s:]|:\s*(?:[^\s"]|"[A-Za-z_][A-Za-z0-9_-]{0,63}"))/

/** Parses the tools only where some `"name"` of the body holds a text that is no fitting name, as seldom one does. */
function hasUnfitToolName(body: JsonBody): boolean {
  const bytes = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength)
  for (let at = bytes.indexOf(nameKey); at >= 0; at = bytes.indexOf(nameKey, at + nameKey.length)) {
    const from = at + nameKey.length
    if (fittingValue.test(bytes.toString('latin1', from, from + nameBytesMax))) continue
    return objectsOf(body.get('tools')).some(tool => {
      const { name } = isObject(tool.function) ? tool.function : tool
      return typeof name === 'string' && !isFittingToolName(name)
    })
  }
  return false
}

/** Cursor's, which are flat, are foreign everywhere. */
function hasForeignTextTools({ target }: Deployment, body: JsonBody): boolean {
  const { bytes } = body
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf('"custom"') < 0) return false
  const { chat, textTools } = target.provider
  const isForeign = (tool: Json): boolean => tool.type === 'custom' && (!textTools || !isObject(tool.custom))
  return chat !== undefined && objectsOf(body.get('tools')).some(isForeign)
}

function takesResponses({ responsesOnly }: Deployment, tools: boolean, effort: unknown): boolean {
  switch (responsesOnly) {
    case undefined:
      return false
    case 'tools-with-effort':
      return tools && effort !== undefined && effort !== 'none'
    case 'tools-unless-effort-none':
      return tools && effort !== 'none'
    case 'tools':
      return tools
    case 'everything':
      return true
  }
}

function hasTools(body: JsonBody): boolean {
  return ['tools', 'functions'].some(field => {
    const value = body.get(field)
    return Array.isArray(value) && value.length > 0
  })
}

/** As the decoder has it: the first of the two spellings counts. */
function effortOf(body: JsonBody): unknown {
  const reasoning = body.get('reasoning')
  if (body.get('reasoning_effort') === defaultEffort) return undefined
  return body.get('reasoning_effort') ?? (isObject(reasoning) ? (reasoning.effort ?? undefined) : undefined)
}
