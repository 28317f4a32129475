/** The stream of a run's events (OpenAI API reference, "Assistants", "Streaming"). */
import type { Answer } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import { openaiErrorBody } from '../../formats/openai/error.ts'

/** A client that lags further behind is let go; its run goes on. */
const bytesAhead = 8 * 1024 * 1024
const heartbeatMs = 15_000

/** What a run tells while it goes on. Nobody listens = nothing happens. */
export type Emit = (event: string, data: object) => void

/**
 * For one client. Its heartbeat beats from the start, so that `end` must be called. Once the client has left, or was
 * let go, nothing is sent and nothing throws.
 */
export class EventSink {
  readonly #stream: ReadableStream<Uint8Array>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #open = true
  /** For proxies that close silent connections; a comment means nothing to a client. */
  readonly #heartbeat = setInterval(() => this.#send(': keep-alive\n\n'), heartbeatMs)

  constructor() {
    this.#stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        cancel: () => this.#stop(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: bytesAhead }),
    )
  }

  readonly emit: Emit = (event, data) => this.#send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)

  /** The run could not be brought to an end that anyone knows. */
  fail(error: GatewayError): void {
    this.emit('error', openaiErrorBody(error))
  }

  end(): void {
    this.#send('event: done\ndata: [DONE]\n\n')
    if (this.#open) this.#controller.close()
    this.#stop()
  }

  answer(requestId: string): Answer {
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-request-id': requestId,
    }
    return { status: 200, headers, body: this.#stream }
  }

  #send(text: string): void {
    if (!this.#open) return
    this.#controller.enqueue(Buffer.from(text))
    if ((this.#controller.desiredSize ?? 0) > 0) return
    this.#stop()
    this.#controller.error(new Error('the client does not read the events of its run'))
  }

  #stop(): void {
    this.#open = false
    clearInterval(this.#heartbeat)
  }
}
