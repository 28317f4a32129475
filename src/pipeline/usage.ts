/** The usage of a call: the upstream's report, or an estimate without one. */
import type { Call } from '../core/call.ts'
import type { StreamRelay } from '../core/format.ts'
import type { Usage } from '../core/usage.ts'
import { bodyTokens } from '../lib/tokens/body-tokens.ts'

const charactersPerToken = 4

/** Records the relay's state; the upstream's own report replaces an estimate. */
export function recordProgress(call: Call, relay: StreamRelay): void {
  call.progress = relay
}

/** Records the upstream's report; undefined = none yet. */
export function recordUsage(call: Call, usage: Usage | undefined): void {
  if (!usage) return
  call.usage = usage
  call.usageSource = 'upstream'
}

/** Fills in the usage at settlement: reported, else estimated from what passed through. */
export function completeUsage(call: Call): void {
  const relay = call.progress
  if (!call.usage) recordUsage(call, relay?.usage)
  if (call.usage || !call.answered) return
  if (call.operation === 'speech') return countCharacters(call)
  if (call.operation === 'count-tokens') return countedForNothing(call)
  // Only the upstream knows the usage of these operations: no estimate is better than a wrong one.
  if (call.operation === 'transcriptions' || call.operation === 'images') return
  const characters = relay?.contentCharacters ?? call.answerCharacters
  call.usage = {
    inputTokens: call.body ? bodyTokens(call.body) : 0,
    // One event per token is counted; with more text per event the tokens are estimated from the characters.
    outputTokens: Math.max(relay?.contentEvents ?? 0, Math.ceil(characters / charactersPerToken)),
  }
  call.usageSource = 'estimated'
}

const parseCharactersMax = 256 * 1024
/** Names of the fields with generated text, in the answers of all dialects. */
const writtenFields = new Set([
  'content',
  'text',
  'reasoning_content',
  'refusal',
  'arguments',
  'thinking',
  'partial_json',
  'input',
])

/** The number of generated characters in a whole answer; for a large one its length, which is nearly all text. */
export function writtenCharacters(answer: Uint8Array | string): number {
  if (answer.length > parseCharactersMax) return answer.length
  try {
    return written(JSON.parse(typeof answer === 'string' ? answer : new TextDecoder().decode(answer)), false)
  } catch {
    return 0
  }
}

function written(value: unknown, isText: boolean): number {
  if (typeof value === 'string') return isText ? value.length : 0
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + written(one, isText), 0)
  let sum = 0
  for (const [name, one] of Object.entries(value)) sum += written(one, writtenFields.has(name))
  return sum
}

/** Vendors' counters are free, and an estimate needs no upstream. */
function countedForNothing(call: Call): void {
  call.usage = { inputTokens: 0, outputTokens: 0 }
  call.usageSource = 'estimated'
}

/** Speech is billed as a whole, also when the client leaves early. */
function countCharacters(call: Call): void {
  const input = call.body?.get('input')
  if (typeof input !== 'string') return
  call.usage = { inputTokens: 0, outputTokens: 0, characters: input.length }
  call.usageSource = 'estimated'
}
