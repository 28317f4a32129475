/** One public path family: who may call it, and the function that answers. */
import type { z } from 'zod'
import type { Clock } from '../lib/clock.ts'
import type { KeyRing } from '../lib/encryption.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Tokenizer } from '../lib/tokens/tokenizer.ts'
import type { TelemetryPiece, TelemetryRelay } from './agents.ts'
import type { Answer } from './answer.ts'
import type { Call, CallInAdmission, CallOptions, EndedBatch } from './call.ts'
import type { BodyStore } from './ledger/stored-bodies.ts'
import type { Caller } from './caller.ts'
import type { ConfigurationChecks, ConfiguredStore } from './objects/configured-objects.ts'
import type { ConversationStore, LiveAnswer } from './objects/conversations.ts'
import type { Deployment } from './deployment.ts'
import type { DeviceSignInStore } from './sign-in/device-sign-in.ts'
import type { EffectiveValue } from './effective-values.ts'
import type { GatewayError } from './errors.ts'
import type { Format } from './format.ts'
import type { Provider } from './provider.ts'
import type { SingleSignOn } from './sign-in/identity-providers.ts'
import type { PassThrough } from './pass-through.ts'
import type { FileCalls } from './objects/files.ts'
import type { GuardrailTrials } from './guardrails.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { LedgerTail } from './ledger/ledger-tail.ts'
import type { BudgetSurvey } from './tenancy/budgets.ts'
import type { Limiter } from './tenancy/limits.ts'
import type { Settings } from './settings.ts'
import type { CacheAdministration, CacheHours } from './cache/answer-cache.ts'
import type { IdempotentRequests } from './objects/idempotency.ts'
import type { Mailer } from './mail.ts'
import type { Operation, Outcome } from './hub/operation.ts'
import type { AssistantStore, RunWatch } from './objects/assistants.ts'
import type { CurrentConfiguration } from './model-directory.ts'
import type { DetachedRuns } from './objects/detached-runs.ts'
import type { FileStore } from './objects/file-records.ts'
import type { KeyStore } from './tenancy/keys.ts'
import type { ResponseStore } from './objects/responses.ts'
import type { WebPages } from './web-pages.ts'
import type { AuthClass } from './policy.ts'
import type { Client, HttpRequest } from './request.ts'
import type { LoginService, PasswordStore, SessionStore, SignInService } from './sign-in/sign-in.ts'
import type { TenancyStore, TenantDirectory } from './tenancy/tenancy-store.ts'
import type { ToolGateway } from './tools.ts'
import type { UpstreamNotes } from './upstream-notes.ts'
import type { Usage } from './usage/usage.ts'

/** One call of a model, as an endpoint asks for it. */
export interface ModelCall extends CallOptions {
  readonly format: Format
  /** Canonical path for metrics and the ledger. */
  readonly route: string
  /**
   * Called once the call is admitted. Returns an answer for the client while the call continues in the background, for
   * the client passed to `run`, which resolves with the call's own answer; undefined = the client waits for that.
   */
  detach?(call: Call, run: (client: Client) => Promise<Answer>): Promise<Answer> | undefined
}

/** A call that the endpoint works on by itself: about stored objects (files, batches), or a count of tokens. */
export interface ObjectCall extends CallOptions {
  readonly operation: Operation
  /** Canonical path for metrics and the ledger: `/v1/files/{file_id}`. */
  readonly route: string
  /**
   * How the body is read before the policies of the stage `body` are asked: `call.body`, and of a form `call.upload`.
   */
  readonly body: 'none' | 'json' | 'form'
  /** Of a JSON body; absent = 1 MiB. */
  readonly bodyBytesMax?: number
  /**
   * The work, once the call is admitted; it may still say which model it is about. The call is settled when it
   * resolves, or with its error; after `settleAfter`, when that promise resolves.
   */
  work(call: CallInAdmission, settleAfter: (ended: Promise<Outcome>) => void): Promise<Answer>
}

/** One request of a batch's input file. */
export interface BatchLine {
  /** undefined = only its model and its texts are known. */
  readonly format: Format | undefined
  /** Canonical path of the line's `url`. */
  readonly route: string
  readonly body: JsonBody
}

/** Something that ended without a waiting client (a batch). */
export interface EndedCall {
  /** A UUID, always the same for the same end, so that a second settlement is not recorded again. */
  readonly id: string
  readonly operation: Operation
  readonly route: string
  readonly caller: Caller
  /** As `Call.tags`. */
  readonly tags: readonly string[]
  /** The public model, or several with commas between. */
  readonly model: string
  readonly deployment: Deployment
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly outcome: Outcome
  readonly status: number
  readonly error: GatewayError | undefined
  /** undefined = not reported. */
  readonly usage: Usage | undefined
  readonly costNanoUsd: bigint | null
  /** Of a batch: what its budgets are charged. */
  readonly batch: EndedBatch
}

