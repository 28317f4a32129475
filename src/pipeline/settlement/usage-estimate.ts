/**
 * What a request to an upstream used when the upstream does not say so, or says what cannot be. Each case, with what is
 * owed in it: docs/decisions/0012.
 */
import type { Attempt, Call, RunningCall } from '../../core/call.ts'
import { requestedOutput, positiveCount } from '../../core/hub/requested-output.ts'
import type { RequestedOutput } from '../../core/hub/requested-output.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { bodyTokens } from '../../lib/tokens/body-tokens.ts'
import { writtenCharacters } from './written-characters.ts'

const charactersPerToken = 4
/**
 * Output tokens of one answer where the request sets no maximum and the upstream may go on computing it. Above
 * nearly all chats; the models' own limits (up to 128,000) would take a key's whole limit for one lost answer.
 */
const defaultOutputTokens = 1024
/** Longer tokens exist (runs of spaces, dashes), but no answer of such tokens alone. */
const charactersPerTokenMax = 32
/** Shorter answers are not compared with their report. */
const comparedCharactersMin = 256
/** Bytes of a whole answer around its text. */
const envelopeBytes = 1024

/**
 * Of a request that was sent and has no report. Undefined = it cannot be estimated: only the upstream knows the length
 * of a recording.
 */
export function estimatedUsage(call: Call, attempt: Attempt): Usage | undefined {
  switch (call.operation) {
    case 'transcriptions':
    case 'pass-through':
      return undefined
    case 'images':
      // Not their tokens: without those of the output, the input alone would look like the whole cost.
      return { inputTokens: 0, outputTokens: 0, images: requestedImages(call) }
    case 'speech':
      return { inputTokens: 0, outputTokens: 0, characters: requestedCharacters(call) }
    case 'count-tokens':
      // Vendors' counters are free.
      return { inputTokens: 0, outputTokens: 0 }
    case 'chat':
    case 'completions':
      return { inputTokens: sentInput(call), outputTokens: outputTokens(call, attempt) }
    default:
      return { inputTokens: sentInput(call), outputTokens: 0 }
  }
}

/**
 * Tokens of the attempt that ends, before the call is settled: as reported, else estimated of an answer; `reserved`
 * where it is not known whether the upstream has read the request, and none of what it refused.
 */
export function tokensOfAttempt(call: Call, reserved: number): number {
  const { attempt } = call
  if (!attempt) return reserved
  const { status, relay } = attempt
  if (status >= 300) return 0
  const usage = attempt.usage ?? relay?.usage ?? (status === 0 ? undefined : estimatedUsage(call, attempt))
  return usage ? usage.inputTokens + usage.outputTokens : reserved
}

/**
 * Input of the present request: that of the client's body, or of what was made of it, where that is more (instructions
 * for what a model lacks, the answer before that is requested again). One prompt of a list is all of its request.
 */
export function sentInput(call: Call): number {
  const { body, attempt } = call
  const [piece, ...others] = attempt?.body ?? []
  const isOwn = others.length === 0 && piece instanceof Uint8Array && piece !== body?.bytes
  const own = isOwn ? jsonTokens(piece) : 0
  return attempt?.isSeries && own > 0 ? own : Math.max(call.estimatedInputTokens(), own)
}

function jsonTokens(bytes: Uint8Array): number {
  try {
    return bodyTokens(JsonBody.read(bytes))
  } catch {
    // Not JSON, or not within the limits of a client's body.
    return 0
  }
}

function outputTokens(call: Call, attempt: Attempt): number {
  if (attempt.relay || attempt.answerCharacters >= 0) return seenOutput(attempt)
  // A stream ends with its connection. What is no stream is computed to its end, also for a client that has left.
  const isCancelled = call.stream && attempt.status === 0
  return isCancelled ? 0 : requestedOutputTokens(call, attempt)
}

/** One event per token is counted; with more text per event the tokens are estimated from the characters. */
function seenOutput({ relay, answerCharacters }: Attempt): number {
  const characters = relay?.contentCharacters ?? Math.max(answerCharacters, 0)
  return Math.max(relay?.contentEvents ?? 0, Math.ceil(characters / charactersPerToken))
}

