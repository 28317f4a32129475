/** Which calls may share answers by meaning, and what is compared of them. */
import type { SemanticCacheSettings } from '../core/cache/cache-settings.ts'
import type { Call } from '../core/call.ts'
import type { ChatRequest } from '../core/hub/chat.ts'
import { isPlain } from './cache-key.ts'
import { factsOf } from './prompt-facts.ts'

/** What is compared. */
export interface ComparedPrompt {
  /** Compared by its embedding. */
  readonly text: string
  /** What `factsOf` finds; two prompts share an answer only where it is equal. */
  readonly facts: string
  /** All other settings and messages of the call; two prompts share an answer only where it is equal. */
  readonly rest: string
}

/**
 * undefined = the call shares with equal ones alone: it has tools, pictures or fields that the hub has no word for, a
 * temperature above what is allowed (absent = the model's own, which is one), several turns, or a question whose facts
 * cannot be compared.
 */
export function comparedPrompt(call: Call, settings: SemanticCacheSettings): ComparedPrompt | undefined {
  if (!isPlain(call)) return undefined
  const input = call.input()
  if (input.kind !== 'chat' || !isAllowed(input.request, settings)) return undefined
  const { messages, maxOutputTokens, temperature, topP, topK, stop, seed, choices = 1, user } = input.request
  const last = messages.at(-1)
  const turns = messages.filter(({ role }) => role === 'user' || role === 'assistant')
  if (last?.role !== 'user' || (turns.length > 1 && !settings.severalTurns)) return undefined
  const text = last.parts.map(part => (part.type === 'text' ? part.text : '')).join('\n')
  if (text === '' || last.parts.some(part => part.type !== 'text')) return undefined
  const facts = factsOf(text)
  if (facts === undefined) return undefined
  const { frequencyPenalty, presencePenalty } = input.request
  const numbers = [maxOutputTokens, temperature, topP, topK, seed, choices, frequencyPenalty, presencePenalty]
  const rest = [messages.slice(0, -1), ...numbers, stop, user]
  return { text, facts, rest: JSON.stringify(rest) }
}

function isAllowed({ temperature, tools }: ChatRequest, { temperatureMax }: SemanticCacheSettings): boolean {
  return tools === undefined && temperature !== undefined && temperature <= temperatureMax
}
