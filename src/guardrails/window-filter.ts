/**
 * Judges a stream window by window: what is held goes out with its verdict, but for the last characters, which are
 * judged once more with what follows them. So the delay is bounded by a window and the time of a judge, and does not
 * grow with the answer.
 */
import type { ChatEvent } from '../core/hub/chat.ts'
import type { AnswerFilter, AnswerGate } from '../core/policy.ts'
import type { GuardedCall, Guardrail } from './guarded-call.ts'
import { changedTexts } from './judge-filter.ts'
import { textOfEvent, textsOfAnswer, withTexts } from './subject.ts'

/** How much is judged at once. */
export interface WindowSizes {
  /** New characters that make a window full. */
  readonly characters: number
  /** Characters that are judged again with what follows them. */
  readonly overlap: number
  /** A window that is not full is judged after so many milliseconds without a verdict. */
  readonly waitMs: number
}

interface WindowParts {
  readonly guarded: GuardedCall
  readonly judges: readonly Guardrail[]
  readonly prompt: string
  readonly sizes: WindowSizes
}

/** For one streamed answer. Calls of tools are judged when their arguments are complete. */
export class WindowFilter implements AnswerFilter {
  readonly #parts: WindowParts
  #gate: AnswerGate | undefined
  #held: ChatEvent[] = []
  /** Of the held events, how many characters no judge has seen. */
  #unseen = 0
  #asking: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #error: unknown
  /** Something was released, or nothing is to be held. */
  #hasBegun = false
  #isOver = false

  constructor(parts: WindowParts) {
    this.#parts = parts
  }

  get holds(): boolean {
    return !this.#hasBegun
  }

  attach(gate: AnswerGate): void {
    this.#gate = gate
  }

  event(event: ChatEvent): readonly ChatEvent[] {
    if (this.#error !== undefined) throw this.#error
    const text = textOfEvent(event)?.text ?? ''
    if (this.#held.length === 0 && event.type === 'start') return [event]
    this.#held.push(event)
    this.#unseen += text.length
    this.#next()
    return []
  }

  end(): readonly ChatEvent[] {
    this.#isOver = true
    clearTimeout(this.#timer)
    return []
  }

  async later(): Promise<readonly ChatEvent[]> {
    await this.#asking
    if (this.#error !== undefined) throw this.#error
    return this.#unseen === 0 ? this.#held.splice(0) : await this.#judged(this.#held.splice(0))
  }

  /** Asks when a window is full; one that is not full waits for its time. */
  #next(): void {
    if (this.#asking || this.#isOver || !this.#gate) return
    if (this.#unseen >= this.#parts.sizes.characters) this.#ask()
    else this.#timer ??= setTimeout(() => this.#expired(), this.#parts.sizes.waitMs)
  }

  #expired(): void {
    this.#timer = undefined
    if (this.#asking || this.#isOver) return
    if (this.#unseen > 0) this.#ask()
    // The answer pauses: what was judged needs not wait for what follows.
    else this.#release(this.#held.splice(0, completeCount(this.#held)))
  }

  #ask(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#held.splice(0, completeCount(this.#held))
    if (events.length === 0) return
    this.#unseen = charactersOf(this.#held)
    this.#asking = this.#judged(events)
      .then(passed => {
        const border = borderOf(passed, this.#parts.sizes.overlap)
        this.#held.unshift(...border.kept)
        if (!this.#isOver) this.#release(border.released)
        else this.#held.unshift(...border.released)
      })
      .catch(error => {
        this.#error = error
        if (!this.#isOver) this.#gate?.refuse(error)
      })
      .finally(() => {
        this.#asking = undefined
        if (this.#error === undefined) this.#next()
      })
  }

  async #judged(events: readonly ChatEvent[]): Promise<readonly ChatEvent[]> {
    const { guarded, judges, prompt } = this.#parts
    const answer = textsOfAnswer(events)
    if (answer.length === 0) return events
    const texts = answer.map(one => one.text)
    const contents = answer.filter(one => one.type === 'text').map(one => one.text)
    const changed = await guarded.judge(judges, { stage: 'output', texts, contents, prompt })
    return withTexts(events, changedTexts(answer, changed))
  }

  #release(events: readonly ChatEvent[]): void {
    if (events.length === 0) return
    this.#hasBegun = true
    this.#gate?.release(events)
  }
}

const charactersOf = (events: readonly ChatEvent[]): number =>
  events.reduce((sum, one) => sum + (textOfEvent(one)?.text.length ?? 0), 0)

/** How many events stand before the first call of a tool whose arguments are not complete. */
function completeCount(events: readonly ChatEvent[]): number {
  const closed = new Set(events.flatMap(one => (one.type === 'tool-call-end' ? [`${one.choice} ${one.index}`] : [])))
  const open = events.findIndex(
    one => one.type.startsWith('tool-call') && 'index' in one && !closed.has(`${one.choice} ${one.index}`),
  )
  return open < 0 ? events.length : open
}

/** The last characters of the texts stay; with several choices as many of each. */
function borderOf(events: readonly ChatEvent[], overlap: number): { released: ChatEvent[]; kept: ChatEvent[] } {
  const choices = new Set(events.flatMap(one => ('choice' in one ? [one.choice] : [])))
  let left = overlap * Math.max(choices.size, 1)
  let at = events.length
  while (at > 0 && left > 0) {
    const one = textOfEvent(events[at - 1]!)
    if (one && one.text.length > left) {
      const halves = split(events[at - 1]!, one.text.length - left)
      return {
        released: [...events.slice(0, at - 1), halves[0]],
        kept: [halves[1], ...events.slice(at)].filter(isEvent),
      }
    }
    left -= one?.text.length ?? 0
    at--
  }
  return { released: events.slice(0, at), kept: events.slice(at) }
}

const isEvent = (event: ChatEvent | undefined): event is ChatEvent => event !== undefined

/** One whose text belongs to more than itself is not split. */
function split(event: ChatEvent, at: number): readonly [ChatEvent, ChatEvent | undefined] {
  const isSigned = event.type === 'reasoning' && (event.signature !== undefined || event.redacted !== undefined)
  if ((event.type !== 'text' && event.type !== 'refusal' && event.type !== 'reasoning') || isSigned)
    return [event, undefined]
  const text = event.text ?? ''
  const isPair = /[\ud800-\udbff]/.test(text[at - 1] ?? '')
  const end = isPair ? at - 1 : at
  if (end === 0) return [{ ...event, text: '' }, event]
  return [
    { ...event, text: text.slice(0, end) },
    { ...event, text: text.slice(end) },
  ]
}
