/** Answers to clients, and their bodies: texts, bytes and streams. */
import type { Upgrade } from './message-socket.ts'
import { utf8Bytes } from '../lib/text.ts'
import { exactText } from '../lib/json/exact-json.ts'

/** The answer to a client. A plain object: a `Response` costs four microseconds more (measured). */
export interface Answer {
  readonly status: number
  /** Lower-case names; each stage that passes the answer on may add to it. */
  readonly headers: Record<string, string>
  readonly body: AnswerBody
  /** Values of `set-cookie`, each in a line of its own. Absent = none. */
  readonly cookies?: readonly string[] | undefined
  /** With status 101 and no body: what talks on. Absent = the connection stays one of HTTP. */
  readonly upgrade?: Upgrade
}

/** The body of an answer, whole or as a stream; null = none. */
export type AnswerBody = Uint8Array | string | AnswerStream | ReadableStream<Uint8Array> | null

/** A body that is pushed, from the socket of an upstream to the socket of a client. */
export interface AnswerStream {
  /** Writes the pieces to `sink` as they arrive, those that are already here at once. Called once. */
  pipe(sink: AnswerSink): void
  /** The sink can take more. */
  resume(): void
  /** The client has left; nothing is written to the sink afterwards. */
  cancel(): void
}

/** An answer to a call without the gateway's own headers: the body is whole or comes in pieces. */
export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array | string | AnswerStream
}

/** true = a body that is pushed. */
export function isAnswerStream(body: AnswerBody): body is AnswerStream {
  return typeof body === 'object' && body !== null && 'pipe' in body
}

/** Where a pushed body goes: the socket of a client. */
export interface AnswerSink {
  /** Too much is buffered for the client: nothing more should be written before `resume`. */
  readonly full: boolean
  /** Text is sent as UTF-8. Bytes are not copied before they are sent, and must not change. */
  write(piece: Uint8Array | string): void
  /** The body is complete. */
  end(): void
  /** The body will never be complete: the connection is cut, so that the client sees it. */
  abort(): void
}

/** An answer in JSON. */
export function jsonAnswer(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: exactText(value) }
}

/** An answer whose JSON is there, as text or in UTF-8. */
export function jsonTextAnswer(json: string | Uint8Array): Answer {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: json }
}

/** For readers inside this program. A stream is cancelled when its reader cancels. */
export function toResponse({ status, headers, body, cookies }: Answer): Response {
  const response = new Response((streamOf(body) ?? body) as BodyInit | null, { status, headers })
  for (const cookie of cookies ?? []) response.headers.append('set-cookie', cookie)
  return response
}

/** The body to be pulled by a reader, when it is a stream. */
export function streamOf(body: AnswerBody): ReadableStream<Uint8Array> | undefined {
  if (body instanceof ReadableStream) return body
  return isAnswerStream(body) ? toReadable(body) : undefined
}

/** Pieces buffered ahead of the reader. */
const piecesAhead = 16

function toReadable(stream: AnswerStream): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start: controller =>
        stream.pipe({
          get full() {
            return (controller.desiredSize ?? 1) <= 0
          },
          write: piece => controller.enqueue(utf8Bytes(piece)),
          end: () => controller.close(),
          abort: () => controller.error(new Error('the answer was cut')),
        }),
      pull: () => stream.resume(),
      cancel: () => stream.cancel(),
    },
    { highWaterMark: piecesAhead },
  )
}
