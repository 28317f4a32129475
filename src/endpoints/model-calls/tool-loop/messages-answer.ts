/** The answer of Messages with tools of the gateway, whole or as a stream. */
import { toResponse } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import { messageNames } from '../../../core/dialects/exact-names.ts'
import { brokenAnswer } from '../../../core/errors.ts'
import { exactObject, exactText } from '../../../lib/json/exact-json.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { askedInBlock, nextMessagesTurn, shownResult, shownUse } from './messages-turns.ts'
import type { MessagesRun } from './messages-turns.ts'
import { eventsOf, pulled, refusalIn, usageOf } from './run-answer.ts'

/** The whole answer of a run, from that of its first turn. */
export async function runMessages(answer: Answer, run: MessagesRun): Promise<Answer> {
  if (answer.status !== 200) return answer
  if ((answer.headers['content-type'] ?? '').startsWith('text/event-stream'))
    return { ...answer, body: pulled(new MessagesStream(run).pieces(answer)) }
  const shown: Json[] = []
  const usages: unknown[] = []
  let last = await messageIn(answer)
  const { id } = last
  for (;;) {
    const content = (Array.isArray(last.content) ? last.content : []) as Json[]
    usages.push(last.usage)
    const { results, answer: next } = await nextMessagesTurn(run, content)
    shown.push(...content.map(block => shownBlock(run, block)), ...results.map(shownResult))
    if (!next) break
    if (next.status !== 200) return next
    last = await messageIn(next)
  }
  const ended = { ...last, ...(run.runner.isOver && paused(last)) }
  return { ...answer, body: exactText({ ...ended, id, content: shown, usage: usageOf(usages) }) }
}

function shownBlock(run: MessagesRun, block: Json): Json {
  const asked = askedInBlock(run, block)
  return asked ? shownUse(block, asked) : block
}

/** The reason of a turn that asked for tools where none is run any more: the client may send the answer back. */
const paused = ({ stop_reason: reason }: Json): Json => (reason === 'tool_use' ? { stop_reason: 'pause_turn' } : {})

async function messageIn(answer: Answer): Promise<Json> {
  const message = exactObject(await toResponse(answer).text(), messageNames)
  if (!message) throw brokenAnswer('the answer of the model is no object')
  return message
}

/** A block that a turn is writing, with its input as text. */
interface OpenBlock {
  readonly block: Json
  input: string
}

class MessagesStream {
  readonly #run: MessagesRun
  #base = 0
  #blocks = new Map<unknown, OpenBlock>()
  readonly #usages: Json[] = []

  constructor(run: MessagesRun) {
    this.#run = run
  }

  async *pieces(first: Answer): AsyncGenerator<string, void> {
    for (let answer = first, turn = 1; ; turn++) {
      this.#blocks = new Map()
      let end: Json | undefined
      let isWhole = false
      for await (const event of eventsOf(answer, messageNames)) {
        if (event.type === 'error') return yield written(event)
        if (event.type === 'message_delta') end = event
        else if (event.type === 'message_stop') isWhole = true
        else if (event.type === 'message_start') {
          this.#started(event)
          if (turn === 1) yield written(event)
        } else yield written(this.#event(event))
      }
      if (!isWhole || !end) throw new Error('the answer was cut')
      this.#ended(end)
      const { results, answer: next } = await nextMessagesTurn(this.#run, this.#content())
      this.#base += this.#blocks.size
      for (const result of results.map(shownResult)) yield* this.#block(result)
      if (!next) {
        const delta = isObject(end.delta) ? end.delta : {}
        const ended = { ...end, delta: { ...delta, ...(this.#run.runner.isOver && paused(delta)) } }
        return yield written({ ...ended, usage: usageOf(this.#usages) }) + written({ type: 'message_stop' })
      }
      if (next.status !== 200) return yield written({ type: 'error', error: refusalIn(next) })
      answer = next
    }
  }

  /** The counts at the beginning hold until the end says others. */
  #started({ message }: Json): void {
    const usage = isObject(message) && isObject(message.usage) ? message.usage : {}
    this.#usages.push(usage)
  }

  #ended({ usage }: Json): void {
    const begun = this.#usages.pop() ?? {}
    this.#usages.push({ ...begun, ...(isObject(usage) ? usage : {}) })
  }

  #event(event: Json): Json {
    const { index } = event
    if (typeof index !== 'number') return event
    const moved = { ...event, index: this.#base + index }
    const { content_block: begun, delta } = event
    if (event.type === 'content_block_start' && isObject(begun)) {
      this.#blocks.set(index, { block: { ...begun }, input: '' })
      const asked = askedInBlock(this.#run, begun)
      return asked ? { ...moved, content_block: shownUse(begun, asked) } : moved
    }
    const open = this.#blocks.get(index)
    if (open && isObject(delta)) addDelta(open, delta)
    return moved
  }

  #content(): Json[] {
    return [...this.#blocks.values()].map(({ block, input }) =>
      block.type === 'tool_use' ? { ...block, input: exactObject(input === '' ? '{}' : input) ?? {} } : block,
    )
  }

  *#block(block: Json): Generator<string> {
    const index = this.#base++
    yield written({ type: 'content_block_start', index, content_block: block })
    yield written({ type: 'content_block_stop', index })
  }
}

/** What the model is sent back of the block. */
function addDelta(open: OpenBlock, delta: Json): void {
  const { block } = open
  if (typeof delta.partial_json === 'string') open.input += delta.partial_json
  for (const name of ['text', 'thinking', 'signature'])
    if (typeof delta[name] === 'string')
      block[name] = `${typeof block[name] === 'string' ? block[name] : ''}${delta[name]}`
  if (isObject(delta.citation)) block.citations = [...((block.citations ?? []) as Json[]), delta.citation]
}

const written = (event: Json): string => `event: ${String(event.type)}\ndata: ${exactText(event)}\n\n`
