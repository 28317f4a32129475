/** One call of one client, from its first byte to its one row in the ledger. */
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Reply } from './answer.ts'
import type { Caller } from './caller.ts'
import type { ChatEvent } from './chat.ts'
import type { Deployment } from './deployment.ts'
import type { GatewayError } from './errors.ts'
import type { Format, StreamRelay } from './format.ts'
import type { CallInput, InputEdit } from './input.ts'
import type { LimitVerdict } from './limits.ts'
import type { NamedFiles } from './named-files.ts'
import type { Operation, Outcome } from './operation.ts'
import type { RequestOverrides } from './overrides.ts'
import type { ModelDirectory } from './ports.ts'
import type { Client } from './request.ts'
import type { Upload } from './upload.ts'
import type { Usage, UsageSource } from './usage.ts'

type Taken = Extract<LimitVerdict, { allowed: true }>

/** What an endpoint says of the calls it makes. */
export interface AskedCall {
  /** The model of the path or query; wins over the body's. */
  readonly model?: string | undefined
  /** Where the path says it and not the body. */
  readonly stream?: boolean
  /** Asked when neither path nor body names a model. */
  defaultModel?(): string | undefined
  /** Which dialect a body is in, where a path takes several of one operation; absent = the endpoint's own. */
  formatOf?(body: JsonBody): Format
  /**
   * What the call refers to is read from the store, and `call.body` replaced by one that says it in full. Once the
   * fields are checked; those of a new body are checked again. Throws GatewayError for what is not there.
   */
  prepare?(call: Call): void | Promise<void>
  /** true = a token counter that fails is told as an error: no estimate is put in its place. */
  readonly exactCount?: true
}

/** What a call may cost at most, over all deployments that may still serve it. */
export interface CallBounds {
  /** A token is at least one byte; pictures, sound and documents that are referred to count nothing. */
  readonly inputTokensMax: number
  /** As asked, or as the models are able to; null = unlimited, or not known. */
  readonly outputTokensMax: number | null
  /** Of the dearest candidate or fallback, for one answer; null = a price or a bound of one of them is not known. */
  readonly costNanoUsdMax: bigint | null
}

/** The parts of a call that grow while it runs; settlement reads them once. */
export interface Call {
  /** UUID v7; also `x-request-id`. */
  readonly id: string
  readonly operation: Operation
  /** Canonical path, for metrics and the ledger: `/v1/chat/completions`. */
  readonly route: string
  readonly caller: Caller
  readonly startedAtMs: number
  readonly startedMs: number
  /** Who waits for the answer; another one from the moment on in which the call goes on in the background. */
  client: Client
  readonly userAgent: string
  readonly asked: AskedCall
  /** Models and settings of the moment in which the call began: a reload does not reach it. */
  readonly models: ModelDirectory
  /** Bytes of the body as its head says; undefined = not said. */
  readonly announcedBytes: number | undefined
  /** The client's dialect; undefined = a call about stored objects (files, batches), which no model answers. */
  format: Format | undefined
  body: JsonBody | undefined
  /** The client's multipart form, whose fields are also in `body`; closed when the call is settled. */
  upload: Upload | undefined
  /** The uploaded files that `body` names by ids of ours; absent = none. What is sent is then theirs to say. */
  namedFiles?: NamedFiles | undefined
  /** Headers of the client that travel with its bytes on the forward lane, by lower-case name. */
  forwardedHeaders: Readonly<Record<string, string>> | undefined
  /** The public name asked for; empty until the body is read. */
  model: string
  stream: boolean
  /** The client's end user (`user` of the body). */
  endUser: string
  /** What the body asks of the gateway itself; read with the fields. */
  overrides: RequestOverrides
  /** The deployments that serve the model; set by the model-access policy. */
  candidates: readonly Deployment[]
  /** The deployments of every model that may be tried after it, by name; set by the fallback policy. */
  fallbackGroups: ReadonlyMap<string, readonly Deployment[]>
  /** The deployment that answered, or that failed last. */
  deployment: Deployment | undefined
  attempts: number
  /** Of the attempts: further ones at the deployments of one model. The first at a fallback is none. */
  retries?: number
  fallbacks: number
  usage: Usage | undefined
  usageSource: UsageSource
  /** Set at settlement; null = price or usage unknown. */
  costNanoUsd: bigint | null
  /** The stream that is being relayed, asked for its usage at settlement. */
  progress: StreamRelay | undefined
  /** Characters of a whole answer whose upstream reported no usage. */
  answerCharacters: number
  /** An upstream has begun a successful answer: something will be billed. */
  answered: boolean
  /** Milliseconds from start to the first byte for the client; -1 = none. */
  firstByteMs: number
  /** Milliseconds spent waiting for upstreams, to tell overhead from waiting. */
  upstreamMs: number
  /** Client fields that the chosen upstream did not get. */
  dropped: readonly string[]
  /** What the limits gave this call, to be given back at its end. */
  taken: Taken | undefined
  /** Response headers that policies add (rate limits). */
  responseHeaders: Record<string, string>
  /** Bytes of the process-wide budget for bodies that this call holds. */
  reservedBytes: number
  /**
   * The request in the hub's words, with all changes so far: decoded on the first call of this method, once. Not before
   * the policy that checks the fields. Throws GatewayError for what only shows on decoding.
   */
  input(): CallInput
  /**
   * Changes the request for this and every later reader, and for the upstream: the call then travels the translate
   * lane. `edit` runs at once on `input()` and again on the request that each attempt decodes.
   */
  change(edit: InputEdit): void
  /** All that `change` was given, in order. */
  readonly edits: readonly InputEdit[]
  /** Not before candidates and fallbacks are set. */
  bounds(): CallBounds
  /**
   * An answer in the client's dialect, whole or as a stream as it was asked for: of a chat from hub events (with a
   * `finish` for each choice), of an operation with one JSON result from its result in hub words.
   */
  reply(answer: readonly ChatEvent[] | object): Reply
}

/** What is known once the last byte went out, the client left, or the call failed. Written exactly once. */
export interface Settlement {
  readonly call: Call
  readonly outcome: Outcome
  /** The status the client saw (or would have seen: 499 when it left first). */
  readonly status: number
  readonly error: GatewayError | undefined
  /** Nano-dollars; null = price or usage unknown. */
  readonly costNanoUsd: bigint | null
  readonly durationMs: number
}
