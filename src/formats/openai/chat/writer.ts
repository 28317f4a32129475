/** A chat completion as a stream (OpenAI API reference, "The chat completion chunk object"). */
import type { ChatEvent, ChatRequest } from '../../../core/hub/chat.ts'
import type { EventWriter } from '../../../core/format.ts'
import { freeTextOf } from '../../../core/hub/tool-arguments.ts'
import type { Usage } from '../../../core/usage/usage.ts'
import { answerId } from '../../common/answer-id.ts'
import { openaiErrorEvent } from '../error.ts'
import { callShapeOf } from '../text-tool.ts'
import { usesLegacyFunctions } from './decode.ts'
import {
  annotation,
  chunkEnd,
  createdOr,
  doneEvent,
  finishReason,
  imageObject,
  ownCitation,
  redactedBlock,
  signedFields,
  thinkingBlock,
  usageChunk,
} from '../answer-fields.ts'

/** What a stream remembers of a choice. */
interface OpenChoice {
  /** Everything of a chunk that stands before its delta. */
  readonly prefix: string
  /** Thinking that waits for its signature. */
  block: string
  /** Blocks have gone out: what is still open at the end must follow them. */
  signed: boolean
  /** Text has gone out whose logprobs may follow. */
  uncovered: boolean
  /** Logprobs that came before their text, as JSON; empty = none. */
  logprobs: string
  /** Open calls of text tools, by their number: their arguments so far. */
  texts?: Map<number, { readonly shape: 'custom' | 'function'; json: string }>
}

/**
 * Text is the only thing that is written as JSON per event; the rest of a chunk is prebuilt. An
 * answer's usage goes out at the end, when no later report can replace it.
 */
export class ChatWriter implements EventWriter {
  readonly #modelJson: string
  readonly #request: ChatRequest
  readonly #legacy: boolean
  readonly #includeUsage: boolean
  /** Closes a chunk, from behind its choices. */
  readonly #tail: string
  #head = ''
  /** The choice of the event before: streams rarely jump between choices. */
  #current: OpenChoice | undefined
  #currentIndex = -1
  readonly #choices = new Map<number, OpenChoice>()
  #usage: Usage | undefined

