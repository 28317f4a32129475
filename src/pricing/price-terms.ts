/** Discounts and margins on what the vendor charges: what the callers of the gateway are charged. */
import type { Call, CallBounds } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { PriceAdjustment, PriceAdjustmentSettings } from '../core/usage/price-terms.ts'

const million = 1_000_000n

/**
 * The cost under the terms: every discount and margin on what the ones before it made of it, rounded half up once, and
 * fixed amounts added at the end.
 */
export function costUnder(terms: readonly PriceAdjustment[], listNanoUsd: bigint): bigint {
  let numerator = listNanoUsd
  let denominator = 1n
  let fixed = 0n
  for (const { discountPpm, marginPpm, fixedNanoUsd } of terms) {
    numerator *= (million - BigInt(discountPpm)) * (million + BigInt(marginPpm))
    denominator *= million * million
    fixed += fixedNanoUsd
  }
  return (numerator * 2n + denominator) / (denominator * 2n) + fixed
}

const compiled = new WeakMap<PriceAdjustmentSettings, WeakMap<Caller, Map<string, readonly PriceAdjustment[]>>>()
const providersMax = 1000
const noTerms: readonly PriceAdjustment[] = []

/** The terms of a caller's calls that this provider serves, the vendor's first, the key's last; empty = list prices. */
export function termsFor(
  settings: PriceAdjustmentSettings,
  caller: Caller,
  provider: string,
): readonly PriceAdjustment[] {
  let callers = compiled.get(settings)
  if (!callers) compiled.set(settings, (callers = new WeakMap()))
  let providers = callers.get(caller)
  if (!providers) callers.set(caller, (providers = new Map()))
  let terms = providers.get(provider)
  if (!terms) {
    const { key, team, organization } = caller
    const organizationId = key.organizationId ?? organization?.id ?? team?.organizationId
    const found = [
      settings.providers[provider] ?? settings.global,
      organizationId == null ? undefined : settings.organizations[organizationId],
      key.teamId === null ? undefined : settings.teams[key.teamId],
      settings.keys[key.id],
    ]
    terms = found.filter(one => one !== undefined)
    if (providers.size < providersMax) providers.set(provider, terms)
  }
  return terms
}

/** The terms of the deployment that answered a call, or failed last. */
export function termsOf({ caller, attempt, models }: Call): readonly PriceAdjustment[] {
  const { priceTerms } = models.settings
  const deployment = attempt?.deployment
  return priceTerms && deployment ? termsFor(priceTerms, caller, deployment.target.provider.name) : noTerms
}

/** The bounds of a call with the terms of whichever deployment makes it the most expensive. */
export function boundsUnder(bounds: CallBounds, call: Call): CallBounds {
  const settings = call.models.settings.priceTerms
  const { costNanoUsdMax: list } = bounds
  if (settings === null || list === null) return bounds
  const others = [...call.fallbacksInOrder, ...call.contextWindowFallbacks, ...call.contentPolicyFallbacks].flatMap(
    one => one.deployments,
  )
  const providers = new Set([...call.candidates, ...others].map(one => one.target.provider.name))
  const costs = [...providers].map(provider => costUnder(termsFor(settings, call.caller, provider), list))
  return { ...bounds, costNanoUsdMax: costs.reduce((most, cost) => (cost > most ? cost : most), 0n) }
}

/** The terms as the ledger keeps them: `discount,margin,fixed` of each, in millionths and nano-dollars. */
export function termsText(terms: readonly PriceAdjustment[]): string {
  return terms.map(one => `${one.discountPpm},${one.marginPpm},${one.fixedNanoUsd}`).join(';')
}

/** The terms of a row of the ledger; undefined = the text is none that `termsText` made. */
export function readTerms(text: string): readonly PriceAdjustment[] | undefined {
  const terms = text.split(';').map(part => {
    const found = /^(\d{1,7}),(\d{1,9}),(-?\d{1,18})$/.exec(part)
    return found && { discountPpm: Number(found[1]), marginPpm: Number(found[2]), fixedNanoUsd: BigInt(found[3]!) }
  })
  return terms.every(one => one !== null) ? terms : undefined
}
