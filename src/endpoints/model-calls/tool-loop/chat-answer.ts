/** The answer of a chat with tools of the gateway, whole or as a stream. */
import { toResponse } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import { messageNames } from '../../../core/dialects/exact-names.ts'
import { brokenAnswer } from '../../../core/errors.ts'
import { exactObject, exactText } from '../../../lib/json/exact-json.ts'
import { isObject, textOf } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { nextChatTurn, runNow, shownRun } from './chat-turns.ts'
import type { ChatRun } from './chat-turns.ts'
import { dataOf, pulled, refusalIn, usageOf } from './run-answer.ts'

/** The whole answer of a run, from that of its first turn. */
export async function runChat(answer: Answer, run: ChatRun): Promise<Answer> {
  if (answer.status !== 200) return answer
  if ((answer.headers['content-type'] ?? '').startsWith('text/event-stream'))
    return { ...answer, body: pulled(new ChatStream(run).pieces(answer)) }
  let last = await completionOf(answer)
  const first = last
  const usages = [last.usage]
  for (;;) {
    const next = await nextChatTurn(run, messageOf(last))
    if (!next) break
    if (next.status !== 200) return next
    last = await completionOf(next)
    usages.push(last.usage)
  }
  const { id, created } = first
  const [choice = {}, ...others] = Array.isArray(last.choices) ? (last.choices as Json[]) : []
  const message = withRun(run, messageOf(last))
  const shown = { ...choice, message, ...(message.tool_calls === undefined && stopped(run, choice)) }
  return { ...answer, body: exactText({ ...last, id, created, choices: [shown, ...others], usage: usageOf(usages) }) }
}

/** The reason of a turn that asked for tools where none is run any more, and none is left for the client. */
const stopped = ({ runner }: ChatRun, { finish_reason: reason }: Json): Json =>
  runner.isOver && reason === 'tool_calls' ? { finish_reason: 'stop' } : {}

function withRun(run: ChatRun, message: Json): Json {
  const { tool_calls: calls, ...rest } = message
  const left = (Array.isArray(calls) ? (calls as Json[]) : []).filter(one => !runNow(run, one))
  const fields = isObject(message.provider_specific_fields) ? message.provider_specific_fields : {}
  return {
    ...rest,
    ...(left.length > 0 && { tool_calls: left }),
    provider_specific_fields: { ...fields, ...shownRun(run) },
  }
}

async function completionOf(answer: Answer): Promise<Json> {
  const completion = exactObject(await toResponse(answer).text(), messageNames)
  if (!completion) throw brokenAnswer('the answer of the model is no object')
  return completion
}

function messageOf({ choices }: Json): Json {
  const [choice] = Array.isArray(choices) ? (choices as Json[]) : []
  return isObject(choice?.message) ? choice.message : {}
}

/** A call that a turn is writing. */
interface WrittenCall {
  readonly call: Json & { function: { name: unknown; arguments: string } }
  /** undefined = the gateway runs it; else its number among those for the client. */
  readonly clientIndex: number | undefined
}

class ChatStream {
  readonly #run: ChatRun
  #head: Json = {}
  #calls = new Map<unknown, WrittenCall>()
  #clientCalls = 0
  #content = ''
  /** Thinking of the present turn: models that sign it want it back before their calls. */
  #thinking: Json = {}
  /** The chunk with the finish of the present turn. */
  #finish: Json | undefined
  readonly #usages: unknown[] = []
  #hasRole = false

  constructor(run: ChatRun) {
    this.#run = run
  }

