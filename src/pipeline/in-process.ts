/** A provider that answers by itself, dressed as an upstream, so that every other part treats it like one. */
import type { InProcessAnswer } from '../core/provider.ts'
import type { BodySink, UpstreamBody, UpstreamExchange, UpstreamResponse } from '../core/transport.ts'

/** The exchange that yields `answer`, piece by piece, one turn of the event loop each. */
export function inProcessExchange(answer: InProcessAnswer): UpstreamExchange {
  const body = new InProcessBody(answer.pieces)
  const response: UpstreamResponse = {
    status: answer.status,
    header: name => (name === 'content-type' ? answer.contentType : undefined),
    body,
  }
  return { response: Promise.resolve(response), cancel: () => body.cancel() }
}

class InProcessBody implements UpstreamBody {
  readonly #pieces: InProcessAnswer['pieces']
  #at = 0
  #sink: BodySink | undefined
  #paused = false
  #scheduled = false

  constructor(pieces: InProcessAnswer['pieces']) {
    this.#pieces = pieces
  }

  async bytes(): Promise<Uint8Array> {
    return Buffer.concat(this.#pieces.map(bytesOf))
  }

  pipe(sink: BodySink): void {
    this.#sink = sink
    this.#schedule()
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#schedule()
  }

  cancel(): void {
    this.#sink = undefined
  }

  #schedule(): void {
    if (this.#scheduled || this.#paused || !this.#sink) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#step()
    })
  }

  #step(): void {
    const sink = this.#sink
    if (!sink || this.#paused) return
    const piece = this.#pieces[this.#at++]
    if (piece === undefined) {
      this.#sink = undefined
      return sink.end()
    }
    sink.data(bytesOf(piece))
    this.#schedule()
  }
}

const bytesOf = (piece: string | Uint8Array): Uint8Array => (typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece)
