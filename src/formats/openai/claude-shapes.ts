/**
 * Parts of Anthropic's Messages in a body of chat completions, as Cursor and other agents send them where the model has
 * a name of Claude: tools with `input_schema`, blocks `tool_use`, `tool_result`, `image` and `document`, and a
 * `tool_choice` with `any` or `tool` (platform.claude.com/docs/en/api/messages). They become those of chat completions;
 * what is incomplete stays as it is, and is refused by its name.
 */
import type { ChatFormat } from '../../core/format.ts'
import { GatewayError } from '../../core/errors.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import type { Edit } from '../../lib/json/json-body.ts'
import { exactNames, exactText } from '../../lib/json/exact-json.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { readField } from '../common/field-checks.ts'
import { openaiChat } from './chat/index.ts'

const marks = ['"tool_use"', '"tool_result"', '"input_schema"', '"image"'].map(mark => Buffer.from(mark))

/** true = the body may hold parts of Messages. Only bytes are searched: nearly every chat has none. */
export function mayHoldClaudeShapes({ bytes }: JsonBody): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return marks.some(mark => buffer.includes(mark))
}

const neverForwarded = (): never => {
  throw new GatewayError('internal', 'a chat body with parts of Messages is never forwarded')
}

const { plain: _, ...decodedChat } = openaiChat

/** `/v1/chat/completions` for such bodies. No upstream has this mixture: it is always translated. */
export const claudeShapedChat: ChatFormat = {
  ...decodedChat,
  dialect: 'cursor-chat',
  inspect: body => openaiChat.inspect(chatBody(body)),
  decode: body => openaiChat.decode(chatBody(body)),
  forward: { edits: neverForwarded, answer: neverForwarded, relay: neverForwarded },
}

/** The body in the shapes of chat completions; the same one where it has no other. */
export function chatBody(body: JsonBody): JsonBody {
  const edits: Edit[] = []
  const change = (name: string, value: unknown, changed: unknown): void => {
    if (changed !== value) edits.push({ set: name, json: exactText(changed) })
  }
  const read = (name: string, exact: string): unknown =>
    body.has(name) ? (body.exact(name, exactNames(exact)) ?? readField(body, name)) : undefined
  const tools = read('tools', 'input_schema')
  change('tools', tools, chatTools(tools))
  const messages = read('messages', 'input')
  change('messages', messages, chatMessages(messages))
  const choice = body.has('tool_choice') ? readField(body, 'tool_choice') : undefined
  if (isObject(choice)) {
    change('tool_choice', choice, chatChoice(choice))
    if (choice.disable_parallel_tool_use === true && !body.has('parallel_tool_calls'))
      edits.push({ set: 'parallel_tool_calls', json: 'false' })
  }
  return edits.length === 0 ? body : JsonBody.read(Buffer.concat(body.edited(edits)))
}

const isClaudeTool = (tool: unknown): tool is Json =>
  isObject(tool) && isObject(tool.input_schema) && (tool.type == null || tool.type === 'custom') && !tool.function

function chatTools(tools: unknown): unknown {
  if (!Array.isArray(tools) || !tools.some(isClaudeTool)) return tools
  return tools.map((tool: unknown) => {
    if (!isClaudeTool(tool)) return tool
    const { type: _type, input_schema: parameters, cache_control: cache, ...definition } = tool
    return { type: 'function', function: { ...definition, parameters }, ...(cache != null && { cache_control: cache }) }
  })
}

/** `auto` and `none` are read as they are. */
function chatChoice(choice: Json): Json | string {
  if (choice.type === 'any') return 'required'
  if (choice.type !== 'tool' || typeof choice.name !== 'string') return choice
  return { type: 'function', function: { name: choice.name } }
}

function chatMessages(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages
  const changed = messages.flatMap((message: unknown) => (isObject(message) ? chatTurn(message) : [message]))
  return changed.length === messages.length && changed.every((one, at) => one === messages[at]) ? messages : changed
}

/** Results stand before the rest of the turn: they answer the calls of the turn before. */
function chatTurn(message: Json): Json[] {
  const { content } = message
  if (!Array.isArray(content)) return [message]
  const blocks = content as unknown[]
  if (message.role === 'assistant') return [withCalls(message, blocks)]
  const results = message.role === 'user' ? blocks.filter(isResult) : []
  const rest = results.length === 0 ? blocks : blocks.filter(block => !isResult(block))
  const parts = chatParts(rest)
  if (results.length === 0) return [parts === blocks ? message : { ...message, content: parts }]
  return [...results.map(resultMessage), ...(rest.length === 0 ? [] : [{ ...message, content: parts }])]
}

const isCall = (block: unknown): block is Json =>
  isObject(block) &&
  block.type === 'tool_use' &&
  typeof block.id === 'string' &&
  typeof block.name === 'string' &&
  isObject(block.input)

function withCalls(message: Json, blocks: readonly unknown[]): Json {
  const calls = blocks.filter(isCall)
  if (calls.length === 0) return message
  const content = blocks.filter(block => !isCall(block))
  const written = calls.map(({ id, name, input, cache_control: cache }) => ({
    ...{ id, type: 'function', function: { name, arguments: exactText(input) } },
    ...(cache != null && { cache_control: cache }),
  }))
  const known = objectsOf(message.tool_calls)
  const added = written.filter(call => !known.some(one => one.id === call.id))
  return { ...message, content: content.length > 0 ? content : null, tool_calls: [...known, ...added] }
}

const isResult = (block: unknown): block is Json =>
  isObject(block) && block.type === 'tool_result' && typeof block.tool_use_id === 'string'

function resultMessage({ tool_use_id: id, content, is_error: isError, cache_control: cache }: Json): Json {
  return {
    ...{ role: 'tool', tool_call_id: id, content: Array.isArray(content) ? chatParts(content) : (content ?? '') },
    ...(isError === true && { is_error: true }),
    ...(cache != null && { cache_control: cache }),
  }
}

function chatParts(blocks: readonly unknown[]): readonly unknown[] {
  const parts = blocks.map(block => (isObject(block) ? chatPart(block) : block))
  return parts.every((part, at) => part === blocks[at]) ? blocks : parts
}

function chatPart(block: Json): Json {
  const { type, source, title, cache_control: cache } = block
  if ((type !== 'image' && type !== 'document') || !isObject(source)) return block
  const marked = cache == null ? {} : { cache_control: cache }
  if (source.type === 'text' && typeof source.data === 'string') return { type: 'text', text: source.data, ...marked }
  const url = urlOf(source)
  if (url === undefined) return block
  if (type === 'image') return { type: 'image_url', image_url: { url }, ...marked }
  const name = typeof title === 'string' && title !== '' ? { filename: title } : {}
  return { type: 'file', file: { file_data: url, ...name }, ...marked }
}

function urlOf({ type, data, media_type: mediaType, url }: Json): string | undefined {
  if (type === 'url' && typeof url === 'string') return url
  const isWhole = type === 'base64' && typeof data === 'string' && typeof mediaType === 'string'
  return isWhole ? `data:${mediaType};base64,${data}` : undefined
}
