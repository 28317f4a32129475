/** Responses, their items and the events of their streams (OpenAI API reference, "Responses", "Streaming events"). */
import {
  anyObject,
  boolean,
  constant,
  described,
  either,
  integer,
  json,
  jsonOrEvents,
  listOf,
  named,
  nullable,
  number,
  oneOf,
  open,
  otherThan,
  pageOf,
  shape,
  text,
  unixSeconds,
} from '../../openapi/schema.ts'
import type { Properties, Schema, Success } from '../../openapi/schema.ts'

const itemStatus = oneOf('in_progress', 'completed', 'incomplete')
const logprob = { token: text, logprob: number, bytes: listOf(integer) }
const logprobs = listOf(shape({ ...logprob, top_logprobs: listOf(shape(logprob)) }))
const summaryText = shape({ type: constant('summary_text'), text })

const urlCitation = shape({
  type: constant('url_citation'),
  url: text,
  title: text,
  start_index: integer,
  end_index: integer,
})

const contentParts = [
  shape(
    {
      type: constant('output_text'),
      text,
      annotations: listOf(either(urlCitation, open(shape({ type: otherThan('url_citation') })))),
    },
    { logprobs, citations: described('Sources without an address, as their vendor names them.', listOf(anyObject)) },
  ),
  shape({ type: constant('refusal'), refusal: text }),
]

const item = (type: string, required: Properties, optional = {}): Schema =>
  shape({ id: text, type: constant(type), ...required }, { status: itemStatus, ...optional })

const responseContentPartSchema = named('ResponseContentPart', () => either(...contentParts))

const outputItems = {
  message: item('message', { role: constant('assistant'), content: listOf(responseContentPartSchema) }),
  reasoning: item(
    'reasoning',
    { summary: listOf(summaryText) },
    {
      content: nullable(listOf(shape({ type: constant('reasoning_text'), text }))),
      encrypted_content: nullable(text),
    },
  ),
  function_call: item('function_call', { call_id: text, name: text, arguments: text }, { namespace: text }),
  custom_tool_call: item('custom_tool_call', { call_id: text, name: text, input: text }, { namespace: text }),
  compaction: shape({ id: text, type: constant('compaction'), encrypted_content: text }),
  image_generation_call: shape({
    id: text,
    type: constant('image_generation_call'),
    status: oneOf('in_progress', 'generating', 'completed', 'failed'),
    result: described('The bytes are written in base64.', nullable(text)),
  }),
}

const otherItem = described(
  'An item of a tool that the upstream runs itself.',
  open(shape({ type: otherThan(...Object.keys(outputItems)) }, { id: text })),
)

const status = oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')
const responseItemSchema = named('ResponseItem', () => either(...Object.values(outputItems), otherItem))

const responseUsageSchema = named('ResponseUsage', () =>
  shape({
    input_tokens: integer,
    input_tokens_details: shape({ cached_tokens: integer }, { cache_write_tokens: integer }),
    output_tokens: integer,
    output_tokens_details: shape({ reasoning_tokens: integer }),
    total_tokens: integer,
  }),
)

const responseSchema = named('Response', () =>
  shape(
    {
      id: text,
      object: constant('response'),
      created_at: unixSeconds,
      status,
      model: text,
      output: listOf(responseItemSchema),
      error: nullable(shape({ code: text, message: text })),
      incomplete_details: nullable(shape({ reason: oneOf('max_output_tokens', 'content_filter') })),
      instructions: nullable(either(text, listOf(anyObject))),
      parallel_tool_calls: boolean,
      temperature: nullable(number),
      tool_choice: either(text, anyObject),
      tools: listOf(anyObject),
      top_p: nullable(number),
      metadata: nullable(anyObject),
    },
    {
      background: nullable(boolean),
      completed_at: nullable(unixSeconds),
      max_output_tokens: nullable(integer),
      max_tool_calls: nullable(integer),
      previous_response_id: nullable(text),
      prompt_cache_key: nullable(text),
      reasoning: nullable(shape({}, { effort: nullable(text), summary: nullable(text) })),
      safety_identifier: nullable(text),
      service_tier: nullable(text),
      store: nullable(boolean),
      text: shape({ format: anyObject }, { verbosity: nullable(text) }),
      top_logprobs: nullable(integer),
      truncation: nullable(oneOf('auto', 'disabled')),
      usage: nullable(responseUsageSchema),
      user: nullable(text),
    },
  ),
)

