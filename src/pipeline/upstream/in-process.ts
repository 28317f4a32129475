/** An in-process provider behind the interface of an upstream, so that every other part treats it like one. */
import type { Call } from '../../core/call.ts'
import type { InProcessAnswer, InProcessFile, Provider } from '../../core/provider.ts'
import type {
  BodySink,
  UpstreamBody,
  UpstreamExchange,
  UpstreamRequest,
  UpstreamResponse,
} from '../../core/transport.ts'
import type { UploadPart } from '../../core/upload.ts'
import { utf8Bytes } from '../../lib/text.ts'

/** Bytes of a file that an in-process provider is given. */
const fileHeadBytes = 64 * 1024

/** Calls an in-process provider; of a form it is given the fields and the beginning of each file. */
export function answerInProcess(
  answer: NonNullable<Provider['answer']>,
  request: Pick<UpstreamRequest, 'head' | 'body'>,
  call: Call,
): InProcessAnswer {
  if (call.upload)
    return answer(
      request.head,
      call.body!.parse(),
      call.upload.parts.filter(part => part.filename !== undefined).map(fileOf),
    )
  return answer(request.head, JSON.parse(Buffer.concat(request.body as Uint8Array[]).toString('utf8')))
}

function fileOf(part: UploadPart): InProcessFile {
  const head = new Uint8Array(Math.min(part.bytes, fileHeadBytes))
  let filled = 0
  for (const piece of part.content) {
    if (filled === head.length) break
    const free = head.subarray(filled)
    if (piece instanceof Uint8Array) {
      const taken = piece.subarray(0, free.length)
      free.set(taken)
      filled += taken.length
    } else filled += piece.file.read(free.subarray(0, piece.length), piece.offset)
  }
  const { name, filename = '', contentType = '', bytes } = part
  return { field: name, filename, contentType, bytes, head: head.subarray(0, filled) }
}

/** The exchange that yields `answer`, piece by piece, one turn of the event loop each. */
export function inProcessExchange(answer: InProcessAnswer): UpstreamExchange {
  const body = new InProcessBody(answer.pieces)
  const response: UpstreamResponse = {
    status: answer.status,
    header: name => (name === 'content-type' ? answer.contentType : undefined),
    body,
  }
  return { response: Promise.resolve(response), sent: true, cancel: () => body.cancel() }
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
    return Buffer.concat(this.#pieces.map(utf8Bytes))
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
    sink.data(utf8Bytes(piece))
    this.#schedule()
  }
}
