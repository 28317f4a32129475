/** The answers of a call as its policies' filters leave them: whole answers and streams pass the same filters. */
import type { Call } from '../../core/call.ts'
import type { ChatEvent } from '../../core/chat.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { ChatFormat, EventWriter } from '../../core/format.ts'
import type { AnswerFilter } from '../../core/policy.ts'
import type { CallPolicies } from '../admission.ts'

/** A filter that takes in more than this without giving it out again has lost its bounds. */
const heldCharactersMax = 1024 * 1024

interface NamedFilter {
  readonly name: string
  readonly filter: AnswerFilter
}

/** The filters of the policies that read this answer, in their order; undefined = no policy does. */
export function answerFilters(policies: CallPolicies, call: Call): readonly NamedFilter[] | undefined {
  let filters: NamedFilter[] | undefined
  for (const { name, answer } of policies.answer) {
    const filter = answer(call)
    if (filter) (filters ??= []).push({ name, filter })
  }
  return filters
}

/** `format` for one answer: everything that is written to the client has passed the filters. */
export function filteredFormat(format: ChatFormat, filters: readonly NamedFilter[]): ChatFormat {
  return {
    ...format,
    encode(events, model, request) {
      const chain = new FilterChain(filters)
      return format.encode([...events.flatMap(event => chain.event(event)), ...chain.end()], model, request)
    },
    writer(model, request) {
      return new FilteredWriter(format.writer(model, request), new FilterChain(filters))
    },
  }
}

/**
 * From the first `finish` on, what ends the answer waits for its end: filters may give content out there, and in a
 * stream none may follow a finish reason.
 */
class FilterChain {
  readonly #filters: readonly NamedFilter[]
  readonly #last: ChatEvent[] = []
  #taken = 0
  #given = 0

  constructor(filters: readonly NamedFilter[]) {
    this.#filters = filters
  }

  event(event: ChatEvent): readonly ChatEvent[] {
    this.#taken += charactersOf(event)
    const out = this.#withoutLast(this.#through([event], 0))
    for (const one of out) this.#given += charactersOf(one)
    if (this.#taken - this.#given > heldCharactersMax) {
      const names = this.#filters.map(({ name }) => name).join(', ')
      throw new GatewayError(
        'internal',
        `the policies ${names} hold back more than ${heldCharactersMax} characters of an answer`,
      )
    }
    return out
  }

  end(): readonly ChatEvent[] {
    const out: ChatEvent[] = []
    for (const [at, { filter }] of this.#filters.entries())
      out.push(
        ...this.#through(
          guarded(() => filter.end()),
          at + 1,
        ),
      )
    return [...this.#withoutLast(out), ...this.#last]
  }

  #withoutLast(events: readonly ChatEvent[]): readonly ChatEvent[] {
    if (this.#last.length === 0 && !events.some(isFinish)) return events
    return events.filter(event => {
      const isLast = isFinish(event) || (event.type === 'usage' && this.#last.length > 0)
      if (isLast) this.#last.push(event)
      return !isLast
    })
  }

  #through(events: readonly ChatEvent[], from: number): readonly ChatEvent[] {
    let now = events
    for (let at = from; at < this.#filters.length; at++) {
      const { filter } = this.#filters[at]!
      const events = now
      now = guarded(() =>
        events.length === 1 ? filter.event(events[0]!) : events.flatMap(event => filter.event(event)),
      )
    }
    return now
  }
}

const isFinish = ({ type }: ChatEvent): boolean => type === 'finish'

/** What a filter throws without meaning to refuse the answer is the gateway's fault, not that of the upstream. */
function guarded<T>(work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    throw toGatewayError(thrown)
  }
}

function charactersOf(event: ChatEvent): number {
  switch (event.type) {
    case 'text':
    case 'refusal':
      return event.text.length
    case 'reasoning':
      return event.text?.length ?? 0
    case 'tool-call-arguments':
      return event.fragment.length
    default:
      return 0
  }
}

class FilteredWriter implements EventWriter {
  readonly #writer: EventWriter
  readonly #chain: FilterChain
  readonly fail: EventWriter['fail']

  constructor(writer: EventWriter, chain: FilterChain) {
    this.#writer = writer
    this.#chain = chain
    this.fail = writer.fail?.bind(writer)
  }

  write(event: ChatEvent): string {
    return this.#written(this.#chain.event(event))
  }

  end(): string {
    return this.#written(this.#chain.end()) + this.#writer.end()
  }

  #written(events: readonly ChatEvent[]): string {
    let out = ''
    for (const event of events) {
      if (event.type === 'error') throw event.error
      out += this.#writer.write(event)
    }
    return out
  }
}
