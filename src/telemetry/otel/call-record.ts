/** What a finished call is to its spans, metrics and log record: plain values, which go to another thread. */
import type { Settlement } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { TracedAttempt } from '../../core/trace.ts'
import { isOurFault } from '../log.ts'

/** Times are milliseconds since the call began. */
interface AttemptRecord {
  readonly deployment: string
  readonly model: string
  readonly provider: string
  readonly baseUrl: string
  readonly fromMs: number
  readonly toMs: number
  /** 0 = no answer has begun. */
  readonly status: number
  readonly spanId: string
  readonly error?: string | undefined
  readonly message?: string | undefined
}

/** A finished call. What is undefined is not known, or does not apply. */
export interface CallRecord {
  readonly id: string
  /** Milliseconds since 1970, with a fraction. */
  readonly startedAtMs: number
  readonly durationMs: number
  /** undefined = no spans are to be made of it. */
  readonly span?: { readonly traceId: string; readonly spanId: string; readonly parentSpanId: string } | undefined
  /** When it was admitted, since it began. */
  readonly admittedMs?: number | undefined
  readonly waits?: readonly (readonly [policy: string, fromMs: number, toMs: number])[] | undefined
  readonly attempts: readonly AttemptRecord[]
  readonly guardrails?:
    | readonly (readonly [name: string, verdict: string, askedMs: number, waitedMs: number])[]
    | undefined
  readonly operation: string
  readonly route: string
  /** As it was asked for. */
  readonly model: string
  /** The configured name that it belongs to; empty = none. */
  readonly modelName: string
  readonly responseModel?: string | undefined
  readonly stream: boolean
  readonly outcome: string
  readonly status: number
  readonly error?: string | undefined
  readonly message?: string | undefined
  readonly isOurFault?: true | undefined
  readonly firstByteMs?: number | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly cacheReadTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly usageSource: string
  readonly costUsd?: number | undefined
  readonly keyId: string
  readonly keyAlias?: string | undefined
  readonly userId?: string | undefined
  readonly teamId?: string | undefined
  readonly organizationId?: string | undefined
  readonly endUser?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly sessionId?: string | undefined
  readonly clientAddress: string
  readonly userAgent: string
  readonly cacheHit?: string | undefined
  readonly sent: number
  readonly fallbacks: number
}

/** `isKept` = its spans are to be sent. */
export function callRecord(settlement: Settlement, isKept: boolean): CallRecord {
  const { call, outcome, status, error, durationMs, usage, usageSource, costNanoUsd } = settlement
  const { trace, progress, caller, attempt, startedMs, guardrailOutcomes } = call
  const { key } = caller
  const modelName = (attempt?.deployment ?? call.candidates[0])?.modelName ?? ''
  return {
    id: call.id,
    startedAtMs: call.startedAtMs,
    durationMs,
    span: isKept && trace ? spanOf(trace) : undefined,
    admittedMs: trace && trace.admittedMs > 0 ? trace.admittedMs - startedMs : undefined,
    waits: trace && trace.waits.length > 0 ? trace.waits.map(one => waitOf(one, startedMs)) : undefined,
    attempts: trace ? attemptsOf(settlement, trace.attempts) : [],
    guardrails: guardrailOutcomes?.map(one => [
      one.name,
      one.verdict,
      one.askedMs === 0 ? -1 : one.askedMs - startedMs,
      one.waitedMs,
    ]),
    operation: call.operation,
    route: call.route,
    model: call.model,
    modelName,
    responseModel: attempt?.answeredModel,
    stream: call.stream,
    outcome,
    status,
    error: error?.kind,
    message: error?.message,
    isOurFault: error && isOurFault(error) ? true : undefined,
    firstByteMs: progress.firstByteMs < 0 ? undefined : progress.firstByteMs,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    cacheReadTokens: usage?.cachedInputTokens,
    cacheWriteTokens: usage?.cacheWriteTokens,
    reasoningTokens: usage?.reasoningTokens,
    usageSource,
    costUsd: costNanoUsd === null ? undefined : Number(costNanoUsd) / 1e9,
    keyId: key.id,
    keyAlias: key.alias ?? undefined,
    userId: key.userId ?? undefined,
    teamId: key.teamId ?? undefined,
    organizationId: caller.organization?.id ?? key.organizationId ?? undefined,
    endUser: call.endUser || undefined,
    tags: call.tags.length > 0 ? call.tags : undefined,
    sessionId: call.sessionId ?? undefined,
    clientAddress: call.clientAddress,
    userAgent: call.userAgent,
    cacheHit: call.cacheHit || undefined,
    sent: progress.attempts,
    fallbacks: progress.fallbacks,
  }
}

const spanOf = ({ traceId, spanId, parentSpanId }: NonNullable<CallRecord['span']>) => ({
  traceId,
  spanId,
  parentSpanId,
})

const waitOf = (one: { policy: string; fromMs: number; toMs: number }, startedMs: number) =>
  [one.policy, one.fromMs - startedMs, one.toMs - startedMs] as const

/** The last one goes on until the end of the call where its answer is what the client got. */
function attemptsOf(
  { call, error, outcome, durationMs }: Settlement,
  attempts: readonly TracedAttempt[],
): AttemptRecord[] {
  const { startedMs, attempt } = call
  // The end of a stream that had begun is that of the call.
  const cut = outcome === 'success' ? undefined : error
  const made = attempts.map((one, at) =>
    recordOf(one.deployment, one.error ?? (at === attempts.length - 1 ? cut : undefined), {
      fromMs: one.fromMs - startedMs,
      toMs: one.error ? one.toMs - startedMs : durationMs,
      status: one.status,
      spanId: one.spanId,
    }),
  )
  // A client that left while its upstream was waited for: the policies hear of the end of the call alone.
  if (attempt?.deployment && attempt.sentMs > 0 && attempt.answeredMs === 0)
    made.push(
      recordOf(attempt.deployment, error, {
        fromMs: attempt.sentMs - startedMs,
        toMs: durationMs,
        status: attempt.status,
        spanId: attempt.spanId,
      }),
    )
  return made
}

function recordOf(
  { id, target }: Deployment,
  error: GatewayError | undefined,
  at: Pick<AttemptRecord, 'fromMs' | 'toMs' | 'status' | 'spanId'>,
): AttemptRecord {
  return {
    deployment: id,
    model: target.model,
    provider: target.provider.name,
    baseUrl: target.baseUrl,
    ...at,
    error: error?.kind,
    message: error?.message,
  }
}
