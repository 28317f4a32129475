/** The output that a body asks for, read without decoding it: upstreams take bodies that the hub has no words for. */
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject } from '../../lib/json/json-values.ts'

/** How many answers, and the maximum of output tokens of each; undefined = none is given. */
export interface RequestedOutput {
  readonly answers: number
  readonly tokens: number | undefined
}

/** The names of all dialects; each has its own. */
export function requestedOutput(body: JsonBody | undefined): RequestedOutput {
  const own = body?.get('generationConfig')
  const config = isObject(own) ? own : {}
  const choices = [body?.get('n'), body?.get('best_of'), config.candidateCount].map(one => positiveCount(one) ?? 1)
  const tokens = ['max_completion_tokens', 'max_output_tokens', 'max_tokens'].map(name =>
    positiveCount(body?.get(name)),
  )
  return {
    answers: Math.max(...choices) * promptsIn(body?.get('prompt')),
    tokens: tokens.find(one => one !== undefined) ?? positiveCount(config.maxOutputTokens),
  }
}

/** A list of texts or of lists of tokens holds several prompts, a list of tokens is one. */
function promptsIn(prompt: unknown): number {
  return Array.isArray(prompt) && prompt.length > 0 && typeof prompt[0] !== 'number' ? prompt.length : 1
}

/** Rounded up; undefined = it is no number above 0. */
export function positiveCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : undefined
}
