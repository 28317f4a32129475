/** What a call costs: integer arithmetic from tokens and prices, no floats anywhere. */
import type { Prices, Usage } from '../core/usage.ts'

const tokensPerPrice = 1_000_000n

/**
 * Nano-dollars, rounded half up once at the end; null when the price is not known. A component without
 * a price of its own (cache, audio) is charged as plain input or output: never as nothing.
 */
export function costNanoUsd(usage: Usage, prices: Prices | null): bigint | null {
  if (!prices) return null
  return costInNumbers(usage, prices) ?? costInBigints(usage, prices)
}

/** Nearly every call: plain text, small enough that a number holds the sum exactly. Undefined = it does not. */
function costInNumbers(usage: Usage, prices: Prices): bigint | undefined {
  if (usage.cachedInputTokens || usage.cacheWriteTokens || usage.inputAudioTokens || usage.outputAudioTokens) return undefined
  const total = usage.inputTokens * Number(prices.input) + usage.outputTokens * Number(prices.output)
  if (total > Number.MAX_SAFE_INTEGER) return undefined
  const rest = total % 1e6
  return BigInt((total - rest) / 1e6 + (rest >= 500_000 ? 1 : 0))
}

function costInBigints(usage: Usage, prices: Prices): bigint {
  const cached = usage.cachedInputTokens ?? 0
  const written = usage.cacheWriteTokens ?? 0
  const writtenOneHour = Math.min(usage.cacheWriteOneHourTokens ?? 0, written)
  const inputAudio = usage.inputAudioTokens ?? 0
  const outputAudio = usage.outputAudioTokens ?? 0
  let total = amount(Math.max(usage.inputTokens - cached - written - inputAudio, 0), prices.input)
  total += amount(Math.max(usage.outputTokens - outputAudio, 0), prices.output)
  if (cached > 0) total += amount(cached, prices.cacheRead ?? prices.input)
  if (written > 0) {
    const write = prices.cacheWrite ?? prices.input
    total += amount(written - writtenOneHour, write)
    total += amount(writtenOneHour, prices.cacheWriteOneHour ?? write)
  }
  if (inputAudio > 0) total += amount(inputAudio, prices.inputAudio ?? prices.input)
  if (outputAudio > 0) total += amount(outputAudio, prices.outputAudio ?? prices.output)
  return (total + tokensPerPrice / 2n) / tokensPerPrice
}

function amount(tokens: number, pricePerMillion: bigint): bigint {
  return tokens === 0 ? 0n : BigInt(tokens) * pricePerMillion
}

/** Dollars as decimal text without loss: 1500000n -> `0.0015`. */
export function nanoUsdToText(nanoUsd: bigint): string {
  // Below nine million dollars a float holds every nano-dollar exactly, and is far cheaper than a bigint.
  const small = Number(nanoUsd)
  const exact = Number.isSafeInteger(small)
  const whole = exact ? Math.floor(small / 1e9) : nanoUsd / 1_000_000_000n
  const rest = exact ? small - Math.floor(small / 1e9) * 1e9 : Number(nanoUsd % 1_000_000_000n)
  if (rest === 0) return String(whole)
  let digits = String(rest).padStart(9, '0')
  let end = digits.length
  while (digits.charCodeAt(end - 1) === 48) end--
  digits = digits.slice(0, end)
  return `${whole}.${digits}`
}
