/** Holds an answer until those who judge it, or the question beside it, have let it pass. */
import type { ChatEvent } from '../core/hub/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { AnswerFilter } from '../core/policy.ts'
import { isJson } from '../lib/json/json-values.ts'
import type { GuardedCall, Guardrail } from './guarded-call.ts'
import { textsOfAnswer, withTexts } from './subject.ts'
import type { AnswerText } from './subject.ts'

interface JudgeParts {
  readonly guarded: GuardedCall
  /** Of the whole answer; empty = it may go out once `beside` has passed. */
  readonly judges: readonly Guardrail[]
  readonly prompt: string
}

/** Nothing goes out before the verdict. */
export class JudgeFilter implements AnswerFilter {
  readonly #parts: JudgeParts
  #held: ChatEvent[] = []
  #besideError: unknown
  #isBesideOver: boolean
  #isBesideRefused = false

  constructor(parts: JudgeParts) {
    this.#parts = parts
    const { beside } = parts.guarded
    this.#isBesideOver = beside === undefined
    beside?.then(
      () => (this.#isBesideOver = true),
      error => {
        this.#besideError = error
        this.#isBesideRefused = true
      },
    )
  }

  get holds(): boolean {
    return !this.#isBesideOver || this.#parts.judges.length > 0
  }

  event(event: ChatEvent): readonly ChatEvent[] {
    if (this.#isBesideRefused) throw this.#besideError
    this.#held.push(event)
    return this.holds ? [] : this.#held.splice(0)
  }

  end(): readonly ChatEvent[] {
    return []
  }

  async later(): Promise<readonly ChatEvent[]> {
    const { guarded, judges, prompt } = this.#parts
    await guarded.beside
    const events = this.#held.splice(0)
    if (judges.length === 0) return events
    const answer = textsOfAnswer(events)
    const texts = answer.map(one => one.text)
    const contents = answer.filter(one => one.type === 'text').map(one => one.text)
    const changed = await guarded.judge(judges, { stage: 'output', texts, contents, prompt })
    return withTexts(events, changedTexts(answer, changed))
  }
}

/** By the keys of their events, what a judge has changed. Throws where arguments would be no JSON any more. */
export function changedTexts(answer: readonly AnswerText[], texts: readonly string[]): Map<string, string> {
  const changed = new Map<string, string>()
  for (const [at, one] of answer.entries()) {
    const text = texts[at]!
    if (text === one.text) continue
    if (one.type === 'tool-call-arguments' && isJson(one.text) && !isJson(text))
      throw new GatewayError(
        'content-policy',
        'a guardrail masked something in the arguments of a tool call that cannot be masked without breaking them',
      )
    changed.set(one.key, text)
  }
  return changed
}