const event = (type: string, fields: Properties, optional = {}): Schema =>
  shape({ type: constant(type), sequence_number: integer, ...fields }, optional)

const ofResponse = (type: string) => event(type, { response: responseSchema })
const ofItem = (type: string) => event(type, { output_index: integer, item: responseItemSchema })
const inItem = { item_id: text, output_index: integer }
const inContent = { ...inItem, content_index: integer }
const inSummary = { ...inItem, summary_index: integer }
const part = { part: responseContentPartSchema }

const events = [
  ...['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'].map(name =>
    ofResponse(`response.${name}`),
  ),
  ofItem('response.output_item.added'),
  ofItem('response.output_item.done'),
  event('response.content_part.added', { ...inContent, ...part }),
  event('response.content_part.done', { ...inContent, ...part }),
  event('response.output_text.delta', { ...inContent, delta: text }, { logprobs, obfuscation: text }),
  event('response.output_text.done', { ...inContent, text }, { logprobs }),
  event('response.output_text.annotation.added', { ...inContent, annotation_index: integer, annotation: anyObject }),
  event('response.refusal.delta', { ...inContent, delta: text }),
  event('response.refusal.done', { ...inContent, refusal: text }),
  event('response.reasoning_summary_part.added', { ...inSummary, part: summaryText }),
  event('response.reasoning_summary_part.done', { ...inSummary, part: summaryText }),
  event('response.reasoning_summary_text.delta', { ...inSummary, delta: text }),
  event('response.reasoning_summary_text.done', { ...inSummary, text }),
  event('response.reasoning_text.delta', { ...inContent, delta: text }),
  event('response.reasoning_text.done', { ...inContent, text }),
  event('response.function_call_arguments.delta', { ...inItem, delta: text }, { obfuscation: text }),
  event('response.function_call_arguments.done', { ...inItem, arguments: text }, { name: text }),
  event('response.custom_tool_call_input.delta', { ...inItem, delta: text }),
  event('response.custom_tool_call_input.done', { ...inItem, input: text }),
  event('response.image_generation_call.completed', inItem),
  shape(
    { type: constant('error'), code: nullable(text), message: text, param: nullable(text) },
    { sequence_number: integer },
  ),
]

const eventTypes = events.map(one => (one.properties as { type: { const: string } }).type.const)

const responseStreamSchema = named('ResponseStream', () =>
  either(
    ...events,
    described(
      'An event of a tool that the upstream runs itself.',
      open(shape({ type: otherThan(...eventTypes), sequence_number: integer })),
    ),
  ),
)

const responseInputTokensSchema = named('ResponseInputTokens', () =>
  shape({ object: constant('response.input_tokens'), input_tokens: integer }),
)

const responseInputItemsSchema = named('ResponseInputItems', () =>
  pageOf(described('An item as the client sent it.', open(shape({ id: text }, { type: text })))),
)

const deletedResponseSchema = named('DeletedResponse', () =>
  shape({ id: text, object: constant('response'), deleted: constant(true) }),
)

const compactedItem = either(
  outputItems.compaction,
  described('A message of the user, as it was sent.', open(shape({ role: constant('user') }))),
)
const compactedResponseSchema = named('CompactedResponse', () =>
  shape({
    id: text,
    object: constant('response.compaction'),
    created_at: unixSeconds,
    output: listOf(compactedItem),
    usage: nullable(responseUsageSchema),
  }),
)

/** The answer of a compaction. */
export const compactedSuccess: Success = json(compactedResponseSchema)

/** A response is answered whole or as events. */
export const responseOrEvents: Success = jsonOrEvents(responseSchema, responseStreamSchema)

/** A response is answered whole. */
export const responseSuccess: Success = json(responseSchema)

/** A count of tokens is answered whole. */
export const inputTokensSuccess: Success = json(responseInputTokensSchema)

/** The items of a request are listed in pages. */
export const inputItemsSuccess: Success = json(responseInputItemsSchema)

/** A deletion is confirmed. */
export const deletedSuccess: Success = json(deletedResponseSchema)
