/** What a call costs: integer arithmetic from usage and prices, no floats anywhere. */
import type { Prices } from '../core/usage/prices.ts'
import type { Usage, UsageCounts } from '../core/usage/usage.ts'
import { appliedPrices, regionPercent } from './price-variants.ts'
import type { PriceTerms } from './price-variants.ts'
import { inputClasses, outputClasses } from './token-classes.ts'

const unitsPerPrice = 1_000_000n

/** What a cost depends on beside usage and prices. */
export interface CostTerms extends PriceTerms {
  /** The prices of another model of the same vendor, for `Usage.otherModels`; absent = they are not known. */
  readonly pricesOfModel?: ((model: string) => Prices | null) | undefined
}

/**
 * Cost in nano-dollars, rounded half up once at the end; null when a used unit, or what served the call, has no known
 * price. Tokens of a kind without a price of its own (cached, audio, image, ...) are charged as plain input or output.
 */
export function costNanoUsd(usage: Usage, prices: Prices | null, terms: CostTerms): bigint | null {
  if (!prices) return null
  if (prices.isFee) return routedCost(usage, prices, terms)
  const { served, otherModels } = usage
  const own = otherModels ? withoutOthers(usage) : usage
  const applied = appliedPrices(prices, served, own.inputTokens, terms)
  if (!applied) return null
  if (!otherModels && !served?.region) {
    const cost = costInNumbers(usage, applied)
    if (cost !== undefined) return cost
  }
  const percent = regionPercent(prices, served, terms.atMs)
  if (percent === null) return null
  const amount = amountOf(own, applied, BigInt(percent))
  const others = otherModels ? otherAmounts(usage, terms) : 0n
  return amount === null || others === null ? null : rounded(amount + others)
}

/** The router's fee and what the model that it chose costs; null = that is not known. */
function routedCost({ routedModel, ...usage }: Usage, { isFee: _, ...fee }: Prices, terms: CostTerms): bigint | null {
  const chosen = routedModel === undefined ? null : (terms.pricesOfModel?.(routedModel) ?? null)
  if (!chosen || chosen.isFee) return null
  const ofModel = costNanoUsd(usage, chosen, terms)
  const { inputTokens, outputTokens } = usage
  const ofRouter = costNanoUsd({ inputTokens, outputTokens }, fee, terms)
  return ofModel === null || ofRouter === null ? null : ofModel + ofRouter
}

/** Amounts are sums in nano-dollars times a million (prices are for a million) and times a hundred (percent). */
const rounded = (amount: bigint): bigint => (amount + unitsPerPrice * 50n) / (unitsPerPrice * 100n)

/** The usage without the tokens of other models. */
function withoutOthers({ otherModels = [], ...usage }: Usage): Usage {
  const own: Usage = { ...usage }
  for (const { usage: other } of otherModels)
    for (const name of Object.keys(other) as (keyof Usage)[]) {
      const [all, part] = [own[name], other[name]]
      if (typeof all === 'number' && typeof part === 'number')
        (own[name as keyof UsageCounts] as number) = Math.max(all - part, 0)
    }
  return own
}

function otherAmounts({ otherModels = [], served }: Usage, terms: CostTerms): bigint | null {
  let total = 0n
  for (const { model, usage } of otherModels) {
    const prices = terms.pricesOfModel?.(model)
    const applied = prices && appliedPrices(prices, served, usage.inputTokens, terms)
    const percent = prices && regionPercent(prices, served, terms.atMs)
    const amount = applied && percent != null ? amountOf(usage, applied, BigInt(percent)) : null
    if (amount === null) return null
    total += amount
  }
  return total
}

/**
 * The fast path of nearly every call: plain text, in floating-point integers. Undefined = other units are used, or the
 * sum is beyond 2^53 and would be inexact.
 */
function costInNumbers(usage: Usage, prices: Prices): bigint | undefined {
  if (usage.cachedInputTokens || usage.cacheWriteTokens || usage.inputAudioTokens || usage.outputAudioTokens)
    return undefined
  if (usage.inputImageTokens || usage.outputImageTokens || usage.inputVideoTokens || usage.outputVideoTokens)
    return undefined
  if (hasMediaUnits(usage) || hasToolUnits(usage) || hasRequestPrice(prices)) return undefined
  if (usage.reasoningTokens && (prices.reasoning !== undefined || prices.unknown)) return undefined
  // Embedding models have no output price and no output tokens.
  if (prices.input === undefined || (prices.output === undefined && usage.outputTokens > 0)) return undefined
  const total = usage.inputTokens * Number(prices.input) + usage.outputTokens * Number(prices.output ?? 0n)
  if (total > Number.MAX_SAFE_INTEGER) return undefined
  const rest = total % 1e6
  return BigInt((total - rest) / 1e6 + (rest >= 500_000 ? 1 : 0))
}

