/** What the deployments of the demo cost, as the gateway itself says. */
import { tokenKeys, unitKeys } from '../../src/pricing/price-keys.ts'
import type { Prices } from '../../src/core/usage/prices.ts'
import type { AskGateway } from './fill.ts'

/** Nano-dollars for a million, of dollars for one: see `Prices`. */
const nanoUsdPerMillion = 1e15

/** The prices of each deployment, by id. Variants and tiers are left out: the calls of the demo use none. */
export async function deploymentPrices(ask: AskGateway): Promise<ReadonlyMap<string, Prices>> {
  const { data } = (await ask('/model/info')) as { data: { model_info: Record<string, unknown> }[] }
  return new Map(data.map(({ model_info: info }) => [String(info.id), pricesOf(info)]))
}

function pricesOf(info: Readonly<Record<string, unknown>>): Prices {
  const known = Object.entries({ ...tokenKeys, ...unitKeys }).flatMap(([key, name]) => {
    const usd = info[key]
    return typeof usd === 'number' ? [[name, BigInt(Math.round(usd * nanoUsdPerMillion))] as const] : []
  })
  return Object.fromEntries(known)
}
