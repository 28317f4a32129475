/** One call that is stored: its request when it is admitted, its answer as it goes out, both handed on at its end. */
import type { AnswerSink, AnswerStream, Reply } from '../core/answer.ts'
import { StreamReader } from '../core/dialects/answer-reader.ts'
import type { AnswerDialects } from '../core/dialects/answer-reader.ts'
import type {
  BodySettings,
  BodySink,
  CallBodyCollector,
  CallContent,
  StoredBody,
} from '../core/ledger/stored-bodies.ts'
import type { BodyListener } from '../core/ledger/body-listener.ts'
import type { Call, Settlement } from '../core/call.ts'
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
import { ledgerIntent } from '../core/ledger/ledger-columns.ts'
import { AssembledEvents } from './assembled-events.ts'
import { storedBody, storedHeaders } from './stored-text.ts'
import { utf8Bytes } from '../lib/text.ts'
import { exactText } from '../lib/json/exact-json.ts'

/** What collectors of bodies work with. */
export interface CollectorParts {
  readonly sink: BodySink
  /** Dialects whose streams are put together again; those of others are stored as they are. */
  readonly dialects: AnswerDialects
  /** A chat in OpenAI's dialect. Throws for what that has no words for. */
  chatBodyOf(request: ChatRequest): unknown
  /** Hears of what is stored; absent = nothing else does. */
  readonly listener?: BodyListener | undefined
  /** Policies of the embedding program change answers after the guardrails do. */
  readonly answersChangeLater: boolean
}

const json = 'application/json'

/** The text of a stream while it comes. */
interface StreamText {
  readonly contentType: string
  readonly reader: StreamReader | undefined
  readonly assembled: AssembledEvents
  /** Of a dialect that is not read: its first bytes. */
  raw: Uint8Array[]
  rawBytes: number
}

/** Hands over what was said exactly once, or nothing. */
export class BodyCollector implements CallBodyCollector {
  readonly #parts: CollectorParts
  readonly #call: Call
  readonly #settings: BodySettings
  readonly #request: CallContent['request']
  #held: number
  #stream: StreamText | undefined
  #status = 0
  #masked: AssembledEvents | undefined
  #isOmitted = false
  #isDone = false

  /** undefined = there is no room for it. */
  static start(parts: CollectorParts, call: Call, settings: BodySettings): BodyCollector | undefined {
    const request = requestOf(parts, call, settings)
    const held = request.text.length
    return parts.sink.hold(held, settings) ? new BodyCollector(parts, call, { settings, request, held }) : undefined
  }

  private constructor(
    parts: CollectorParts,
    call: Call,
    given: { readonly settings: BodySettings; readonly request: CallContent['request']; readonly held: number },
  ) {
    this.#parts = parts
    this.#call = call
    this.#settings = given.settings
    this.#request = given.request
    this.#held = given.held
  }

