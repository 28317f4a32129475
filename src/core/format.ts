/** A wire format: how one family of clients writes requests and reads answers. */
import type { Edit, JsonBody } from '../lib/json/json-body.ts'
import type { ChatEvent, ChatRequest } from './hub/chat.ts'
import type { Operation } from './hub/operation.ts'
import type { EmbeddingsRequest, EmbeddingsResult } from './hub/embeddings.ts'
import type { GatewayError, Problem } from './errors.ts'
import type { FieldNames } from './dialects/field-names.ts'
import type { ImagesRequest, ImagesResult } from './hub/images.ts'
import type { ModerationsRequest, ModerationsResult } from './hub/moderations.ts'
import type { FieldRules } from './dialects/field-rules.ts'
import type { Dialect, TokenCount } from './provider.ts'
import type { RequestHeaders } from './request.ts'
import type { RerankRequest, RerankResult } from './hub/rerank.ts'
import type { SpeechRequest } from './hub/speech.ts'
import type { AnswerHead } from './transport.ts'
import type { Usage } from './usage/usage.ts'
import type { RequestOverrides } from './overrides.ts'

/** What both lanes need of a request before anything is translated. */
export interface Inspection {
  /** Empty when the body names none (the path may). */
  readonly model: string
  readonly stream: boolean
  readonly endUser: string
  /** Bytes stand in a field for media of another kind: as they are the upstream would refuse them. */
  readonly misplacedMedia?: boolean
  /** Every problem that the format can see without asking a model. Not empty = 422. */
  readonly problems: readonly Problem[]
}

/** A whole answer of the forward lane: bytes for the client, and what was read from them. */
export interface ForwardedAnswer {
  readonly body: Uint8Array | string
  readonly usage: Usage | undefined
  /** The upstream's name of the model that answered; absent = not read. */
  readonly answeredModel?: string | undefined
  /** Absent = JSON. */
  readonly contentType?: string
}

/**
 * A stream on its way to the client: bytes (forward lane) or events (translate lane) in, bytes out.
 * One instance per stream. It never throws: errors are in `failure`.
 */
export interface StreamRelay {
  /** What goes to the client for this piece; empty = nothing yet. */
  push(bytes: Uint8Array): Uint8Array | string
  /**
   * The upstream's bytes ended normally: the last bytes for the client. Sets `failure` if the end was not the
   * protocol's.
   */
  end(): Uint8Array | string
  /** An error event in this dialect, to be sent when the answer breaks off after its first byte. */
  errorEvent(error: GatewayError): string
  /** Content has been received: from now on a failure cannot be repaired by another attempt. */
  readonly started: boolean
  /** An event has been received. Comments and pings are none. */
  readonly received: boolean
  /**
   * Events so far that carried the answer on: content of any kind, calls, stages of a hosted tool, finish reasons.
   * Comments, pings, empty deltas and reports of usage do not.
   */
  readonly steps: number
  /** Every choice has its finish: an end of the bytes is now a normal end. */
  readonly complete: boolean
  /** The terminal event (`[DONE]`, `message_stop`) was returned: the client knows that the answer is complete. */
  readonly terminated: boolean
  /**
   * After so many milliseconds without a further step a complete answer is over, without its terminal event. Absent =
   * it ends only with that event, or with the upstream's bytes.
   */
  readonly quietMs?: number | undefined
  readonly failure: GatewayError | undefined
  /** As reported by the upstream. */
  readonly usage: Usage | undefined
  /** The upstream's name of the model that answered; absent = not read. */
  readonly answeredModel?: string | undefined
  /** Content events and characters so far, to estimate what an unreported stream produced. */
  readonly contentEvents: number
  readonly contentCharacters: number
}

/** How bytes of this dialect are forwarded to an upstream of the same dialect. */
export interface ForwardRules {
  /** The model's name travels in the path, not in the body (Gemini). */
  readonly modelInPath?: true
  /** Edits to the client's body (not the model's name: the pipeline sets that). `dropped` = what the rules removed. */
  edits(body: JsonBody, rules: FieldRules): { edits: Edit[]; dropped: string[] }
  /**
   * Restores the public model name, puts right what clients cannot read, and reads the usage. `body` = the client's.
   * Throws GatewayError `upstream-broken` on a wrong shape.
   */
  answer(bytes: Uint8Array, publicModel: string, head?: AnswerHead, body?: JsonBody): ForwardedAnswer
  /** `contentType` is the upstream's, in lower case. */
  relay(publicModel: string, body: JsonBody, contentType?: string): StreamRelay
  /** What a stream of this dialect may be announced as, as prefixes; absent = server-sent events. */
  readonly streamTypes?: readonly string[]
  /** Client headers that are forwarded with the bytes (version, betas), by lower-case name. */
  headers?(client: RequestHeaders): Record<string, string> | undefined
}

/** Turns events into this dialect's stream. One instance per stream. */
export interface EventWriter {
  write(event: ChatEvent): string
  /** After the last event of a complete answer. */
  end(): string
  /** The error event of a stream that breaks off, where it has to say how far the stream got; else `errorEvent`. */
  fail?(error: GatewayError): string
}

/** A model that a body names beside the call's own. */
export interface NamedModel {
  /** As the vendor calls it. */
  readonly name: string
  /** The place of the name below the body, for errors. */
  readonly path: string
}

