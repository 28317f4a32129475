/** Streamed answers: framing of their pieces, and reading those that are a `ReadableStream`. */
import { isAnswerStream } from '../../core/answer.ts'
import type { AnswerBody, AnswerSink, AnswerStream } from '../../core/answer.ts'
import type { ServerRequest } from './server-request.ts'

/** The connection, as a stream sees it. Pieces for a request that is over are dropped. */
export interface StreamConnection {
  /** The send queue is beyond its high-water mark. */
  readonly full: boolean
  streamed(request: ServerRequest, piece: Uint8Array | string): void
  streamEnded(request: ServerRequest, end: 'complete' | 'cut'): void
}

/**
 * Frames the pieces of one answer, as chunks (RFC 9112, 7.1) or as they are. Bytes are not copied: the chunk framing
 * is queued as pieces of its own.
 */
export class StreamSink implements AnswerSink {
  readonly #connection: StreamConnection
  readonly #request: ServerRequest
  readonly #chunked: boolean

  constructor(connection: StreamConnection, request: ServerRequest, chunked: boolean) {
    this.#connection = connection
    this.#request = request
    this.#chunked = chunked
  }

  get full(): boolean {
    return this.#connection.full
  }

  write(piece: Uint8Array | string): void {
    if (piece.length === 0) return
    const connection = this.#connection
    if (!this.#chunked) return connection.streamed(this.#request, piece)
    const bytes = typeof piece === 'string' ? Buffer.byteLength(piece, 'utf8') : piece.length
    const size = `${bytes.toString(16)}\r\n`
    if (typeof piece === 'string') return connection.streamed(this.#request, `${size}${piece}\r\n`)
    connection.streamed(this.#request, size)
    connection.streamed(this.#request, piece)
    connection.streamed(this.#request, '\r\n')
  }

  end(): void {
    if (this.#chunked) this.#connection.streamed(this.#request, '0\r\n\r\n')
    this.#connection.streamEnded(this.#request, 'complete')
  }

  abort(): void {
    this.#connection.streamEnded(this.#request, 'cut')
  }
}

/** Makes an answer stream of a `ReadableStream`, which is pulled as long as the sink has room. */
export class ReadableStreamSource implements AnswerStream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  #sink: AnswerSink | undefined
  #reading = false

  /** Throws when `stream` is locked. */
  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader()
  }

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    void this.#pull()
  }

  resume(): void {
    void this.#pull()
  }

  cancel(): void {
    this.#sink = undefined
    void this.#reader.cancel().catch(() => {})
  }

  async #pull(): Promise<void> {
    if (this.#reading) return
    this.#reading = true
    try {
      while (this.#sink && !this.#sink.full) {
        const { done, value } = await this.#reader.read()
        if (done) return this.#end()
        this.#sink?.write(value)
      }
    } catch {
      // The producer has failed behind the head: only a cut can show it to the client.
      const sink = this.#sink
      this.#sink = undefined
      sink?.abort()
    } finally {
      this.#reading = false
    }
  }

  #end(): void {
    const sink = this.#sink
    this.#sink = undefined
    sink?.end()
  }
}

/** Ends the body of an answer that is not sent. */
export function cancelBody(body: AnswerBody): void {
  if (isAnswerStream(body)) body.cancel()
  else if (body instanceof ReadableStream) void body.cancel().catch(() => {})
}
