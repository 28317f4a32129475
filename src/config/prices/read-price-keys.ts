/**
 * Prices under LiteLLM's keys, in dollars for one unit, as configurations and its model list write them
 * (docs.litellm.ai/docs/proxy/custom_pricing, 2026-11; the keys are those of its list at version 1.109.1). A key is a
 * unit, then a lifetime, then a tier (`_above_200k_tokens`), then a variant (`_flex`): every combination is read.
 */
import type { HourPrices } from '../../core/usage/prices.ts'
import { tokenKeys, unitKeys, variantOf } from '../../pricing/price-keys.ts'
import { scaleDecimal } from '../../lib/text.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { isTokenUnit } from './list-prices.ts'
import type { PriceUnit } from './list-prices.ts'

/** One price that an entry gives. */
export interface ListedPrice {
  readonly unit: PriceUnit
  /** Nano-dollars for a million. */
  readonly price: bigint
  /** Absent = of standard calls. */
  readonly variant?: string
  /** Absent = of every input. */
  readonly fromInputTokens?: number
}

/** What an entry says about prices. */
export interface ReadPrices {
  readonly terms: readonly ListedPrice[]
  readonly regionPercent?: Readonly<Record<string, number>>
  readonly hours?: readonly (Omit<HourPrices, 'prices'> & { readonly terms: readonly ListedPrice[] })[]
  /** Keys of prices that have no effect: a unit that this model does not use, or a value that is no price. */
  readonly withoutEffect: readonly string[]
}

/** What the meaning of some keys depends on. */
export interface PricedModel {
  /** `mode` of the model; absent = chat. */
  readonly mode?: string | undefined
  /** Whether its searches are billed as Gemini's: by prompt, or by query where the entry says so. */
  readonly groundsPrompts?: boolean
}

/** Units that mean the same for every model. */
const plainUnits: Readonly<Record<string, PriceUnit>> = {
  ...tokenKeys,
  ...unitKeys,
  input_cost_per_token_cache_hit: 'cacheRead',
  input_cost_per_page: 'page',
}

/** Units that are what is billed in models of one mode, and are not counted in others. */
const unitsByMode: Readonly<Record<string, Readonly<Record<string, PriceUnit>>>> = {
  input_cost_per_character: { audio_speech: 'character' },
  output_cost_per_character: { audio_speech: 'character' },
  input_cost_per_second: { audio_transcription: 'audioSecond', audio_speech: 'audioSecond' },
  output_cost_per_second: {
    audio_transcription: 'audioSecond',
    audio_speech: 'audioSecond',
    video_generation: 'videoSecond',
  },
  input_cost_per_audio_per_second: { audio_transcription: 'audioSecond' },
  input_cost_per_image: { image_generation: 'image' },
}

/** Keys with the price of a million: dollars for a thousand calls. */
const thousands: Readonly<Record<string, PriceUnit>> = { file_search_cost_per_1k_calls: 'fileSearch' }

const keyForm = /^(.+?)(?:_above_(\d+)k_tokens)?(?:_(batches|flex|priority|fast|ultrafast|scale|balanced|decisions))?$/

/** Whether a key is a price that some model may have; others that are about costs have no function here. */
export function isReadPriceKey(key: string): boolean {
  return isStructured(key) || priceLimit(key) !== undefined
}

/** The dearest price of a key in dollars, beyond which it is a mistake; undefined = it is not the key of one price. */
export function priceLimit(key: string): number | undefined {
  if (Object.hasOwn(thousands, key)) return unitDollarsMax
  const [, base = ''] = keyForm.exec(key) ?? []
  if (Object.hasOwn(tokenKeys, base) || base === 'input_cost_per_token_cache_hit') return tokenDollarsMax
  return Object.hasOwn(plainUnits, base) || Object.hasOwn(unitsByMode, base) ? unitDollarsMax : undefined
}

const tokenDollarsMax = 1
const unitDollarsMax = 1000

/** The part of a key that says what is counted, with its tier and variant; undefined = not a price that is known. */
function readKey(key: string, mode: string): Omit<ListedPrice, 'price'> | undefined {
  const [, base = '', thousandTokens, word] = keyForm.exec(key) ?? []
  const byMode = Object.hasOwn(unitsByMode, base) ? unitsByMode[base]! : undefined
  const unit = byMode ? byMode[mode] : Object.hasOwn(plainUnits, base) ? plainUnits[base] : undefined
  if (unit === undefined) return undefined
  return {
    unit,
    ...(word !== undefined && { variant: variantOf(word) }),
    // More than so many tokens.
    ...(thousandTokens !== undefined && { fromInputTokens: Number(thousandTokens) * 1000 + 1 }),
  }
}

/** A number, or a text of one; undefined = no price. */
function dollarsOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  return /^\d+(?:\.\d*)?(?:e[+-]?\d{1,2})?$/i.test(text) ? text : undefined
}

