/** How close the bound of a call has to be, by what its budgets have left. */
import type { Call } from '../../core/call.ts'
import { requestedOutput } from '../../core/hub/requested-output.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import type { Limiter, LimitScope } from '../../core/tenancy/limits.ts'

/** A call may reserve this part of what is left without a closer look, so that calls at the same time have room too. */
export const freeShare = 0.25
/** The least that all vendors take as a maximum (OpenAI, Responses, `max_output_tokens`, 2026-11-23). */
export const outputTokensMin = 16
/** An input whose bytes would cost less than this part of what is left is not worth being counted. */
const inputShare = 1 / 16

/** The least that is left and not reserved in one of them; Infinity = none has a budget. */
export function leftIn(limiter: Limiter, scopes: readonly LimitScope[]): number {
  let left = Infinity
  for (const scope of scopes) left = Math.min(left, limiter.budgetLeft(scope))
  return left
}

/** Calls at the same time have room beside it. */
export const fitsWell = (bound: number | null, left: number): bound is number =>
  bound !== null && bound <= left * freeShare

/**
 * Has the input measured where its bytes, taken for tokens, would need much of what is left; undefined = there is no
 * need, or it would not help: `bounds` say the same afterwards.
 */
export function measureWhereTight(call: Call, left: number): Promise<void> | undefined {
  if (call.operation === 'count-tokens' || left <= 0 || call.measuredInput) return undefined
  const bound = nanoUsdOf(call.bounds().costNanoUsdMax)
  if (fitsWell(bound, left)) return undefined
  const chat = requestedMaximum(call)
  // What the input costs at most, and hardly any output.
  const least = chat ? leastOf(call, chat.tokens) : bound
  if (least === null || least === 0) return undefined
  if (least > left * inputShare) return call.measureInput()
  // Another maximum of output tokens is lowered to what is left.
  const isFixed = chat?.tokens !== undefined && call.models.settings.budgets.fit === 'refuse'
  return isFixed && bound !== null && bound > left && bound - least <= left ? call.measureInput() : undefined
}

/** With the least maximum of output tokens that it may get; null = not known. */
export const leastOf = (call: Call, requestedTokens: number | undefined): number | null =>
  nanoUsdOf(call.bounds(Math.min(requestedTokens ?? outputTokensMin, outputTokensMin)).costNanoUsdMax)

/** Of a chat, also of one that only its upstream can read; undefined = it is no chat. */
export function requestedMaximum(call: Call): { readonly tokens: number | undefined } | undefined {
  if (!call.format || !('withMaximum' in call.format)) return undefined
  try {
    const input = call.input()
    return input.kind === 'chat' ? { tokens: input.request.maxOutputTokens } : undefined
  } catch {
    return requestedOutput(call.body)
  }
}

/** As budgets count; null = not known. */
export const nanoUsdOf = (cost: bigint | null): number | null =>
  cost === null ? null : Number(cost > budgetNanoUsdMax ? budgetNanoUsdMax : cost)
