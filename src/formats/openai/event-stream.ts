/**
 * Named server-sent events that end with `done`, as runs send them (OpenAI API reference, "Assistants", "Streaming");
 * also those of conversations and of the ledger.
 */
import type { Answer } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import { atEndOfTick } from '../../lib/end-of-tick.ts'
import type { TickTask } from '../../lib/end-of-tick.ts'
import { openaiErrorBody } from './error.ts'
import { exactText } from '../../lib/json/exact-json.ts'

/** Unread bytes beyond which the stream is cut; the work that it reports goes on. */
const unreadBytesMaxDefault = 8 * 1024 * 1024
/** In characters; longer pieces are sent before the end of the tick. */
const pieceLengthMax = 64 * 1024
const heartbeatMs = 15_000

/** Sends one event; does nothing when no client listens. `id` = what the client comes back with. */
export type Emit = (event: string, data: object, id?: string) => void

const eventText = (event: string, json: string, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`

/** An event for `emitBytes`. */
export const eventBytes = (event: string, json: string, id?: string): Uint8Array =>
  Buffer.from(eventText(event, json, id))

/**
 * The stream for one client. Its keep-alive timer runs from the start, so `end` must be called. After the client has
 * left or the stream was cut, all methods do nothing.
 */
export class EventStream implements TickTask {
  readonly #stream: ReadableStream<Uint8Array>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #open = true
  /** Events of this tick of the event loop: one write for all of them. */
  #pending = ''
  /** An SSE comment, which clients ignore: proxies close connections on which nothing is sent. */
  readonly #heartbeat = setInterval(() => this.#send(': keep-alive\n\n'), heartbeatMs)

  readonly #onStop: () => void

  /** `onStop` is called once: it has ended, the client has left, or was cut with more than `unreadBytesMax` unread. */
  constructor({ unreadBytesMax = unreadBytesMaxDefault, onStop = () => {} } = {}) {
    this.#onStop = onStop
    this.#stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        cancel: () => this.#stop(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: unreadBytesMax }),
    )
  }

  readonly emit: Emit = (event, data, id) => this.emitText(event, exactText(data), id)

  /** As `emit`, for data that are JSON already. */
  emitText(event: string, json: string, id?: string): void {
    this.#send(eventText(event, json, id))
  }

  /** As `emit`: of an event that many streams get, the same bytes. */
  emitBytes(event: Uint8Array): void {
    this.endOfTick()
    this.#enqueue(event)
  }

  /** For what failed before its end could be sent. */
  fail(error: GatewayError): void {
    this.emit('error', openaiErrorBody(error))
  }

  end(): void {
    this.#send('event: done\ndata: [DONE]\n\n')
    this.endOfTick()
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

  /** Sends the pending events as one piece. */
  endOfTick(): void {
    if (this.#pending === '') return
    const text = this.#pending
    this.#pending = ''
    this.#enqueue(Buffer.from(text))
  }

  #enqueue(bytes: Uint8Array): void {
    if (!this.#open) return
    this.#controller.enqueue(bytes)
    if ((this.#controller.desiredSize ?? 0) > 0) return
    this.#stop()
    this.#controller.error(new Error('the client does not read its events'))
  }

  #send(text: string): void {
    if (!this.#open) return
    if (this.#pending === '') atEndOfTick(this)
    this.#pending += text
    if (this.#pending.length > pieceLengthMax) this.endOfTick()
  }

  #stop(): void {
    if (!this.#open) return
    this.#open = false
    clearInterval(this.#heartbeat)
    this.#onStop()
  }
}