/** Reads all keys of an entry that are about prices. `null` and absent values are no prices, and no mistakes. */
export function readPriceKeys(entry: Readonly<Record<string, unknown>>, model: PricedModel): ReadPrices {
  const withoutEffect: string[] = []
  const terms: ListedPrice[] = []
  const alternatives = otherNames(entry, model)
  for (const [key, value] of Object.entries(entry)) {
    if (!isReadPriceKey(key) || isStructured(key) || value === null || value === undefined) continue
    if (alternatives.has(key)) continue
    const read = readValue(key, value, model)
    if (read) terms.push(read)
    else withoutEffect.push(key)
  }
  const searches = [...searchTerms(entry, model), ...mapsTerms(entry)]
  const tiered = tieredTerms(entry.tiered_pricing, model)
  const places = placesOf(entry)
  const hours = offPeakHours(entry.off_peak_pricing, model)
  for (const [key, read] of Object.entries({
    search_context_cost_per_query: searches,
    [mapsKey]: searches,
    tiered_pricing: tiered,
    off_peak_pricing: hours,
  }))
    if (entry[key] !== undefined && entry[key] !== null && read.length === 0) withoutEffect.push(key)
  for (const key of Object.keys(entry)) {
    const [, place] = regional.exec(key) ?? []
    if (place !== undefined && places[place] === undefined) withoutEffect.push(key)
  }
  return {
    terms: [...terms, ...searches, ...tiered, ...speedTerms(entry, terms)],
    ...(Object.keys(places).length > 0 && { regionPercent: places }),
    ...(hours.length > 0 && { hours }),
    withoutEffect,
  }
}

/** Keys that are one price under several names, by mode: the first that is given counts. */
const sameUnit: Readonly<Record<string, readonly (readonly string[])[]>> = {
  audio_transcription: [['input_cost_per_second', 'input_cost_per_audio_per_second', 'output_cost_per_second']],
  audio_speech: [
    ['output_cost_per_second', 'input_cost_per_second'],
    ['input_cost_per_character', 'output_cost_per_character'],
  ],
}

/** The names of a price that do not count because another one is given. */
function otherNames(entry: Readonly<Record<string, unknown>>, { mode = 'chat' }: PricedModel): ReadonlySet<string> {
  const groups = Object.hasOwn(sameUnit, mode) ? sameUnit[mode]! : []
  return new Set(groups.flatMap(keys => keys.filter(key => entry[key] !== undefined && entry[key] !== null).slice(1)))
}

const regional = /^regional_processing_uplift_multiplier_(\w+)$/

/** Keys whose value is not one price. */
function isStructured(key: string): boolean {
  return regional.test(key) || structuredKeys.includes(key)
}

const mapsKey = 'google_maps_grounding_cost_per_query'

const structuredKeys: readonly string[] = [
  mapsKey,
  'search_context_cost_per_query',
  'tiered_pricing',
  'off_peak_pricing',
  'provider_specific_entry',
]

/** `provider_specific_entry: { fast: 2 }`: the faster mode costs a multiple of every kind of token. */
function speedTerms(entry: Readonly<Record<string, unknown>>, standard: readonly ListedPrice[]): ListedPrice[] {
  const factor = isObject(entry.provider_specific_entry) ? entry.provider_specific_entry.fast : undefined
  if (typeof factor !== 'number' || !(factor > 0)) return []
  const percent = BigInt(Math.round(factor * 100))
  return standard
    .filter(({ unit, variant }) => variant === undefined && isTokenUnit(unit))
    .map(term => ({ ...term, variant: 'fast', price: (term.price * percent) / 100n }))
}

/** Parts of LiteLLM's keys for units that are not counted, resolutions of pictures and videos, and longer writes. */
const otherPrices = new RegExp(
  'pixel|dbu_|_\\d+s_interval|_(?:\\d+p|\\d(?:\\.\\d)?k|512|1024|1536)$|text_message|_per_credit|' +
    '_per_unit|annotation_|citation_|computer_use_|_per_gb_per_day|video_per_second|^cost_per_second|' +
    '^explicit_|guardrail_|^regional_endpoint_|^cache_creation_input_audio_',
  'i',
)

/** Whether a key of LiteLLM's is a price that has no function here. */
export function isOtherPriceKey(key: string): boolean {
  return !isReadPriceKey(key) && /(?:^|_)cost(?:_|$)|uplift/.test(key) && otherPrices.test(key)
}

function readValue(key: string, value: unknown, { mode = 'chat' }: PricedModel): ListedPrice | undefined {
  const dollars = dollarsOf(value)
  if (dollars === undefined) return undefined
  const calls = Object.hasOwn(thousands, key) ? thousands[key] : undefined
  if (calls !== undefined) return { unit: calls, price: scaleDecimal(dollars, 12) }
  const read = readKey(key, mode)
  return read && { ...read, price: nanoUsdPerMillion(dollars) }
}

