/** What a call used when the upstream does not say, or does not live to say it. */
import type { Call } from '../core/call.ts'
import type { StreamRelay } from '../core/format.ts'
import type { Usage } from '../core/usage.ts'
import { bodyTokens } from '../lib/tokens/body-tokens.ts'

const charactersPerToken = 4

/** Takes over what the relay knows so far; the upstream's own report wins over any estimate. */
export function recordProgress(call: Call, relay: StreamRelay): void {
  call.progress = relay
}

/** Notes what the upstream has reported; undefined = nothing yet. */
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
  // Nobody but the upstream knows what these took: no estimate is better than a wrong one.
  if (call.operation === 'transcriptions' || call.operation === 'images') return
  const characters = relay?.contentCharacters ?? call.answerCharacters
  call.usage = {
    inputTokens: call.body ? bodyTokens(call.body) : 0,
    // A stream that sends a token at a time counts itself; one that sends more per event is measured.
    outputTokens: Math.max(relay?.contentEvents ?? 0, Math.ceil(characters / charactersPerToken)),
  }
  call.usageSource = 'estimated'
}

const parseCharactersMax = 256 * 1024
/** Names of the fields that hold what a model wrote, in the answers of all dialects. */
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

/** How many characters the model wrote in a whole answer; of a large one its length, which is nearly all text. */
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

/** No vendor bills its counter, and none was asked for an estimate. */
function countedForNothing(call: Call): void {
  call.usage = { inputTokens: 0, outputTokens: 0 }
  call.usageSource = 'estimated'
}

/** What is spoken is billed whole, also when the client leaves in the middle. */
function countCharacters(call: Call): void {
  const input = call.body?.get('input')
  if (typeof input !== 'string') return
  call.usage = { inputTokens: 0, outputTokens: 0, characters: input.length }
  call.usageSource = 'estimated'
}