/** A line that may run. */
export interface AdmittedLine {
  /** The deployments that serve its model. */
  readonly candidates: readonly Deployment[]
  /** What it can cost at most there as a request of a batch; null = not known. Nano-dollars. */
  boundAt(deployment: Deployment): bigint | null
  /** The request's body as the policies left it. Throws where a change cannot be expressed in the line's dialect. */
  bodyFor(deployment: Deployment): JsonBody
}

/** The request that a call would send to its upstream, without secrets. */
export interface CallPreview {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON. */
  readonly body: unknown
  /** Client fields that this upstream would not get. */
  readonly dropped: readonly string[]
  readonly deployment: Deployment
}

/** What endpoints work with. */
export interface Services {
  /** Read once for each request: a reload replaces what is in it. */
  readonly current: CurrentConfiguration
  /** Runs the call of a model through every policy, reads its body and settles it. Never rejects. */
  callModel(request: HttpRequest, caller: Caller, call: ModelCall): Promise<Answer>
  /** The same for a call about stored objects. Rejects with the GatewayError for the client. */
  callObjects(request: HttpRequest, caller: Caller, call: ObjectCall): Promise<Answer>
  /**
   * Passes one line of a batch's input file through every policy that applies to lines; resolves with the request as
   * the policies changed it. Rejects with a policy's refusal.
   */
  admitLine(call: Call, line: BatchLine): Promise<AdmittedLine>
  /**
   * Settles something that ended without a client (a batch) as calls are settled: ledger, log, metrics. Once per `id`.
   */
  settleEnded(ended: EndedCall): void
  /**
   * Plans the call of this body without sending it: no limit, no ledger, no cost. Rejects with the GatewayError that
   * the call itself would get before its upstream.
   */
  previewCall(request: HttpRequest, caller: Caller, call: ModelCall, bytes: Uint8Array): Promise<CallPreview>
  /** By name: what a model may be of. */
  readonly providers: ReadonlyMap<string, Provider>
  readonly tokenizer: Pick<Tokenizer, 'count'>
  readonly keys: KeyStore
  readonly tenancy: TenancyStore
  readonly tenants: TenantDirectory
  readonly sessions: SessionStore
  readonly signIn: SignInService
  /** Programs that sign in for a person. */
  readonly deviceSignIns: DeviceSignInStore
  /** Sends telemetry of a coding agent to the collector, whose answer it is. Rejects with `overloaded`. */
  relayTelemetry(relay: TelemetryRelay, piece: TelemetryPiece): Promise<Answer>
  readonly singleSignOn: SingleSignOn
  readonly login: LoginService
  readonly passwords: PasswordStore
  /** undefined = no mail server is named. */
  readonly mailer: Mailer | undefined
  readonly ledger: Ledger
  readonly ledgerTail: LedgerTail
  /**
   * The caller of a request whose answer lasts, as it is now. Rejects as the request would now: the key or session has
   * ended, or may not ask for it any more.
   */
  admitAgain(request: HttpRequest, endpoint: Endpoint): Caller | Promise<Caller>
  /**
   * Asks about the caller of a request that is under way, when its body has come in. Throws, or rejects, as the request
   * would be refused now, and with `conflict` where its caller may do less than when its head came.
   */
  confirm(admitted: Caller, request: HttpRequest, endpoint: Endpoint): void | Promise<void>
  /** What counts against limits and budgets now. */
  readonly limiter: Pick<Limiter, 'refresh' | 'use' | 'stored'>
  readonly budgetSurvey: BudgetSurvey
  readonly responses: ResponseStore
  readonly assistants: AssistantStore
  readonly files: FileStore
  readonly idempotentRequests: IdempotentRequests
  /** undefined = no answers are kept under these settings. */
  cache(settings: Pick<Settings, 'cache'>): CacheAdministration | undefined
  readonly cacheHours: CacheHours
  /** Models, credentials and access groups made by API, and how they are checked. */
  readonly configured: ConfiguredStore
  readonly checks: ConfigurationChecks
  /** Why models that were made by API are not served, by their ids. */
  notServed(): ReadonlyMap<string, string>
  /** What holds in this process, and where each value comes from. */
  effectiveValues(): Promise<readonly EffectiveValue[]>
  /** Processes that share limits over Redis, this one included; undefined = it is not known, or there is no Redis. */
  replicas(): number | undefined
  /** The deployments in a cooldown after failures, in this process. */
  coolingDown(): readonly Deployment[]
  /** What calls have shown of the upstreams, in this process. */
  readonly upstreams: UpstreamNotes
  readonly guardrails: GuardrailTrials
  readonly tools: ToolGateway
  readonly fileCalls: FileCalls
  readonly passThrough: PassThrough
  readonly detached: DetachedRuns
  readonly runWatch: RunWatch
  readonly conversations: ConversationStore
  readonly bodies: BodyStore
  /** As `runWatch`, for answers of conversations. */
  readonly answerWatch: RunWatch
  /** Likewise for responses in the background, by their names (`responseName`). */
  readonly responseWatch: RunWatch
  /** The answers of conversations that this process works on, by the ids of their messages. */
  readonly liveAnswers: Map<string, LiveAnswer>
  /** Hash of a key text under the installation's pepper (see KeyRecord.hash). */
  hashKey(keyText: string): string
  /** Signs a text with the installation's secret (see `access/derived-key.ts`). */
  sign(text: string): Buffer
  /** Seal the items that leave the gateway and come back, on every replica alike (`core/sealed-item.ts`). */
  readonly sealingKeys: KeyRing
  /** Prometheus text exposition; the same bytes for all readers. */
  metrics(): Uint8Array | Promise<Uint8Array>
  /** Ready for traffic; the reasons when not. */
  readiness(): Readiness
  /** What `/ui/` serves. */
  readonly pages: WebPages
  readonly clock: Clock
  /** That of the database, for moments that another replica compares with its own; see `SharedClock`. */
  readonly sharedClock: Clock
  readonly version: string
}

