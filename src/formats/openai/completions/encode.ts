/** Text completions from a chat's events, whole and as a stream. */
import type { ChatEvent, ChatRequest, FinishReason } from '../../../core/hub/chat.ts'
import type { EventWriter } from '../../../core/format.ts'
import type { Usage } from '../../../core/usage/usage.ts'
import { gather } from '../chat/answer.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import { answerId } from '../../common/answer-id.ts'
import { chunkEnd, createdOr, doneEvent, finishReason, usageChunk, usageObject } from '../answer-fields.ts'
import { openaiErrorEvent } from '../error.ts'

/** A completion calls no tools; an answer that ended for a call simply ended. */
function reasonText(reason: FinishReason): string {
  return reason === 'tool-calls' ? 'stop' : finishReason(reason)
}

function completionId(id: string): string {
  return answerId('cmpl-', id.startsWith('chatcmpl-') ? id.slice('chat'.length) : id)
}

interface LegacyLogprobs {
  tokens: string[]
  token_logprobs: number[]
  top_logprobs: Record<string, number>[]
  text_offset: number[]
}

/** The chat's token objects in the old columns; `offset` counts characters since the answer's beginning. */
function legacyLogprobs(content: readonly unknown[], offset: number): { columns: LegacyLogprobs; offset: number } {
  const columns: LegacyLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }
  let at = offset
  for (const entry of content) {
    if (!isObject(entry) || typeof entry.token !== 'string' || typeof entry.logprob !== 'number') continue
    columns.tokens.push(entry.token)
    columns.token_logprobs.push(entry.logprob)
    const top: [string, number][] = []
    for (const other of Array.isArray(entry.top_logprobs) ? entry.top_logprobs : [])
      if (isObject(other) && typeof other.token === 'string' && typeof other.logprob === 'number')
        top.push([other.token, other.logprob])
    columns.top_logprobs.push(Object.fromEntries(top))
    columns.text_offset.push(at)
    at += entry.token.length
  }
  return { columns, offset: at }
}

/** What precedes the text of a choice: its prompt, where the client set `echo`. */
function echoOf({ messages, series = [], choices = 1, extra }: ChatRequest, choice: number): string {
  if (extra.fields.echo !== true) return ''
  const prompt = [messages, ...series][Math.floor(choice / choices)] ?? []
  return prompt.flatMap(message => message.parts.map(part => (part.type === 'text' ? part.text : ''))).join('')
}

/** `model` is the public name. Throws the answer's own error; `upstream-broken` when a choice never ended. */
export function encodeCompletion(events: readonly ChatEvent[], model: string, request: ChatRequest): object {
  const answer = gather(events)
  const body: Record<string, unknown> = {
    id: completionId(answer.id),
    object: 'text_completion',
    created: createdOr(answer.createdS),
    model,
    choices: answer.choices.map(choice => ({
      text: echoOf(request, choice.index) + choice.text + choice.refusal,
      index: choice.index,
      logprobs: choice.contentLogprobs ? legacyLogprobs(choice.contentLogprobs, 0).columns : null,
      finish_reason: reasonText(choice.finish),
    })),
  }
  if (answer.usage) body.usage = usageObject(answer.usage)
  return body
}

/** A text completion as a stream of `text_completion` chunks. */
export class CompletionsWriter implements EventWriter {
  readonly #modelJson: string
  readonly #includeUsage: boolean
  readonly #request: ChatRequest
  /** Choices whose prompt was repeated already. */
  readonly #echoed = new Set<number>()
  readonly #tail: string
  #head = ''
  #usage: Usage | undefined
  /** Characters of each choice that logprobs have covered. */
  readonly #offsets = new Map<number, number>()

  constructor(model: string, request: ChatRequest) {
    this.#modelJson = JSON.stringify(model)
    this.#includeUsage = request.includeUsage
    this.#request = request
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
      case 'text':
      case 'refusal':
        return this.#text(event.choice, this.#echo(event.choice) + event.text, 'null')
      case 'finish':
        return this.#text(event.choice, this.#echo(event.choice), `"${reasonText(event.reason)}"`)
      case 'logprobs': {
        const { columns, offset } = legacyLogprobs(event.content ?? [], this.#offsets.get(event.choice) ?? 0)
        this.#offsets.set(event.choice, offset)
        return this.#chunk(event.choice, `"text":"","logprobs":${JSON.stringify(columns)},"finish_reason":null`)
      }
      default:
        // Thinking, calls, images and sound have no place in a text completion.
        return ''
    }
  }

  end(): string {
    if (!this.#includeUsage || !this.#usage) return doneEvent
    if (this.#head === '') this.#start('', undefined)
    return usageChunk(this.#head, this.#usage) + doneEvent
  }

  /** The prompt, the first time. */
  #echo(choice: number): string {
    if (this.#echoed.has(choice)) return ''
    this.#echoed.add(choice)
    return echoOf(this.#request, choice)
  }

  #text(choice: number, text: string, reasonJson: string): string {
    return this.#chunk(choice, `"text":${JSON.stringify(text)},"logprobs":null,"finish_reason":${reasonJson}`)
  }

  #start(id: string, createdS: number | undefined): void {
    if (this.#head !== '') return
    this.#head =
      `data: {"id":${JSON.stringify(completionId(id))},"object":"text_completion",` +
      `"created":${createdOr(createdS)},"model":${this.#modelJson},"choices":[`
  }

  #chunk(choice: number, rest: string): string {
    if (this.#head === '') this.#start('', undefined)
    return `${this.#head}{"index":${choice},${rest}}${this.#tail}`
  }
}
