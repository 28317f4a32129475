/** The items of an answer while they are written: each makes its events and its final object. */
import { freeTextOf } from '../../../core/hub/tool-arguments.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { CitationEvent } from '../../../core/dialects/citations.ts'
import { annotation, ownCitation } from '../answer-fields.ts'
import { encodeProof } from './encrypted-reasoning.ts'
import type { Proof } from './encrypted-reasoning.ts'
import type { ClientTool } from './tools.ts'

/** `incomplete` = the answer was cut, by its length or by a filter, while the item was open. */
export type ItemStatus = 'completed' | 'incomplete'
/** Makes one event; `fields` = its own fields as JSON, without braces. */
type Send = (type: string, fields: string) => string

/** Where an item stands in the response. */
interface OutputPosition {
  readonly id: string
  /** Position in `output`. */
  readonly index: number
}

/** An item from `response.output_item.added` to `response.output_item.done`. */
export interface OpenItem {
  readonly index: number
  open(send: Send): string
  /** The events that end it. */
  close(status: ItemStatus, send: Send): string
  /** As it stands in `output`. */
  object(status: ItemStatus | 'in_progress'): Json
}

abstract class Item implements OpenItem {
  readonly id: string
  readonly index: number
  /** What nearly every event of the item says. */
  protected readonly where: string

  constructor({ id, index }: OutputPosition) {
    this.id = id
    this.index = index
    this.where = `"item_id":"${id}","output_index":${index}`
  }

  open(send: Send): string {
    return send(
      'response.output_item.added',
      `"output_index":${this.index},"item":${JSON.stringify(this.object('in_progress'))}`,
    )
  }

  protected done(status: ItemStatus, send: Send): string {
    return send(
      'response.output_item.done',
      `"output_index":${this.index},"item":${JSON.stringify(this.object(status))}`,
    )
  }

  abstract close(status: ItemStatus, send: Send): string
  abstract object(status: ItemStatus | 'in_progress'): Json
}

interface Content {
  readonly kind: 'output_text' | 'refusal'
  /** Where it begins in the text of the answer. */
  readonly base: number
  text: string
  readonly annotations: Json[]
  /** Citations without an address, which the dialect has no word for. */
  readonly citations: Json[]
  readonly logprobs: Json[]
}

/** Text and refusals of the assistant: one content part after the other. */
export class MessageItem extends Item {
  readonly #parts: Content[] = []
  /** Of the answer's text so far, with that of the items before. */
  #length: number
  #open: Content | undefined
  /** Came before their text. */
  #logprobs: Json[] = []
  /** What stands before a delta's text; made once a part. */
  #head = ''

  constructor(position: OutputPosition, textLengthBefore: number) {
    super(position)
    this.#length = textLengthBefore
  }

  text(text: string, send: Send): string {
    const { part, opened } = this.#part('output_text', send)
    part.text += text
    this.#length += text.length
    return opened + this.#delta(JSON.stringify(text), this.#logprobs.splice(0), send)
  }

  refusal(text: string, send: Send): string {
    const { part, opened } = this.#part('refusal', send)
    part.text += text
    return opened + send('response.refusal.delta', `${this.#head}${JSON.stringify(text)}`)
  }

