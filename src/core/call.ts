/** One call of one client, from its first byte to its one row in the ledger. */
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Reply } from './answer.ts'
import type { CacheHit, ReplyWatch } from './cache/cache-settings.ts'
import type { BatchAmount, BudgetCharge, BudgetReservation, ScopeReservation } from './tenancy/budget-charge.ts'
import type { CallRecorder } from './ledger/call-bodies.ts'
import type { Caller } from './caller.ts'
import type { ChatEvent } from './hub/chat.ts'
import type { Deployment } from './deployment.ts'
import type { GatewayError } from './errors.ts'
import type { Format, StreamRelay } from './format.ts'
import type { GuardrailOutcome } from './guardrails.ts'
import type { CallInput, InputEdit } from './hub/input.ts'
import type { LimitScope, LimitReservation, OwnUses } from './tenancy/limits.ts'
import type { NamedFiles } from './objects/named-files.ts'
import type { Operation, Outcome } from './hub/operation.ts'
import type { RequestOverrides } from './overrides.ts'
import type { ModelDirectory } from './model-directory.ts'
import type { CostSource } from './usage/request-cost.ts'
import type { Client, RequestBody, RequestHeaders } from './request.ts'
import type { BodyPiece } from './transport.ts'
import type { Upload } from './upload.ts'
import type { Usage, UsageSource } from './usage/usage.ts'

/** What an endpoint specifies for its calls. */
export interface CallOptions {
  /** The model of the path or query; replaces the body's. */
  readonly model?: string | undefined
  /** Set where the path decides it instead of the body. */
  readonly stream?: boolean
  /** Asked when neither path nor body names a model. */
  defaultModel?(): string | undefined
  /** Which dialect a body is in, where a path takes several of one operation; absent = the endpoint's own. */
  formatOf?(body: JsonBody): Format
  /**
   * Called once the fields are checked: reads what the call refers to from the store and replaces `call.body` by a body
   * that contains it, which is checked again. Throws GatewayError for a missing object.
   */
  prepare?(call: Call): void | Promise<void>
  /** true = a failure of the token counter is an error: no estimate replaces it. */
  readonly exactCount?: true
  /** true = what is said is kept for its owner alone, elsewhere: its bodies are not stored. */
  readonly isPrivate?: boolean
  /** Asked after `prepare`: the batch that it starts, for which money is reserved. */
  startsBatch?(): StartedBatch
}

/** A batch that is about to be started, as budgets see it. */
export interface StartedBatch {
  /** Who is charged. */
  readonly caller: Caller
  /** As `Call.tags`. */
  readonly tags: readonly string[]
  readonly models: readonly BatchModel[]
}

/** The requests of a batch to one public model. */
export interface BatchModel {
  readonly name: string
  /** 0 = not counted: the file was sent to a version that did not. */
  readonly requests: number
  /** What they can cost together at most; null = not known. */
  readonly nanoUsd: bigint | null
  /** false = the price of its batches is not known. */
  readonly isPriced: boolean
}

/** Money that was taken for a batch. Exactly one of the methods is called. */
export interface BatchReservation {
  readonly amounts: readonly BatchAmount[]
  /** The work of the call will end it: the call's own end does not. */
  isClaimed: boolean
  /** `unknown` = the batch may have been stored, or not. */
  keep(stored: 'stored' | 'unknown'): void
  release(): void
}

/** The end of a batch, as budgets see it. */
export interface EndedBatch {
  /** Empty = it was started without. */
  readonly reserved: readonly BatchAmount[]
  /** Of the requests to each public model; null = not known. Nano-dollars. */
  readonly costs: ReadonlyMap<string, bigint | null>
}

/** A model that may be tried after the call's own. */
export interface FallbackModel {
  readonly name: string
  readonly deployments: readonly Deployment[]
}

/** What a request of the call to an upstream used, when it is over and another may follow. */
export interface SentRequest {
  readonly deployment: Deployment
  /** As `Call.attemptedModel` was. */
  readonly model: string
  /** Undefined = not reported, and nothing that could be estimated. */
  readonly usage: Usage | undefined
  readonly usageSource: UsageSource
  /** What it counts against token limits. */
  readonly countedTokens: number
}

/** A model that the call was passed on to, or its own, with what it has taken of limits and budgets of this model. */
export interface ModelReservation {
  readonly model: string
  /** Of limits and budgets of the model alone. */
  readonly scopes: readonly LimitScope[]
  /** Reserved in each of them, in nano-dollars. */
  nanoUsd: number
  /** Empty for the call's own: it is in `Call.taken`. */
  readonly taken: LimitReservation[]
}

/** What the requests to one model used. */
export interface ModelUse {
  readonly tokens: number
  /** Nano-dollars; null = something was sent whose cost is not known. */
  readonly costNanoUsd: bigint | null
}

/** The input of a call, measured by its texts. */
export interface MeasuredInput {
  /** How many tokens this deployment's model may count at most, but for pictures and documents. */
  tokensAt(deployment: Deployment): number
}

