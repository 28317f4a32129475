/** What the ledger keeps of a call that failed, or that needed more than one attempt (docs/decisions/0117). */
import type { GatewayError } from '../errors.ts'
import type { FailedAttempt, Settlement } from '../call.ts'
import { refusesStorage } from './storage-refusal.ts'

/** An attempt as rows show it. */
export interface ShownAttempt {
  readonly deployment_id: string
  /** The public name that the deployment has. */
  readonly model: string
  readonly provider: string
  /** The name that the model has at its upstream; null = it has none. */
  readonly upstream_model: string | null
  /** The HTTP status that the upstream answered with; null = it did not answer. */
  readonly status: number | null
  /** The kind of error that it has ended with; null = it has answered. */
  readonly error_kind: string | null
  /** What the upstream said, without secrets, shortened; null = nothing, or it is not kept. */
  readonly error_message: string | null
  /** Milliseconds from the beginning of the call. */
  readonly started_ms: number
  readonly duration_ms: number
}

/** The ledger cuts texts at it. */
const messageLengthMax = 512
/** Of each attempt; where the list would be too long the next one counts. */
const attemptMessageLengths = [300, 120, 40, 0]
/** Of the list in JSON, which is that of columns of its kind. */
const listLengthMax = 4096

const shortened = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, Math.max(0, lengthMax - 3))}...`

/** Whether the words may be kept: an upstream's may repeat what was said. */
const keepsWords = ({ call }: Settlement): boolean => call.progress.attempts === 0 || !refusesStorage(call)

/** The sentence that the client was answered with; undefined = the call has not failed, or it is not kept. */
export function errorMessageOf(end: Settlement): string | undefined {
  return end.error && keepsWords(end) ? shortened(end.error.message, messageLengthMax) : undefined
}

/** A JSON list of `ShownAttempt`; undefined = nothing failed, or nothing was sent. */
export function attemptListOf(end: Settlement): string | undefined {
  const { call, error } = end
  const { failedAttempts } = call
  if (error === undefined && failedAttempts === undefined) return undefined
  const attempts = (failedAttempts ?? []).map(one => shownAttempt(one, end))
  const last = lastAttempt(end)
  if (last) attempts.push(shownAttempt(last, end))
  return attempts.length > 0 ? boundedJson(attempts) : undefined
}

/** The attempt that ended together with the call: it has answered, was cut, or its client left. */
function lastAttempt({ call, error, durationMs }: Settlement): (Omit<FailedAttempt, 'error'> & EndedWith) | undefined {
  const { attempt, progress, failedAttempts } = call
  const { sentMs, attempts: number } = progress
  if (!attempt?.deployment || sentMs === 0 || failedAttempts?.at(-1)?.number === number) return undefined
  const endedMs = call.startedMs + durationMs
  return { number, deployment: attempt.deployment, status: attempt.status, error, sentMs, endedMs }
}

interface EndedWith {
  readonly error: GatewayError | undefined
}

function shownAttempt(one: Omit<FailedAttempt, 'error'> & EndedWith, end: Settlement): ShownAttempt {
  const { deployment, status, error, endedMs } = one
  const sentMs = one.sentMs === 0 ? endedMs : one.sentMs
  return {
    deployment_id: deployment.id,
    model: deployment.modelName,
    provider: deployment.target.provider.name,
    upstream_model: deployment.target.model || null,
    status: status === 0 ? null : status,
    error_kind: error?.kind ?? null,
    error_message: error && keepsWords(end) ? error.message : null,
    started_ms: Math.max(0, Math.round(sentMs - end.call.startedMs)),
    duration_ms: Math.max(0, Math.round(endedMs - sentMs)),
  }
}

/** With shorter messages where it is too long, then without attempts from the middle. */
function boundedJson(attempts: readonly ShownAttempt[]): string {
  for (const lengthMax of attemptMessageLengths) {
    const text = JSON.stringify(attempts.map(one => withMessage(one, lengthMax)))
    if (text.length <= listLengthMax) return text
  }
  const kept = attempts.map(one => withMessage(one, 0))
  while (kept.length > 1 && JSON.stringify(kept).length > listLengthMax) kept.splice(Math.floor(kept.length / 2), 1)
  return JSON.stringify(kept)
}

function withMessage(one: ShownAttempt, lengthMax: number): ShownAttempt {
  const text = one.error_message
  return { ...one, error_message: text === null || lengthMax === 0 ? null : shortened(text, lengthMax) }
}

/** The attempts of a row; null = it has none, or the text was changed by hand and is no list. */
export function attemptsOf(text: string | null): readonly ShownAttempt[] | null {
  if (text === null) return null
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? (list as ShownAttempt[]) : null
  } catch {
    return null
  }
}
