/**
 * Ollama's answers as events (Ollama's docs/api.md, "Generate a chat completion"). A whole answer is read like a stream
 * of one line.
 */
import type { ChatEvent } from '../../core/hub/chat.ts'
import { failureOfBody } from '../../core/dialects/classify.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { endingOf, ollamaFinishReasons, withCalls } from '../../core/dialects/finish-reasons.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject, listOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { countOf } from '../../core/usage/usage-fields.ts'
import { errorLast } from '../common/fault.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** A whole answer. Throws `upstream-broken` on another shape. */
export function chatResult(body: unknown): ChatEvent[] {
  const events = new Answer().read(body)
  if (isObject(body) && body.error === undefined && body.done !== true)
    throw brokenProtocol('an answer that is not done')
  return events
}

/** A fresh reader of a chat's lines. Throws on what is not JSON. */
export function chatReader(): (frame: Frame) => readonly ChatEvent[] {
  const answer = new Answer()
  return frame => answer.read(parseExact(frame.data, argumentNames.chat))
}

const donePattern = /"done"\s*:\s*true/

/** true = the last line. The pattern avoids parsing every line twice, but may also match the arguments of a call. */
export function isDone({ data }: Frame): boolean {
  if (!donePattern.test(data)) return false
  const line: unknown = JSON.parse(data)
  return isObject(line) && line.done === true
}

class Answer {
  #started = false
  #calls = 0

  read(line: unknown): ChatEvent[] {
    if (!isObject(line)) throw brokenProtocol('a line that is no object')
    if (line.error !== undefined) return [{ type: 'error', error: failureOfBody(line) }]
    if (!isObject(line.message) && line.done !== true) throw brokenProtocol('no message')
    const message = isObject(line.message) ? line.message : {}
    const events = this.#start(line)
    if (textOf(message.thinking)) events.push({ type: 'reasoning', choice: 0, text: textOf(message.thinking) })
    if (textOf(message.content)) events.push({ type: 'text', choice: 0, text: textOf(message.content) })
    for (const call of listOf(message.tool_calls)) events.push(...this.#call(call))
    const logprobs = listOf(line.logprobs)
    if (logprobs.length > 0) events.push({ type: 'logprobs', choice: 0, content: logprobs })
    if (line.done === true) events.push(...this.#end(line))
    return events
  }

  #start(line: Json): ChatEvent[] {
    if (this.#started) return []
    this.#started = true
    const createdMs = Date.parse(textOf(line.created_at))
    return [
      {
        type: 'start',
        id: '',
        model: textOf(line.model),
        ...(Number.isFinite(createdMs) && { createdS: Math.floor(createdMs / 1000) }),
      },
    ]
  }

  /** Calls arrive whole, with their arguments as an object; older servers send no id. */
  #call(call: unknown): ChatEvent[] {
    const { id, function: called } = isObject(call) ? call : {}
    if (!isObject(called) || typeof called.name !== 'string') throw brokenProtocol('a call without a name')
    const index = this.#calls++
    const fragment = typeof called.arguments === 'string' ? called.arguments : exactText(called.arguments ?? {})
    const known = textOf(id) || `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
    return [
      { type: 'tool-call-start', choice: 0, index, id: known, name: called.name },
      { type: 'tool-call-arguments', choice: 0, index, fragment: fragment || '{}' },
      { type: 'tool-call-end', choice: 0, index },
    ]
  }

  #end(line: Json): ChatEvent[] {
    const usage = usageOf(line)
    // Servers of before 0.1.38 name no reason. It is `stop` also after tool calls.
    const ending = endingOf(ollamaFinishReasons, textOf(line.done_reason) || 'stop')
    const events: ChatEvent[] = [
      ending instanceof GatewayError
        ? { type: 'error', error: ending }
        : { type: 'finish', choice: 0, reason: withCalls(ending, this.#calls > 0) },
    ]
    if (usage) events.push({ type: 'usage', usage })
    return errorLast(events)
  }
}

/** The output's count is absent for 0; without a valid count of the input the usage is undefined. */
export function usageOf({ prompt_eval_count: input, eval_count: output }: Json): Usage | undefined {
  const inputTokens = countOf(input)
  const outputTokens = countOf(output ?? 0)
  return inputTokens === undefined || outputTokens === undefined ? undefined : { inputTokens, outputTokens }
}
