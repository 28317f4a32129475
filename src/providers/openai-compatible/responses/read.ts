/** OpenAI's Responses, whole and streamed, as events (API reference, "The response object", "Streaming events"). */
import type { ChatEvent, FinishReason } from '../../../core/hub/chat.ts'
import { failureOfBody } from '../../../core/dialects/classify.ts'
import { brokenProtocol, GatewayError } from '../../../core/errors.ts'
import { endingOf, responsesFinishReasons } from '../../../core/dialects/finish-reasons.ts'
import { citedSource } from '../../../core/dialects/citations.ts'
import { readResponsesUsage } from '../../../core/usage/responses-usage.ts'
import { freeTextArguments } from '../../../core/hub/tool-arguments.ts'
import type { Frame } from '../../../lib/frame.ts'
import { isObject, listOf, objectsOf, textOf } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { errorLast } from '../../common/fault.ts'
import { itemSignature } from './signature.ts'

/** There is one choice. */
const choice = 0

/** A whole Response. Throws `upstream-broken` on another shape, and on one that has not ended. */
export function responsesResult(body: unknown, account: string): ChatEvent[] {
  if (!isObject(body)) throw brokenProtocol('an answer that is no object')
  if (!Array.isArray(body.output)) {
    if (body.error) return [errorEvent(body)]
    throw brokenProtocol('no output')
  }
  const answer = new ResponseEvents(account)
  return errorLast([
    start(body),
    ...objectsOf(body.output).flatMap((item, index) => [...answer.open(index, item), ...answer.close(index, item)]),
    ...answer.end(body),
  ])
}

/** A fresh reader of events. Throws on what is not JSON. */
export function responsesReader(account: string): (frame: Frame) => readonly ChatEvent[] {
  const answer = new ResponseEvents(account)
  let started = false
  return ({ data }) => {
    // Some hosts send the last frame of chat completions.
    if (data.startsWith('[DONE]')) return []
    const event: unknown = JSON.parse(data)
    if (!isObject(event)) throw brokenProtocol('an event that is no object')
    const { response } = event
    const events: ChatEvent[] = []
    if (!started && isObject(response)) {
      started = true
      events.push(start(response))
    }
    events.push(...answer.read(event))
    return errorLast(events)
  }
}

const lastEvents = new Set(['response.completed', 'response.incomplete', 'response.failed'])
const lastEventType = /"type":\s*"response\.(?:completed|incomplete|failed)"/

/** Nothing follows the event with the finished Response. Hosts without names of events have the type in the data. */
export function isLastEvent({ event, data }: Frame): boolean {
  if (event !== undefined) return lastEvents.has(event)
  return data.startsWith('[DONE]') || lastEventType.test(data)
}

function start(response: Json): ChatEvent {
  return {
    type: 'start',
    id: textOf(response.id),
    model: textOf(response.model),
    ...(typeof response.created_at === 'number' && { createdS: Math.floor(response.created_at) }),
  }
}

/** Of `{error}`, of a failed Response, and of the event `error`. */
function errorEvent(body: Json): ChatEvent {
  return { type: 'error', error: failureOfBody(body.error ? { error: body.error } : body) }
}

/** What is known of an item of the output. */
interface OpenItem {
  /** Of a call: its number among the calls; undefined for other items. */
  readonly call: number | undefined
  readonly takesText: boolean
  /** Texts have come as deltas: those of the finished item repeat them. */
  streamed: boolean
  /** Summary parts so far. */
  summaries: number
}

/** The state of one answer. Items are distinguished by their place in the output. */
class ResponseEvents {
  readonly #account: string
  readonly #items = new Map<unknown, OpenItem>()
  #calls = 0
  /** A message has said something: the next one is a new paragraph. */
  #said = false
  /** UTF-16 units of the answer's text so far. */
  #length = 0
  /** The part of the content that the stream writes. */
  #part: { readonly item: unknown; readonly part: unknown } = { item: undefined, part: undefined }
  /** Where the part begins in the text. */
  #partStart = 0

