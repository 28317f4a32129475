/** An answer as a stream: many small answers, of which the last says why it ended and what it used. */
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { EventWriter } from '../../core/format.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { Candidate, responseId } from './answer.ts'
import { showsThoughts } from './decode.ts'
import type { StreamFraming } from './stream-framing.ts'
import { geminiErrorBody } from './error.ts'
import { usageMetadata } from './usage.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { exactText } from '../../lib/json/exact-json.ts'

/** One `framing` a stream. Throws `upstream-broken` for a tool call that never began (`Candidate.take`). */
export class GenerateWriter implements EventWriter {
  readonly #framing: StreamFraming
  readonly #model: string
  readonly #showThoughts: boolean
  readonly #candidates = new Map<number, Candidate>()
  #id = ''
  #usage: Usage | undefined
  /** Closes an answer, from behind its candidates. */
  #tail = ''

  constructor(model: string, request: ChatRequest, framing: StreamFraming) {
    this.#framing = framing
    this.#model = model
    this.#showThoughts = showsThoughts(request)
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        // An upstream that starts twice does not change the id in the middle of an answer.
        if (this.#tail === '') this.#id = event.id
        return ''
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return this.fail(event.error)
    }
    let candidate = this.#candidates.get(event.choice)
    if (!candidate) this.#candidates.set(event.choice, (candidate = new Candidate(event.choice, this.#showThoughts)))
    const parts = candidate.take(event)
    return parts.length === 0 ? '' : this.#answer([this.#piece(candidate, parts)])
  }

  /** The ends wait for the usage, which comes behind them: clients take the last answer for both. */
  end(): string {
    const candidates = [...this.#candidates.values()].sort((a, b) => a.index - b.index)
    const last = candidates.map(candidate => ({
      ...this.#piece(candidate, [candidate.lastPart()]),
      ...candidate.ending(),
    }))
    return this.#answer(last, this.#usage) + this.#framing.end()
  }

  fail(error: GatewayError): string {
    return this.#framing.error(JSON.stringify(geminiErrorBody(error)))
  }

  /** Google's clients throw a recorded turn away when one of its answers has no part. */
  #piece(candidate: Candidate, parts: Json[]): Json {
    return { content: { parts, role: 'model' }, index: candidate.index, ...candidate.takeLogprobs() }
  }

  #answer(candidates: readonly Json[], usage?: Usage): string {
    if (this.#tail === '')
      this.#tail =
        `,"modelVersion":${JSON.stringify(this.#model)}` + `,"responseId":${JSON.stringify(responseId(this.#id))}}`
    const used = usage ? `,"usageMetadata":${JSON.stringify(usageMetadata(usage))}` : ''
    return this.#framing.element(`{"candidates":${exactText(candidates)}${used}${this.#tail}`)
  }
}
