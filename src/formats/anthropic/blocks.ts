/**
 * An answer as content blocks (platform.claude.com/docs/en/build-with-claude/streaming): one after another, each begun,
 * filled by deltas and stopped. Whole answers and streams are made of the same steps, so that they cannot differ.
 */
import { brokenProtocol } from '../../core/errors.ts'
import type { ChatEvent, FinishReason, Source } from '../../core/hub/chat.ts'
import { writeCallId } from '../../core/dialects/call-signature.ts'
import { citedSource } from '../../core/dialects/citations.ts'
import type { CitationEvent } from '../../core/dialects/citations.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { ThinkingDisplay } from './decode.ts'
import { encodeSignature, unprovenIndex } from './thinking-signature.ts'

/** One event of a block in the dialect's own words, without its index, which the writer counts. */
export type Step =
  | { readonly type: 'start'; readonly block: Json }
  | { readonly type: 'delta'; readonly delta: Json }
  | { readonly type: 'stop' }

type ChoiceEvent = Extract<ChatEvent, { choice: number }>
type OpenEvent = Exclude<ChoiceEvent, Finish>
type Reasoning = Extract<ChatEvent, { type: 'reasoning' }>
type Finish = Extract<ChatEvent, { type: 'finish' }>

/** A call that waits, with its events in order, its start first. */
interface WaitingCall {
  readonly events: OpenEvent[]
}
type Waiting = WaitingCall | OpenEvent

const begunTwice = () => brokenProtocol('it begins a tool call twice')
const notOpen = () => brokenProtocol('it continues a tool call that is not open')

const stop: Step = { type: 'stop' }

/** Fed with the events of one choice in order. */
export class BlockSequence {
  readonly #display: ThinkingDisplay
  #open: 'text' | 'thinking' | 'call' | undefined
  /** The number of the call that is open. */
  #call = -1
  /**
   * What came while a call was open, and waits for its end, as blocks do not overlap: in order, each further call with
   * all of its own events, so that each is looked at twice, however many calls are open.
   */
  #waiting: Waiting[] = []
  /** The first of them that was not written yet. */
  #next = 0
  /** Those among them that have not ended, by the number of the call. */
  readonly #waitingCalls = new Map<number, WaitingCall>()
  #refused = false
  #called = false
  #finish: Finish | undefined

  constructor(display: ThinkingDisplay) {
    this.#display = display
  }

  /** Throws `upstream-broken` for arguments of a call that is not open. */
  take(event: ChoiceEvent): Step[] {
    if (event.type === 'finish') {
      this.#finish = event
      return this.#endAll()
    }
    if (this.#open === 'call' && !('index' in event && event.index === this.#call)) {
      this.#wait(event)
      return []
    }
    const steps = this.#steps(event)
    if (event.type === 'tool-call-end') this.#resume(steps)
    return steps
  }

