/** A stream that a policy answers with: the call is settled at its end, like the streams of upstreams. */
import type { AnswerSink, AnswerStream } from '../../core/answer.ts'
import { GatewayError } from '../../core/errors.ts'
import type { CallControl } from '../call-control.ts'

/** For one pass of `source`. */
export class SettlingStream implements AnswerStream {
  readonly #source: AnswerStream
  readonly #control: CallControl

  constructor(source: AnswerStream, control: CallControl) {
    this.#source = source
    this.#control = control
  }

  pipe(sink: AnswerSink): void {
    const control = this.#control
    this.#source.pipe({
      get full() {
        return sink.full
      },
      write: piece => sink.write(piece),
      // Recorded before the client can know that the answer is complete.
      end() {
        control.settle('success', 200)
        sink.end()
      },
      abort() {
        control.settle('upstream_cut', 200, new GatewayError('internal', 'the answer of a policy broke off'))
        sink.abort()
      },
    })
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#source.cancel()
    this.#control.clientLeft()
  }
}
