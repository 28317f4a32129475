/** One call of one client, from its first byte to its one row in the ledger. */
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Caller } from './caller.ts'
import type { Deployment } from './deployment.ts'
import type { GatewayError } from './errors.ts'
import type { NamedFiles } from './files.ts'
import type { StreamRelay } from './format.ts'
import type { LimitVerdict } from './limits.ts'
import type { Operation } from './operation.ts'
import type { Client } from './request.ts'
import type { Upload } from './upload.ts'
import type { Usage, UsageSource } from './usage.ts'

type Taken = Extract<LimitVerdict, { allowed: true }>

/** How a call ended, from the client's side. */
export type Outcome = 'success' | 'error' | 'client_closed' | 'upstream_cut' | 'interrupted'

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
  readonly client: Client
  readonly userAgent: string
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
  /** The deployments that serve the model; set by the model-access policy. */
  candidates: readonly Deployment[]
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