  replied(reply: Reply): Reply {
    if (this.#isDone) return reply
    const { body, contentType, status } = reply
    this.#status = status
    if (typeof body === 'string' || body instanceof Uint8Array) {
      const { bytesMax } = this.#settings
      this.#finish({ ...this.#instead(() => storedBody(body, { contentType, bytesMax })), status, isStream: false })
      return reply
    }
    const dialect = this.#call.format && this.#parts.dialects[this.#call.format.dialect]
    this.#stream = {
      contentType,
      reader: dialect && new StreamReader(dialect, contentType),
      assembled: new AssembledEvents(this.#settings.bytesMax),
      raw: [],
      rawBytes: 0,
    }
    return { ...reply, body: new RecordedStream(body, this) }
  }

  masked(events: readonly ChatEvent[]): void {
    if (this.#parts.answersChangeLater) return this.omitAnswer()
    if (this.#isDone) return
    const masked = (this.#masked ??= new AssembledEvents(this.#settings.bytesMax))
    const before = masked.bytes
    masked.add(events)
    this.#holdMore(masked.bytes - before)
  }

  omitAnswer(): void {
    this.#isOmitted = true
  }

  /** The end of the call: before the last bytes of a stream, and before a whole answer is seen here. */
  settled({ outcome, error, status, call }: Settlement): void {
    if (outcome === 'success' || this.#isDone) return
    if (this.#stream) return this.streamEnded()
    if (error === undefined || outcome === 'client_closed' || !call.format) return this.#finish(null)
    const text = JSON.stringify(call.format.errorBody(error, call.requestId))
    const body = storedBody(text, { contentType: json, bytesMax: this.#settings.bytesMax })
    this.#finish({ ...body, status, isStream: false })
  }

  // ---- what the stream calls

  piece(piece: Uint8Array | string): void {
    const stream = this.#stream
    if (this.#isDone || !stream || this.#masked || this.#isOmitted) return
    if (!stream.reader) return this.#gather(stream, piece)
    const before = stream.assembled.bytes
    stream.assembled.add(stream.reader.push(piece))
    this.#holdMore(stream.assembled.bytes - before)
  }

  streamEnded(): void {
    const stream = this.#stream
    if (this.#isDone || !stream) return
    if (stream.reader) stream.assembled.add(stream.reader.end())
    this.#finish({ ...this.#instead(() => this.#streamText(stream)), status: this.#status, isStream: true })
  }

  // ---- inside

  #gather(stream: StreamText, piece: Uint8Array | string): void {
    const bytes = utf8Bytes(piece)
    const room = this.#settings.bytesMax + 1 - stream.rawBytes
    stream.rawBytes += bytes.length
    if (room <= 0) return
    // Pieces belong to the connection of the upstream, which uses their memory again.
    const kept = Uint8Array.from(bytes.subarray(0, room))
    stream.raw.push(kept)
    this.#holdMore(kept.length)
  }

  /** A call whose answer finds no room is not stored. */
  #holdMore(bytes: number): void {
    if (bytes <= 0 || this.#isDone) return
    if (this.#parts.sink.hold(bytes, this.#settings)) this.#held += bytes
    else this.#abandon()
  }

  #abandon(): void {
    this.#isDone = true
    this.#stream = undefined
    this.#parts.sink.hold(-this.#held, this.#settings)
  }

  /** What is stored in the place of an answer with values that must not be. */
  #instead(answer: () => StoredBody): StoredBody {
    if (this.#isOmitted) return { text: '', contentType: json, bytes: null, isCut: false, omitted: 'masked' }
    return this.#masked ? this.#assembledText(this.#masked) : answer()
  }

  #streamText({ reader, assembled, contentType, raw, rawBytes }: StreamText): StoredBody {
    const { bytesMax } = this.#settings
    if (reader && !reader.failed) return this.#assembledText(assembled)
    const body = storedBody(Buffer.concat(raw), { contentType, bytesMax })
    return { ...body, bytes: rawBytes > 0 ? rawBytes : null, isCut: body.isCut || reader !== undefined }
  }

  /** As one answer in the dialect of the client. */
  #assembledText({ events, isCut }: AssembledEvents): StoredBody {
    const { format, model } = this.#call
    const { bytesMax } = this.#settings
    const input = this.#call.input()
    if (format === undefined || !('writer' in format) || input.kind !== 'chat')
      return { text: '', contentType: json, bytes: null, isCut: true }
    try {
      const text = exactText(format.encode(events, model, input.request))
      const body = storedBody(text, { contentType: json, bytesMax: bytesMax * 2 })
      return { ...body, bytes: isCut ? null : body.bytes, isCut: isCut || body.isCut }
    } catch {
      // It broke off before it was an answer of this dialect.
      const said = events.map(event => (event.type === 'text' || event.type === 'refusal' ? event.text : '')).join('')
      return { ...storedBody(said, { contentType: 'text/plain', bytesMax }), isCut: true }
    }
  }

  #finish(answer: CallContent['answer']): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#stream = undefined
    const { sink, listener } = this.#parts
    const said = { request: this.#request, answer }
    listener?.(this.#call, said)
    const row = ledgerIntent({ call: this.#call, reserved: undefined, input: undefined })
    sink.keep(
      {
        requestId: row.request_id,
        keyId: row.key_id,
        userId: row.user_id ?? null,
        teamId: row.team_id ?? null,
        organizationId: row.organization_id ?? null,
        said,
      },
      this.#held,
      this.#settings,
    )
  }
}

function requestOf(parts: CollectorParts, call: Call, { bytesMax }: BodySettings): CallContent['request'] {
  const headers = storedHeaders(call.headers)
  const isChanged = call.edits.length > 0
  const body = isChanged ? changedBody(parts, call) : (call.body?.bytes ?? '')
  // The fields of a form are JSON here.
  return { ...storedBody(body, { contentType: json, bytesMax }), headers, isChanged }
}

/** The request as policies have left it: never what they took out. */
function changedBody(parts: CollectorParts, call: Call): string {
  const input = call.input()
  if (input.kind === 'chat') {
    try {
      return exactText(parts.chatBodyOf(input.request))
    } catch {
      return exactText(input.request)
    }
  }
  return exactText('request' in input ? input.request : input.fields)
}

/** A stream whose pieces are seen after the client has them. */
class RecordedStream implements AnswerStream {
  readonly #source: AnswerStream
  readonly #collector: BodyCollector

  constructor(source: AnswerStream, collector: BodyCollector) {
    this.#source = source
    this.#collector = collector
  }

  pipe(sink: AnswerSink): void {
    const collector = this.#collector
    this.#source.pipe({
      get full() {
        return sink.full
      },
      write(piece) {
        sink.write(piece)
        collector.piece(piece)
      },
      end() {
        sink.end()
        collector.streamEnded()
      },
      abort() {
        sink.abort()
        collector.streamEnded()
      },
    })
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#source.cancel()
    this.#collector.streamEnded()
  }
}
