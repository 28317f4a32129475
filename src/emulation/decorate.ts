/** Wraps a chat adapter in an emulation: the result is a chat adapter as well, so that emulations can be nested. */
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
import type { ChatAdapter } from '../core/provider.ts'

/** Maps each event of one answer, in order. Buffered events are emitted with the choice's `finish` at the latest. */
type EventFilter = (event: ChatEvent) => readonly ChatEvent[]

/** One emulated ability. A member that is absent changes nothing. */
export interface Emulation {
  /** The request as the model can take it. Must not change its argument. */
  request?(request: ChatRequest): ChatRequest
  /** Makes a new filter for each answer; absent = the model's events pass unchanged. */
  filter?(): EventFilter
  /** What of the request the emulation does not do, by OpenAI's names. */
  readonly lost?: readonly string[]
}

/** `adapter` with an emulation around it: whole answers and streams pass the same filter. */
export function decorated(adapter: ChatAdapter, emulation: Emulation): ChatAdapter {
  const { filter, lost } = emulation
  return {
    ...(adapter.framing && { framing: adapter.framing }),
    ...(adapter.isLast && { isLast: frame => adapter.isLast!(frame) }),
    ...(adapter.endsSilently && { endsSilently: true }),
    ...(adapter.argumentNames && { argumentNames: adapter.argumentNames }),
    request(request, target) {
      const call = adapter.request(emulation.request?.(request) ?? request, target)
      return lost ? { ...call, dropped: [...call.dropped, ...lost] } : call
    },
    result(body) {
      const events = adapter.result(body)
      return filter ? events.flatMap(filter()) : events
    },
    reader() {
      const read = adapter.reader()
      if (!filter) return read
      const change = filter()
      return frame => read(frame).flatMap(change)
    },
  }
}

/** A filter with separate state for each choice of the answer; `open` makes it at the choice's first event. */
export function perChoice<State>(
  open: () => State,
  change: (state: State, event: Extract<ChatEvent, { choice: number }>) => readonly ChatEvent[],
): EventFilter {
  const states = new Map<number, State>()
  return event => {
    if (!('choice' in event)) return [event]
    let state = states.get(event.choice)
    if (state === undefined) states.set(event.choice, (state = open()))
    return change(state, event)
  }
}
