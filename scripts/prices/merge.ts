/**
 * Makes one list of three. A price that two lists agree on is taken; so is one that a single list has. Where lists
 * differ and no two agree, the file of decisions says which one is right. Where nothing says it, the dearest price
 * holds, and is marked, if the lists differ by less than a half; else the price is unknown.
 */
import { discounts } from '../../src/config/prices/billed-terms.ts'
import { isTokenUnit } from '../../src/config/prices/list-prices.ts'
import type { PriceUnit } from '../../src/config/prices/list-prices.ts'
import { tidy } from './flat.ts'
import type { FlatPrices, ListedFacts, ListedModel, PriceList } from './flat.ts'
import { withVendorsRules } from './vendor-rules.ts'

/** The lists, the most careful first: its word about tiers counts where no majority decides. */
export const listNames = ['genai-prices', 'model-prices', 'litellm'] as const

/** The name of a list. */
export type ListName = (typeof listNames)[number]

/** A difference between lists that a person has judged. */
export interface Decision {
  readonly provider: string
  /** Names as of `listName`. */
  readonly models: readonly string[]
  /** Paths of prices; absent = all on which the lists differ. */
  readonly paths?: readonly string[]
  /** The list that is right, or null: none is known to be, as without a decision. Absent = `set` says it all. */
  readonly take?: ListName | null
  /** Prices by path that no list has right. */
  readonly set?: FlatPrices
  /** Why, with the page and the date where one was read. */
  readonly because: string
}

/** One price on which lists differ. */
export interface Difference {
  readonly provider: string
  readonly model: string
  readonly path: string
  readonly values: Readonly<Partial<Record<ListName, number>>>
  /** Absent = two of three lists agree. */
  readonly decision?: Decision
  /** Whether it needs a decision and has none. */
  readonly open: boolean
}

/** A model of the merged list. */
export interface MergedModel extends ListedModel {
  /** The lists that have it. */
  readonly lists: readonly ListName[]
  /** Prices of variants that the vendor has and no list does, by variant. */
  readonly unknown?: Unknown
  /** Paths on which lists differ, and nothing says which one is right: the dearest price holds. */
  readonly disputed?: readonly string[]
}

type Unknown = Readonly<Record<string, readonly PriceUnit[]>>

/** All models by provider and name, and what the lists differ on. */
export interface Merged {
  readonly models: Map<string, Map<string, MergedModel>>
  readonly differences: readonly Difference[]
}

type Lists = Readonly<Record<ListName, PriceList>>
type Votes = readonly (readonly [ListName, ListedModel])[]

/** Lists round to four digits: prices that differ by less than this share of them are the same. */
const roundingMax = 2e-4

export function mergeLists(lists: Lists, decisions: readonly Decision[]): Merged {
  const differences: Difference[] = []
  const models = new Map<string, Map<string, MergedModel>>()
  for (const provider of new Set(listNames.flatMap(list => [...lists[list].keys()]))) {
    const merged = new Map<string, MergedModel>()
    const names = new Set(listNames.flatMap(list => [...(lists[list].get(provider)?.keys() ?? [])]))
    for (const model of [...names].sort()) {
      const votes = listNames.flatMap((list): [ListName, ListedModel][] => {
        const found = lists[list].get(provider)?.get(model)
        return found ? [[list, { ...found, prices: withVendorsEdges(provider, found.prices) }]] : []
      })
      const judge = (path: string) => decisions.find(one => decides(one, provider, model, path))
      const disputed: string[] = []
      const set = setPrices(decisions, provider, model)
      const given = set.requestAtMost === undefined ? votes : withoutRequests(votes)
      const voted = mergedPrices(withOneTiering(given), judge, (path, values, { decision, open, isDearest }) => {
        differences.push({ provider, model, path, values, ...(decision && { decision }), open })
        if (isDearest) disputed.push(path)
      })
      const prices = withVendorsRules(provider, model, { ...voted, ...set })
      // A model without any price is kept where that is known not to be known.
      const isJudged = decisions.some(one => one.provider === provider && one.models.includes(model))
      const isDisputed = differences.some(one => one.provider === provider && one.model === model)
      if (Object.keys(prices).length === 0 && !isJudged && !isDisputed) continue
      const all = completed(withoutRepeats(prices))
      const marked = disputed.filter(path => all.prices[path] !== undefined)
      merged.set(model, {
        ...all,
        facts: mergedFacts(votes),
        ...wholeOf(votes),
        ...writtenOf(model, votes),
        lists: votes.map(([list]) => list),
        ...(marked.length > 0 && { disputed: marked }),
      })
    }
    models.set(provider, merged)
  }
  return { models, differences }
}

/**
 * xAI's prices for long inputs begin at 200,000 tokens (docs.x.ai/docs/models, columns `< 200k` and `>= 200k`,
 * 2026-11); two of the lists can only say `more than`.
 */