  async *pieces(first: Answer): AsyncGenerator<string, void> {
    for (let answer: Answer | undefined = first; ; ) {
      this.#calls = new Map()
      this.#content = ''
      this.#thinking = {}
      this.#finish = undefined
      let isWhole = false
      let usage: unknown
      for await (const data of dataOf(answer)) {
        if (data === '[DONE]') {
          isWhole = true
          continue
        }
        const chunk = exactObject(data, messageNames)
        if (!chunk) continue
        if (chunk.error !== undefined) return yield `data: ${data}\n\n`
        if (isObject(chunk.usage)) usage = chunk.usage
        yield* this.#chunk(chunk)
      }
      if (!isWhole || !this.#finish) throw new Error('the answer was cut')
      this.#usages.push(usage)
      answer = await nextChatTurn(this.#run, this.#message())
      if (!answer) return yield this.#end()
      if (answer.status !== 200) return yield `data: ${exactText({ error: refusalIn(answer) })}\n\n`
    }
  }

  #message(): Json {
    const calls = [...this.#calls.values()].map(({ call }) => call)
    return {
      role: 'assistant',
      content: this.#content,
      ...this.#thinking,
      ...(calls.length > 0 && { tool_calls: calls }),
    }
  }

  *#chunk(chunk: Json): Generator<string> {
    const { id, created, model, object, system_fingerprint } = chunk
    if (this.#head.id === undefined) this.#head = { id, object, created, model, system_fingerprint }
    const [choice] = Array.isArray(chunk.choices) ? (chunk.choices as Json[]) : []
    if (!choice) return
    const delta = isObject(choice.delta) ? choice.delta : {}
    const { tool_calls: calls, role, ...rest } = delta
    if (typeof delta.content === 'string') this.#content += delta.content
    this.#think(delta)
    const left = (Array.isArray(calls) ? (calls as Json[]) : []).flatMap(one => this.#call(one))
    const shown: Json = { ...(role !== undefined && !this.#hasRole && { role }), ...rest }
    if (left.length > 0) shown.tool_calls = left
    this.#hasRole ||= role !== undefined
    if (typeof choice.finish_reason === 'string') this.#finish = choice
    const isEmpty = Object.values(shown).every(value => value === null || value === '' || value === undefined)
    if (!isEmpty) yield this.#written([{ ...choice, delta: shown, finish_reason: null }])
  }

  #think({ thinking_blocks: blocks, ...delta }: Json): void {
    for (const name of ['reasoning_content', 'reasoning'])
      if (typeof delta[name] === 'string') this.#thinking[name] = `${textOf(this.#thinking[name])}${delta[name]}`
    if (Array.isArray(blocks))
      this.#thinking.thinking_blocks = [...((this.#thinking.thinking_blocks ?? []) as Json[]), ...(blocks as Json[])]
  }

  /** The delta for the client; none where the gateway runs the call. */
  #call(delta: Json): Json[] {
    const called = isObject(delta.function) ? delta.function : {}
    let written = this.#calls.get(delta.index)
    if (!written) {
      const call = { ...delta, type: 'function', function: { name: called.name, arguments: '' } }
      delete (call as Json).index
      const isRun = runNow(this.#run, call) !== undefined
      written = { call, clientIndex: isRun ? undefined : this.#clientCalls++ }
      this.#calls.set(delta.index, written)
    }
    if (typeof called.arguments === 'string') written.call.function.arguments += called.arguments
    return written.clientIndex === undefined ? [] : [{ ...delta, index: written.clientIndex }]
  }

  #end(): string {
    const run = this.#written([
      { index: 0, delta: { provider_specific_fields: shownRun(this.#run) }, finish_reason: null },
    ])
    const reason = this.#clientCalls === 0 ? stopped(this.#run, this.#finish!) : {}
    const finish = this.#written([{ ...this.#finish, ...reason, delta: {} }])
    const options = this.#run.body.stream_options
    const usage = isObject(options) && options.include_usage === true ? usageOf(this.#usages) : undefined
    return `${run}${finish}${usage === undefined ? '' : this.#written([], usage)}data: [DONE]\n\n`
  }

  #written(choices: readonly Json[], usage?: Json | null): string {
    return `data: ${exactText({ ...this.#head, choices, ...(usage !== undefined && { usage }) })}\n\n`
  }
}
