/** What the vendors' pages say of whole groups of models, which no list has. */
import type { FlatPrices } from './flat.ts'

/** developers.openai.com/api/docs/pricing, "Built-in tools" (2026-11): of models that do not reason. */
const plainSearchers = /^gpt-4(?:o|\.1)(?:-mini)?(?:-20\d\d-\d\d-\d\d)?$/
/** They search before every answer, so that each call pays a search. */
const searchModels = /-search-(?:preview|api)(?:-|$)/
/** Dollars for a search by the tool, and by its predecessor where the model does not reason. */
const [search, plainPreview] = [0.01, 0.025]

/** The prices with what follows from the name of the model and from the other prices. */
export function withVendorsRules(provider: string, model: string, prices: FlatPrices): FlatPrices {
  if (provider !== 'openai' || prices.input === undefined) return prices
  if (plainSearchers.test(model)) return { ...prices, webSearch: search, webSearchPreview: plainPreview }
  const { webSearch } = prices
  if (webSearch === undefined) return prices
  if (searchModels.test(model)) return { ...prices, request: webSearch }
  // Models that reason pay the same for both tools.
  return /^(?:o\d|gpt-[5-9]|gpt-\d\d)/.test(model) ? { ...prices, webSearchPreview: webSearch } : prices
}