  constructor(model: string, request: ChatRequest) {
    this.#modelJson = JSON.stringify(model)
    this.#request = request
    this.#legacy = usesLegacyFunctions(request)
    this.#includeUsage = request.includeUsage
    this.#tail = chunkEnd(request)
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        this.#start(event.id, event.createdS)
        return ''
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return openaiErrorEvent(event.error)
    }
    const opened = event.choice === this.#currentIndex ? '' : this.#enter(event.choice)
    const choice = this.#current!
    switch (event.type) {
      case 'text':
        return opened + this.#delta(choice, `{"content":${JSON.stringify(event.text)}}`)
      case 'refusal':
        return opened + this.#delta(choice, `{"refusal":${JSON.stringify(event.text)}}`)
      case 'finish':
        return opened + this.#finish(choice, finishReason(event.reason, this.#legacy))
      case 'logprobs':
        return opened + this.#logprobs(choice, event)
      case 'reasoning':
        return opened + this.#reasoning(choice, event)
      case 'tool-call-start':
      case 'tool-call-arguments':
        return opened + this.#toolCall(choice, event)
      case 'tool-call-end':
        return opened + this.#textCallEnd(choice, event.index)
      default:
        return opened + this.#chunk(choice, deltaOf(event))
    }
  }

  end(): string {
    if (!this.#includeUsage || !this.#usage) return doneEvent
    if (this.#head === '') this.#start('', undefined)
    return usageChunk(this.#head, this.#usage) + doneEvent
  }

  #start(id: string, createdS: number | undefined): void {
    // An upstream that starts twice does not change the id in the middle of an answer.
    if (this.#head !== '') return
    const idJson = JSON.stringify(answerId('chatcmpl-', id))
    this.#head =
      `data: {"id":${idJson},"object":"chat.completion.chunk","created":${createdOr(createdS)},` +
      `"model":${this.#modelJson},"system_fingerprint":null,"choices":[`
  }

  /** Makes a choice the current one; a new choice begins with its role. */
  #enter(index: number): string {
    this.#currentIndex = index
    const known = this.#choices.get(index)
    if (known) {
      this.#current = known
      return ''
    }
    if (this.#head === '') this.#start('', undefined)
    const choice: OpenChoice = {
      prefix: `${this.#head}{"index":${index},"delta":`,
      block: '',
      signed: false,
      uncovered: false,
      logprobs: '',
    }
    this.#choices.set(index, choice)
    this.#current = choice
    return this.#chunk(choice, '{"role":"assistant","content":"","refusal":null}')
  }

  #chunk(choice: OpenChoice, delta: string): string {
    return `${choice.prefix}${delta},"logprobs":null,"finish_reason":null}${this.#tail}`
  }

  /** The text of a text tool is inside of its arguments: it is written once they are whole. */
  #textCall(choice: OpenChoice, event: Start, shape: 'custom' | 'function'): string {
    choice.texts ??= new Map()
    choice.texts.set(event.index, { shape, json: '' })
    return this.#chunk(choice, `{"tool_calls":[{"index":${event.index},${textCallStart(event, shape)}}]}`)
  }

  #textCallEnd(choice: OpenChoice, index: number): string {
    const call = choice.texts?.get(index)
    if (!call) return ''
    choice.texts!.delete(index)
    const text = JSON.stringify(freeTextOf(call.json))
    const input = call.shape === 'custom' ? `"custom":{"input":${text}}` : `"function":{"arguments":${text}}`
    return this.#chunk(choice, `{"tool_calls":[{"index":${index},${input}}]}`)
  }

  #delta(choice: OpenChoice, delta: string): string {
    if (choice.logprobs === '') {
      choice.uncovered = true
      return this.#chunk(choice, delta)
    }
    const { logprobs } = choice
    choice.logprobs = ''
    return `${choice.prefix}${delta},"logprobs":${logprobs},"finish_reason":null}${this.#tail}`
  }

  /** Some upstreams report logprobs before their text, some behind it: both end up in step with it. */
  #logprobs(choice: OpenChoice, event: Extract<ChatEvent, { type: 'logprobs' }>): string {
    const json = JSON.stringify({ content: event.content ?? null, refusal: event.refusal ?? null })
    let out = ''
    if (choice.logprobs !== '') out = this.#delta(choice, '{}')
    choice.logprobs = json
    if (!choice.uncovered) return out
    choice.uncovered = false
    return out + this.#delta(choice, '{}')
  }

  #finish(choice: OpenChoice, reason: string): string {
    const { logprobs } = choice
    choice.logprobs = ''
    let texts = ''
    for (const index of [...(choice.texts?.keys() ?? [])]) texts += this.#textCallEnd(choice, index)
    const block = choice.signed ? this.#closeBlock(choice) : ''
    const end = `"logprobs":${logprobs || 'null'},"finish_reason":"${reason}"}`
    return `${texts}${block}${choice.prefix}{},${end}${this.#tail}`
  }

  /** The signature closes a block: the block then goes out whole, as clients must send it back. */
  #reasoning(choice: OpenChoice, event: Extract<ChatEvent, { type: 'reasoning' }>): string {
    let out = ''
    if (event.text) {
      const json = JSON.stringify(event.text)
      choice.block += event.text
      out = this.#chunk(choice, `{"reasoning_content":${json},"reasoning":${json}}`)
    }
    if (event.signature) {
      out += this.#block(choice, thinkingBlock(choice.block, event.signature))
      choice.block = ''
    }
    if (event.redacted) {
      out += this.#closeBlock(choice)
      out += this.#block(choice, redactedBlock(event.redacted))
    }
    return out
  }

  /** Unsigned thinking as a block of its own; empty when there is none. */
  #closeBlock(choice: OpenChoice): string {
    if (choice.block === '') return ''
    const { block } = choice
    choice.block = ''
    return this.#block(choice, thinkingBlock(block, ''))
  }

  #block(choice: OpenChoice, block: object): string {
    choice.signed = true
    return this.#chunk(choice, `{"thinking_blocks":[${JSON.stringify(block)}]}`)
  }

  #toolCall(
    choice: OpenChoice,
    event: Extract<ChatEvent, { type: 'tool-call-start' | 'tool-call-arguments' }>,
  ): string {
    // `function_call` has room for one call.
    if (this.#legacy && event.index > 0) return ''
    if (event.type === 'tool-call-start') {
      const shape = callShapeOf(this.#request, event.name)
      if (shape) return this.#textCall(choice, event, shape)
    } else {
      const text = choice.texts?.get(event.index)
      if (text) {
        text.json += event.fragment
        return ''
      }
    }
    if (event.type === 'tool-call-arguments') {
      const json = JSON.stringify(event.fragment)
      return this.#chunk(
        choice,
        this.#legacy
          ? `{"function_call":{"arguments":${json}}}`
          : `{"tool_calls":[{"index":${event.index},"function":{"arguments":${json}}}]}`,
      )
    }
    const name = JSON.stringify(event.name)
    if (this.#legacy) return this.#chunk(choice, `{"function_call":{"name":${name},"arguments":""}}`)
    const called = `"function":{"name":${name},"arguments":""}`
    const { id, ...member } = signedFields(event)
    const call = `"id":${JSON.stringify(id)},"type":"function",${called}${membersAfter(member)}`
    return this.#chunk(choice, `{"tool_calls":[{"index":${event.index},${call}}]}`)
  }
}

type Start = Extract<ChatEvent, { type: 'tool-call-start' }>

function textCallStart(start: Start, shape: 'custom' | 'function'): string {
  const { name } = start
  const { id, ...member } = signedFields(start)
  const called = shape === 'custom' ? { name, input: '' } : { name, arguments: '' }
  return `"id":${JSON.stringify(id)},"type":"${shape}","${shape}":${JSON.stringify(called)}${membersAfter(member)}`
}

/** As they follow other members. */
function membersAfter(members: object): string {
  const json = JSON.stringify(members)
  return json === '{}' ? '' : `,${json.slice(1, -1)}`
}

function deltaOf(event: Extract<ChatEvent, { type: 'image' | 'audio' | 'citation' }>): string {
  if (event.type === 'image') return JSON.stringify({ images: [imageObject(event.source)] })
  if (event.type === 'citation') {
    const note = annotation(event)
    return JSON.stringify(note ? { annotations: [note] } : { citations: [ownCitation(event)] })
  }
  const { id, data, transcript, expiresAtS } = event
  return JSON.stringify({ audio: { id, data, transcript, expires_at: expiresAtS } })
}
