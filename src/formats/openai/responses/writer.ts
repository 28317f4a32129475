/**
 * An answer as the items of a Response, written event by event (API reference, "Streaming events"). A whole
 * answer is built by the same steps: only its last state is then of interest.
 */
import { writeCallId } from '../../../core/dialects/call-signature.ts'
import type { ChatEvent, ChatRequest, FinishReason, Source } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { EventWriter } from '../../../core/format.ts'
import type { Usage } from '../../../core/usage/usage.ts'
import { createdOr } from '../answer-fields.ts'
import { CallItem, MessageItem, ReasoningItem } from './items.ts'
import type { ItemStatus, OpenItem } from './items.ts'
import { contextOf } from './context.ts'
import type { ResponsesContext } from './context.ts'
import { newResponse, newResponseId, responseError, sseEvent } from './response-object.ts'
import { usageObject } from './usage.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { exactText } from '../../../lib/json/exact-json.ts'

type EventOfType<T extends ChatEvent['type']> = Extract<ChatEvent, { type: T }>

/**
 * One instance a response, under an id of its own. Throws `upstream-broken` for arguments of a call that is not open.
 * `fail` gives what was written so far as `response.failed`.
 */
export class ResponsesWriter implements EventWriter {
  /** The answer so far; complete after `end`. */
  readonly response: Json
  readonly #context: ResponsesContext
  /** Finished items by their index; the open ones are still missing. */
  readonly #output: Json[] = []
  readonly #hex: string
  #sequence = 0
  #begun = false
  /** Message or thinking that is being written; calls may be open beside it. */
  #current: MessageItem | ReasoningItem | undefined
  readonly #calls = new Map<number, CallItem>()
  #items = 0
  #finish: FinishReason | undefined
  #usage: Usage | undefined
  /** UTF-16 units of the answer's text so far, in all items. */
  #textLength = 0

  constructor(model: string, request: ChatRequest) {
    this.#context = contextOf(request)
    const id = newResponseId()
    this.#hex = id.slice('resp_'.length)
    this.response = newResponse(id, model, this.#context.fields)
  }

  /** The model has come to its end. */
  get finished(): boolean {
    return this.#finish !== undefined
  }

  /** Only one choice can be asked for in this dialect; further ones have no place. */
  write(event: ChatEvent): string {
    if ('choice' in event && event.choice > 0) return ''
    const opened = this.#begin()
    switch (event.type) {
      case 'start':
      case 'error':
        return opened
      case 'usage':
        this.#usage = event.usage
        return opened
      case 'text':
        return event.text === '' ? opened : opened + this.#text(event.text)
      case 'refusal':
        return event.text === '' ? opened : opened + this.#inMessage(item => item.refusal(event.text, this.#send))
      case 'logprobs':
        // Those of a refusal have no place in this dialect.
        return event.content?.length
          ? opened + this.#inMessage(item => item.logprobs(event.content!, this.#send))
          : opened
      case 'citation':
        return opened + this.#inMessage(item => item.citation(event, this.#send))
      case 'audio':
        return event.transcript ? opened + this.#inMessage(item => item.text(event.transcript!, this.#send)) : opened
      case 'image':
        return opened + this.#image(event.source)
      case 'reasoning':
        return opened + this.#reasoning(event)
      case 'tool-call-start':
        return opened + this.#callStart(event)
      case 'tool-call-arguments':
        return opened + this.#callArguments(event)
      case 'tool-call-end':
        return opened + this.#callEnd(event.index, 'completed')
      case 'finish':
        this.#finish = event.reason
        return opened + this.#closeAll(this.#cut() ? 'incomplete' : 'completed')
    }
  }

  end(): string {
    const out = this.#begin() + this.#closeAll('completed')
    const { response } = this
    response.output = this.#output
    if (this.#usage) response.usage = usageObject(this.#usage)
    const cut = this.#cut()
    response.status = cut ? 'incomplete' : 'completed'
    if (cut) response.incomplete_details = { reason: cut }
    else response.completed_at = createdOr(undefined)
    return out + this.#ofResponse(`response.${response.status}`)
  }

  fail(error: GatewayError): string {
    const { response } = this
    const out = this.#begin()
    this.#keepUnfinished()
    response.output = this.#output
    if (this.#usage) response.usage = usageObject(this.#usage)
    response.status = 'failed'
    response.error = responseError(error)
    return out + this.#ofResponse('response.failed')
  }

  #cut(): string | undefined {
    if (this.#finish === 'length') return 'max_output_tokens'
    return this.#finish === 'content-filter' ? 'content_filter' : undefined
  }

  #begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    return this.#ofResponse('response.created') + this.#ofResponse('response.in_progress')
  }

  #ofResponse(type: string): string {
    return this.#send(type, `"response":${exactText(this.response)}`)
  }

  /** `fields` = the event's own fields as JSON, without braces. */
  readonly #send = (type: string, fields: string): string =>
    sseEvent(type, `{"type":"${type}","sequence_number":${this.#sequence++},${fields}}`)

  #newPosition(prefix: string): { id: string; index: number } {
    const index = this.#items++
    return { id: `${prefix}_${this.#hex}${index.toString(16).padStart(4, '0')}`, index }
  }