interface FormatBase {
  readonly dialect: Dialect
  readonly operation: Operation
  /**
   * How this dialect streams; absent = server-sent events, kept alive by comments. `as-upstream` = with the
   * upstream's content type (audio), without keep-alive bytes.
   */
  readonly streaming?: StreamEncoding | 'as-upstream'
  /** The top-level fields that this dialect knows. */
  readonly fieldNames: FieldNames
  inspect(body: JsonBody): Inspection
  /** Options for the gateway itself in the body; absent = this dialect has none. Throws `unprocessable`. */
  overrides?(body: JsonBody): RequestOverrides
  /** Models that the upstream is told to ask in place of the call's; absent = this dialect names none. */
  otherModels?(body: JsonBody): readonly NamedModel[]
  /** The body of an error answer. `requestId` = what `x-request-id` says, for dialects that repeat it in the body. */
  errorBody(error: GatewayError, requestId?: string): object
  readonly forward: ForwardRules
}

/** How a whole answer is checked against its schema, for upstreams that do not promise to enforce schemas. */
export interface StrictSchema {
  /** The client's field that holds the schema. */
  readonly field: string
  /** JSON Schema; undefined = the client sent none, or not a strict one. Throws `invalid-request`. */
  schema(body: JsonBody): Record<string, unknown> | undefined
  /** The texts of a parsed answer that must fit: not those that were cut or refused, nor tool calls. */
  texts(answer: unknown): string[]
}

/** A chat without parts other than text, tools or a form of its answer. */
export interface PlainChat {
  readonly maxOutputTokens: number | undefined
  readonly choices: number
}

/** A dialect of chats or text completions. */
export interface ChatFormat extends FormatBase {
  readonly operation: 'chat' | 'completions'
  /** Absent = this dialect has no strict schemas. */
  readonly strictSchema?: StrictSchema
  /** Only for bodies without problems. Throws GatewayError for problems that only decoding finds. */
  decode(body: JsonBody): ChatRequest
  /**
   * What a chat asks for whose messages are texts and nothing else, read without decoding it; undefined = it has to be
   * decoded. Absent = always. Only for bodies without problems.
   */
  plain?(body: JsonBody): PlainChat | undefined
  /** The body with this maximum of output tokens, in place of its own. `field` = its name in OpenAI's chats. */
  withMaximum(body: JsonBody, tokens: number, field: 'max_tokens' | 'max_completion_tokens'): JsonBody
  /** A whole answer. `model` is the public name. */
  encode(events: readonly ChatEvent[], model: string, request: ChatRequest): object
  writer(model: string, request: ChatRequest): EventWriter
  /** The error event inside a stream of this dialect. */
  errorEvent(error: GatewayError): string
}

/** Hub request and result of every operation whose answer is one JSON document. */
export interface UnaryOperations {
  embeddings: { request: EmbeddingsRequest; result: EmbeddingsResult }
  rerank: { request: RerankRequest; result: RerankResult }
  moderations: { request: ModerationsRequest; result: ModerationsResult }
  images: { request: ImagesRequest; result: ImagesResult }
  'count-tokens': { request: ChatRequest; result: TokenCount }
}

/** A dialect of an operation whose answer is one JSON body. */
export interface UnaryFormat<O extends keyof UnaryOperations> extends FormatBase {
  readonly operation: O
  /** Only for bodies without problems. Throws GatewayError for problems that only decoding finds. */
  decode(body: JsonBody): UnaryOperations[O]['request']
  /** `model` is the public name, `upstream` the upstream's unchanged answer. */
  encode(
    result: UnaryOperations[O]['result'],
    model: string,
    request: UnaryOperations[O]['request'],
    upstream?: unknown,
  ): object
}

/** A dialect of embeddings. */
export type EmbeddingsFormat = UnaryFormat<'embeddings'>

/** Text in, audio out: the bytes go to the client as they come, whether or not it asked for events. */
export interface SpeechFormat extends FormatBase {
  readonly operation: 'speech'
  /** Only for bodies without problems. Throws GatewayError for problems that only decoding finds. */
  decode(body: JsonBody): SpeechRequest
}

/** A multipart form with files. It is forwarded or refused: there is no hub type for it. */
export interface UploadFormat extends FormatBase {
  readonly operation: 'transcriptions' | 'images'
  readonly multipart: true
}

/** A dialect of any operation. */
export type Format =
  | ChatFormat
  | { [O in keyof UnaryOperations]: UnaryFormat<O> }[keyof UnaryOperations]
  | SpeechFormat
  | UploadFormat

/** The content type and the keep-alive bytes of a dialect's streams. */
interface StreamEncoding {
  readonly contentType: string
  /** Sent to a client after a while without data; empty = nothing may be sent. */
  readonly heartbeat: string
}

const eventStream: StreamEncoding = { contentType: 'text/event-stream; charset=utf-8', heartbeat: ': keep-alive\n\n' }

/** How the streams of a dialect are sent; `given` = the content type of the upstream, for dialects that pass it on. */
export function streamingOf({ streaming = eventStream }: Format, given = ''): StreamEncoding {
  if (streaming !== 'as-upstream') return streaming
  return {
    contentType: given,
    heartbeat: given.toLowerCase().startsWith('text/event-stream') ? eventStream.heartbeat : '',
  }
}
