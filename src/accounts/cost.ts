/** What a call costs: integer arithmetic from usage and prices, no floats anywhere. */
import type { Prices, Usage } from '../core/usage.ts'

const unitsPerPrice = 1_000_000n

/**
 * Cost in nano-dollars, rounded half up once at the end; null when a used unit has no known price. `atMs` = time of
 * the call in epoch milliseconds; `inBatch` = it was part of a vendor's batch. Tokens of a kind without a price of its
 * own (cached, audio, image, ...) are charged as plain input or output.
 */
export function costNanoUsd(usage: Usage, prices: Prices | null, atMs: number, inBatch = false): bigint | null {
  if (!prices) return null
  const applied = appliedPrices(usage, pricesAt(prices, atMs), inBatch)
  return costInNumbers(usage, applied) ?? costInBigints(usage, applied)
}

/** Applies batch prices and the tiers for long inputs. Without batch prices, a batch costs the normal price. */
function appliedPrices(usage: Usage, prices: Prices, inBatch: boolean): Prices {
  let applied = (inBatch && prices.batch) || prices
  if (applied.tiers)
    for (const tier of applied.tiers) if (usage.inputTokens > tier.aboveInputTokens) applied = tier.prices
  return applied
}

/** The prices in force at `atMs` (epoch milliseconds). `later` is sorted by `fromMs`. */
export function pricesAt(prices: Prices, atMs: number): Prices {
  return prices.later?.findLast(later => later.fromMs <= atMs)?.prices ?? prices
}

/**
 * The fast path of nearly every call: plain text, in floating-point integers. Undefined = other units are used, or the
 * sum is beyond 2^53 and would be inexact.
 */
function costInNumbers(usage: Usage, prices: Prices): bigint | undefined {
  if (usage.cachedInputTokens || usage.cacheWriteTokens || usage.inputAudioTokens || usage.outputAudioTokens)
    return undefined
  if (usage.inputImageTokens || usage.outputImageTokens || hasOtherUnits(usage) || prices.request) return undefined
  if (usage.reasoningTokens && prices.reasoning !== undefined) return undefined
  // Embedding models have no output price and no output tokens.
  if (prices.input === undefined || (prices.output === undefined && usage.outputTokens > 0)) return undefined
  const total = usage.inputTokens * Number(prices.input) + usage.outputTokens * Number(prices.output ?? 0n)
  if (total > Number.MAX_SAFE_INTEGER) return undefined
  const rest = total % 1e6
  return BigInt((total - rest) / 1e6 + (rest >= 500_000 ? 1 : 0))
}

/** true = something was used that is not counted in tokens. */
function hasOtherUnits(usage: Usage): boolean {
  return Boolean(usage.searchUnits || usage.images || usage.audioSeconds || usage.characters)
}

/** `total` in nano-dollars times a million; `known` = every part of it has a price. */
interface Sum {
  readonly total: bigint
  readonly known: boolean
}

function costInBigints(usage: Usage, prices: Prices): bigint | null {
  if (isFree(prices)) return 0n
  const tokens = tokenCost(usage, prices)
  const units = unitCost(usage, prices)
  // Vendors may report several units and bill by one: tokens where these have a price, else images, seconds and so on.
  const hasTokens = usage.inputTokens > 0 || usage.outputTokens > 0
  const known = units.priced || (tokens.known && (hasTokens || !hasOtherUnits(usage)))
  if (!known) return null
  return (tokens.total + units.total + (prices.request ?? 0n) + unitsPerPrice / 2n) / unitsPerPrice
}

/** Tokens have the price 0 and nothing else has a price: the model is free, also where other units are reported. */
function isFree(prices: Prices): boolean {
  const { input, output, image, character, audioSecond, searchUnit, request } = prices
  const others = image ?? character ?? audioSecond ?? searchUnit ?? request
  return input === 0n && output === 0n && others === undefined
}

function tokenCost(usage: Usage, prices: Prices): Sum {
  const { input, output } = prices
  const cached = usage.cachedInputTokens ?? 0
  const cacheWrite = usage.cacheWriteTokens ?? 0
  const cacheWriteOneHour = Math.min(usage.cacheWriteOneHourTokens ?? 0, cacheWrite)
  const inputAudio = usage.inputAudioTokens ?? 0
  const inputImage = usage.inputImageTokens ?? 0
  const outputAudio = usage.outputAudioTokens ?? 0
  const outputImage = outputImageTokens(usage, prices)
  const reasoning = prices.reasoning === undefined ? 0 : (usage.reasoningTokens ?? 0)
  const write = prices.cacheWrite ?? input
  const parts: [number, bigint | undefined][] = [
    [Math.max(usage.inputTokens - cached - cacheWrite - inputAudio - inputImage, 0), input],
    [Math.max(usage.outputTokens - outputAudio - outputImage - reasoning, 0), output],
    [cached, prices.cacheRead ?? input],
    [cacheWrite - cacheWriteOneHour, write],
    [cacheWriteOneHour, prices.cacheWriteOneHour ?? write],
    [inputAudio, prices.inputAudio ?? input],
    [inputImage, prices.inputImage ?? input],
    [outputAudio, prices.outputAudio ?? output],
    [outputImage, prices.outputImage ?? output],
    [reasoning, prices.reasoning],
  ]
  let total = 0n
  let known = true
  for (const [tokens, price] of parts) {
    if (tokens === 0) continue
    if (price === undefined) known = false
    else total += BigInt(tokens) * price
  }
  return { total, known }
}

/** Image tokens of the output; without such a count, all output tokens of a call that made images. */
function outputImageTokens(usage: Usage, prices: Prices): number {
  if (usage.outputImageTokens !== undefined) return usage.outputImageTokens
  return usage.images && prices.outputImage !== undefined ? usage.outputTokens : 0
}

function unitCost(usage: Usage, prices: Prices): { total: bigint; priced: boolean } {
  const seconds = usage.audioSeconds ? Math.max(usage.audioSeconds, prices.audioSecondsMin ?? 0) : 0
  const parts: [number | undefined, bigint | undefined][] = [
    [usage.images, prices.image],
    [usage.characters, prices.character],
    [seconds, prices.audioSecond],
    [usage.searchUnits, prices.searchUnit],
  ]
  let total = 0n
  let priced = false
  for (const [units, price] of parts) {
    if (!units || price === undefined) continue
    total += unitAmount(units, price)
    priced = true
  }
  return { total, priced }
}

/** In nano-dollars times a million. Seconds have fractions, so units are counted in millionths to stay in integers. */
function unitAmount(units: number, price: bigint): bigint {
  const micros = BigInt(Math.round(units * 1e6))
  return (micros * price + unitsPerPrice / 2n) / unitsPerPrice
}

/** Nano-dollars as a decimal text in dollars, without loss: 1500000n -> `0.0015`. */
export function nanoUsdToText(nanoUsd: bigint): string {
  // Below nine million dollars (2^53 nano-dollars) a number is exact and much cheaper than a bigint.
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