  constructor(account: string) {
    this.#account = account
  }

  /** One event of a stream. Those that repeat what came before, or that report the vendor's own tools, say nothing. */
  read(event: Json): ChatEvent[] {
    const { type, output_index: index } = event
    switch (type) {
      case 'response.output_item.added':
        return this.open(index, itemOf(event))
      case 'response.output_item.done':
        return [...(this.#items.has(index) ? [] : this.open(index, itemOf(event))), ...this.close(index, itemOf(event))]
      case 'response.output_text.delta':
        this.#enterPart(index, event.content_index)
        return [...this.#delta(index, 'text', event.delta), ...logprobs(event.logprobs)]
      case 'response.refusal.delta':
        return this.#delta(index, 'refusal', event.delta)
      case 'response.reasoning_summary_part.added':
        return this.#paragraph(index)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#delta(index, 'reasoning', event.delta)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#fragment(index, textOf(event.delta))
      case 'response.output_text.annotation.added':
        this.#enterPart(index, event.content_index)
        return isObject(event.annotation) ? [this.#citation(event.annotation)] : []
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.end(isObject(event.response) ? event.response : {})
      case 'error':
        return [errorEvent(event)]
      // Some hosts write an error as they would in a body.
      case undefined:
        return event.error ? [errorEvent(event)] : []
      default:
        return []
    }
  }

  /** The item begins. Its texts come later. */
  open(index: unknown, item: Json): ChatEvent[] {
    const takesText = item.type === 'custom_tool_call'
    const isCall = takesText || item.type === 'function_call'
    const call = isCall ? this.#calls++ : undefined
    this.#items.set(index, { call, takesText, streamed: false, summaries: 0 })
    if (call === undefined) return item.type === 'message' ? this.#newMessage() : []
    const id = textOf(item.call_id) || textOf(item.id) || `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`
    return [{ type: 'tool-call-start', choice, index: call, id, name: textOf(item.name) }]
  }

  #newMessage(): ChatEvent[] {
    return this.#said ? [this.#text('\n\n')] : []
  }

  #paragraph(index: unknown): ChatEvent[] {
    const item = this.#items.get(index)
    return item && item.summaries++ > 0 ? [{ type: 'reasoning', choice, text: '\n\n' }] : []
  }

  #delta(index: unknown, type: 'text' | 'refusal' | 'reasoning', delta: unknown): ChatEvent[] {
    const item = this.#items.get(index)
    if (item) item.streamed = true
    const text = textOf(delta)
    if (text === '') return []
    if (type !== 'reasoning') this.#said = true
    return [type === 'text' ? this.#text(text) : { type, choice, text }]
  }

  /** The text of a custom tool is written as the one argument of its function. */
  #fragment(index: unknown, delta: string): ChatEvent[] {
    const item = this.#items.get(index)
    if (item?.call === undefined || delta === '') return []
    const opening = item.streamed ? '' : '{"input":"'
    item.streamed = true
    const fragment = item.takesText ? opening + JSON.stringify(delta).slice(1, -1) : delta
    return [{ type: 'tool-call-arguments', choice, index: item.call, fragment }]
  }

  /** The finished item: what has not come as deltas. */
  close(index: unknown, item: Json): ChatEvent[] {
    const open = this.#items.get(index)!
    if (open.call !== undefined) return this.#closeCall(open.call, open, item)
    if (item.type === 'reasoning') return this.#closeReasoning(open, item)
    if (item.type === 'message') return open.streamed ? [] : this.#content(item)
    if (item.type !== 'image_generation_call' || textOf(item.result) === '') return []
    const mediaType = `image/${textOf(item.output_format) || 'png'}`
    return [{ type: 'image', choice, source: { data: textOf(item.result), mediaType } }]
  }

  #closeCall(call: number, { takesText, streamed }: OpenItem, item: Json): ChatEvent[] {
    const end: ChatEvent = { type: 'tool-call-end', choice, index: call }
    const tail = takesText ? (streamed ? '"}' : freeTextArguments(textOf(item.input))) : textOf(item.arguments)
    const fragment = streamed && !takesText ? '' : tail
    return fragment === '' ? [end] : [{ type: 'tool-call-arguments', choice, index: call, fragment }, end]
  }

