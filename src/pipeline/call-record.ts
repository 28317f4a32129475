/** The state of one call, created when the caller is known. A class, so that all calls share one hidden class. */
import type { Reply } from '../core/answer.ts'
import type {
  Attempt,
  Call,
  CallBounds,
  CallInAdmission,
  CallOptions,
  CallProgress,
  FallbackModel,
  RunningCall,
  Settlement,
  TakenLimits,
} from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { ChatEvent } from '../core/hub/chat.ts'
import type { Deployment } from '../core/deployment.ts'
import type { BatchLine } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { Format } from '../core/format.ts'
import type { CallInput, InputEdit } from '../core/hub/input.ts'
import { sessionIdOf } from '../core/ledger/session-id.ts'
import { noOverrides } from '../core/overrides.ts'
import type { RequestOverrides } from '../core/overrides.ts'
import type { Operation } from '../core/hub/operation.ts'
import type { CurrentConfiguration, ModelDirectory } from '../core/model-directory.ts'
import { clientRequestId } from '../core/request.ts'
import type { Client, HttpRequest, RequestHeaders } from '../core/request.ts'
import type { Clock } from '../lib/clock.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { bodyTokens } from '../lib/tokens/body-tokens.ts'
import type { Tokenizer } from '../lib/tokens/tokenizer.ts'
import { costBounds } from '../pricing/cost-bounds.ts'
import { boundsUnder } from '../pricing/price-terms.ts'
import { AttemptRecord } from './attempt-record.ts'
import { decodeInput, ownBody } from './call-input.ts'
import { measureInput } from './measure-input.ts'
import { hubReply } from './hub-reply.ts'

/** What all calls are made with. */
export interface CallParts {
  readonly clock: Clock
  /** Read once for each call: a reload replaces what is in it. */
  readonly current: CurrentConfiguration
  /** Counts the texts of calls that budgets have little room for. */
  readonly tokenizer: Pick<Tokenizer, 'measure'>
}

interface CallStart {
  readonly id: string
  /** Absent = `id`. */
  readonly requestId?: string | undefined
  readonly operation: Operation
  readonly route: string
  readonly caller: Caller
  readonly client: Client
  readonly userAgent: string
  readonly clientAddress: string
  /** Absent = none. */
  readonly headers?: RequestHeaders | undefined
  readonly format: Format | undefined
  readonly options: CallOptions
  readonly announcedBytes: number | undefined
  readonly memory?: Call['memory']
  readonly models: ModelDirectory
  /** Milliseconds since 1970; absent = now. */
  readonly startedAtMs?: number
}

const noDeployments: readonly Deployment[] = []
const nothingOwed: readonly Attempt[] = []
const noModels: readonly FallbackModel[] = []
const noEdits: readonly InputEdit[] = []
const noFields: readonly string[] = []
const noTags: readonly string[] = []

class Taken implements TakenLimits {
  reservation: TakenLimits['reservation'] = undefined
  reserved: TakenLimits['reserved'] = undefined
  byModel: TakenLimits['byModel'] = undefined
  atProviders: TakenLimits['atProviders'] = undefined
  setsMaximum = false
  batch: TakenLimits['batch'] = undefined
}

class Progress implements CallProgress {
  attempts = 0
  schemaRetries = 0
  retries = 0
  fallbacks = 0
  model = ''
  firstByteMs = -1
  sentMs = 0
  upstreamMs = 0
  waitedMs = 0
}

/** The fields are those of `Call`, all assigned from the start, so that the hidden class never changes. */
export class CallRecord implements RunningCall, CallInAdmission {
  guardrails: Call['guardrails'] = undefined
  watch: Call['watch'] = undefined
  bodyCollector: Call['bodyCollector'] = undefined
  upload: Call['upload'] = undefined
  namedFiles: Call['namedFiles'] = undefined
  textBody: Call['textBody'] = undefined
  spendNotes: Call['spendNotes'] = undefined
  guardrailOutcomes: Call['guardrailOutcomes'] = undefined
  releaseBody: (() => void) | undefined = undefined
  readonly id: string
  readonly requestId: string
  readonly operation: Operation
  readonly route: string
  readonly caller: Caller
  client: Client
  readonly userAgent: string
  cacheHit: Call['cacheHit'] = ''
  savedNanoUsd: bigint | null = null
  tags = noTags
  readonly clientAddress: string
  readonly headers: RequestHeaders | undefined
  readonly options: CallOptions
  readonly models: ModelDirectory
  readonly announcedBytes: number | undefined
  readonly memory: Call['memory']
  readonly startedAtMs: number
  readonly startedMs: number
  format: Format | undefined
  body: JsonBody | undefined = undefined
  forwardedHeaders: Call['forwardedHeaders'] = undefined
  clientCredential: Call['clientCredential'] = undefined
  clientCallId = ''
  model = ''
  stream = false
  endUser = ''
  misplacedMedia = false
  overrides: RequestOverrides = noOverrides
  tool: Call['tool'] = undefined
  isBatchLine = false
  candidates = noDeployments
  fallbacksInOrder = noModels
  contextWindowFallbacks = noModels
  contentPolicyFallbacks = noModels
  readonly progress: CallProgress = new Progress()
  attempt: Attempt | undefined = undefined
  owed = nothingOwed
  failedAttempts: Call['failedAttempts'] = undefined
  affinity: Call['affinity'] = undefined
  settlement: Settlement | undefined = undefined
  trace: Call['trace'] = undefined
  unknownFields = noFields
  readonly taken: TakenLimits = new Taken()
  responseHeaders: Record<string, string> = {}
  edits = noEdits
  readonly #parts: CallParts
  #sessionId: string | null | undefined = undefined
  #input: CallInput | undefined = undefined
  measuredInput: Call['measuredInput'] = undefined
  #measuring: Promise<void> | undefined = undefined
  knownInputTokens: number | undefined = undefined

