/** The one shape of every emulation: a chat adapter around a chat adapter. */
import type { ChatEvent, ChatRequest } from '../core/chat.ts'
import type { ChatAdapter } from '../core/provider.ts'

/** Changes the events of one answer, in order; what it holds back it gives out with the choice's `finish`. */
type EventFilter = (event: ChatEvent) => readonly ChatEvent[]

/** One thing that is played. A member left out changes nothing. */
export interface Emulation {
  /** The request as the model can take it. Must not change its argument. */
  request?(request: ChatRequest): ChatRequest
  /** A fresh filter an answer; absent = the events are the model's own. */
  filter?(): EventFilter
}

/** `adapter` with an emulation around it: whole answers and streams pass the same filter. */
export function decorated(adapter: ChatAdapter, emulation: Emulation): ChatAdapter {
  const { filter } = emulation
  return {
    ...(adapter.framing && { framing: adapter.framing }),
    ...(adapter.isLast && { isLast: frame => adapter.isLast!(frame) }),
    ...(adapter.endsSilently && { endsSilently: true }),
    request: (request, target) => adapter.request(emulation.request?.(request) ?? request, target),
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

/** A filter that keeps something for each choice. */
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
