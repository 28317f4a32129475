/** The stream of a run with tools: the events of its turns with one numbering, and those of its tools between them. */
import type { Answer } from '../../../core/answer.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'
import { sseEvent } from '../../../formats/openai/responses/response-object.ts'
import { exactText } from '../../../lib/json/exact-json.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { askedIn, isRunNow, nextTurn, wholeResponse } from './responses-turns.ts'
import type { ResponsesRun } from './responses-turns.ts'
import { eventsOf, pulled, refusalIn } from './run-answer.ts'
import { begunCall } from './responses-items.ts'

const firstEvents: ReadonlySet<unknown> = new Set(['response.created', 'response.queued', 'response.in_progress'])
const lastEvents: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** All turns and tools of a run, from the answer of its first turn. It is cut where a turn is cut. */
export function responseStream(first: Answer, run: ResponsesRun): ReadableStream<Uint8Array> {
  return pulled(new RunStream(run).events(first))
}

/** A call of one of the gateway's tools that the model is writing. */
interface OpenCall {
  readonly index: number
  readonly item: Json
  readonly isRun: boolean
}

class RunStream {
  readonly #run: ResponsesRun
  #sequence = 0
  /** Items whose events have been begun. */
  #begun = 0
  #base = 0
  /** By the `output_index` of the turn. */
  #calls = new Map<unknown, OpenCall>()
  readonly #usages: unknown[] = []
  #id: unknown

  constructor(run: ResponsesRun) {
    this.#run = run
  }

  async *events(first: Answer): AsyncGenerator<string, void> {
    let answer = first
    for (let turn = 1; ; turn++) {
      let last: Json | undefined
      for await (const event of eventsOf(answer, schemaNames)) {
        if (firstEvents.has(event.type)) {
          if (turn === 1) yield this.#whole(event)
          if (turn === 1 && event.type === 'response.in_progress') yield* this.#firstItems()
        } else if (lastEvents.has(event.type)) last = event
        else yield this.#event(event)
      }
      if (!last) throw new Error('the answer was cut')
      const next = yield* this.#turnEnded(last)
      if (!next) return
      if (next.status !== 200) return yield this.#refused(last, next)
      answer = next
    }
  }

  /** What was run or listed before the model was asked. */
  *#firstItems(): Generator<string> {
    for (const item of this.#run.items) {
      const output_index = this.#begun++
      yield this.#write({ type: 'response.output_item.added', output_index, item })
      if (item.type === 'mcp_list_tools') {
        const about = { output_index, item_id: item.id }
        yield this.#write({ type: 'response.mcp_list_tools.in_progress', ...about })
        yield this.#write({ type: 'response.mcp_list_tools.completed', ...about })
      }
      yield this.#write({ type: 'response.output_item.done', output_index, item })
    }
    this.#base = this.#begun
  }

  #event(event: Json): string {
    const { type, output_index: at } = event
    if (typeof at !== 'number') return this.#write(event)
    this.#begun = Math.max(this.#begun, this.#base + at + 1)
    const item = isObject(event.item) ? event.item : undefined
    if (type === 'response.output_item.added' && item) {
      const asked = askedIn(this.#run, item)
      if (asked)
        return this.#begin(at, { index: this.#base + at, item: begunCall(asked.found), isRun: isRunNow(asked) })
    }
    const call = this.#calls.get(at)
    if (!call) return this.#write({ ...event, output_index: this.#base + at })
    return call.isRun ? this.#callEvent(event, call) : ''
  }

  #begin(at: number, call: OpenCall): string {
    this.#calls.set(at, call)
    const { index: output_index, item, isRun } = call
    if (!isRun) return ''
    return (
      this.#write({ type: 'response.output_item.added', output_index, item }) +
      this.#write({ type: 'response.mcp_call.in_progress', output_index, item_id: item.id })
    )
  }

  /** The end of the item comes once the tool has answered. */
  #callEvent({ type, ...event }: Json, { index: output_index, item }: OpenCall): string {
    const kind = String(type).match(/^response\.function_call_arguments\.(delta|done)$/)?.[1]
    if (!kind) return ''
    const { delta, arguments: given } = event
    const text = kind === 'delta' ? { delta } : { arguments: given }
    return this.#write({ type: `response.mcp_call_arguments.${kind}`, output_index, item_id: item.id, ...text })
  }

  /** Runs the tools; returns the answer of the next turn. */
  async *#turnEnded(last: Json): AsyncGenerator<string, Answer | undefined> {
    const response = isObject(last.response) ? last.response : {}
    const output = (Array.isArray(response.output) ? response.output : []) as Json[]
    this.#usages.push(response.usage)
    const ends: string[] = []
    let next: Answer | undefined
    if (last.type === 'response.failed') this.#run.items.push(...output)
    else
      next = await nextTurn(this.#run, output, (item, at) => {
        const open = this.#calls.get(at) ?? { index: this.#base + at, item: {}, isRun: false }
        const made: Json = open.isRun ? { ...item, id: open.item.id } : item
        ends.push(this.#ended(made, open))
        return made
      })
    yield* ends
    if (!next) {
      const whole = wholeResponse(this.#run, response, this.#usages)
      yield this.#write({ ...last, response: { ...whole, id: this.#id ?? whole.id } })
      return undefined
    }
    this.#base = this.#begun
    this.#calls = new Map()
    return next
  }

  #ended(item: Json, { index: output_index, isRun }: OpenCall): string {
    const done = { type: 'response.output_item.done', output_index, item }
    if (!isRun) return this.#write({ type: 'response.output_item.added', output_index, item }) + this.#write(done)
    const kind = item.status === 'completed' ? 'completed' : 'failed'
    return this.#write({ type: `response.mcp_call.${kind}`, output_index, item_id: item.id }) + this.#write(done)
  }

  /** The next turn was refused: by a budget, a limit or the upstream. */
  #refused(last: Json, answer: Answer): string {
    const { code = 'server_error', message } = refusalIn(answer)
    const response = wholeResponse(this.#run, last.response as Json, this.#usages)
    return this.#write({
      type: 'response.failed',
      response: { ...response, id: this.#id ?? response.id, status: 'failed', error: { code, message } },
    })
  }

  #whole(event: Json): string {
    const response = isObject(event.response) ? event.response : {}
    this.#id = response.id
    const { tools, toolChoice } = this.#run.shown
    return this.#write({ ...event, response: { ...response, tools, tool_choice: toolChoice } })
  }

  #write({ type, sequence_number: _, ...event }: Json): string {
    return sseEvent(String(type), exactText({ type, sequence_number: this.#sequence++, ...event }))
  }
}