  constructor(parts: CallParts, start: CallStart) {
    this.#parts = parts
    this.id = start.id
    this.requestId = start.requestId ?? start.id
    this.operation = start.operation
    this.route = start.route
    this.caller = start.caller
    this.client = start.client
    this.userAgent = start.userAgent
    this.clientAddress = start.clientAddress
    this.headers = start.headers
    this.options = start.options
    this.models = start.models
    this.announcedBytes = start.announcedBytes
    this.memory = start.memory
    this.format = start.format
    this.startedAtMs = start.startedAtMs ?? parts.clock.epochMs()
    this.startedMs = parts.clock.monotonicMs()
  }

  get sessionId(): string | null {
    if (this.#sessionId !== undefined) return this.#sessionId
    const id = sessionIdOf(this)
    // As long as there is no body, a field of it may still say another.
    if (this.body) this.#sessionId = id
    return id
  }

  input(): CallInput {
    return (this.#input ??= this.#decoded())
  }

  #decoded(): CallInput {
    if (!this.body && !this.upload && this.format)
      throw new GatewayError('internal', 'the input of a call was asked for before its body was read')
    const input = decodeInput(this, this.body)
    for (const edit of this.edits) edit(input)
    return input
  }

  change(edit: InputEdit): void {
    // Readers before share objects with the parsed body, which is not to change.
    if (this.edits.length === 0) {
      const readings = this.#input?.readings
      this.#input = { ...decodeInput(this, this.body && ownBody(this.body)), ...(readings && { readings }) }
    }
    edit(this.input())
    this.edits = [...this.edits, edit]
    this.measuredInput = this.#measuring = undefined
  }

  replaceBody(body: JsonBody): void {
    this.body = body
    this.knownInputTokens = undefined
    this.#input = undefined
  }

  estimatedInputTokens(): number {
    return (this.knownInputTokens ??= this.body ? bodyTokens(this.body) : 0)
  }

  bounds(maxOutputTokens?: number): CallBounds {
    return boundsUnder(costBounds(this, maxOutputTokens), this)
  }

  measureInput(): Promise<void> {
    const { edits } = this
    return (this.#measuring ??= measureInput(this.#parts.tokenizer, this).then(measured => {
      // What was changed meanwhile is another input.
      if (this.edits === edits) this.measuredInput = measured
    }))
  }

  waitedForUpstream(ms: number): void {
    this.progress.upstreamMs += ms
  }

  usedNothing(): void {
    const attempt = (this.attempt ??= new AttemptRecord(this.candidates[0], ''))
    attempt.usage = { inputTokens: 0, outputTokens: 0 }
    attempt.usageSource = 'estimated'
  }

  reply(answer: readonly ChatEvent[] | object): Reply {
    return hubReply(this, answer)
  }
}

/** The record of a call that begins now; `what` = its operation and path. */
export function openCall(
  parts: CallParts,
  request: HttpRequest,
  caller: Caller,
  what: Pick<CallStart, 'operation' | 'route' | 'format' | 'options'>,
): CallRecord {
  return new CallRecord(parts, {
    id: request.id,
    requestId: clientRequestId(request.headers),
    operation: what.operation,
    route: what.route,
    format: what.format,
    options: what.options,
    caller,
    client: request,
    userAgent: request.headers.get('user-agent') ?? '',
    clientAddress: request.clientAddress,
    headers: request.headers,
    announcedBytes: request.body.announcedBytes,
    memory: request.body,
    models: parts.current.models.of(caller),
  })
}

/** One line of a batch's input file as a call of its own: only for policies, never sent or settled. */
export function lineOf(parts: CallParts, call: Call, line: BatchLine): CallRecord {
  const { id, caller, client, userAgent, clientAddress, models } = call
  const { format, route, body } = line
  const made = new CallRecord(parts, {
    id,
    operation: format?.operation ?? 'batches',
    route,
    caller,
    client,
    userAgent,
    clientAddress,
    models,
    format,
    options: {},
    announcedBytes: body.size,
  })
  made.body = body
  made.isBatchLine = true
  return made
}
