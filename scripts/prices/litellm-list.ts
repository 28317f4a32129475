/** Reads LiteLLM's list of models and prices (`model_prices_and_context_window_backup.json` of its package). */
import { billedTerms } from '../../src/config/prices/billed-terms.ts'
import { isListedAs, isPartOfModel, isRouter, listedModes, writtenName } from '../../src/config/prices/litellm-names.ts'
import { listName } from '../../src/config/prices/model-names.ts'
import { readPriceKeys } from '../../src/config/prices/read-price-keys.ts'
import { flatTerms } from './flat.ts'
import type { ListedFacts, ListedModel, PriceList } from './flat.ts'
import { listedProviders } from './provider-names.ts'

/** What the list has of one model. */
export type LiteLLMEntry = Readonly<Record<string, unknown>>
/** The list, by the key of its entries. */
export type LiteLLMEntries = Readonly<Record<string, LiteLLMEntry>>

/** Ways of calling that the gateway does not have. */
export const otherModes =
  /^(?:video_generation|realtime|evaluation|search|ocr|decisions|extraction|guardrail|vector_store)$/

/** Every model of a provider of ours that the gateway can call and the list has a price of. */
export function readLiteLLMList(list: LiteLLMEntries): PriceList {
  const read: PriceList = new Map()
  for (const [key, entry] of Object.entries(list)) {
    const mode = String(entry.mode ?? '')
    if (otherModes.test(mode) || isPartOfModel(key)) continue
    for (const [provider, { litellm }] of Object.entries(listedProviders)) {
      if (!litellm || !isListedAs(provider, String(entry.litellm_provider))) continue
      const written = writtenName(provider, key, String(entry.litellm_provider))
      const name = listName(written)
      const models = read.get(provider) ?? new Map<string, ListedModel>()
      read.set(provider, models)
      // `gpt-5` and `openai/gpt-5` are one model; the first form is the one that is maintained.
      if (!models.has(name)) models.set(name, { ...readEntry(entry, provider, name), written })
    }
  }
  return read
}

function readEntry(entry: LiteLLMEntry, provider: string, name: string): ListedModel {
  const mode = listedModes[String(entry.mode ?? 'chat')] ?? 'chat'
  const groundsPrompts = (provider === 'gemini' || provider === 'vertex_ai') && name.startsWith('gemini')
  const read = readPriceKeys(entry, { mode, groundsPrompts })
  const peak = flatTerms(billedTerms(read.terms))
  const facts = factsOf(entry, mode)
  const whole = {
    ...(read.regionPercent && { regionPercent: read.regionPercent }),
    ...(isRouter(provider, name) && { isFee: true as const }),
  }
  // The standard price of the vendor is the one outside of its peak hours.
  const prices = read.hours ? { ...peak, ...flatTerms(read.hours[0]!.terms) } : peak
  return { prices, facts, ...(Object.keys(whole).length > 0 && { whole }) }
}

function factsOf(entry: LiteLLMEntry, mode: string): ListedFacts {
  const flags = Object.entries(entry).filter(
    ([key, value]) => key.startsWith('supports_') && typeof value === 'boolean',
  )
  const [input, output] = [tokens(entry.max_input_tokens), tokens(entry.max_output_tokens)]
  return {
    ...(input !== undefined && { maxInputTokens: input }),
    ...(output !== undefined && { maxOutputTokens: output }),
    ...(typeof entry.mode === 'string' && { mode }),
    flags: Object.fromEntries(flags) as Record<string, boolean>,
  }
}

function tokens(value: unknown): number | undefined {
  const number = Number(value)
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}
