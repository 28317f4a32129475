/** OpenAI responses, output: one object, or numbered events. */
import { isJsonObject } from '../../lib/json.ts'
import { jsonResponse } from '../response.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Generation, GeneratedToolCall, TokenUsage } from '../../generation/types.ts'
import { namedEvent } from '../stream-events.ts'
import { createdS } from './chat.ts'
import { encrypt, wantsEncrypted } from './model-apis.ts'
import type { EndpointCall } from '../endpoint.ts'

function responsesUsage(usage: TokenUsage): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}

/** A delta of an item: the fields of its event, the kind, and its tokens. */
type Delta = readonly [JsonObject, StreamEvent['kind'], 0 | 1]

/** An output item: its start event, its deltas, and its complete form. */
interface Item {
  readonly start: JsonObject
  readonly deltas: Iterable<Delta>
  readonly whole: JsonObject
}

/** Encrypted for a client that is to send it back; then with a summary only where the request wants one. */
function reasoningItem(pieces: readonly string[], id: string, body: JsonObject): Item {
  const text = pieces.join('')
  const isEncrypted = wantsEncrypted(body)
  const isSummarised = !isEncrypted || (isJsonObject(body.reasoning) && typeof body.reasoning.summary === 'string')
  const head = { id: `rs_${id}`, type: 'reasoning' }
  const place = { summary_index: 0 }
  const deltas = function* (): Generator<Delta> {
    const part = { type: 'summary_text', text: '' }
    yield [{ type: 'response.reasoning_summary_part.added', ...place, part }, 'start', 0]
    for (const delta of pieces) yield [{ type: 'response.reasoning_summary_text.delta', ...place, delta }, 'delta', 1]
    yield [{ type: 'response.reasoning_summary_text.done', ...place, text }, 'start', 0]
    yield [{ type: 'response.reasoning_summary_part.done', ...place, part: { ...part, text } }, 'start', 0]
  }
  return {
    start: { ...head, summary: [] },
    deltas: isSummarised ? deltas() : [],
    whole: {
      ...head,
      summary: isSummarised ? [{ type: 'summary_text', text }] : [],
      ...(isEncrypted && { encrypted_content: encrypt(text) }),
    },
  }
}

function messageItem(pieces: readonly string[], id: string, status: string): Item {
  const text = pieces.join('')
  const head = { id: `msg_${id}`, type: 'message', role: 'assistant' }
  const place = { content_index: 0 }
  const part = (text: string): JsonObject => ({ type: 'output_text', text: text, annotations: [], logprobs: [] })
  const deltas = function* (): Generator<Delta> {
    yield [{ type: 'response.content_part.added', ...place, part: part('') }, 'start', 0]
    for (const delta of pieces)
      yield [{ type: 'response.output_text.delta', ...place, delta, logprobs: [] }, 'delta', 1]
    yield [{ type: 'response.output_text.done', ...place, text, logprobs: [] }, 'start', 0]
    yield [{ type: 'response.content_part.done', ...place, part: part(text) }, 'start', 0]
  }
  return {
    start: { ...head, status: 'in_progress', content: [] },
    deltas: deltas(),
    whole: { ...head, status, content: [part(text)] },
  }
}

function callItem(call: GeneratedToolCall): Item {
  const text = call.pieces.join('')
  const [type, field] = call.takesText ? ['custom_tool_call', 'input'] : ['function_call', 'arguments']
  const event = call.takesText ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const head = {
    id: `${call.takesText ? 'ctc' : 'fc'}_${call.id}`,
    type,
    call_id: `call_${call.id}`,
    name: call.name,
  }
  const status = (status: string): JsonObject => (call.takesText ? {} : { status: status })
  const deltas = function* (): Generator<Delta> {
    for (const delta of call.pieces) yield [{ type: `${event}.delta`, delta }, 'delta', 1]
    yield [{ type: `${event}.done`, ...(!call.takesText && { name: call.name }), [field!]: text }, 'start', 0]
  }
  return {
    start: { ...head, ...status('in_progress'), [field!]: '' },
    deltas: deltas(),
    whole: { ...head, ...status('completed'), [field!]: text },
  }
}

