/**
 * Cursor with a custom base URL sends a Responses body to the chat path and reads chat chunks. Its functions are nested
 * as in chat completions, its text tools flat as in Responses; it reads no calls but those of functions.
 * No upstream has this mixture: it is always translated.
 */
import { GatewayError } from '../../core/errors.ts'
import type { ChatFormat } from '../../core/format.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import type { Edit } from '../../lib/json/json-body.ts'
import { readField } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { strictChatSchema } from './chat/structured-output.ts'
import { openaiChat } from './chat/index.ts'
import { chatBody, claudeShapedChat, mayHoldClaudeShapes } from './claude-shapes.ts'
import { openaiResponses } from './responses/index.ts'
import { strictResponseSchema } from './responses/structured-output.ts'
import { markTextTools } from './text-tool.ts'
import { exactText } from '../../lib/json/exact-json.ts'
import { schemaNames } from '../../core/dialects/exact-names.ts'

function neverForwarded(): never {
  throw new GatewayError('internal', 'a Responses body with a chat answer is never forwarded')
}

/** A Responses body on a chat path, or a chat with parts of Anthropic's Messages. */
export function chatOrCursor(body: JsonBody): ChatFormat {
  if (body.has('input') && !body.has('messages')) return cursorChat
  return mayHoldClaudeShapes(body) && chatBody(body) !== body ? claudeShapedChat : openaiChat
}

/** `/cursor/chat/completions` and `/v1/chat/completions`, for bodies with `input` in place of `messages`. */
export const cursorChat: ChatFormat = {
  ...openaiChat,
  dialect: 'cursor-chat',
  fieldNames: openaiResponses.fieldNames,
  inspect: body => openaiResponses.inspect(flatBody(body)),
  strictSchema: { ...strictResponseSchema, texts: strictChatSchema.texts },
  decode(body) {
    const options = body.get('stream_options')
    const request = openaiResponses.decode(flatBody(body))
    const texts = (request.tools ?? []).filter(tool => tool.freeText)
    markTextTools(request, new Map(texts.map(({ name }) => [name, 'function'])))
    return { ...request, includeUsage: isObject(options) && options.include_usage === true }
  },
  forward: { edits: neverForwarded, answer: neverForwarded, relay: neverForwarded },
}

/** With tools and their choice as Responses have them; the same body where they are so already, or are no tools. */
function flatBody(body: JsonBody): JsonBody {
  const edits: Edit[] = []
  const tools = body.has('tools') ? (body.exact('tools', schemaNames) ?? readField(body, 'tools')) : undefined
  if (Array.isArray(tools) && tools.some(isNested))
    edits.push({
      set: 'tools',
      json: exactText(tools.map(tool => (isNested(tool) ? flat(tool) : (tool as unknown)))),
    })
  const choice = body.has('tool_choice') ? readField(body, 'tool_choice') : undefined
  if (isNested(choice)) edits.push({ set: 'tool_choice', json: JSON.stringify(flat(choice)) })
  return edits.length === 0 ? body : JsonBody.read(Buffer.concat(body.edited(edits)))
}

const isNested = (value: unknown): value is Json =>
  isObject(value) && (isObject(value.function) || isObject(value.custom)) && value.name === undefined

function flat({ function: called, custom, ...rest }: Json): Json {
  return { ...rest, ...(isObject(called) ? called : (custom as Json)) }
}