  #text(text: string): string {
    const out = this.#inMessage(item => item.text(text, this.#send))
    this.#textLength += text.length
    return out
  }

  #inMessage(write: (item: MessageItem) => string): string {
    const current = this.#current
    if (current instanceof MessageItem) return write(current)
    const closed = this.#closeCurrent('completed')
    const item = new MessageItem(this.#newPosition('msg'), this.#textLength)
    this.#current = item
    return closed + item.open(this.#send) + write(item)
  }

  /** A proof closes the item: each block of thinking goes back to its vendor as it was. */
  #reasoning(event: EventOfType<'reasoning'>): string {
    let out = ''
    const { text, signature, redacted } = event
    if (text || signature !== undefined) {
      const item = this.#thinking()
      out += item.opened
      if (text) out += item.item.text(text, this.#send)
      if (signature !== undefined) {
        item.item.proof = { signature }
        out += this.#closeCurrent('completed')
      }
    }
    if (redacted !== undefined) {
      out += this.#closeCurrent('completed')
      const { item, opened } = this.#thinking()
      item.proof = { redacted }
      out += opened + this.#closeCurrent('completed')
    }
    return out
  }

  #thinking(): { item: ReasoningItem; opened: string } {
    const current = this.#current
    if (current instanceof ReasoningItem) return { item: current, opened: '' }
    const closed = this.#closeCurrent('completed')
    const item = new ReasoningItem(this.#newPosition('rs'))
    this.#current = item
    return { item, opened: closed + item.open(this.#send) }
  }

  #callStart(event: EventOfType<'tool-call-start'>): string {
    const closed = this.#closeCurrent('completed') + this.#callEnd(event.index, 'completed')
    const tool = this.#context.names.find(event.name)
    const position = this.#newPosition(tool.kind === 'custom' ? 'ctc' : 'fc')
    const callId = event.id || `call_${this.#hex.slice(0, 20)}${position.index}`
    const item = new CallItem(position, tool, writeCallId(callId, event.signature))
    this.#calls.set(event.index, item)
    return closed + item.open(this.#send)
  }

  #callArguments({ index, fragment }: EventOfType<'tool-call-arguments'>): string {
    const item = this.#calls.get(index)
    if (!item)
      throw new GatewayError('upstream-broken', "the upstream's answer goes on with a tool call that has ended")
    return item.arguments(fragment, this.#send)
  }

  #callEnd(index: number, status: ItemStatus): string {
    const item = this.#calls.get(index)
    if (!item) return ''
    this.#calls.delete(index)
    return this.#close(item, status)
  }

  #closeCurrent(status: ItemStatus): string {
    const current = this.#current
    if (!current) return ''
    this.#current = undefined
    return this.#close(current, status)
  }

  #close(item: OpenItem, status: ItemStatus): string {
    const events = item.close(status, this.#send)
    this.#output[item.index] = item.object(status)
    return events
  }

  #closeAll(status: ItemStatus): string {
    let out = this.#closeCurrent(status)
    for (const index of [...this.#calls.keys()]) out += this.#callEnd(index, status)
    return out
  }

  /** Each in its place: items end in any order, and would leave holes. */
  #keepUnfinished(): void {
    const open: OpenItem[] = [...(this.#current ? [this.#current] : []), ...this.#calls.values()]
    for (const item of open) this.#output[item.index] = item.object('incomplete')
  }

  /** The dialect knows pictures only as the result of a tool, in base64; one by address is written into the text. */
  #image(source: Source): string {
    if (!('data' in source)) {
      const address = 'url' in source ? source.url : source.fileId
      return this.#inMessage(item => item.text(`![image](${address})`, this.#send))
    }
    const closed = this.#closeCurrent('completed')
    const { id, index } = this.#newPosition('ig')
    const item = { id, type: 'image_generation_call', status: 'in_progress', result: null }
    const done = { ...item, status: 'completed', result: source.data }
    this.#output[index] = done
    const at = `"output_index":${index}`
    return (
      closed +
      this.#send('response.output_item.added', `${at},"item":${JSON.stringify(item)}`) +
      this.#send('response.image_generation_call.completed', `${at},"item_id":"${id}"`) +
      this.#send('response.output_item.done', `${at},"item":${JSON.stringify(done)}`)
    )
  }
}
