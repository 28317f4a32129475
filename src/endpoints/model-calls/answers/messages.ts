/** Messages and the events of their streams (platform.claude.com/docs/en/api/messages). */
import {
  anyObject,
  constant,
  described,
  either,
  integer,
  json,
  jsonOrEvents,
  listOf,
  named,
  nullable,
  oneOf,
  open,
  otherThan,
  shape,
  text,
} from '../../openapi/schema.ts'
import type { Schema, Success } from '../../openapi/schema.ts'
import { anthropicErrorSchema } from '../../openapi/errors.ts'

const citations = { citations: nullable(listOf(anyObject)) }

const blocks = {
  text: shape({ type: constant('text'), text }, citations),
  thinking: shape({ type: constant('thinking'), thinking: text, signature: text }),
  redacted_thinking: shape({ type: constant('redacted_thinking'), data: text }),
  tool_use: shape({ type: constant('tool_use'), id: text, name: text, input: anyObject }, { caller: anyObject }),
}

const ending = {
  stop_reason: nullable(
    oneOf(
      'end_turn',
      'max_tokens',
      'stop_sequence',
      'tool_use',
      'pause_turn',
      'refusal',
      'model_context_window_exceeded',
    ),
  ),
  stop_sequence: nullable(text),
}

const further = {
  container: nullable(anyObject),
  stop_details: nullable(shape({ type: text }, { category: nullable(text), explanation: nullable(text) })),
}

const event = (type: string, fields = {}): Schema => shape({ type: constant(type), ...fields })

const deltas = [
  event('text_delta', { text }),
  event('thinking_delta', { thinking: text }),
  event('signature_delta', { signature: text }),
  event('input_json_delta', { partial_json: text }),
  event('citations_delta', { citation: anyObject }),
]

const counts = {
  cache_creation_input_tokens: nullable(integer),
  cache_read_input_tokens: nullable(integer),
  cache_creation: nullable(shape({ ephemeral_5m_input_tokens: integer, ephemeral_1h_input_tokens: integer })),
  output_tokens_details: nullable(shape({}, { thinking_tokens: integer })),
  server_tool_use: nullable(anyObject),
  service_tier: nullable(text),
}

const messageSchema = named('Message', () =>
  shape(
    {
      id: text,
      type: constant('message'),
      role: constant('assistant'),
      model: text,
      content: listOf(messageBlockSchema),
      ...ending,
      usage: messageUsageSchema,
    },
    further,
  ),
)

const messageBlockSchema = named('MessageBlock', () =>
  either(
    ...Object.values(blocks),
    described(
      'A block of a tool that the upstream runs itself.',
      open(shape({ type: otherThan(...Object.keys(blocks)) }, { id: text, name: text })),
    ),
  ),
)

const messageUsageSchema = named('MessageUsage', () => shape({ input_tokens: integer, output_tokens: integer }, counts))

const messageStreamSchema = named('MessageStream', () =>
  either(
    event('message_start', { message: messageSchema }),
    event('content_block_start', { index: integer, content_block: messageBlockSchema }),
    event('content_block_delta', { index: integer, delta: either(...deltas) }),
    event('content_block_stop', { index: integer }),
    event('message_delta', {
      delta: shape(ending, further),
      usage: shape({ output_tokens: integer }, { input_tokens: nullable(integer), ...counts }),
    }),
    event('message_stop'),
    event('ping'),
    anthropicErrorSchema,
  ),
)

const messageInputTokensSchema = named('MessageInputTokens', () => shape({ input_tokens: integer }))

/** A message is answered whole or as events. */
export const messagesSuccess: Success = jsonOrEvents(messageSchema, messageStreamSchema)

/** A count of tokens is answered whole. */
export const inputTokensSuccess: Success = json(messageInputTokensSchema)