  /** Some upstreams report them before their text, some behind it. */
  logprobs(tokens: readonly unknown[], send: Send): string {
    const known = tokens.filter(isObject).map(logprob)
    if (this.#open?.kind === 'output_text') return known.length > 0 ? this.#delta('""', known, send) : ''
    if (this.#open === undefined) this.#logprobs.push(...known)
    return ''
  }

  citation(event: CitationEvent, send: Send): string {
    const { part, opened } = this.#part('output_text', send)
    const note = annotation(event, part.base)
    if (!note) {
      part.citations.push(ownCitation(event, part.base))
      return opened
    }
    const flat = { type: 'url_citation', ...(note.url_citation as Json) }
    const at = part.annotations.push(flat) - 1
    const fields = `${this.where},"content_index":${this.#parts.length - 1},"annotation_index":${at}`
    return opened + send('response.output_text.annotation.added', `${fields},"annotation":${JSON.stringify(flat)}`)
  }

  close(status: ItemStatus, send: Send): string {
    return this.#closePart(send) + this.done(status, send)
  }

  object(status: ItemStatus | 'in_progress'): Json {
    return { id: this.id, type: 'message', status, role: 'assistant', content: this.#parts.map(contentPart) }
  }

  #delta(json: string, logprobs: readonly Json[], send: Send): string {
    if (logprobs.length === 0) return send('response.output_text.delta', `${this.#head}${json},"logprobs":[]`)
    this.#open!.logprobs.push(...logprobs)
    return send('response.output_text.delta', `${this.#head}${json},"logprobs":${JSON.stringify(logprobs)}`)
  }

  #part(kind: Content['kind'], send: Send): { part: Content; opened: string } {
    if (this.#open?.kind === kind) return { part: this.#open, opened: '' }
    const closed = this.#closePart(send)
    const part: Content = { kind, base: this.#length, text: '', annotations: [], citations: [], logprobs: [] }
    this.#open = part
    const at = `${this.where},"content_index":${this.#parts.push(part) - 1}`
    this.#head = `${at},"delta":`
    return {
      part,
      opened: closed + send('response.content_part.added', `${at},"part":${JSON.stringify(contentPart(part))}`),
    }
  }

  #closePart(send: Send): string {
    const part = this.#open
    if (!part) return ''
    this.#open = undefined
    const at = `${this.where},"content_index":${this.#parts.length - 1}`
    const text = JSON.stringify(part.text)
    const events =
      part.kind === 'refusal'
        ? send('response.refusal.done', `${at},"refusal":${text}`)
        : send('response.output_text.done', `${at},"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`)
    return events + send('response.content_part.done', `${at},"part":${JSON.stringify(contentPart(part))}`)
  }
}

function contentPart(part: Content): Json {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  const { text, annotations, logprobs, citations } = part
  return { type: 'output_text', text, annotations, logprobs, ...(citations.length > 0 && { citations }) }
}

/** The dialect demands the lists that chat completions may leave out. */
function logprob(token: Json): Json {
  const others = Array.isArray(token.top_logprobs) ? token.top_logprobs.filter(isObject) : []
  return {
    token: token.token,
    logprob: token.logprob,
    bytes: token.bytes ?? [],
    top_logprobs: others.map(other => ({ token: other.token, logprob: other.logprob, bytes: other.bytes ?? [] })),
  }
}

/** Thinking as one summary part, so that the text a proof belongs to comes back unchanged. */
export class ReasoningItem extends Item {
  proof: Proof | undefined
  #text = ''

  text(text: string, send: Send): string {
    const at = `${this.where},"summary_index":0`
    const opened =
      this.#text === ''
        ? send('response.reasoning_summary_part.added', `${at},"part":{"type":"summary_text","text":""}`)
        : ''
    this.#text += text
    return opened + send('response.reasoning_summary_text.delta', `${at},"delta":${JSON.stringify(text)}`)
  }

  close(status: ItemStatus, send: Send): string {
    return this.#closeText(send) + this.done(status, send)
  }

  #closeText(send: Send): string {
    if (this.#text === '') return ''
    const at = `${this.where},"summary_index":0`
    const text = JSON.stringify(this.#text)
    return (
      send('response.reasoning_summary_text.done', `${at},"text":${text}`) +
      send('response.reasoning_summary_part.done', `${at},"part":{"type":"summary_text","text":${text}}`)
    )
  }

  object(status: ItemStatus | 'in_progress'): Json {
    const item: Json = { id: this.id, type: 'reasoning', status, summary: [] }
    if (this.#text !== '') item.summary = [{ type: 'summary_text', text: this.#text }]
    const encrypted = this.proof && encodeProof(this.proof)
    if (encrypted !== undefined) item.encrypted_content = encrypted
    return item
  }
}

/** A call of one of the client's tools, under the name and in the shape that the client declared. */
export class CallItem extends Item {
  readonly #tool: ClientTool
  readonly #callId: string
  #arguments = ''

  constructor(position: OutputPosition, tool: ClientTool, callId: string) {
    super(position)
    this.#tool = tool
    this.#callId = callId
  }

  /** The text of a custom tool is wrapped in JSON on its way here: it is written once it is whole. */
  arguments(fragment: string, send: Send): string {
    if (fragment === '') return ''
    this.#arguments += fragment
    if (this.#tool.kind === 'custom') return ''
    return send('response.function_call_arguments.delta', `${this.where},"delta":${JSON.stringify(fragment)}`)
  }

  close(status: ItemStatus, send: Send): string {
    return (
      (this.#tool.kind === 'custom' ? this.#customEnd(send) : this.#functionEnd(status, send)) + this.done(status, send)
    )
  }

  #customEnd(send: Send): string {
    const input = JSON.stringify(freeTextOf(this.#arguments))
    return (
      send('response.custom_tool_call_input.delta', `${this.where},"delta":${input}`) +
      send('response.custom_tool_call_input.done', `${this.where},"input":${input}`)
    )
  }

  #functionEnd(status: ItemStatus, send: Send): string {
    // A call without arguments is a call with an empty object: clients parse what they get.
    const filled = this.#arguments.trim() === '' && status === 'completed' ? this.arguments('{}', send) : ''
    const name = JSON.stringify(this.#tool.name)
    const done = `${this.where},"name":${name},"arguments":${JSON.stringify(this.#arguments)}`
    return filled + send('response.function_call_arguments.done', done)
  }

  object(status: ItemStatus | 'in_progress'): Json {
    const { kind, name, namespace } = this.#tool
    const where = namespace === undefined ? {} : { namespace }
    if (kind === 'function')
      return {
        id: this.id,
        type: 'function_call',
        status,
        call_id: this.#callId,
        ...where,
        name,
        arguments: this.#arguments,
      }
    const input = status === 'in_progress' ? '' : freeTextOf(this.#arguments)
    return { id: this.id, type: 'custom_tool_call', status, call_id: this.#callId, ...where, name, input }
  }
}