function withVendorsEdges(provider: string, prices: FlatPrices): FlatPrices {
  if (provider !== 'xai') return prices
  return Object.fromEntries(
    Object.entries(prices).map(([path, price]) => [path.replace('tiers.200001.', 'tiers.200000.'), price]),
  )
}

function decides(
  { provider, models, paths, take }: Decision,
  ofProvider: string,
  model: string,
  path: string,
): boolean {
  const isNamed = provider === ofProvider && models.includes(model)
  return isNamed && take !== undefined && (paths === undefined || paths.includes(path))
}

const setPrices = (decisions: readonly Decision[], ofProvider: string, model: string): FlatPrices =>
  Object.assign(
    {},
    ...decisions.map(({ provider, models, set }) => (provider === ofProvider && models.includes(model) ? set : {})),
  ) as FlatPrices

/** `requestAtMost` stands for the price of a call that lists state as one of several. */
const withoutRequests = (votes: Votes): Votes =>
  votes.map(
    ([
      list,
      {
        prices: { request: _, ...prices },
        ...model
      },
    ]) => [list, { ...model, prices }],
  )

interface Judgement {
  readonly decision: Decision | undefined
  readonly open: boolean
  /** The dearest price was taken. */
  readonly isDearest: boolean
}

type Note = (path: string, values: Difference['values'], judgement: Judgement) => void

/** Lists that differ by this factor or more have different things in mind. */
const disputeFactorMax = 1.5

/** The dearest of prices that differ by less than a half; undefined = they differ by more. */
function dearestOf(given: readonly (readonly [ListName, number])[]): readonly [ListName, number] | undefined {
  const dearest = given.reduce((one, other) => (other[1] > one[1] ? other : one))
  const cheapest = Math.min(...given.map(([, price]) => price))
  return dearest[1] < cheapest * disputeFactorMax ? dearest : undefined
}

function mergedPrices(votes: Votes, judge: (path: string) => Decision | undefined, note: Note): FlatPrices {
  const merged: FlatPrices = {}
  const unknown = new Set<string>()
  for (const path of new Set(votes.flatMap(([, { prices }]) => Object.keys(prices)))) {
    const given = votes.flatMap(([list, { prices }]): [ListName, number][] =>
      prices[path] === undefined ? [] : [[list, prices[path]]],
    )
    const agreed = given.find(([, price]) => given.filter(([, other]) => isSame(price, other)).length > 1)
    const differs = given.some(([, price]) => !isSame(price, given[0]![1]))
    const decision = judge(path)
    if (decision && !differs && (decision.paths === undefined || decision.take === given[0]![0])) {
      // It is about paths on which lists differ, and they do not differ on this one.
      merged[path] = tidy(given[0]![1])
      continue
    }
    const [first] = given
    const decided = decision && given.find(([list]) => list === decision.take)
    const isUnjudged = differs && (decision ? decision.take === null : !agreed)
    const dearest = isUnjudged ? dearestOf(given) : undefined
    const taken = dearest ?? (decision ? decided : (agreed ?? (differs ? undefined : first)))
    const open = !decision && !agreed && !dearest
    if (differs) note(path, Object.fromEntries(given), { decision, open, isDearest: dearest !== undefined })
    if (taken) merged[path] = tidy(taken[1])
    else unknown.add(path)
  }
  return withoutHalfKnown(withoutRejected(merged, votes), unknown)
}

/** A list that has another price of the input than was taken is not asked for the rest of the model. */
function withoutRejected(prices: FlatPrices, votes: Votes): FlatPrices {
  const trusted = votes.filter(
    ([, { prices: own }]) => own.input === undefined || isSame(own.input, prices.input ?? -1),
  )
  if (prices.input === undefined || trusted.length === votes.length) return prices
  return Object.fromEntries(
    Object.entries(prices).filter(
      ([path]) => !path.includes('.') || trusted.some(([, { prices: own }]) => own[path] !== undefined),
    ),
  )
}

/** Kinds of tokens that some lists price apart, at the price of plain input or output. */
const plainPriceOf: Readonly<Record<string, string>> = {
  inputAudio: 'input',
  inputImage: 'input',
  inputVideo: 'input',
  outputAudio: 'output',
  outputImage: 'output',
  outputVideo: 'output',
  reasoning: 'output',
}

/**
 * Leaves out prices that repeat the plain one, which holds without them, and prices of tiers and variants for kinds of
 * tokens that the model has no standard price of.
 */
function withoutRepeats(prices: FlatPrices): FlatPrices {
  const kindOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1)
  const repeats = Object.entries(plainPriceOf).flatMap(([kind, plain]) =>
    prices[kind] !== undefined && prices[kind] === prices[plain] ? [kind] : [],
  )
  return Object.fromEntries(
    Object.entries(prices).filter(
      ([path]) => !repeats.includes(kindOf(path)) && (!path.includes('.') || prices[kindOf(path)] !== undefined),
    ),
  )
}

