/**
 * The tokens of a call in classes that do not overlap, each with the price it is charged at. Vendors count cached audio
 * both as cached and as audio; a price may be charged for it once.
 */
import type { PriceName, Prices } from '../core/usage/prices.ts'
import type { UsageCounts } from '../core/usage/usage.ts'

/** Tokens, and the price of one; undefined = it has no known price. */
export type TokenClass = readonly [tokens: number, price: bigint | undefined]

/** The price of a kind of token: its own, else that of what it is a part of; undefined = not known. */
function priceOf(prices: Prices, name: PriceName, otherwise: bigint | undefined): bigint | undefined {
  return prices[name] ?? (prices.unknown?.includes(name) ? undefined : otherwise)
}

/** Kinds of input that are counted beside text, and may be read from the cache as text is. */
const inputKinds = [
  { tokens: 'inputAudioTokens', cached: 'cachedAudioTokens', price: 'inputAudio', cachedPrice: 'cacheReadAudio' },
  { tokens: 'inputImageTokens', cached: 'cachedImageTokens', price: 'inputImage', cachedPrice: 'cacheReadImage' },
  { tokens: 'inputVideoTokens', cached: undefined, price: 'inputVideo', cachedPrice: undefined },
] as const

/**
 * The classes of the input: their tokens sum up to `inputTokens`, also where the parts exceed it. null = it depends on
 * how much of the cached input is audio (or pictures, video): the upstream did not say, and it has other prices.
 */
export function inputClasses(usage: UsageCounts, prices: Prices): TokenClass[] | null {
  const { input } = prices
  const all = usage.inputTokens
  const cached = Math.min(usage.cachedInputTokens ?? 0, all)
  const written = Math.min(usage.cacheWriteTokens ?? 0, all - cached)
  const oneHour = Math.min(usage.cacheWriteOneHourTokens ?? 0, written)
  const twelveHours = Math.min(usage.cacheWriteTwelveHourTokens ?? 0, written - oneHour)
  const cachedText = priceOf(prices, 'cacheRead', input)
  // A price for five minutes is none for an hour, nor for twelve.
  const longWrite = prices.cacheWrite === undefined ? priceOf(prices, 'cacheWrite', input) : undefined
  const classes: TokenClass[] = [
    [written - oneHour - twelveHours, priceOf(prices, 'cacheWrite', input)],
    [oneHour, priceOf(prices, 'cacheWriteOneHour', longWrite)],
    [twelveHours, priceOf(prices, 'cacheWriteTwelveHour', longWrite)],
  ]
  let [plainLeft, cachedLeft] = [all - cached - written, cached]
  for (const kind of inputKinds) {
    const tokens = Math.min(usage[kind.tokens] ?? 0, plainLeft + cachedLeft)
    if (tokens === 0) continue
    const price = priceOf(prices, kind.price, input)
    const plainCached = prices[kind.price] === undefined && price !== undefined ? cachedText : undefined
    const cachedPrice = kind.cachedPrice ? priceOf(prices, kind.cachedPrice, plainCached) : plainCached
    const [least, most] = [Math.max(tokens - plainLeft, 0), Math.min(tokens, cachedLeft)]
    const said = kind.cached && usage[kind.cached]
    if (said === undefined && least !== most && !isIndifferent({ price, cachedPrice, input, cachedText })) return null
    const ofCache = Math.min(Math.max(said ?? least, least), most)
    classes.push([ofCache, cachedPrice], [tokens - ofCache, price])
    cachedLeft -= ofCache
    plainLeft -= tokens - ofCache
  }
  const explicit = Math.min(usage.explicitCachedTokens ?? 0, cachedLeft)
  const explicitPrice = prices.cacheReadExplicit ?? (prices.cacheRead === undefined ? input : undefined)
  classes.push([plainLeft, input], [cachedLeft - explicit, cachedText], [explicit, explicitPrice])
  return classes
}

interface KindPrices {
  readonly price: bigint | undefined
  readonly cachedPrice: bigint | undefined
  readonly input: bigint | undefined
  readonly cachedText: bigint | undefined
}

/** true = the sum is the same, however much of the cached input is of this kind. */
function isIndifferent({ price, cachedPrice, input, cachedText }: KindPrices): boolean {
  if (price === undefined || cachedPrice === undefined || input === undefined || cachedText === undefined) return false
  return price - cachedPrice === input - cachedText
}

/** The classes of the output: their tokens sum up to `outputTokens`. Reasoning without a price of its own is text. */
export function outputClasses(usage: UsageCounts, prices: Prices): TokenClass[] {
  const { output } = prices
  const parts: TokenClass[] = [
    [usage.outputAudioTokens ?? 0, priceOf(prices, 'outputAudio', output)],
    [outputImageTokens(usage, prices), priceOf(prices, 'outputImage', output)],
    [usage.outputVideoTokens ?? 0, priceOf(prices, 'outputVideo', output)],
    [usage.reasoningTokens ?? 0, priceOf(prices, 'reasoning', output)],
  ]
  let left = usage.outputTokens
  const classes: TokenClass[] = []
  for (const [said, price] of parts) {
    const tokens = Math.min(said, left)
    if (tokens > 0) classes.push([tokens, price])
    left -= tokens
  }
  classes.push([left, output])
  return classes
}

/** Image tokens of the output; without such a count, all output tokens of a call that made images. */
function outputImageTokens(usage: UsageCounts, prices: Prices): number {
  if (usage.outputImageTokens !== undefined) return usage.outputImageTokens
  const hasPrice = prices.outputImage !== undefined || prices.unknown?.includes('outputImage')
  return usage.images && hasPrice ? usage.outputTokens : 0
}
