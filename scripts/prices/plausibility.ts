/** Prices that are mistakes of a list, such as those of a token for those of a thousand: no vendor has such a range. */
import type { Merged, MergedModel } from './merge.ts'

/** So many times the dearest price that two lists agree on for models of the same kind is a mistake. */
const factorMax = 10
/** Of fewer models on which lists agree the dearest says nothing: those of every kind count. */
const modelsMin = 4

/** One price that was left out. */
export interface Implausible {
  readonly provider: string
  readonly model: string
  readonly unit: string
  readonly dollars: number
  /** What the dearest model of the same kind costs on which lists agree. */
  readonly dearest: number
}

const units = ['input', 'output'] as const

/**
 * Takes the prices away from models of which a single list has one that is out of all proportion. What two lists agree
 * on counts, and what is decided by hand (`isDecided`).
 */
export function withoutImplausible(
  { models, differences }: Merged,
  isDecided: (provider: string, model: string) => boolean,
): { merged: Merged; implausible: Implausible[] } {
  const implausible: Implausible[] = []
  const agreed = [...models.values()].flatMap(one => [...one.values()]).filter(({ lists }) => lists.length > 1)
  const kept = new Map<string, Map<string, MergedModel>>()
  for (const [provider, ofProvider] of models) {
    const checked = new Map<string, MergedModel>()
    for (const [model, entry] of ofProvider) {
      const isSure = entry.lists.length > 1 || isDecided(provider, model)
      const wrong = isSure ? undefined : wrongUnit(entry, agreed)
      if (wrong) implausible.push({ provider, model, ...wrong })
      checked.set(model, wrong ? { ...entry, prices: {} } : entry)
    }
    kept.set(provider, checked)
  }
  return { merged: { models: kept, differences }, implausible }
}

function wrongUnit(entry: MergedModel, agreed: readonly MergedModel[]) {
  for (const unit of units) {
    const dollars = entry.prices[unit]
    if (!dollars) continue
    const ofKind = pricesOf(
      agreed.filter(one => kindOf(one) === kindOf(entry)),
      unit,
    )
    const others = ofKind.length < modelsMin ? pricesOf(agreed, unit) : ofKind
    if (others.length < modelsMin) continue
    const dearest = Math.max(...others)
    if (dollars > dearest * factorMax) return { unit, dollars, dearest }
  }
  return undefined
}

const kindOf = ({ facts = {} }: MergedModel): string => facts.mode ?? 'chat'

const pricesOf = (models: readonly MergedModel[], unit: string): number[] =>
  models.flatMap(({ prices }) => prices[unit] ?? [])
