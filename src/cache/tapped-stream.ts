/** The stream of the call that others follow: its bytes go to its client and are read for the others. */
import type { AnswerSink, AnswerStream } from '../core/answer.ts'

/** Receives a copy of every piece of a stream. */
export interface StreamTap {
  piece(piece: Uint8Array | string): void
  /** `complete` = the answer ended normally; `cut` = its source was aborted. */
  ended(how: 'complete' | 'cut'): void
  /** Others follow: the stream goes on without its own client, and does not wait for it. */
  readonly isFollowed: boolean
}

/** What a client that does not read may have waiting for it while others follow; then it is cut. */
const behindBytesMax = 8 * 1024 * 1024

/** For reading `source` once. */
export class TappedStream implements AnswerStream {
  readonly #source: AnswerStream
  readonly #tap: StreamTap
  /** undefined = the client has left. */
  #sink: AnswerSink | undefined
  #waiting: (Uint8Array | string)[] = []
  #waitingBytes = 0
  #isRead = false
  /** The source has ended, and the client has not got everything yet. */
  #endsLater = false

  constructor(source: AnswerStream, tap: StreamTap) {
    this.#source = source
    this.#tap = tap
  }

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    this.#read()
  }

  #read(): void {
    this.#isRead = true
    const isFull = (): boolean => !this.#tap.isFollowed && (this.#sink?.full ?? false)
    this.#source.pipe({
      get full() {
        return isFull()
      },
      write: piece => this.#write(piece),
      end: () => this.#end(),
      abort: () => {
        this.#tap.ended('cut')
        this.#sink?.abort()
      },
    })
  }

  resume(): void {
    this.#flush()
    this.#source.resume()
  }

  cancel(): void {
    this.#sink = undefined
    this.#waiting = []
    if (!this.#tap.isFollowed) this.#source.cancel()
    else if (this.#isRead) this.#source.resume()
    else this.#read()
  }

  #write(piece: Uint8Array | string): void {
    this.#tap.piece(piece)
    const sink = this.#sink
    if (!sink) return
    if (this.#waiting.length === 0 && !(sink.full && this.#tap.isFollowed)) return sink.write(piece)
    this.#waiting.push(piece)
    this.#waitingBytes += piece.length
    if (this.#waitingBytes > behindBytesMax) {
      this.#sink = undefined
      this.#waiting = []
      sink.abort()
    }
  }

  #end(): void {
    this.#tap.ended('complete')
    if (this.#waiting.length > 0) this.#endsLater = true
    else this.#sink?.end()
  }

  #flush(): void {
    const sink = this.#sink
    if (!sink) return
    while (this.#waiting.length > 0 && !sink.full) {
      const piece = this.#waiting.shift()!
      this.#waitingBytes -= piece.length
      sink.write(piece)
    }
    if (this.#endsLater && this.#waiting.length === 0) {
      this.#endsLater = false
      sink.end()
    }
  }
}
