/** Reads answers in the dialects of clients, as they go out, back into the events of the hub. */
import type { ChatEvent } from '../hub/chat.ts'
import type { ChatAdapter, Dialect } from '../provider.ts'
import { frameSplitter, framingMediaTypes } from '../../lib/frame-splitter.ts'
import type { FrameSplitter } from '../../lib/frame.ts'
import type { Frame } from '../../lib/frame.ts'
import { utf8Bytes } from '../../lib/text.ts'
import { parseExact } from '../../lib/json/exact-json.ts'

/** How an answer of a dialect is read: upstreams write the same dialects. */
export type AnswerDialect = Pick<ChatAdapter, 'argumentNames' | 'result' | 'reader'>
/** By dialect; without a row its answers are not kept. */
export type AnswerDialects = Readonly<Partial<Record<Dialect, AnswerDialect>>>

/** The events of a whole answer; undefined = it cannot be read. */
export function wholeEvents(dialect: AnswerDialect, body: Uint8Array | string): readonly ChatEvent[] | undefined {
  try {
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
    return dialect.result(parseExact(text, dialect.argumentNames ?? []))
  } catch {
    return undefined
  }
}

/** The events of one stream, piece by piece. */
export class StreamReader {
  readonly #splitter: FrameSplitter
  readonly #read: (frame: Frame) => readonly ChatEvent[]
  #failed = false

  /** `contentType` = that of the answer: server-sent events, or the elements of an array. */
  constructor(dialect: AnswerDialect, contentType: string) {
    const isEvents = framingMediaTypes.sse.some(type => contentType.toLowerCase().startsWith(type))
    this.#splitter = frameSplitter(isEvents ? 'sse' : 'json-array')
    this.#read = dialect.reader()
  }

  /** A piece could not be read: what was read so far is not the answer. */
  get failed(): boolean {
    return this.#failed
  }

  push(piece: Uint8Array | string): readonly ChatEvent[] {
    return this.#events(() => this.#splitter.push(utf8Bytes(piece)))
  }

  end(): readonly ChatEvent[] {
    return this.#events(() => this.#splitter.end())
  }

  #events(cut: () => readonly Frame[]): readonly ChatEvent[] {
    if (this.#failed) return []
    try {
      return cut().flatMap(frame => [...this.#read(frame)])
    } catch {
      this.#failed = true
      return []
    }
  }
}
