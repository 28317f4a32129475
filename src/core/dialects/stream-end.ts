/**
 * When a streamed answer is complete, how long a complete one waits for its terminal event, and the error for one that
 * ended before it was complete. Used by both lanes.
 */
import { GatewayError } from '../errors.ts'

/** In a dialect without a terminal event usage and sources follow the finish reason within this time. */
export const silentEndMs = 10_000
/** The report of usage is a chunk of its own, sent at once after the finish reason. */
const usageWaitMs = 3000
/** The terminal event usually comes with the last one before it. */
const terminalWaitMs = 1000

/** For a complete answer of a dialect with a terminal event. `isCounted` = nothing but that event is missing. */
export function endWaitMs(isCounted: boolean): number {
  return isCounted ? terminalWaitMs : usageWaitMs
}

interface ChoiceState {
  isOpen: boolean
  hasFinished: boolean
}

/** Which choices of an answer have begun, and which have finished. */
export class ChoiceStates {
  readonly #expectedChoices: number
  readonly #first: ChoiceState = { isOpen: false, hasFinished: false }
  #others: Map<number, ChoiceState> | undefined
  #openCount = 0
  #finishedCount = 0

  /** `expectedChoices` = how many the client requested. */
  constructor(expectedChoices = 1) {
    this.#expectedChoices = expectedChoices
  }

  /** The choice has content. One that had finished has to finish again. */
  begin(choice: number): void {
    const state = this.#state(choice)
    if (state.isOpen) return
    state.isOpen = true
    this.#openCount++
  }

  /** false = it had finished before, and had no content since. */
  finish(choice: number): boolean {
    const state = this.#state(choice)
    const { isOpen, hasFinished } = state
    if (isOpen) this.#openCount--
    if (!hasFinished) this.#finishedCount++
    state.isOpen = false
    state.hasFinished = true
    return isOpen || !hasFinished
  }

  /** All that began have finished, and the first is among them: what an upstream may call its end. */
  get mayEnd(): boolean {
    return this.#first.hasFinished && this.#openCount === 0
  }

  /** As many as were asked for have finished: also without a terminal event this is the end. */
  get complete(): boolean {
    return this.mayEnd && this.#finishedCount >= this.#expectedChoices
  }

  #state(choice: number): ChoiceState {
    if (choice === 0) return this.#first
    const others = (this.#others ??= new Map())
    let state = others.get(choice)
    if (!state) others.set(choice, (state = { isOpen: false, hasFinished: false }))
    return state
  }
}

/**
 * The error for a stream whose bytes ended before every choice had its finish, though no error was sent. Each relay
 * asks for `complete` (`core/format.ts`, StreamRelay) and fails with this.
 */
export function unfinishedStream(): GatewayError {
  return new GatewayError('upstream-broken', 'the upstream ended its stream without finishing the answer')
}