/** Whether the process may be sent traffic, and what its parts are doing. */
export interface Readiness {
  readonly ready: boolean
  readonly details: {
    /** `read-only`: it answers, and takes no changes. */
    readonly db: 'connected' | 'read-only' | 'disconnected'
    readonly redis: 'connected' | 'disconnected' | 'not configured'
    /** While Redis is away: what decides on limits. */
    readonly limits?: string
    /** `ok`, or what is wrong. */
    readonly ledger: string
    readonly ledger_backlog: { readonly bytes: number; readonly records: number; readonly oldest_seconds: number }
    readonly replicas?: string
    /** How many processes serve the address, and how many of them have started; absent = one. */
    readonly workers?: number
    readonly workers_serving?: number
    readonly draining?: true
  }
}

/** The parameters of a query by their names. */
export type QueryDoc = Readonly<
  Record<string, { schema: object; description?: string | undefined; required?: boolean }>
>

/** JSON Schemas of bodies by their media types. */
export type SuccessDoc = Readonly<Record<string, object>>

/**
 * An endpoint's part of the OpenAPI document. Schemas are JSON Schema (OpenAPI 3.1); of a request also what makes it,
 * or the zod schema that checks it, which is turned into JSON Schema when the document is made.
 */
export interface EndpointDoc {
  /** In camel case, unique. Paths after the first get a suffix (endpoints/openapi/document.ts). */
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  readonly query?: QueryDoc | (() => z.ZodObject)
  readonly request?: object | (() => z.ZodType | object)
  /** A missing body counts as an empty object. */
  readonly requestOptional?: true
  /** The media type of the request's body; absent = JSON. */
  readonly requestType?: string
  /**
   * The bodies of a success by their media types; absent = every request is refused. Of `text/event-stream` the
   * schema is that of one event's `data`. A function loads what no gateway needs before the document is asked for.
   */
  readonly success?: SuccessDoc | (() => Promise<SuccessDoc>)
  /** Of a success; absent = 200. Those of 204 and 302 have no body, and an empty `success`. */
  readonly successStatus?: 201 | 204 | 302
  /** Statuses of failures beside those that follow from `auth`, body, path, query and `callsModel`. */
  readonly failures?: readonly number[]
  /** Ends in `Services.callModel`: its answers have the headers of a call, and it fails as calls do. */
  readonly callsModel?: true
  /** Ends in `Services.callObjects`: its answers have the headers of a call. */
  readonly callsObjects?: true
  /** Further headers of a success, by their names in endpoints/openapi/headers.ts. */
  readonly headers?: readonly string[]
}

/** A request to an endpoint that needs a key, and what it works with. */
export interface EndpointContext {
  readonly services: Services
  readonly caller: Caller
  readonly request: HttpRequest
}

/** One method on one family of paths; HEAD is answered as GET, without the body. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'
  /** With and without `/v1` where clients use both. `{name}` = one segment, `{name+}` = may hold slashes. */
  readonly paths: readonly string[]
  /** Checked before the body is read. */
  readonly auth: 'none' | AuthClass
  /**
   * Takes one of the key's requests a minute, though it is no call: it writes to the database. Calls are counted by
   * themselves.
   */
  readonly takesRequest?: true
  /** The key may stand in the query as `?key=`, as Gemini's clients send it; never the master key. */
  readonly keyInQuery?: true
  /** false = pages of other origins may not read the answers. */
  readonly crossOrigin?: false
  /** OPTIONS is answered with the status of GET: load balancers check health by it. */
  readonly isProbe?: true
  readonly doc: EndpointDoc
  /** The error body of the path's dialect, for failures before the format is known; absent = OpenAI's. */
  readonly errorBody?: (error: GatewayError, requestId?: string) => object
  /** The answer in the place of an error body, for pages of browsers. */
  readonly pageOfError?: (error: GatewayError, request: HttpRequest) => Answer
  /**
   * Answers a request for a WebSocket at these paths, by the rules of `auth`, with an `upgrade`; later than at once.
   * Absent = there is none. May throw GatewayError.
   */
  upgrade?(request: HttpRequest, services: Services, caller: Caller): Promise<Answer>
  /** `caller` is undefined only for `auth: 'none'`. May throw GatewayError. */
  handle(request: HttpRequest, services: Services, caller: Caller | undefined): Answer | Promise<Answer>
}
