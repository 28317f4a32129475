/** Applies the policies' filters to the answers of a call, whole or streamed. */
import type { Call } from '../../core/call.ts'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { ChatFormat, EventWriter } from '../../core/format.ts'
import type { AnswerFilter } from '../../core/policy.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { exactText } from '../../lib/json/exact-json.ts'

/** Limit of what filters may hold back. */
const heldCharactersMax = 1024 * 1024

interface NamedFilter {
  readonly name: string
  readonly filter: AnswerFilter
}

/** The filters of the policies that read this answer, in their order; undefined = no policy does. */
export function answerFilters(policies: CallPolicies, call: Call): readonly NamedFilter[] | undefined {
  let filters: NamedFilter[] | undefined
  for (const policy of policies.answer) {
    const filter = policy.answer(call)
    if (filter) (filters ??= []).push({ name: policy.name, filter })
  }
  return filters
}

/** The format of one answer, with everything written to the client passed through the filters. */
export interface FilteredFormat {
  readonly format: ChatFormat
  /**
   * Set where a filter calls a service, as a judge. After the answer was encoded, or its writer has ended: what is
   * written in place of the whole answer, or after the stream so far. Rejects with a filter's GatewayError.
   */
  readonly late?: LateAnswer | undefined
}

/** The part of an answer that waits for the services that filters call. */
export interface LateAnswer {
  /** Called once, when the answer of the upstream is complete. */
  text(): Promise<string>
  /** See `AnswerFilter.holds`. */
  holds(): boolean
  /** `receiver` gets what is released between the pieces of the upstream; without it that comes with the next piece. */
  listen?(receiver: EarlyReceiver): void
}

/** The stream to a client, as filters that give out text between events see it. */
export interface EarlyReceiver {
  early(text: string): void
  refused(error: GatewayError): void
}

/** `format` with the filters, for one answer. */
export function filteredFormat(format: ChatFormat, filters: readonly NamedFilter[]): FilteredFormat {
  if (filters.some(({ filter }) => filter.later)) return lateFormat(format, filters)
  return {
    format: {
      ...format,
      encode(events, model, request) {
        const chain = new FilterChain(filters)
        return format.encode([...events.flatMap(event => chain.event(event)), ...chain.end()], model, request)
      },
      writer(model, request) {
        return new FilteredWriter(format.writer(model, request), new FilterChain(filters))
      },
    },
  }
}

function lateFormat(format: ChatFormat, filters: readonly NamedFilter[]): FilteredFormat {
  let rest = (): Promise<string> => Promise.resolve('')
  let receiver: EarlyReceiver | undefined
  return {
    late: {
      listen: given => void (receiver = given),
      text: () => rest(),
      holds: () => filters.some(({ filter }) => filter.holds === true),
    },
    format: {
      ...format,
      encode(events, model, request) {
        const chain = new FilterChain(filters)
        const first = events.flatMap(event => chain.event(event))
        rest = async () => exactText(format.encode([...first, ...(await chain.endLater())], model, request))
        // It is not read: `late` has the answer.
        return {}
      },
      writer(model, request) {
        const chain = new FilterChain(filters)
        const writer = format.writer(model, request)
        const own = new FilteredWriter(writer, chain)
        let released = ''
        const taken = (): string => {
          const text = released
          released = ''
          return text
        }
        chain.attach({
          early(events) {
            released += own.writeAll(events)
            if (receiver) receiver.early(taken())
          },
          refused: error => receiver?.refused(error),
        })
        return {
          write: event => taken() + own.write(event),
          end() {
            rest = async () => taken() + own.writeAll(await chain.endLater()) + writer.end()
            return taken()
          },
          ...(writer.fail && { fail: error => writer.fail!(error) }),
        }
      },
    },
  }
}

/**
 * A `finish` is held back to the end of the answer, and what comes after it: filters may give out content there, and
 * none may follow a finish.
 */
class FilterChain {
  readonly #filters: readonly NamedFilter[]
  readonly #last: ChatEvent[] = []
  #charactersTaken = 0
  #charactersGiven = 0

  constructor(filters: readonly NamedFilter[]) {
    this.#filters = filters
  }

  /** For a stream: who takes the events that filters release by themselves. */
  attach(receiver: { early(events: readonly ChatEvent[]): void; refused(error: GatewayError): void }): void {
    for (const [at, { filter }] of this.#filters.entries())
      filter.attach?.({
        release: events => {
          try {
            receiver.early(this.#inOrder(this.#through(events, at + 1)))
          } catch (thrown) {
            receiver.refused(toGatewayError(thrown))
          }
        },
        refuse: error => receiver.refused(toGatewayError(error)),
      })
  }

  event(event: ChatEvent): readonly ChatEvent[] {
    this.#charactersTaken += charactersOf(event)
    const out = this.#inOrder(this.#through([event], 0))
    if (this.#charactersTaken - this.#charactersGiven > heldCharactersMax) {
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
    return [...this.#inOrder(out), ...this.#last.splice(0)]
  }

  /** As `end`, where filters call services; each gets what those before it give out. */
  async endLater(): Promise<readonly ChatEvent[]> {
    const out: ChatEvent[] = []
    for (const [at, { filter }] of this.#filters.entries()) {
      out.push(
        ...this.#through(
          guarded(() => filter.end()),
          at + 1,
        ),
      )
      if (!filter.later) continue
      const events = await filter.later().catch((thrown: unknown) => {
        throw toGatewayError(thrown)
      })
      out.push(...this.#through(events, at + 1))
    }
    return [...this.#inOrder(out), ...this.#last.splice(0)]
  }

  #inOrder(events: readonly ChatEvent[]): readonly ChatEvent[] {
    const out: ChatEvent[] = []
    for (const event of events) {
      if (event.type === 'error') throw event.error
      this.#charactersGiven += charactersOf(event)
      const isBehind = this.#last.length > 0 || this.#charactersTaken !== this.#charactersGiven
      if (event.type === 'finish' || (event.type === 'usage' && isBehind)) this.#last.push(event)
      else out.push(event)
    }
    return out
  }

  #through(events: readonly ChatEvent[], from: number): readonly ChatEvent[] {
    let now = events
    for (let at = from; at < this.#filters.length; at++) {
      const { filter } = this.#filters[at]!
      now = now.flatMap(event => guarded(() => filter.event(event)))
    }
    return now
  }
}

/** What else a filter throws is the gateway's fault, never the upstream's. */
function guarded<T>(ask: () => T): T {
  try {
    return ask()
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
    case 'audio':
      return event.transcript?.length ?? 0
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
    return this.writeAll(this.#chain.event(event))
  }

  end(): string {
    return this.writeAll(this.#chain.end()) + this.#writer.end()
  }

  /** Events that have passed the filters. */
  writeAll(events: readonly ChatEvent[]): string {
    let out = ''
    for (const event of events) out += this.#writer.write(event)
    return out
  }
}