  /** Open models show their thinking itself, in `content`. */
  #closeReasoning({ streamed }: OpenItem, item: Json): ChatEvent[] {
    const parts = listOf(item.summary).length > 0 ? objectsOf(item.summary) : objectsOf(item.content)
    const text = streamed ? '' : parts.map(part => textOf(part.text)).join('\n\n')
    const encrypted = textOf(item.encrypted_content)
    return [
      ...(text === '' ? [] : [{ type: 'reasoning', choice, text } as const]),
      ...(encrypted === ''
        ? []
        : [
            {
              type: 'reasoning',
              choice,
              signature: itemSignature({ id: textOf(item.id), encrypted }, this.#account),
            } as const,
          ]),
    ]
  }

  #content(item: Json): ChatEvent[] {
    return objectsOf(item.content).flatMap((part): ChatEvent[] => {
      this.#partStart = this.#length
      const text = part.type === 'refusal' ? textOf(part.refusal) : textOf(part.text)
      const said = (): ChatEvent => (part.type === 'refusal' ? { type: 'refusal', choice, text } : this.#text(text))
      if (text !== '') this.#said = true
      const citations = objectsOf(part.annotations).map(note => this.#citation(note))
      return [...(text === '' ? [] : [said()]), ...logprobs(part.logprobs), ...citations]
    })
  }

  #text(text: string): ChatEvent {
    this.#length += text.length
    return { type: 'text', choice, text }
  }

  #enterPart(item: unknown, part: unknown): void {
    if (item === this.#part.item && part === this.#part.part) return
    this.#part = { item, part }
    this.#partStart = this.#length
  }

  /** Its positions are those in its part of the content. */
  #citation(citation: Json): ChatEvent {
    const start = this.#partStart
    const { span } = citedSource({ citation })
    return span && start > 0
      ? { type: 'citation', choice, citation, span: { start: span.start + start, end: span.end + start } }
      : { type: 'citation', choice, citation }
  }

  /** The Response as a whole: its end, and the usage. Throws `upstream-broken` for one that still runs. */
  end(response: Json): ChatEvent[] {
    const usage = readResponsesUsage(name => response[name])
    const counted: ChatEvent[] = usage ? [{ type: 'usage', usage }] : []
    if (response.status === 'failed' || response.status === 'cancelled') return [...counted, errorEvent(response)]
    if (response.status !== 'completed' && response.status !== 'incomplete')
      throw brokenProtocol('an answer without its end')
    const ending = this.#ending(response)
    if (ending instanceof GatewayError) return [...counted, { type: 'error', error: ending }]
    return [{ type: 'finish', choice, reason: ending }, ...counted]
  }

  #ending({ status, incomplete_details: details }: Json): FinishReason | GatewayError {
    if (status === 'completed') return this.#calls > 0 ? 'tool-calls' : 'stop'
    const word = isObject(details) ? textOf(details.reason) : ''
    // Without a reason it is cut all the same.
    return word === '' ? 'length' : endingOf(responsesFinishReasons, word)
  }
}

const itemOf = ({ item }: Json): Json => (isObject(item) ? item : {})

/** The tokens of a delta have fewer fields than OpenAI's chat has. */
function logprobs(value: unknown): ChatEvent[] {
  const content = objectsOf(value).map(token => ({
    ...token,
    bytes: listOf(token.bytes).length > 0 ? token.bytes : [...Buffer.from(textOf(token.token))],
    top_logprobs: objectsOf(token.top_logprobs).map(other => ({
      ...other,
      bytes: listOf(other.bytes).length > 0 ? other.bytes : [...Buffer.from(textOf(other.token))],
    })),
  }))
  return content.length > 0 ? [{ type: 'logprobs', choice, content }] : []
}