function imageItem(data: string, id: string): Item {
  const head = { id: `ig_${id}`, type: 'image_generation_call' }
  const deltas: Delta[] = ['in_progress', 'generating', 'completed'].map(status => [
    { type: `response.image_generation_call.${status}` },
    'start',
    0,
  ])
  return {
    start: { ...head, status: 'in_progress', result: null },
    deltas,
    whole: { ...head, status: 'completed', result: data },
  }
}

/** The whole answer to a `compaction_trigger`. */
function compactionItem(id: string, text: string): Item {
  const whole = { id: `cmp_${id}`, type: 'compaction', encrypted_content: encrypt(text) }
  return { start: whole, deltas: [], whole }
}

const asksToCompact = ({ input }: JsonObject): boolean =>
  Array.isArray(input) && isJsonObject(input.at(-1)) && input.at(-1).type === 'compaction_trigger'

function itemsOf(reply: Generation, body: JsonObject): Item[] {
  const choice = reply.choices[0]!
  if (asksToCompact(body)) return [compactionItem(reply.id, choice.text.join(''))]
  const items: Item[] = []
  if (choice.reasoning.length > 0) items.push(reasoningItem(choice.reasoning, reply.id, body))
  for (const [at, image] of choice.images.entries()) items.push(imageItem(image.data, `${reply.id}${at}`))
  const isCut = choice.finish === 'length' || choice.finish === 'content-filter'
  if (choice.text.length > 0 || (items.length === 0 && choice.calls.length === 0))
    items.push(messageItem(choice.text, reply.id, isCut ? 'incomplete' : 'completed'))
  return [...items, ...choice.calls.map(callItem)]
}

function incompleteDetails(reply: Generation): JsonObject | null {
  const { finish } = reply.choices[0]!
  if (finish === 'length') return { reason: 'max_output_tokens' }
  return finish === 'content-filter' ? { reason: 'content_filter' } : null
}

/** The response object without its output; fields that the request leaves out have OpenAI's defaults. */
function responseHead(reply: Generation, body: JsonObject): JsonObject {
  const { tools = [], tool_choice = 'auto', instructions = null, metadata = {} } = body
  return {
    id: `resp_${reply.id}`,
    object: 'response',
    created_at: createdS,
    background: false,
    error: null,
    incomplete_details: null,
    instructions,
    max_output_tokens: body.max_output_tokens ?? null,
    model: reply.model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: isJsonObject(body.reasoning) ? body.reasoning : { effort: null, summary: null },
    service_tier: 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: isJsonObject(body.text) ? body.text : { format: { type: 'text' } },
    tool_choice,
    tools,
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    metadata,
  }
}

function* responseEvents(items: readonly Item[], head: JsonObject, done: JsonObject): Generator<StreamEvent> {
  let sequence = 0
  const event = (value: JsonObject, kind: StreamEvent['kind'] = 'start', tokens = 0): StreamEvent =>
    namedEvent({ ...value, sequence_number: sequence++ }, kind, tokens)
  const started = { ...head, status: 'in_progress', output: [], usage: null }
  yield event({ type: 'response.created', response: started })
  yield event({ type: 'response.in_progress', response: started })
  for (const [at, item] of items.entries()) {
    yield event({ type: 'response.output_item.added', output_index: at, item: item.start })
    for (const [value, kind, tokens] of item.deltas)
      yield event({ ...value, item_id: item.whole.id, output_index: at }, kind, tokens)
    yield event({ type: 'response.output_item.done', output_index: at, item: item.whole })
  }
  yield event({ type: `response.${String(done.status)}`, response: done }, 'finish')
}

/** The event sent when a response in progress fails. */
function failure(sequence: number): StreamEvent {
  const message = 'An error occurred while processing your request. You can retry your request.'
  return namedEvent({ type: 'error', code: 'server_error', message, param: null, sequence_number: sequence }, 'error')
}

/** The response to a request, streamed or not. */
export function writeResponse(
  reply: Generation,
  body: JsonObject,
  usageOf: EndpointCall['usageOf'],
): SimulatedResponse {
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  const head = responseHead(reply, body)
  const details = incompleteDetails(reply)
  const items = itemsOf(reply, body)
  const done = {
    ...head,
    status: details ? 'incomplete' : 'completed',
    incomplete_details: details,
    output: items.map(item => item.whole),
    usage: usageOf(responsesUsage)(reply.usage) ?? null,
  }
  if (body.stream !== true) return jsonResponse(done, billable)
  return { status: 200, headers: [], content: responseEvents(items, head, done), billable, failure }
}
