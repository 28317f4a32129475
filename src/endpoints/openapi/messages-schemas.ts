/** Messages and the events of their streams (platform.claude.com/docs/en/api/messages). */
import {
  anyObject,
  constant,
  described,
  either,
  integer,
  listOf,
  nullable,
  oneOf,
  open,
  otherThan,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Properties, Schema } from './schema.ts'

const citations = { citations: nullable(listOf(anyObject)) }
const blocks: Readonly<Record<string, Schema>> = {
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

const event = (type: string, fields: Properties = {}): Schema => shape({ type: constant(type), ...fields })
const deltas: readonly Schema[] = [
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

/** By their names under `#/components/schemas/`. */
export const messageAnswerSchemas: Readonly<Record<string, Schema>> = {
  Message: shape(
    {
      id: text,
      type: constant('message'),
      role: constant('assistant'),
      model: text,
      content: listOf(reference('MessageBlock')),
      ...ending,
      usage: reference('MessageUsage'),
    },
    further,
  ),
  MessageBlock: either(
    ...Object.values(blocks),
    described(
      'A block of a tool that the upstream runs itself.',
      open(shape({ type: otherThan(...Object.keys(blocks)) }, { id: text, name: text })),
    ),
  ),
  MessageUsage: shape({ input_tokens: integer, output_tokens: integer }, counts),
  MessageStream: either(
    event('message_start', { message: reference('Message') }),
    event('content_block_start', { index: integer, content_block: reference('MessageBlock') }),
    event('content_block_delta', { index: integer, delta: either(...deltas) }),
    event('content_block_stop', { index: integer }),
    event('message_delta', {
      delta: shape(ending, further),
      usage: shape({ output_tokens: integer }, { input_tokens: nullable(integer), ...counts }),
    }),
    event('message_stop'),
    event('ping'),
    reference('AnthropicError'),
  ),
  MessageInputTokens: shape({ input_tokens: integer }),
}
