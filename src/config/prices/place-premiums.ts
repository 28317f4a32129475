/**
 * What vendors charge on top of their list where a deployment computes in one region. The list has the prices of their
 * global endpoints; Amazon's list has both, under names of their own (`us.`, `eu.`, `global.`).
 */
import type { Deployment } from '../../core/deployment.ts'
import type { HourPrices, LaterPrices, Prices, PriceTier } from '../../core/usage/prices.ts'
import type { Provider, Target } from '../../core/provider.ts'
import { isTokenUnit, priceUnits } from './list-prices.ts'
import type { PriceUnit } from './list-prices.ts'

/** What shows where a deployment computes, and which model. */
export type PlacedTarget = Pick<Target, 'model' | 'baseUrl' | 'options'> & {
  readonly provider: Pick<Provider, 'name'>
}

type PricedFacts = Pick<Deployment, 'prices' | 'priceSource'>

interface Premium {
  readonly provider: string
  readonly models: RegExp
  isRegional(target: PlacedTarget): boolean
  /** Of the list's prices of tokens. */
  readonly percent: number
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '')

/**
 * The location decides, with any host: private endpoints have names or addresses of their own. Without a location a
 * project's calls go to the default one, which is a region; keys without a project are global.
 */
function isVertexRegion({ baseUrl, options }: PlacedTarget): boolean {
  if (options.vertex_location !== undefined) return options.vertex_location !== 'global'
  if (options.vertex_project !== undefined) return true
  return hostOf(baseUrl) !== 'aiplatform.googleapis.com' && hostOf(baseUrl).endsWith('googleapis.com')
}

/**
 * Claude from 4.5 on costs more at regional and multi-region endpoints of Vertex and Bedrock than at global ones
 * (platform.claude.com, "Pricing", third-party platforms, 2026-11). `models` is the source of a pattern of their names.
 */
export const claudeByPlace = { models: 'claude-(?:opus|sonnet|haiku|fable|mythos)-(?:4-[5-9]|[5-9])', percent: 110 }

const premiums: readonly Premium[] = [
  {
    // cloud.google.com, "Vertex AI pricing": Gemini 3 and later at non-global endpoints, since 2026-07-01 (2026-11).
    provider: 'vertex_ai',
    models: /^(google\/)?gemini-([3-9]|\d\d)/,
    isRegional: isVertexRegion,
    percent: 110,
  },
  {
    provider: 'vertex_ai',
    models: new RegExp(`^(anthropic/)?${claudeByPlace.models}`),
    isRegional: isVertexRegion,
    percent: claudeByPlace.percent,
  },
  {
    // developers.openai.com, "Pricing": regional processing, gpt-5.4 and later (2026-11).
    provider: 'openai',
    models: /^gpt-(?:5[.-][4-9]|[6-9])/,
    isRegional: ({ baseUrl }) => /^[a-z]{2}\.api\.openai\.com$/.test(hostOf(baseUrl)),
    percent: 110,
  },
  {
    // docs.x.ai, "Pricing": requests to the regional endpoint of the United States (2026-11).
    provider: 'xai',
    models: /^grok-/,
    isRegional: ({ baseUrl }) => /^us(?:-[a-z]+-\d)?\.api\.x\.ai$/.test(hostOf(baseUrl)),
    percent: 110,
  },
]

/** The list's prices as they are charged there, the same object where there is no premium; given prices are final. */
export function pricesInPlace({ prices, priceSource }: PricedFacts, target: PlacedTarget): Prices | null {
  if (!prices || priceSource !== 'catalogue') return prices
  const { base_model: base } = target.options
  const model = (typeof base === 'string' ? base : target.model).toLowerCase()
  const premium = premiums.find(
    one => one.provider === target.provider.name && one.models.test(model) && one.isRegional(target),
  )
  return premium ? scaledTokens(prices, BigInt(premium.percent)) : prices
}

/** Prices of tokens times so many percent, in every tier, variant, hour and from every date on. */
export function scaledTokens(prices: Prices, percent: bigint): Prices {
  const scaled = Object.entries(prices).map(([name, value]) => [
    name,
    isPriceOfTokens(name) ? ((value as bigint) * percent + 50n) / 100n : scaledSets(name, value, percent),
  ])
  return Object.fromEntries(scaled) as Prices
}

/** Searches, containers and the like cost the same everywhere. */
const isPriceOfTokens = (name: string): boolean =>
  (priceUnits as readonly string[]).includes(name) && isTokenUnit(name as PriceUnit)

function scaledSets(name: string, value: unknown, percent: bigint): unknown {
  if (name === 'variants')
    return Object.fromEntries(
      Object.entries(value as Record<string, Prices>).map(([variant, set]) => [variant, scaledTokens(set, percent)]),
    )
  if (name !== 'tiers' && name !== 'hours' && name !== 'later') return value
  return (value as readonly (PriceTier | HourPrices | LaterPrices)[]).map(one => ({
    ...one,
    prices: scaledTokens(one.prices, percent),
  }))
}
