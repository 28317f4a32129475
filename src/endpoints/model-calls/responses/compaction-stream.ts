/** The stream of an answer with a compaction item before the items of the model. */
import { schemaNames } from '../../../core/dialects/exact-names.ts'
import { sseEvent } from '../../../formats/openai/responses/response-object.ts'
import { exactObject, exactText } from '../../../lib/json/exact-json.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { frameSplitter } from '../../../lib/frame-splitter.ts'

/** `response.output_item.added` and `.done` of the item. */
const eventsOfItem = 2
/** The events that stand before all items. */
const firstEvents: ReadonlySet<unknown> = new Set(['response.created', 'response.queued', 'response.in_progress'])
const comment = Buffer.from(':')

/** The same stream, whose first item is `item`: the others have the next index. */
export function streamWithItem(source: ReadableStream<Uint8Array>, item: Json): ReadableStream<Uint8Array> {
  const writer = new ItemWriter(item)
  const splitter = frameSplitter()
  return source.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        // A keep-alive.
        if (piece[0] === comment[0]) return controller.enqueue(piece)
        for (const { data } of splitter.push(piece)) {
          const event = exactObject(data, schemaNames)
          if (event) controller.enqueue(Buffer.from(writer.event(event)))
        }
      },
    }),
  )
}

class ItemWriter {
  readonly #item: Json
  #isWritten = false

  constructor(item: Json) {
    this.#item = item
  }

  event(event: Json): string {
    if (firstEvents.has(event.type)) return written(event)
    const before = this.#isWritten ? '' : this.#itemEvents(event)
    this.#isWritten = true
    if (typeof event.sequence_number === 'number') event.sequence_number += eventsOfItem
    if (typeof event.output_index === 'number') event.output_index++
    const response = event.response as Json | undefined
    if (response && Array.isArray(response.output)) response.output.unshift(this.#item)
    return before + written(event)
  }

  #itemEvents({ sequence_number: given }: Json): string {
    const sequence = typeof given === 'number' ? given : 0
    return ['added', 'done']
      .map((name, at) =>
        written({
          type: `response.output_item.${name}`,
          sequence_number: sequence + at,
          output_index: 0,
          item: this.#item,
        }),
      )
      .join('')
  }
}

const written = (event: Json): string => sseEvent(String(event.type), exactText(event))