  /** Throws `upstream-broken` for a call that is begun twice, and for arguments of one that is not open. */
  #wait(event: OpenEvent): void {
    if (!('index' in event)) {
      this.#waiting.push(event)
      return
    }
    const known = this.#waitingCalls.get(event.index)
    if (event.type === 'tool-call-start') {
      if (known) throw begunTwice()
      const call = { events: [event] }
      this.#waitingCalls.set(event.index, call)
      this.#waiting.push(call)
      return
    }
    if (event.type === 'tool-call-end') this.#waitingCalls.delete(event.index)
    else if (!known) throw notOpen()
    known?.events.push(event)
  }

  /** Writes what waited for the end of the call, until another one is open. */
  #resume(steps: Step[]): void {
    const waiting = this.#waiting
    if (this.#next === waiting.length) return
    while (this.#next < waiting.length && this.#open !== 'call') {
      const one = waiting[this.#next++]!
      for (const event of 'events' in one ? one.events : [one]) for (const step of this.#steps(event)) steps.push(step)
    }
    if (this.#next === waiting.length) {
      this.#waiting = []
      this.#next = 0
    }
    if (this.#open === 'call') this.#waitingCalls.delete(this.#call)
  }

  #steps(event: OpenEvent): Step[] {
    switch (event.type) {
      case 'text':
        return this.#text(event.text)
      case 'refusal':
        this.#refused = true
        return this.#text(event.text)
      case 'reasoning':
        return this.#display === 'none' ? [] : this.#reasoning(event)
      case 'tool-call-start':
        return this.#startCall(event)
      case 'tool-call-arguments':
        if (this.#open !== 'call') throw notOpen()
        return event.fragment === '' ? [] : [delta({ type: 'input_json_delta', partial_json: event.fragment })]
      case 'tool-call-end':
        return this.#endCall()
      case 'citation':
        return this.#citation(event)
      case 'image':
        return this.#text(`![image](${addressOf(event.source)})`)
      case 'audio':
        return this.#text(event.transcript ?? '')
      case 'logprobs':
        // This dialect has no field that asks for them.
        return []
    }
  }

  /** Undefined as long as the answer is not finished. */
  get ending(): Json | undefined {
    if (!this.#finish) return undefined
    const { reason, stopSequence } = this.#finish
    const refused = this.#refused || reason === 'content-filter'
    return {
      stop_reason: refused ? 'refusal' : this.#stopReason(reason, stopSequence),
      stop_sequence: stopSequence ?? null,
      stop_details: refused ? { type: 'refusal', category: null, explanation: null } : null,
    }
  }

  /** Some hosts end calls with a plain stop: the client's loop would end too. */
  #stopReason(reason: FinishReason, stopSequence: string | null | undefined): string {
    if (reason !== 'stop') return stopReasons[reason]
    if (this.#called) return stopReasons['tool-calls']
    return stopSequence === undefined ? stopReasons.stop : 'stop_sequence'
  }

  #text(text: string): Step[] {
    return text === '' ? [] : [...this.#inText(), delta({ type: 'text_delta', text })]
  }

  #inText(): Step[] {
    if (this.#open === 'text') return []
    const closing = this.#close()
    this.#open = 'text'
    return [...closing, { type: 'start', block: { type: 'text', text: '' } }]
  }

  #citation(event: CitationEvent): Step[] {
    const own = citationOf(event)
    return own ? [...this.#inText(), delta({ type: 'citations_delta', citation: own })] : []
  }

  #reasoning({ text, signature, redacted }: Reasoning): Step[] {
    const steps: Step[] = []
    if (text && this.#display === 'full')
      steps.push(...this.#inThinking(), delta({ type: 'thinking_delta', thinking: text }))
    if (signature) {
      steps.push(...this.#inThinking(), delta({ type: 'signature_delta', signature: encodeSignature(signature) }), stop)
      this.#open = undefined
    }
    if (redacted)
      steps.push(...this.#close(), { type: 'start', block: { type: 'redacted_thinking', data: redacted } }, stop)
    return steps
  }

  #inThinking(): Step[] {
    if (this.#open === 'thinking') return []
    const closing = this.#close()
    this.#open = 'thinking'
    return [...closing, { type: 'start', block: { type: 'thinking', thinking: '', signature: '' } }]
  }

  #startCall({ index, id, name, signature }: Extract<ChatEvent, { type: 'tool-call-start' }>): Step[] {
    // The same call begun twice would be two blocks of one id.
    if (this.#open === 'call') throw begunTwice()
    const closing = this.#close()
    this.#open = 'call'
    this.#call = index
    this.#called = true
    const ownId = id || `toolu_${crypto.randomUUID().replaceAll('-', '')}`
    const block = { type: 'tool_use', id: writeCallId(ownId, signature), name, input: {} }
    return [...closing, { type: 'start', block }]
  }

  #endCall(): Step[] {
    if (this.#open !== 'call') return []
    this.#open = undefined
    this.#call = -1
    return [stop]
  }

  #endAll(): Step[] {
    const steps: Step[] = []
    while (this.#open === 'call') {
      steps.push(...this.#endCall())
      this.#resume(steps)
    }
    for (const step of this.#close()) steps.push(step)
    return steps
  }

  #close(): Step[] {
    const was = this.#open
    this.#open = undefined
    if (was === undefined) return []
    // Clients forget thinking that has no signature: a mark takes its place.
    return was === 'thinking'
      ? [delta({ type: 'signature_delta', signature: encodeSignature(undefined) }), stop]
      : [stop]
  }
}

const delta = (fields: Json): Step => ({ type: 'delta', delta: fields })

const stopReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
}

/** Messages have no pictures in answers: as Markdown at least every client can show them. */
function addressOf(source: Source): string {
  if ('url' in source) return source.url
  return 'data' in source ? `data:${source.mediaType};base64,${source.data}` : source.fileId
}

const citationTypes: ReadonlySet<unknown> = new Set([
  'char_location',
  'page_location',
  'content_block_location',
  'web_search_result_location',
  'search_result_location',
])

/** Anthropic's own as they are, sources with a URL as results of a search; for others this dialect has no word. */
function citationOf(event: CitationEvent): Json | undefined {
  if (citationTypes.has(event.citation.type)) return event.citation
  const { url, title } = citedSource(event)
  if (url === undefined) return undefined
  return {
    type: 'web_search_result_location',
    url,
    title: title || null,
    cited_text: '',
    encrypted_index: unprovenIndex,
  }
}
