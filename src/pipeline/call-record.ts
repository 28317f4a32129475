/** The record of one call, made as soon as the caller is known. A class, so that every call has one shape. */
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { Operation } from '../core/operation.ts'
import type { Deployment } from '../core/deployment.ts'
import type { StreamRelay } from '../core/format.ts'
import type { Client, HttpRequest } from '../core/request.ts'
import type { Usage, UsageSource } from '../core/usage.ts'
import type { Clock } from '../lib/clock.ts'
import type { JsonBody } from '../lib/json/json-body.ts'

interface CallStart {
  readonly id: string
  readonly operation: Operation
  readonly route: string
  readonly caller: Caller
  readonly client: Client
  readonly userAgent: string
  readonly startedAtMs: number
  readonly startedMs: number
}

const noDeployments: readonly Deployment[] = []
const nothingDropped: readonly string[] = []

/**
 * The fields are those of `Call`. Each is there from the beginning, even when it is undefined: that keeps the shape.
 */
export class CallRecord implements Call {
  readonly id: string
  readonly operation: Operation
  readonly route: string
  readonly caller: Caller
  readonly client: Client
  readonly userAgent: string
  readonly startedAtMs: number
  readonly startedMs: number
  body: JsonBody | undefined = undefined
  upload: Call['upload'] = undefined
  namedFiles: Call['namedFiles'] = undefined
  forwardedHeaders: Call['forwardedHeaders'] = undefined
  model = ''
  stream = false
  endUser = ''
  candidates = noDeployments
  deployment: Deployment | undefined = undefined
  attempts = 0
  retries = 0
  fallbacks = 0
  usage: Usage | undefined = undefined
  usageSource: UsageSource = 'none'
  costNanoUsd: bigint | null = null
  progress: StreamRelay | undefined = undefined
  answerCharacters = 0
  answered = false
  firstByteMs = -1
  upstreamMs = 0
  dropped = nothingDropped
  taken: Call['taken'] = undefined
  responseHeaders: Record<string, string> = {}

  constructor(start: CallStart) {
    this.id = start.id
    this.operation = start.operation
    this.route = start.route
    this.caller = start.caller
    this.client = start.client
    this.userAgent = start.userAgent
    this.startedAtMs = start.startedAtMs
    this.startedMs = start.startedMs
  }
}

/** The record of a call that begins now. `what` = what is asked for, and under which path it is counted. */
export function openCall(
  clock: Clock,
  request: HttpRequest,
  caller: Caller,
  what: Pick<CallStart, 'operation' | 'route'>,
): CallRecord {
  return new CallRecord({
    id: request.id,
    operation: what.operation,
    route: what.route,
    caller,
    client: request,
    userAgent: request.headers.get('user-agent') ?? '',
    startedAtMs: clock.epochMs(),
    startedMs: clock.monotonicMs(),
  })
}
