/** Reads the list of the package genai-prices, as scripts/prices/python-list.py prints it. */
import { listName } from '../../src/config/prices/model-names.ts'
import type { ListedPrices, PriceUnit } from '../../src/config/prices/list-prices.ts'
import { listedPrices, pathOf, tidy } from './flat.ts'
import type { FlatPrices, ListedModel, PriceList } from './flat.ts'
import { listedProviders } from './provider-names.ts'

interface Tiered {
  readonly base: string
  readonly tiers: readonly { readonly start: number; readonly price: string }[]
}
type ModelPrice = Readonly<Record<string, string | Tiered>>
interface Constraint {
  readonly _: 'StartDateConstraint' | 'TimeOfDateConstraint'
  readonly start_date?: string
  readonly start_time?: string
  readonly end_time?: string
}
interface Conditional {
  readonly constraint?: Constraint | null
  readonly prices: ModelPrice
}
interface Variant extends Conditional {
  readonly when: Readonly<Record<string, string>>
}
type Match = Readonly<Record<string, unknown>>
interface Model {
  readonly id: string
  readonly match: Match
  readonly context_window?: number
  readonly prices?: ModelPrice | readonly Conditional[]
  readonly price_variants?: readonly Variant[] | null
}
/** A provider as genai-prices has it. */
export interface GenaiProvider {
  readonly id: string
  readonly models: readonly Model[]
}

/** Prices of what the gateway counts, by the unit and by how many of it one price is for. */
const units: Readonly<Record<string, readonly [PriceUnit, number]>> = {
  input_mtok: ['input', 1],
  output_mtok: ['output', 1],
  cache_read_mtok: ['cacheRead', 1],
  cache_audio_read_mtok: ['cacheReadAudio', 1],
  cache_image_read_mtok: ['cacheReadImage', 1],
  cache_write_mtok: ['cacheWrite', 1],
  cache_write_1h_mtok: ['cacheWriteOneHour', 1],
  input_audio_mtok: ['inputAudio', 1],
  output_audio_mtok: ['outputAudio', 1],
  input_image_mtok: ['inputImage', 1],
  output_image_mtok: ['outputImage', 1],
  input_video_mtok: ['inputVideo', 1],
  output_video_mtok: ['outputVideo', 1],
  output_reasoning_mtok: ['reasoning', 1],
  input_mchars: ['character', 1],
  input_audio_hours: ['audioSecond', 3600],
  audio_hours: ['audioSecond', 3600],
  requests_kcount: ['request', 1000],
  rerank_searches_kcount: ['searchUnit', 1000],
  web_searches_kcount: ['webSearch', 1000],
  storage_searches_kcount: ['fileSearch', 1000],
}

/** The variant that a condition of the list means; absent = one that no usage report names. */
const variantNames: Readonly<Record<string, string>> = {
  'processing=batch': 'batch',
  'service_tier=flex': 'flex',
  'service_tier=priority': 'priority',
  'service_tier=fast': 'fast',
  'speed=fast': 'fast',
}

/** Names of models that the list finds by patterns alone. */
const namesBeside: Readonly<Record<string, readonly string[]>> = {
  'openai/moderation': ['omni-moderation-latest', 'omni-moderation-2024-09-26', 'text-moderation-latest'],
}

/** Peak hours of DeepSeek are those of working days (api-docs.deepseek.com/quick_start/pricing, 2026-11). */
const workingDays = [1, 2, 3, 4, 5]

/** All models of our providers. `today` (`2026-11-23`) chooses among prices by date; holidays have no peak hours. */
export function readGenaiList(all: readonly GenaiProvider[], today: string, holidays: readonly string[]): PriceList {
  const read: PriceList = new Map()
  for (const [provider, { genai }] of Object.entries(listedProviders)) {
    const found = all.find(one => one.id === genai)
    if (!found) continue
    const models = new Map<string, ListedModel>()
    for (const model of found.models) {
      const listed = readModel(provider, model, today, holidays)
      if (Object.keys(listed.prices).length === 0) continue
      for (const name of [model.id, ...literals(model.match), ...(namesBeside[`${provider}/${model.id}`] ?? [])]) {
        const key = listName(name)
        if (!models.has(key)) models.set(key, listed)
      }
    }
    read.set(provider, models)
  }
  return read
}

/**
 * The names in a rule. A rule that takes every name with a beginning would also take other models: only the beginning
 * itself counts as a name, and no pattern does.
 */