/** Dollars for one unit as nano-dollars for a million, exactly: `3e-06` is 3,000,000,000. */
export function nanoUsdPerMillion(dollars: number | string): bigint {
  return scaleDecimal(String(dollars), 15)
}

/** The search of the web has one price, or none: the size of the context, which sets it, is not in a usage report. */
function searchTerms(entry: Readonly<Record<string, unknown>>, { groundsPrompts = false }: PricedModel): ListedPrice[] {
  const sizes = entry.search_context_cost_per_query
  if (typeof sizes !== 'object' || sizes === null) return []
  const given = Object.values(sizes).map(dollarsOf)
  const [first] = given
  if (first === undefined || given.some(one => one === undefined || Number(one) !== Number(first))) return []
  const byQuery = entry.web_search_billing_unit === 'per_query'
  const unit = byQuery ? 'groundingQuery' : groundsPrompts ? 'groundedPrompt' : 'webSearch'
  return [{ unit, price: nanoUsdPerMillion(first) }]
}

/** Google's maps are billed by the prompt, or by the query where the entry says so of its searches. */
function mapsTerms(entry: Readonly<Record<string, unknown>>): ListedPrice[] {
  const dollars = dollarsOf(entry[mapsKey])
  if (dollars === undefined) return []
  const unit = entry.web_search_billing_unit === 'per_query' ? 'mapsQuery' : 'mapsPrompt'
  return [{ unit, price: nanoUsdPerMillion(dollars) }]
}

/** A list of `{ range: [from, to], input_cost_per_token: ..., ... }`: prices above the beginning of each range. */
function tieredTerms(tiers: unknown, { mode = 'chat' }: PricedModel): ListedPrice[] {
  if (!Array.isArray(tiers)) return []
  const terms: ListedPrice[] = []
  for (const tier of tiers as readonly unknown[]) {
    if (typeof tier !== 'object' || tier === null) return []
    const { range, ...prices } = tier as Readonly<Record<string, unknown>>
    const [from] = Array.isArray(range) ? (range as readonly unknown[]) : []
    if (typeof from !== 'number' || !(from >= 0)) return []
    for (const [key, value] of Object.entries(prices)) {
      const read = readKey(key, mode)
      const dollars = dollarsOf(value)
      if (read === undefined || dollars === undefined) continue
      terms.push({ ...read, price: nanoUsdPerMillion(dollars), ...(from > 0 && { fromInputTokens: from + 1 }) })
    }
  }
  return terms
}

/** `regional_processing_uplift_multiplier_eu: 1.1`, and the place of `provider_specific_entry: { us: 1.1 }`. */
function placesOf(entry: Readonly<Record<string, unknown>>): Record<string, number> {
  const own = isObject(entry.provider_specific_entry) ? [['us', entry.provider_specific_entry.us] as const] : []
  const named = Object.entries(entry).flatMap(([key, factor]) => {
    const [, place] = regional.exec(key) ?? []
    return place === undefined ? [] : [[place, factor] as const]
  })
  const known = [...own, ...named].flatMap(([place, factor]) =>
    Number(dollarsOf(factor)) >= 0.01 ? [[place, Math.round(Number(dollarsOf(factor)) * 100)] as const] : [],
  )
  return Object.fromEntries(known)
}

/** The windows of LiteLLM's `off_peak_pricing`: `hours_utc: '16:30-00:30'` or a list, `weekdays` from 1 = Monday. */
function offPeakHours(given: unknown, model: PricedModel): NonNullable<ReadPrices['hours']>[number][] {
  if (typeof given !== 'object' || given === null) return []
  const { windows, ...prices } = given as { windows?: unknown } & Readonly<Record<string, unknown>>
  const { terms } = readPriceKeys(prices, model)
  if (!Array.isArray(windows) || terms.length === 0) return []
  return windows.flatMap(one => {
    const { hours_utc: hours, weekdays } = one as { hours_utc?: unknown; weekdays?: unknown }
    const read = (Array.isArray(hours) ? hours : [hours]).map(windowOf)
    if (read.some(window => window === undefined)) return []
    const days = Array.isArray(weekdays) ? weekdays.map(day => Number(day) % 7) : undefined
    return [{ windows: read as HourPrices['windows'][number][], ...(days && { days }), terms }]
  })
}

function windowOf(text: unknown): HourPrices['windows'][number] | undefined {
  const [, fromHour, fromMinute, toHour, toMinute] = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(String(text)) ?? []
  if (fromHour === undefined) return undefined
  const to = Number(toHour) * 60 + Number(toMinute)
  // Midnight as an end is the end of the day.
  return { fromMinute: Number(fromHour) * 60 + Number(fromMinute), toMinute: to === 0 ? 24 * 60 : to }
}