const hasRequestPrice = ({ request, requestAtMost }: Prices): boolean => Boolean(request ?? requestAtMost)

/** true = something was used that is not counted in tokens, or may be billed instead of them. */
function hasMediaUnits(usage: UsageCounts): boolean {
  return Boolean(
    usage.searchUnits || usage.images || usage.audioSeconds || usage.videoSeconds || usage.characters || usage.pages,
  )
}

/** true = the vendor's tools were used, which are billed beside the tokens. */
function hasToolUnits(usage: UsageCounts): boolean {
  return Boolean(
    usage.webSearches ||
      usage.webSearchPreviews ||
      usage.mapsQueries ||
      usage.groundedPrompts ||
      usage.groundingQueries ||
      usage.fileSearches ||
      usage.codeSessions ||
      usage.otherToolUses ||
      usage.cacheStorageTokenHours,
  )
}

/** In hundredths of a price; `known` = every part of it has a price. */
interface Sum {
  readonly total: bigint
  readonly known: boolean
}

/** See `rounded`; null = a part of it has no price. */
function amountOf(usage: Usage, prices: Prices, percent: bigint): bigint | null {
  const tools = toolCost(usage, prices)
  if (!tools.known) return null
  if (isFree(prices)) return tools.total * 100n
  if (prices.request === undefined && prices.requestAtMost !== undefined) return null
  const tokens = tokenCost(usage, prices)
  const units = mediaCost(usage, prices)
  // Vendors may report several units and bill by one: tokens where these have a price, else images, seconds and so on.
  const hasTokens = usage.inputTokens > 0 || usage.outputTokens > 0
  const known = units.priced || (tokens.known && (hasTokens || !hasMediaUnits(usage)))
  if (!known) return null
  return tokens.total * percent + (units.total + tools.total + (prices.request ?? 0n)) * 100n
}

/** Tokens have the price 0 and nothing else has a price: the model is free, also where other units are reported. */
export function isFree(prices: Prices): boolean {
  const { input, output, image, character, audioSecond, videoSecond, page, searchUnit } = prices
  const request = prices.request ?? prices.requestAtMost
  const others = image ?? character ?? audioSecond ?? videoSecond ?? page ?? searchUnit ?? request
  return input === 0n && output === 0n && others === undefined
}

function tokenCost(usage: UsageCounts, prices: Prices): Sum {
  const inputs = inputClasses(usage, prices)
  if (!inputs) return { total: 0n, known: false }
  let total = 0n
  let known = true
  for (const [tokens, price] of [...inputs, ...outputClasses(usage, prices)]) {
    if (tokens === 0) continue
    if (price === undefined) known = false
    else total += BigInt(tokens) * price
  }
  return { total, known }
}

function mediaCost(usage: UsageCounts, prices: Prices): { total: bigint; priced: boolean } {
  const seconds = usage.audioSeconds ? Math.max(usage.audioSeconds, prices.audioSecondsMin ?? 0) : 0
  const parts: [number | undefined, bigint | undefined][] = [
    [usage.images, prices.image],
    [usage.characters, prices.character],
    [seconds, prices.audioSecond],
    [usage.videoSeconds, prices.videoSecond],
    [usage.pages, prices.page],
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

/** Each tool that was used is billed, and has to have a price. */
function toolCost(usage: UsageCounts, prices: Prices): Sum {
  let total = 0n
  let known = !usage.otherToolUses
  const add = (units: number | undefined, price: bigint | undefined) => {
    if (!units) return
    if (price === undefined) known = false
    else total += unitAmount(units, price)
  }
  add(usage.webSearches, prices.webSearch)
  add(usage.webSearchPreviews, prices.webSearchPreview)
  add(usage.fileSearches, prices.fileSearch)
  add(usage.codeSessions, prices.codeSession)
  add(usage.cacheStorageTokenHours, prices.cacheStorageTokenHour)
  // Gemini bills a grounded answer by one of the two, by its model.
  if (prices.groundingQuery !== undefined) add(usage.groundingQueries, prices.groundingQuery)
  else add(usage.groundedPrompts, prices.groundedPrompt)
  if (prices.mapsQuery !== undefined) add(usage.mapsQueries, prices.mapsQuery)
  else add(usage.mapsPrompts, prices.mapsPrompt)
  return { total, known }
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
  // The leading 1 keeps the zeros in front of the digits.
  const digits = String(1_000_000_000 + rest)
  let end = digits.length
  while (digits.charCodeAt(end - 1) === 48) end--
  return `${whole}.${digits.slice(1, end)}`
}