/**
 * The output that the client requested: its own maximum, else the operator's, else 1,024 tokens an answer. A maximum
 * that budgets set is a part of what is left in them, and no request for so much: it only bounds the others.
 */
function requestedOutputTokens(call: Call, { deployment, isSeries }: Attempt): number {
  const { answers, tokens } = requestedAnswers(call, isSeries)
  const defaultTokens = positiveCount(deployment?.target.options.max_tokens) ?? defaultOutputTokens
  const each = tokens === undefined ? defaultTokens : call.taken.setsMaximum ? Math.min(tokens, defaultTokens) : tokens
  const able = positiveCount(deployment?.info.max_output_tokens) ?? each
  return Math.min(each, able) * answers
}

function requestedAnswers(call: Call, isSeries: boolean): RequestedOutput {
  try {
    const input = call.input()
    if (input.kind !== 'chat') return { answers: 1, tokens: undefined }
    const { choices = 1, series = [], maxOutputTokens } = input.request
    return { answers: choices * (isSeries ? 1 : 1 + series.length), tokens: maxOutputTokens }
  } catch {
    // The forward lane also sends what the hub cannot decode.
    return requestedOutput(call.body)
  }
}

function requestedImages(call: Call): number {
  const count = call.body?.get('n')
  return Number(count) > 0 ? Number(count) : 1
}

/** Speech is billed as a whole, also when the client leaves early. */
function requestedCharacters(call: Call): number {
  const input = call.body?.get('input')
  return typeof input === 'string' ? input.length : 0
}

/** Operations whose report has tokens of a text beside it. */
const comparedOperations: ReadonlySet<string> = new Set(['chat', 'completions', 'embeddings', 'moderations', 'rerank'])

/**
 * The report with estimates in the place of counts that cannot be: none beside a text, fewer than a text has, or those
 * of a stream that broke off before its last count. The same object = it is believed.
 */
export function plausibleUsage(call: Call, attempt: Attempt, usage: Usage): Usage {
  const { operation } = call
  const { relay } = attempt
  if (!comparedOperations.has(operation) || usage.searchUnits) return usage
  const isMissingInput = usage.inputTokens === 0 && call.estimatedInputTokens() > 0
  const seen = seenOutput(attempt)
  const isPartial = relay !== undefined && !relay.complete && seen > usage.outputTokens
  if (!isMissingInput && !isPartial && !isBelowSeen(call, attempt, usage)) return usage
  return {
    ...usage,
    inputTokens: isMissingInput ? sentInput(call) : usage.inputTokens,
    outputTokens: Math.max(usage.outputTokens, seen),
  }
}

function isBelowSeen(call: Call, attempt: Attempt, { outputTokens }: Usage): boolean {
  const characters = attempt.relay?.contentCharacters ?? attempt.answerCharacters
  const isBelow =
    outputTokens === 0
      ? characters > 0
      : characters > comparedCharactersMin && characters > outputTokens * charactersPerTokenMax
  // An echoed prompt is no output. Chats have no such field.
  return isBelow && !(call.operation === 'completions' && call.body?.get('echo') === true)
}

/** Counts the text of a whole answer, where it is needed: without a report, or to compare the two. */
export function noteWholeAnswer(call: RunningCall, body: Uint8Array | string, usage: Usage | undefined): void {
  const isText = call.operation === 'chat' || call.operation === 'completions'
  if (!isText) return
  if (usage && usage.outputTokens > 0 && body.length <= envelopeBytes + usage.outputTokens * charactersPerTokenMax)
    return
  call.attempt!.answerCharacters = writtenCharacters(body) ?? (usage && usage.outputTokens > 0 ? -1 : body.length)
}

/** A whole answer that cannot be used. What is no JSON may be any page: not more than was asked for is owed for it. */
export function noteUnusableAnswer(call: RunningCall, body: Uint8Array): void {
  const isText = call.operation === 'chat' || call.operation === 'completions'
  if (!isText) return
  const attempt = call.attempt!
  attempt.answerCharacters =
    writtenCharacters(body) ?? Math.min(body.length, requestedOutputTokens(call, attempt) * charactersPerToken)
}
