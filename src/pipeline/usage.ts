/** What a call used when the upstream does not say, or does not live to say it. */
import type { Call } from '../core/call.ts'
import type { StreamRelay } from '../core/format.ts'
import type { Usage } from '../core/usage.ts'
import type { JsonBody } from '../lib/json-body.ts'

const charactersPerToken = 4
const parseBytesMax = 256 * 1024

/** Takes over what the relay knows so far; the upstream's own report wins over any estimate. */
export function recordProgress(call: Call, relay: StreamRelay): void {
  call.progress = relay
}

/** Fills in the usage at settlement: reported, else estimated from what passed through. */
export function completeUsage(call: Call): void {
  const relay = call.progress
  if (!call.usage && relay?.usage) {
    call.usage = relay.usage
    call.usageSource = 'upstream'
  }
  if (call.usage || !call.answered) return
  if (call.operation === 'speech') return countCharacters(call)
  // Nobody but the upstream knows what these took: no estimate is better than a wrong one.
  if (call.operation === 'transcriptions' || call.operation === 'images') return
  const characters = relay?.contentCharacters ?? 0
  call.usage = {
    inputTokens: call.body ? estimateInputTokens(call.body) : 0,
    // A stream that sends a token at a time counts itself; one that sends more per event is measured.
    outputTokens: Math.max(relay?.contentEvents ?? 0, Math.ceil(characters / charactersPerToken)),
  }
  call.usageSource = 'estimated'
}

/** What is spoken is billed whole, also when the client leaves in the middle. */
function countCharacters(call: Call): void {
  const input = call.body?.get('input')
  if (typeof input !== 'string') return
  call.usage = { inputTokens: 0, outputTokens: 0, characters: input.length }
  call.usageSource = 'estimated'
}

/** Measured in seconds, pictures, characters or searches, and in no tokens at all. */
export function hasOnlyOtherUnits({ inputTokens, outputTokens, ...units }: Usage): boolean {
  if (inputTokens > 0 || outputTokens > 0) return false
  return Boolean(units.searchUnits || units.images || units.audioSeconds || units.characters)
}

/** About four characters of text a token; good to some per cent for prose, and marked as an estimate. */
export function estimateInputTokens(body: JsonBody): number {
  if (body.size > parseBytesMax) return Math.ceil(body.size / charactersPerToken)
  let characters = 0
  for (const field of ['messages', 'prompt', 'input', 'tools']) characters += textLength(body.get(field), 0)
  return Math.ceil(characters / charactersPerToken)
}

function textLength(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.startsWith('data:') ? 0 : value.length
  if (typeof value !== 'object' || value === null || depth > 8) return 0
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + textLength(item, depth + 1), 0)
  let sum = 0
  for (const [key, item] of Object.entries(value))
    if (key !== 'role' && key !== 'type' && key !== 'id') sum += textLength(item, depth + 1)
  return sum
}
