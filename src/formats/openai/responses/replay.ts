/**
 * A stored Response written once more as a stream (API reference, "Streaming events"): the events of a fresh stream,
 * each text in one piece. The sequence numbers are the same each time: a client can go on where it was cut.
 */
import { objectsOf } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { sseEvent } from './response-object.ts'
import { exactText } from '../../../lib/json/exact-json.ts'

type Event = readonly [type: string, fields: Json]

/** How a stream can end, by the status of its response. */
const endings: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed'])

/** true = there is a stream to replay: one that still runs has no end, one that was cancelled has no word for it. */
export function canReplay(response: Json): boolean {
  return endings.has(response.status)
}

/** Only for what `canReplay`. `after` = the number of the last event that the client has; -1 = it has none. */
export function replayResponse(response: Json, after: number): string {
  let out = ''
  let sequence = 0
  for (const [type, fields] of eventsOf(response)) {
    if (sequence > after) out += sseEvent(type, exactText({ type, sequence_number: sequence, ...fields }))
    sequence++
  }
  return out
}

function* eventsOf(response: Json): Generator<Event> {
  const { usage: _usage, completed_at: _completedAt, ...rest } = response
  const begun = { ...rest, status: 'in_progress', error: null, incomplete_details: null, output: [] }
  yield ['response.created', { response: begun }]
  yield ['response.in_progress', { response: begun }]
  const items = objectsOf(response.output)
  for (const [at, item] of items.entries()) yield* itemEvents(item, at)
  yield [`response.${String(response.status)}`, { response }]
}

function* itemEvents(item: Json, at: number): Generator<Event> {
  yield ['response.output_item.added', { output_index: at, item: opened(item) }]
  const where = { item_id: item.id, output_index: at }
  switch (item.type) {
    case 'message':
      for (const [index, part] of objectsOf(item.content).entries())
        yield* partEvents(part, { ...where, content_index: index })
      break
    case 'reasoning':
      for (const [index, part] of objectsOf(item.summary).entries())
        yield* summaryEvents(part, { ...where, summary_index: index })
      for (const [index, part] of objectsOf(item.content).entries())
        yield* textEvents(
          'response.reasoning_text',
          { ...where, content_index: index },
          { name: 'text', text: part.text },
        )
      break
    case 'function_call':
      yield* textEvents(
        'response.function_call_arguments',
        where,
        { name: 'arguments', text: item.arguments },
        { name: item.name },
      )
      break
    case 'custom_tool_call':
      yield* textEvents('response.custom_tool_call_input', where, { name: 'input', text: item.input })
  }
  yield ['response.output_item.done', { output_index: at, item }]
}

/** As it was before its first event. */
function opened(item: Json): Json {
  const { encrypted_content: _proof, ...rest } = item
  const begun: Json = item.type === 'reasoning' ? rest : { ...item }
  if ('status' in item) begun.status = 'in_progress'
  for (const list of ['content', 'summary']) if (Array.isArray(item[list])) begun[list] = []
  for (const text of ['arguments', 'input']) if (typeof item[text] === 'string') begun[text] = ''
  return begun
}

function* partEvents(part: Json, where: Json): Generator<Event> {
  if (part.type === 'refusal') {
    yield ['response.content_part.added', { ...where, part: { ...part, refusal: '' } }]
    yield* textEvents('response.refusal', where, { name: 'refusal', text: part.refusal })
  } else {
    const { citations: _citations, ...plain } = part
    const logprobs = Array.isArray(part.logprobs) ? part.logprobs : []
    yield ['response.content_part.added', { ...where, part: { ...plain, text: '', annotations: [], logprobs: [] } }]
    yield ['response.output_text.delta', { ...where, delta: part.text, logprobs }]
    for (const [index, annotation] of objectsOf(part.annotations).entries())
      yield ['response.output_text.annotation.added', { ...where, annotation_index: index, annotation }]
    yield ['response.output_text.done', { ...where, text: part.text, logprobs }]
  }
  yield ['response.content_part.done', { ...where, part }]
}

function* summaryEvents(part: Json, where: Json): Generator<Event> {
  yield ['response.reasoning_summary_part.added', { ...where, part: { ...part, text: '' } }]
  yield* textEvents('response.reasoning_summary_text', where, { name: 'text', text: part.text })
  yield ['response.reasoning_summary_part.done', { ...where, part }]
}

/** A text in one delta, and its end, which repeats it under its own name. */
function* textEvents(
  type: string,
  where: Json,
  { name, text }: { name: string; text: unknown },
  more: Json = {},
): Generator<Event> {
  const whole = typeof text === 'string' ? text : ''
  if (whole !== '') yield [`${type}.delta`, { ...where, delta: whole }]
  yield [`${type}.done`, { ...where, ...more, [name]: whole }]
}
