/** The log: one JSON object per line, from an allow-list of fields. Of what clients send, only names and ids appear. */
import { outcomeText } from '../core/guardrails.ts'
import type { Settlement } from '../core/call.ts'
import type { VirtualKey } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import type { GatewayError } from '../core/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { bigintText, oneDecimalText } from '../lib/text.ts'
import { ByteWriter } from './byte-writer.ts'

/** The lowest level that is written; `off` = nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'off'
const ranks: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3, off: 4 }
const textLengthMax = 4000
const droppedShownMax = 50

/** Fields of a line; undefined = omitted. Strings are truncated to 4000 characters. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Never throws and never blocks on the reader of the log. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** One line for a settled call. */
  call(settlement: Settlement): void
  /** Resolves when all lines logged so far are written, or after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>
  /** Lines lost since the start: the reader of the output was too slow, or the write failed. */
  dropped(): number
  /** From now on `listener` hears of every line that is written, but for those of calls. */
  follow(listener: LineListener): void
}

/** Hears of lines of the log. Must not throw or wait. */
export type LineListener = (level: Exclude<LogLevel, 'off'>, message: string, fields: LogFields | undefined) => void

/** How a log is written. */
interface LogOptions {
  readonly level: LogLevel
  readonly clock: Clock
  readonly descriptor?: number
  /** Other processes write to it too. */
  readonly isShared?: boolean
}

/** `descriptor` = the file descriptor that lines are written to; absent = standard output. */
export function createLogger(options: LogOptions): Logger {
  const writer = new ByteWriter(options.descriptor ?? 1, options)
  const rank = ranks[options.level]
  const time = timestamps(options.clock)
  let follower: LineListener | undefined
  const at = (level: Exclude<LogLevel, 'off'>) => (message: string, fields?: LogFields) => {
    if (ranks[level] < rank) return
    follower?.(level, message, fields)
    writer.line(`{"time":"${time()}","level":"${level}","message":${text(message)}${rendered(fields)}}`)
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    call(settlement) {
      const { error } = settlement
      const level = error && isOurFault(error) ? 'error' : 'info'
      if (ranks[level] >= rank) writer.line(callLine(time(), level, settlement))
    },
    drain: timeoutMs => writer.drain(timeoutMs),
    dropped: () => writer.dropped,
    follow: listener => void (follower = listener),
  }
}

/** Whether only the operator can mend it: such calls are errors in the log. */
export function isOurFault({ kind }: GatewayError): boolean {
  return kind === 'internal' || kind === 'upstream-credentials' || kind === 'upstream-model-missing'
}

/** A template string: half the cost of JSON.stringify on an object (measured), and less garbage. */
function callLine(
  time: string,
  level: LogLevel,
  { call, outcome, status, error, usage, usageSource, costNanoUsd, durationMs }: Settlement,
): string {
  const { attempt, progress } = call
  const deployment = attempt?.deployment
  const { firstByteMs } = progress
  return (
    `{"time":"${time}","level":"${level}","message":"call","request_id":"${call.id}","route":"${call.route}"` +
    `,"model":${modelText(call.model)}` +
    `${deployment ? deploymentFields(deployment) : ',"deployment":null,"provider":null'}` +
    `,"status":${status},"outcome":"${outcome}","stream":${call.stream},"attempts":${progress.attempts}` +
    `,"duration_ms":${oneDecimalText(durationMs)}` +
    `,"first_byte_ms":${firstByteMs < 0 ? 'null' : oneDecimalText(firstByteMs)}` +
    `,"input_tokens":${usage?.inputTokens ?? 'null'},"output_tokens":${usage?.outputTokens ?? 'null'}` +
    `,"usage_source":"${usageSource}","cost_nano_usd":${costNanoUsd === null ? 'null' : bigintText(costNanoUsd)}` +
    `${call.requestId === call.id ? '' : `,"client_request_id":"${call.requestId}"`}` +
    `${call.clientCallId ? `,"client_call_id":"${call.clientCallId}"` : ''}` +
    `${keyFields(call.caller.key)},"client":"${call.clientAddress}"` +
    `,"user_agent":${userAgentText(call.userAgent)}` +
    `${call.guardrailOutcomes ? `,"guardrails":${text(outcomeText(call.guardrailOutcomes))}` : ''}` +
    `${attempt && attempt.dropped.length > 0 ? droppedField(attempt.dropped) : ''}${error ? errorFields(error) : ''}}`
  )
}

/** Fields that are the same for every call of a deployment or key, rendered once for each object. */
const deploymentFields = cachedByObject(
  (one: Deployment) => `,"deployment":${text(one.id)},"provider":${text(one.target.provider.name)}`,
)
const keyFields = cachedByObject(
  (key: VirtualKey) => `,"key":"${key.id}","user":${key.userId === null ? 'null' : text(key.userId)}`,
)
/** Only the last value is cached: successive calls often have the same model and the same client. */
const modelText = cachedLast(text)
const userAgentText = cachedLast(text)

function cachedByObject<T extends object>(render: (of: T) => string): (of: T) => string {
  const known = new WeakMap<T, string>()
  return of => {
    let line = known.get(of)
    if (line === undefined) known.set(of, (line = render(of)))
    return line
  }
}

function cachedLast(render: (value: string) => string): (value: string) => string {
  let last: string | undefined
  let line = ''
  return value => {
    if (value !== last) line = render((last = value))
    return line
  }
}

/** Names of the request's fields that were not sent to the upstream, at most 50. */
function droppedField(names: readonly string[]): string {
  return `,"dropped_params":[${names.slice(0, droppedShownMax).map(text).join(',')}]`
}

/** The stack of a thrown value, or its text where it has none. */
export function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

/** The stack is logged for `internal` errors only: for an unreachable upstream it is always the same. */
function errorFields(error: GatewayError): string {
  const { cause: thrown } = error
  const cause =
    thrown instanceof Error ? `,"cause":${text((error.kind === 'internal' && thrown.stack) || thrown.message)}` : ''
  return `,"error":"${error.kind}","error_message":${text(error.message)}${cause}`
}

function rendered(fields: LogFields | undefined): string {
  let out = ''
  if (fields)
    for (const [name, value] of Object.entries(fields))
      if (value !== undefined)
        out += `,${JSON.stringify(name)}:${typeof value === 'string' ? text(value) : JSON.stringify(value)}`
  return out
}

/**
 * A JSON string, truncated. Beyond JSON's own escapes (line ends, C0 controls) it escapes DEL, C1 controls, Unicode
 * line separators and bidirectional controls, which could manipulate a terminal.
 */
function text(value: string): string {
  const short = value.length > textLengthMax ? `${value.slice(0, textLengthMax)}...` : value
  const json = JSON.stringify(short)
  return /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/.test(json)
    ? json.replace(
        /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
        found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    : json
}

/** ISO 8601 in UTC with milliseconds. The text up to the second is cached: a busy gateway logs thousands in each. */
function timestamps(clock: Clock): () => string {
  let second = -1
  let prefix = ''
  return () => {
    const nowMs = clock.epochMs()
    const current = Math.floor(nowMs / 1000)
    if (current !== second) {
      second = current
      prefix = new Date(current * 1000).toISOString().slice(0, 20)
    }
    return `${prefix}${String(Math.floor(nowMs - current * 1000)).padStart(3, '0')}Z`
  }
}