/**
 * Makes every variant complete. What it does not discount keeps the standard price: so do OpenAI's batches for cached
 * input (developers.openai.com/api/docs/pricing) and Google's (ai.google.dev/gemini-api/docs/batch-api). A write for
 * an hour costs as much more than one for five minutes as it does in the standard service
 * (platform.claude.com/docs/en/build-with-claude/batch-processing). What a dearer variant lacks is not known, and a
 * variant without a price of input or output is left out.
 */
function completed(prices: FlatPrices): Pick<MergedModel, 'prices' | 'unknown'> {
  const standard = Object.entries(prices).filter(([path]) => !path.includes('.'))
  const names = new Set(Object.keys(prices).flatMap(path => (path.startsWith('variants.') ? path.split('.')[1]! : [])))
  const result = { ...prices }
  const unknown: Record<string, readonly PriceUnit[]> = {}
  for (const name of names) {
    const of = (unit: string) => `variants.${name}.${unit}`
    const [write, oneHour] = [prices.cacheWrite, prices.cacheWriteOneHour]
    const ownWrite = prices[of('cacheWrite')]
    if (write && oneHour && ownWrite !== undefined)
      result[of('cacheWriteOneHour')] ??= tidy((ownWrite * oneHour) / write)
    const gaps = standard.filter(([unit]) => result[of(unit)] === undefined)
    const lacks = gaps.some(([unit, price]) => price > 0 && /^(?:input|output)$/.test(unit))
    if (lacks) for (const path of Object.keys(result)) if (path.startsWith(of(''))) delete result[path]
    if (lacks) continue
    const isUnknown = ([unit, price]: [string, number]) =>
      price > 0 && !discounts.has(name) && isTokenUnit(unit as PriceUnit)
    for (const gap of gaps) if (!isUnknown(gap)) result[of(gap[0])] = gap[1]
    if (gaps.some(isUnknown)) unknown[name] = gaps.filter(isUnknown).map(([unit]) => unit as PriceUnit)
  }
  return { prices: result, ...(Object.keys(unknown).length > 0 && { unknown }) }
}

const isSame = (one: number, other: number): boolean =>
  one === other || Math.abs(one - other) <= Math.max(one, other) * roundingMax

/**
 * A price that is not known must not be stood in for by another: a token of a kind without a price costs as plain
 * input or output, so that a scope (standard, tier, variant) with an unknown kind of token is unknown as a whole.
 */
function withoutHalfKnown(prices: FlatPrices, unknown: ReadonlySet<string>): FlatPrices {
  const lost = [...unknown].filter(
    path => !/(?:webSearch\w*|fileSearch|maps\w+|grounded\w+|groundingQuery)$/.test(path),
  )
  if (lost.length === 0) return prices
  const standard = lost.some(path => !path.startsWith('variants.'))
  const variants = new Set(lost.map(path => (path.startsWith('variants.') ? path.split('.')[1] : undefined)))
  return Object.fromEntries(
    Object.entries(prices).filter(([path]) =>
      path.startsWith('variants.') ? !standard && !variants.has(path.split('.')[1]) : !standard,
    ),
  )
}

/** Whether long inputs cost more is one question: the majority of lists decides it, then the first one. */
function withOneTiering(votes: Votes): Votes {
  const opinions = votes.filter(([, { prices }]) => prices.input !== undefined)
  const tiered = opinions.filter(([, { prices }]) => hasTiers(prices))
  if (tiered.length === 0 || tiered.length === opinions.length) return votes
  const even = tiered.length * 2 === opinions.length
  const keeps = even ? hasTiers(opinions[0]![1].prices) : tiered.length * 2 > opinions.length
  if (keeps) return votes
  return votes.map(([list, model]) => [
    list,
    { ...model, prices: Object.fromEntries(Object.entries(model.prices).filter(([path]) => !path.includes('tiers.'))) },
  ])
}

const hasTiers = (prices: FlatPrices): boolean => Object.keys(prices).some(path => path.startsWith('tiers.'))

/** The lists state different facts: genai-prices the window, litellm all others. */
function mergedFacts(votes: Votes): ListedFacts {
  return Object.assign({}, ...votes.map(([, { facts }]) => facts ?? {})) as ListedFacts
}

/** Prices that are no single number are those of the first list that has them. */
/** Where it is not the name as of `listName`. */
function writtenOf(name: string, votes: Votes): Pick<ListedModel, 'written'> {
  const written = votes.map(([, model]) => model.written).find(one => one !== undefined)
  return written !== undefined && written !== name ? { written } : {}
}

function wholeOf(votes: Votes): Pick<ListedModel, 'whole'> {
  const whole = Object.assign({}, ...votes.map(([, model]) => model.whole ?? {}).reverse()) as ListedModel['whole']
  return whole && Object.keys(whole).length > 0 ? { whole } : {}
}
