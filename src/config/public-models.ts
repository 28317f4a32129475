/** The models that are shown without a key, from a checked configuration. */
import type { PublicModels } from '../core/settings.ts'

interface Reading {
  readonly settings?: { readonly public_model_groups?: readonly string[]; readonly public_model_prices?: boolean }
}

/** What the file says of it. */
export function publicModelsOf(
  { settings = {} }: Reading,
  { lineOf }: { lineOf(path: readonly (string | number)[]): string },
): PublicModels {
  const { public_model_groups: names, public_model_prices: showPrices = true } = settings
  return {
    names: [...new Set(names)],
    showPrices,
    where: names === undefined ? null : lineOf(['settings', 'public_model_groups']),
  }
}
