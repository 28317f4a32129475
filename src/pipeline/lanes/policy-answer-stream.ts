/** The stream of a policy's answer: the call is settled at its end, as with the streams of upstreams. */
import type { AnswerSink, AnswerStream } from '../../core/answer.ts'
import { GatewayError } from '../../core/errors.ts'
import type { CallControl } from '../call-control.ts'

/** For reading `source` once. */
export class PolicyAnswerStream implements AnswerStream {
  readonly #source: AnswerStream
  readonly #control: CallControl
  readonly #status: number

  /** `status` is that of the answer. */
  constructor(source: AnswerStream, control: CallControl, status: number) {
    this.#source = source
    this.#control = control
    this.#status = status
  }

  pipe(sink: AnswerSink): void {
    const control = this.#control
    const status = this.#status
    this.#source.pipe({
      get full() {
        return sink.full
      },
      write: piece => sink.write(piece),
      // Recorded before the client can know that the answer is complete.
      end() {
        control.settle('success', status)
        sink.end()
      },
      abort() {
        control.settle('upstream_cut', status, new GatewayError('internal', 'the answer of a policy broke off'))
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
