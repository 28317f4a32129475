/** One call of one client, from its first byte to its one row in the ledger. */
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Reply } from './answer.ts'
import type { CacheHit, ReplyWatch } from './cache/cache-settings.ts'
import type {
  BatchAmount,
  BudgetCharge,
  BudgetReservation,
  ReservedBudgets,
  ScopeReservation,
} from './tenancy/budget-charge.ts'
import type { CallBodyCollector } from './ledger/stored-bodies.ts'
import type { Caller } from './caller.ts'
import type { ChatEvent } from './hub/chat.ts'
import type { ClientCredential } from './client-credential.ts'
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
import type { CallTrace } from './trace.ts'
import type { ToolUse } from './tools.ts'
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
  prepare?(call: CallInAdmission): void | Promise<void>
  /** true = a failure of the token counter is an error: no estimate replaces it. */
  readonly exactCount?: true
  /** true = what is said is kept for its owner alone, elsewhere: its bodies are not stored. */
  readonly isPrivate?: boolean
  /** true = a call without a format that a vendor may bill: money is reserved for it. */
  readonly isCharged?: true
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

/** A model that the call was passed on to, or its own, with what it has taken of limits and budgets of this model. */
export interface ModelReservation {
  readonly model: string
  /** Of limits and budgets of the model alone. */
  readonly scopes: readonly LimitScope[]
  /** Reserved in each of them, in nano-dollars. */
  nanoUsd: number
  /** Empty for the call's own: it is in `TakenLimits.reservation`. */
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

/**
 * What came in with a call, and what its admission made of it. Nothing of it changes once the call is admitted, but who
 * waits for it.
 */
interface ReceivedCall {
  /** UUID v7, in the ledger and in `x-proxy-call-id`. */
  readonly id: string
  /** What `x-request-id` of the answer says: the client's own, else `id`. */
  readonly requestId: string
  /** The client's own id for the call (`proxy_call_id` of the body), which `x-proxy-call-id` says; empty = `id`. */
  readonly clientCallId: string
  readonly operation: Operation
  /** Canonical path, for metrics and the ledger: `/v1/chat/completions`. */
  readonly route: string
  readonly caller: Caller
  readonly startedAtMs: number
  readonly startedMs: number
  /** Waits for the answer; replaced when the call continues in the background. */
  readonly client: Client
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
  readonly format: Format | undefined
  readonly body: JsonBody | undefined
  /** The client's multipart form, whose fields are also in `body`; closed when the call is settled. */
  readonly upload: Upload | undefined
  /**
   * The uploaded files that `body` names by the gateway's ids; absent = none. They then provide the body to be sent.
   */
  readonly namedFiles?: NamedFiles | undefined
  /** `body` with texts in place of token ids, for upstreams that embed only texts; absent = it has none. */
  readonly textBody?: JsonBody
  /** Of the request; undefined = the call has none of its own. */
  readonly headers: RequestHeaders | undefined
  /** Client headers that are sent along on the forward lane, by lower-case name. */
  readonly forwardedHeaders: Readonly<Record<string, string>> | undefined
  /** The caller's own credential of a vendor; undefined = it brings none, or no deployment in reach takes any. */
  readonly clientCredential: ClientCredential | undefined
  /** The public name requested; empty until the body is read. */
  readonly model: string
  readonly stream: boolean
  /** The client's end user (`user` of the body). */
  readonly endUser: string
  /**
   * The session, conversation or trace that the client says the call is part of (`core/ledger/session-id.ts`); null =
   * it says none.
   */
  readonly sessionId: string | null
  /** Bytes stand in a field for media of another kind, which only a translation puts right. */
  readonly misplacedMedia: boolean
  /** The guardrails in effect, in order, each with its name and its version; absent = none. */
  readonly guardrails?: readonly string[] | undefined
  /** Sees the reply of an upstream on its way to the client; undefined = nothing does. */
  readonly watch: ReplyWatch | undefined
  /** Stores what is said; undefined = nothing does. */
  readonly bodyCollector: CallBodyCollector | undefined
  /** How it was answered without an upstream of its own; empty = it was not, or by a policy of another kind. */
  readonly cacheHit: CacheHit
  /** What the answer cost when it was made, of a call with a `cacheHit`; null = not known. Nano-dollars. */
  readonly savedNanoUsd: bigint | null
  /** For the ledger: those of the request and of its key, each once. Set by the policy of tags. */
  readonly tags: readonly string[]
  /** For the ledger: the client's own object in JSON (`spend_logs_metadata`), of up to 4096 bytes; absent = none. */
  readonly spendNotes?: string
  /** Options for the gateway itself in the body; read with the fields. */
  readonly overrides: RequestOverrides
  /** What guardrails said of it until now, in their order; undefined = none was asked. */
  readonly guardrailOutcomes: readonly GuardrailOutcome[] | undefined
  /** The tool that is called; undefined = it is no call of a tool. */
  readonly tool: ToolUse | undefined
  /** It is a line of a batch: its answer comes in a file, which no policy sees. */
  readonly isBatchLine: boolean
  /** The deployments that serve the model; set by the model-access policy. */
  readonly candidates: readonly Deployment[]
  /** The models to try after its own, in order; set by the fallback policy. */
  readonly fallbacksInOrder: readonly FallbackModel[]
  /** The models to try when the conversation is too long, in order; set by the fallback policy. */
  readonly contextWindowFallbacks: readonly FallbackModel[]
  /** The models to try when the provider's content policy refuses the call, in order; set by the fallback policy. */
  readonly contentPolicyFallbacks: readonly FallbackModel[]
  /**
   * Top-level fields of the body that its dialect does not know; an upstream gets those that its deployment lets pass.
   */
  readonly unknownFields: readonly string[]
  /** The edits passed to `Call.change`, in order. */
  readonly edits: readonly InputEdit[]
  /** Set by `Call.measureInput`; undefined = `bounds` takes each byte for a token. */
  readonly measuredInput: MeasuredInput | undefined
}

/** A call from its first byte to its end. */
export interface Call extends ReceivedCall {
  /** What it has taken of limits and budgets; written by the policies of these. */
  readonly taken: TakenLimits
  /** Response headers that policies add (rate limits). */
  readonly responseHeaders: Record<string, string>
  /** How far it has come. */
  readonly progress: Readonly<CallProgress>
  /**
   * The request to an upstream that is under way, was the last, or comes next at the same deployment; undefined = none
   * was made.
   */
  readonly attempt: Readonly<Attempt> | undefined
  /** The requests to upstreams that are over and may be billed, in the order in which they were sent. */
  readonly owed: readonly Readonly<Attempt>[]
  /** Attempts that have failed, in their order; undefined = none has. */
  readonly failedAttempts: readonly FailedAttempt[] | undefined
  /** undefined = it was not asked for: the model has one deployment; null = the call is of no session. */
  readonly affinity: SessionAffinity | null | undefined
  /** What it came to; undefined = it has not ended yet. */
  readonly settlement: Settlement | undefined
  /** What is noted for its spans; undefined = no collector is told of calls. */
  readonly trace: CallTrace | undefined
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
  /** Input tokens of the body: estimated once, when they are first asked for. */
  estimatedInputTokens(): number
  /** What that was; undefined = it was not asked for yet. */
  readonly knownInputTokens: number | undefined
  /** Not before candidates and fallbacks are set. `maxOutputTokens`: as if a chat asked for so many at most. */
  bounds(maxOutputTokens?: number): CallBounds
  /** `bounds` are closer afterwards, where the input can be measured in time. Measures once. */
  measureInput(): Promise<void>
  /** Adds to the time that it has waited for upstreams; milliseconds. */
  waitedForUpstream(ms: number): void
  /** The call is answered without an upstream where one would report usage: its row says that nothing was used. */
  usedNothing(): void
  /**
   * An answer in the client's dialect, whole or as a stream as requested: of a chat from hub events (with a `finish`
   * for each choice), of an operation with one JSON result from its result in hub types.
   */
  reply(answer: readonly ChatEvent[] | object): Reply
}

type Writable<Part> = { -readonly [Name in keyof Part]: Part[Name] }
type FoundByPolicies = Exclude<keyof ReceivedCall, 'client' | 'edits' | 'measuredInput'> | 'trace'

/** A call that is being admitted: policies set what they find out about it. */
export type CallInAdmission = Omit<Call, FoundByPolicies> & Writable<Pick<Call, FoundByPolicies>>

/** A call as the pipeline has it, which alone sends it and settles it. */
export interface RunningCall extends Call {
  client: Client
  readonly progress: CallProgress
  attempt: Attempt | undefined
  owed: readonly Attempt[]
  failedAttempts: readonly FailedAttempt[] | undefined
  affinity: SessionAffinity | null | undefined
  settlement: Settlement | undefined
  trace: CallTrace | undefined
  /** Frees the memory of a body that the call kept when it continued in the background. */
  releaseBody?: (() => void) | undefined
}

/** How the turns of a session are kept at one deployment. */
export interface SessionAffinity {
  /** Of tenant and session, 32 bits. */
  readonly hash: number
  /** The client names the session; false = it is recognized by how the conversation begins. */
  readonly isNamed: boolean
  /** How long a deployment stays the session's after a turn, in milliseconds. */
  readonly ttlMs: number
  /** Where the session is when all deployments of the model that is tried are well; empty = none was chosen yet. */
  homeId: string
}

/** What a call has taken of limits and budgets. */
export interface TakenLimits extends ReservedBudgets {
  /** Released at the end of the call. */
  reservation: LimitReservation | undefined
  reserved: BudgetReservation | undefined
  /** Its own model and those that it was passed on to; undefined = none of them has limits or budgets of its own. */
  byModel: readonly ModelReservation[] | undefined
  /** In budgets of providers, of which one is charged in the end. */
  atProviders: readonly ScopeReservation[] | undefined
  /** The client asked for no maximum of output tokens: that of the request is what its budgets have room for. */
  setsMaximum: boolean
  /** For the batch that the call starts. */
  batch: BatchReservation | undefined
}

/** How far a call has come. */
export interface CallProgress {
  /** Deployments that were tried. */
  attempts: number
  /** Further requests to upstreams within attempts: for answers that do not fit their schema. */
  schemaRetries: number
  /** Attempts after the first one at the deployments of the same model. */
  retries: number
  /** Models that the call was passed on to. */
  fallbacks: number
  /** The fallback that is tried now; empty = the call's own model. */
  model: string
  /** Milliseconds from start to the first byte for the client; -1 = none. */
  firstByteMs: number
  /** When the last attempt was sent, on the monotonic clock; 0 = none was. */
  sentMs: number
  /** Milliseconds spent waiting for upstreams; the duration without these and without `waitedMs` is overhead. */
  upstreamMs: number
  /** Milliseconds spent waiting for the client's body, and before attempts at a deployment that has failed. */
  waitedMs: number
}

/** One request to an upstream: a new object for each, also for those that an attempt sends one after another. */
export interface Attempt {
  /** undefined = the gateway answers by itself. */
  readonly deployment: Deployment | undefined
  /** As `CallProgress.model` when it was made. */
  readonly model: string
  /** Client fields that are not sent to the deployment. */
  dropped: readonly string[]
  /** It is sent with the caller's own credential, and billed to them by the vendor. */
  readonly isCallers: boolean
  /** Its attempt sends the prompts of a list one at a time, each in a request of its own. */
  isSeries: boolean
  /** undefined = none was made. */
  body: readonly BodyPiece[] | undefined
  /** The upstream was given at least a part of it; known once it is over. */
  isSent: boolean
  /** Of its answer; 0 = none has begun. */
  status: number
  /** When it was sent, and when it failed or its answer began, on the monotonic clock; 0 = neither has been. */
  sentMs: number
  answeredMs: number
  /** The span that its upstream is told of; empty = it is told of none of ours. */
  spanId: string
  /** The service tier that the head of its answer names; undefined = none. */
  answeredTier: string | undefined
  /** The upstream's name of the model that answered; undefined = not read. */
  answeredModel: string | undefined
  /** The stream that is being relayed, asked for its usage at the end. */
  relay: StreamRelay | undefined
  /** Characters of a whole answer; -1 = there is none, or they are not needed. */
  answerCharacters: number
  /** What it used, as the upstream says; once it is over also as estimated. undefined = neither. */
  usage: Usage | undefined
  usageSource: UsageSource
  /** What it counts against token limits, the estimated input at least; known once it is over. */
  countedTokens: number
}

/** An attempt that has failed. Moments are of the monotonic clock. */
export interface FailedAttempt {
  /** Which one it was, from 1. */
  readonly number: number
  readonly deployment: Deployment
  /** The HTTP status of the upstream; 0 = it did not answer. */
  readonly status: number
  readonly error: GatewayError
  /** 0 = nothing was sent. */
  readonly sentMs: number
  readonly endedMs: number
}

/** What callers owe their vendors themselves. */
export interface CallersCost {
  /** At the vendor's list prices; null = price or usage unknown. Nano-dollars. */
  readonly nanoUsd: bigint | null
  /** Nothing was sent with the gateway's credentials. */
  readonly isAll: boolean
}

/** The result of a call that was answered, failed, or whose client left. Created exactly once. */
export interface Settlement {
  readonly call: Call
  readonly outcome: Outcome
  /** The status the client saw (or would have seen: 499 when it left first). */
  readonly status: number
  readonly error: GatewayError | undefined
  readonly durationMs: number
  /** Something was sent to an upstream that may bill it. */
  readonly isOwed: boolean
  /** Of all requests to upstreams together; undefined = not known. */
  readonly usage: Usage | undefined
  readonly usageSource: UsageSource
  /** What counts against token limits, the estimated input of everything sent at least. */
  readonly countedTokens: number
  /** What the vendor charges by the price list; null = price or usage unknown. Nano-dollars. */
  readonly listCostNanoUsd: bigint | null
  /** The terms that made the cost of it, as the ledger keeps them; empty = none. */
  readonly priceTerms: string
  /** What the caller is charged; null = price or usage unknown. Nano-dollars. */
  readonly costNanoUsd: bigint | null
  readonly costSource: CostSource
  /** What was sent with the caller's own credentials, which costs nothing here; undefined = nothing was. */
  readonly callersCost: CallersCost | undefined
  /** Where models have limits or budgets of their own; models that were sent nothing are missing. */
  readonly usedByModel: ReadonlyMap<string, ModelUse> | undefined
  /** It is the end of a batch; undefined = it is not. */
  readonly batchEnd: EndedBatch | undefined
  /**
   * What it is charged in budgets; undefined = nothing. Set by the policies that charge, before the ledger has a row.
   */
  charge: BudgetCharge | undefined
  /** What counts in the scopes of single models. Set with `charge`. */
  ownUses: OwnUses | undefined
}