function literals(match: Match): string[] {
  const own = [match.equals, match.starts_with, match.ends_with, match.contains].filter(one => typeof one === 'string')
  const inner = Array.isArray(match.or_) ? (match.or_ as Match[]).flatMap(literals) : []
  return [...own, ...inner].filter(one => /[a-z0-9]$/i.test(one))
}

/** Moderation is free (developers.openai.com/api/docs/guides/moderation, 2026-11), and so is OpenRouter's `:free`. */
const isFree = (provider: string, id: string): boolean =>
  (provider === 'openai' && /(?:^|-)moderation(?:-|$)/.test(id)) || (provider === 'openrouter' && id.endsWith(':free'))

function readModel(provider: string, model: Model, today: string, holidays: readonly string[]): ListedModel {
  const list: readonly Conditional[] = Array.isArray(model.prices)
    ? (model.prices as readonly Conditional[])
    : [{ prices: (model.prices ?? {}) as ModelPrice }]
  const dated = list.filter(one => one.constraint?._ !== 'TimeOfDateConstraint')
  const now = dated.findLast(one => (one.constraint?.start_date ?? '') <= today) ?? list[0]!
  const flat = (given: ModelPrice, variant?: string) =>
    withGoogleSearches(provider, model.id, flatPrice(given, variant))
  const prices = flat(now.prices)
  if (isFree(provider, model.id) && Object.keys(prices).length === 0) Object.assign(prices, { input: 0, output: 0 })
  for (const { when, prices: other, constraint } of model.price_variants ?? []) {
    const [[key, value] = []] = Object.entries(when)
    const name = variantNames[`${key}=${value}`]
    if (name !== undefined && (constraint?.start_date ?? '') <= today) Object.assign(prices, flat(other, name))
  }
  const hours = hoursOf(list, today, holidays)
  const later = dated.flatMap(({ constraint, prices: then }): [string, ListedPrices][] =>
    constraint?.start_date !== undefined && constraint.start_date > today
      ? [[constraint.start_date, listedPrices(flat(then))]]
      : [],
  )
  const hasMinimum = provider === 'groq' && prices.audioSecond !== undefined
  const whole = {
    ...(hours.length > 0 && { hours }),
    ...(later.length > 0 && { later }),
    // Groq bills at least ten seconds of audio (console.groq.com/docs/speech-to-text, 2026-11).
    ...(hasMinimum && { audioSecondsMin: 10 }),
  }
  const facts = model.context_window ? { contextWindow: model.context_window } : {}
  return { prices, facts, ...(Object.keys(whole).length > 0 && { whole }) }
}

/**
 * Google bills the searches of Gemini 3 and later by query, those of earlier models by the prompt that was grounded
 * (ai.google.dev/gemini-api/docs/pricing, 2026-11).
 */
function withGoogleSearches(provider: string, id: string, prices: FlatPrices): FlatPrices {
  if (provider !== 'gemini' || prices.webSearch === undefined) return prices
  const { webSearch, ...others } = prices
  return { ...others, [/^gemini-[12]\./.test(id) ? 'groundedPrompt' : 'groundingQuery']: webSearch }
}

function flatPrice(price: ModelPrice, variant?: string): FlatPrices {
  const flat: FlatPrices = {}
  for (const [key, value] of Object.entries(price)) {
    const [unit, divisor = 1] = units[key] ?? []
    if (unit === undefined || value === null) continue
    if (typeof value === 'string') flat[pathOf(unit, undefined, variant)] = tidy(Number(value) / divisor)
    else {
      flat[pathOf(unit, undefined, variant)] = tidy(Number(value.base) / divisor)
      // A tier of the list holds for more tokens than its start.
      for (const tier of value.tiers) flat[pathOf(unit, tier.start + 1, variant)] = tidy(Number(tier.price) / divisor)
    }
  }
  return flat
}

/** Peak hours: only those of prices that are in force; where a model also has dates, the list gives them no end. */
function hoursOf(list: readonly Conditional[], today: string, holidays: readonly string[]) {
  const peaks = list.filter(one => one.constraint?._ === 'TimeOfDateConstraint')
  const [first] = peaks
  if (!first) return []
  const windows = peaks.map(({ constraint }) => ({
    fromMinute: minutes(constraint!.start_time!),
    toMinute: minutes(constraint!.end_time!),
  }))
  const exceptDays = holidays.filter(day => day >= today)
  return [
    {
      windows,
      days: workingDays,
      ...(exceptDays.length > 0 && { exceptDays }),
      prices: listedPrices(flatPrice(first.prices)),
    },
  ]
}

function minutes(time: string): number {
  const [hour, minute] = time.split(':').map(Number)
  return hour! * 60 + minute!
}