/** What a call may cost at most, over all deployments that may still serve it. */
export interface CallBounds {
  /** A token is at least one byte; pictures, audio and documents given by reference count as 0. */
  readonly inputTokensMax: number
  /** The requested maximum, or that of the models; null = unlimited or not known. */
  readonly outputTokensMax: number | null
  /**
   * Of the most expensive candidate or fallback, for one answer; null = a price or a bound of one of them is not known.
   */
  readonly costNanoUsdMax: bigint | null
}

/** The state of a call while it runs; settlement reads it once. */
export interface Call {
  /** UUID v7, in the ledger and in `x-proxy-call-id`. */
  readonly id: string
  /** What `x-request-id` of the answer says: the client's own, else `id`. */
  readonly requestId: string
  /** The client's own id for the call (`proxy_call_id` of the body), which `x-proxy-call-id` says; empty = `id`. */
  clientCallId: string
  readonly operation: Operation
  /** Canonical path, for metrics and the ledger: `/v1/chat/completions`. */
  readonly route: string
  readonly caller: Caller
  readonly startedAtMs: number
  readonly startedMs: number
  /** Waits for the answer; replaced when the call continues in the background. */
  client: Client
  readonly userAgent: string
  /** Of the client's socket; empty = there is none. */
  readonly clientAddress: string
  readonly options: CallOptions
  /** Models and settings at the start of the call: a reload does not affect it. */
  readonly models: ModelDirectory
  /** `content-length` of the request; undefined = not sent. */
  readonly announcedBytes: number | undefined
  /** Counts what the call reads beside its body; absent = nothing counts it. */
  readonly memory?: Pick<RequestBody, 'hold'> | undefined
  /** The client's dialect; undefined = a call about stored objects (files, batches), which no model answers. */
  format: Format | undefined
  body: JsonBody | undefined
  /** The client's multipart form, whose fields are also in `body`; closed when the call is settled. */
  upload: Upload | undefined
  /**
   * The uploaded files that `body` names by the gateway's ids; absent = none. They then provide the body to be sent.
   */
  namedFiles?: NamedFiles | undefined
  /** `body` with texts in place of token ids, for upstreams that embed only texts; absent = it has none. */
  textBody?: JsonBody
  /** Of the request; undefined = the call has none of its own. */
  readonly headers: RequestHeaders | undefined
  /** Client headers that are sent along on the forward lane, by lower-case name. */
  forwardedHeaders: Readonly<Record<string, string>> | undefined
  /** The public name requested; empty until the body is read. */
  model: string
  stream: boolean
  /** The client's end user (`user` of the body). */
  endUser: string
  /** Bytes stand in a field for media of another kind, which only a translation puts right. */
  misplacedMedia: boolean
  /** The guardrails in effect, in order, each with its name and its version; absent = none. */
  guardrails?: readonly string[] | undefined
  /** Sees the reply of an upstream on its way to the client; undefined = nothing does. */
  watch: ReplyWatch | undefined
  /** Stores what is said; undefined = nothing does. */
  recorder: CallRecorder | undefined
  /** How it was answered without an upstream of its own; empty = it was not, or by a policy of another kind. */
  cacheHit: CacheHit
  /** What the answer cost when it was made, of a call with a `cacheHit`; null = not known. Nano-dollars. */
  savedNanoUsd: bigint | null
  /** For the ledger: those of the request and of its key, each once. Set by the policy of tags. */
  tags: readonly string[]
  /** For the ledger: the client's own object in JSON (`spend_logs_metadata`), of up to 4096 bytes; absent = none. */
  spendNotes?: string
  /** Options for the gateway itself in the body; read with the fields. */
  overrides: RequestOverrides
  /** What guardrails said of it until now, in their order; undefined = none was asked. */
  guardrailOutcomes: readonly GuardrailOutcome[] | undefined
  /** It is a line of a batch: its answer comes in a file, which no policy sees. */
  readonly isBatchLine: boolean
  /** The deployments that serve the model; set by the model-access policy. */
  candidates: readonly Deployment[]
  /** The models to try after its own, in order; set by the fallback policy. */
  fallbacksInOrder: readonly FallbackModel[]
  /** The models to try when the conversation is too long, in order; set by the fallback policy. */
  contextWindowFallbacks: readonly FallbackModel[]
  /** The models to try when the provider's content policy refuses the call, in order; set by the fallback policy. */
  contentPolicyFallbacks: readonly FallbackModel[]
  /** The deployment that answered, or that failed last. */
  deployment: Deployment | undefined
  attempts: number
  /** Further requests to upstreams within attempts: for answers that do not fit their schema. */
  schemaRetries: number
  /** Attempts after the first one at the deployments of the same model. */
  retries?: number
  fallbacks: number
  /** The fallback that is tried now; empty = the call's own model. */
  attemptedModel: string
  /** Its own model and those that it was passed on to, where one of them has limits or budgets of its own. */
  modelReservations?: readonly ModelReservation[]
  /** Set at settlement where `modelsTaken` is: what counts in the scopes of single models. */
  ownUses?: OwnUses
  /** Set at settlement where `modelsTaken` is; models that were sent nothing are missing. */
  usedByModel?: ReadonlyMap<string, ModelUse>
  /** Of the current request to an upstream; from the settlement on, of all of them together. */
  usage: Usage | undefined
  usageSource: UsageSource
  /** Earlier requests to upstreams (failed attempts, answers that were requested again) that used something. */
  sentBefore: readonly SentRequest[]
  /** Set at settlement: what the vendor charges by the price list; null = price or usage unknown. */
  listCostNanoUsd: bigint | null
  /** Set at settlement: the terms that made the cost of it, as the ledger keeps them; empty = none. */
  priceTerms: string
  /** Set at settlement: what the caller is charged; null = price or usage unknown. */
  costNanoUsd: bigint | null
  /** Set at settlement. */
  costSource: CostSource
  /** Set at settlement: what counts against token limits, the estimated input of everything sent at least. */
  countedTokens: number
  /** Input tokens of the body, estimated when they are first needed; -1 = not yet. */
  estimatedInputTokens: number
  /** Set at the end of the current request: an upstream was given at least a part of it. */
  sent: boolean
  /** Body of the current request; undefined = none was made. */
  sentBody: readonly BodyPiece[] | undefined
  /** The current attempt sends the prompts of a list one at a time, each in a request of its own. */
  isSeries: boolean
  /** Status of the current request's answer; 0 = none has begun. */
  upstreamStatus: number
  /** The service tier that the head of the current request's answer names; undefined = none. */
  answeredTier: string | undefined
  /** The stream that is being relayed, asked for its usage at settlement. */
  progress: StreamRelay | undefined
  /** Characters of a whole answer; -1 = there is none, or they are not needed. */
  answerCharacters: number
  /** Milliseconds from start to the first byte for the client; -1 = none. */
  firstByteMs: number
  /** Milliseconds spent waiting for upstreams; the duration without these and without `waitedMs` is overhead. */
  upstreamMs: number
  /** Milliseconds spent waiting for the client's body, and before attempts at a deployment that has failed. */
  waitedMs: number
  /**
   * Top-level fields of the body that its dialect does not know; an upstream gets those that its deployment lets pass.
   */
  unknownFields: readonly string[]
  /** Client fields that were not sent to the chosen upstream. */
  dropped: readonly string[]
  /** What the call took from the limits, released at its end. */
  limitReservation: LimitReservation | undefined
  /** What it reserved in budgets; absent = nothing. */
  reserved?: BudgetReservation
  /** What it reserved in budgets of providers, of which one is charged in the end; absent = nothing. */
  reservedAtProviders?: readonly ScopeReservation[]
  /** The client asked for no maximum of output tokens: that of the request is what its budgets have room for. */
  budgetSetsMaximum?: boolean
  /** What it reserved for the batch that it starts; absent = nothing. */
  batch?: BatchReservation
  /** It is the end of a batch; absent = it is not. */
  batchEnd?: EndedBatch
  /** For the ledger, set at settlement: what it is charged in budgets; absent = nothing. */
  charge?: BudgetCharge | undefined
  /** Response headers that policies add (rate limits). */
  responseHeaders: Record<string, string>
  /** Frees the memory of a body that the call kept when it continued in the background. */
  releaseBody: (() => void) | undefined
  /**
   * The request in hub types, with all changes so far: decoded once, on the first call of this method. Not before the
   * policy that checks the fields. Throws GatewayError for problems that only decoding finds.
   */
  input(): CallInput
  /**
   * Changes the request for all later readers and for the upstream: the call then takes the translate lane. `edit` runs
   * at once on `input()` and again on the request that each attempt decodes.
   */
  change(edit: InputEdit): void
  /** Asks for less than the client did: all later readers, limits and the upstream see this body. */
  replaceBody(body: JsonBody): void
  /** The edits passed to `change`, in order. */
  readonly edits: readonly InputEdit[]
  /** Not before candidates and fallbacks are set. `maxOutputTokens`: as if a chat asked for so many at most. */
  bounds(maxOutputTokens?: number): CallBounds
  /** Set by `measureInput`; undefined = `bounds` takes each byte for a token. */
  readonly measuredInput: MeasuredInput | undefined
  /** `bounds` are closer afterwards, where the input can be measured in time. Measures once. */
  measureInput(): Promise<void>
  /**
   * An answer in the client's dialect, whole or as a stream as requested: of a chat from hub events (with a `finish`
   * for each choice), of an operation with one JSON result from its result in hub types.
   */
  reply(answer: readonly ChatEvent[] | object): Reply
}

/** The result of a call that was answered, failed, or whose client left. Created exactly once. */
export interface Settlement {
  readonly call: Call
  readonly outcome: Outcome
  /** The status the client saw (or would have seen: 499 when it left first). */
  readonly status: number
  readonly error: GatewayError | undefined
  /** Nano-dollars; null = price or usage unknown. */
  readonly costNanoUsd: bigint | null
  readonly durationMs: number
  /** Something was sent to an upstream that may bill it. */
  readonly isOwed: boolean
}
