/** Compares the built-in price list with the public lists that it is made of (tests/data/price-lists.json). */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import decisionList from '../../../scripts/prices/decisions.json'
import type { ComparedLists } from '../../../scripts/prices/compared.ts'
import { coverageOf } from '../../../scripts/prices/litellm-coverage.ts'
import type { Decision } from '../../../scripts/prices/merge.ts'
import compared from '../../../tests/data/price-lists.json'
import { builtInList, builtInModels } from './price-list.ts'
import { catalogPrices } from './prices.ts'
import { pricesOf, unitScales } from './list-prices.ts'
import type { PriceUnit } from './list-prices.ts'

const { lists, prices } = compared as unknown as ComparedLists
const decisions = decisionList as readonly Decision[]

/** Nano-dollars for a million, as the gateway charges; undefined = not known. */
function ours(provider: string, model: string, path: string): bigint | undefined {
  const entry = builtInModels(provider).get(model)
  const all = entry && pricesOf(entry.prices)
  const [, variant, rest = path] = /^variants\.(\w+)\.(.+)$/.exec(path) ?? []
  const scope = variant === undefined ? all : all?.variants?.[variant]
  const [, from, unit = rest] = /^tiers\.(\d+)\.(.+)$/.exec(rest) ?? []
  if (from === undefined) return scope?.[unit as PriceUnit]
  return scope?.tiers?.find(tier => Math.abs(tier.fromInputTokens - Number(from)) <= 1)?.prices[unit as PriceUnit]
}

const nano = (dollars: number, unit: string) => dollars * (unitScales[unit as PriceUnit] === 'million' ? 1e9 : 1e15)

/** Prices that two lists have alike, by path. */
function* agreements() {
  for (const [provider, models] of Object.entries(prices))
    for (const [model, paths] of Object.entries(models))
      for (const [path, given] of Object.entries(paths)) {
        const known = given.filter(one => one !== null)
        const price = known.find(one => known.filter(other => isSame(one, other)).length > 1)
        if (price !== undefined) yield { provider, model, path, price }
      }
}

const isSame = (one: number, other: number) => Math.abs(one - other) <= Math.max(one, other) * 2e-4

/** A model is unknown as a whole where one of its kinds of tokens is. */
const decided = (provider: string, model: string, path: string) =>
  decisions.some(
    ({ provider: ofProvider, models, paths, take }) =>
      ofProvider === provider &&
      models.includes(model) &&
      (paths === undefined || paths.includes(path) || (take === null && !paths.includes('webSearch'))),
  )

test('the comparison is of the lists that the built-in one is made of', () => {
  expect(lists).toEqual(builtInList().sources as never)
})

test('a price on which two public lists agree is ours, or its difference is justified', () => {
  let compared = 0
  const wrong: string[] = []
  for (const { provider, model, path, price } of agreements()) {
    compared++
    const own = ours(provider, model, path)
    const unit = path.slice(path.lastIndexOf('.') + 1)
    const isOurs = own !== undefined && Math.abs(Number(own) - nano(price, unit)) <= nano(price, unit) * 2e-4 + 1
    if (!isOurs && !decided(provider, model, path) && !isElsewhere(provider, model, path, price))
      wrong.push(`${provider}/${model} ${path}: ${price} in two lists, ${own} here`)
  }
  expect(wrong).toEqual([])
  expect(compared).toBeGreaterThan(3000)
})

/** A kind of token at the price of plain input or output is left out: it is charged so in any case. */
function isElsewhere(provider: string, model: string, path: string, price: number): boolean {
  const plain = path
    .replace(/(?:reasoning|output(?:Audio|Image|Video))$/, 'output')
    .replace(/input(?:Audio|Image|Video)$/, 'input')
  const own = plain === path ? undefined : ours(provider, model, plain)
  return own !== undefined && Number(own) === nano(price, 'input')
}

test('nearly all of the most used models have a price, and the page says which', () => {
  const page = readFileSync(`${import.meta.dir}/../../../docs/priced-models.md`, 'utf8')
  const sections = [...page.matchAll(/^## (\w+)\n\n(.+)$/gm)]
  const models = sections.flatMap(([, provider, names]) =>
    names!.split(', ').map(name => ({ provider: provider!, name: name.slice(1, -1) })),
  )
  const priced = models.filter(({ provider, name }) => catalogPrices(provider, name) !== null)
  expect(page).toContain(`${priced.length} of ${models.length} models have a price`)
  expect(models.length).toBeGreaterThan(500)
  expect(priced.length / models.length).toBeGreaterThan(250 / 279)
})

test('every entry of a list is counted once, with the reason why it has no price', () => {
  const priced = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
  const openai = { litellm_provider: 'openai', mode: 'chat', ...priced }
  const { providers, others } = coverageOf(
    {
      sample_spec: { litellm_provider: 'one of ...' },
      'gpt-4o': openai,
      'openai/gpt-next': openai,
      'gpt-wrong': openai,
      'gpt-free': { litellm_provider: 'openai', mode: 'chat' },
      'sora-9': { ...openai, mode: 'video_generation' },
      'hd/1024-x-1024/dall-e-9': openai,
      'house/model': { litellm_provider: 'house', ...priced },
      category: priced,
    },
    (_, name) => (name === 'gpt-4o' ? true : name === 'gpt-wrong' ? false : undefined),
  )
  expect(providers).toEqual([
    {
      provider: 'openai',
      entries: 6,
      priced: 1,
      without: {
        part: ['hd/1024-x-1024/dall-e-9'],
        mode: ['sora-9'],
        free: ['gpt-free'],
        decided: ['gpt-wrong'],
        newer: ['gpt-next'],
      },
    },
  ])
  expect([...others]).toEqual([
    ['house', 1],
    ['without a provider', 1],
  ])
})

test('the page has the coverage of the whole list, whose rows add up, and nearly all of it has a price', () => {
  const page = readFileSync('docs/priced-models.md', 'utf8')
  const start = page.indexOf("## LiteLLM's whole list")
  const rows = [...page.slice(start).matchAll(/^\| ([\w ]+) \|((?: \d+ \|){7})$/gm)].map(([, name, cells]) => ({
    name,
    counts: cells!.split('|').slice(0, -1).map(Number),
  }))
  const all = rows.pop()!
  expect([all.name, rows.length]).toEqual(['all', expect.any(Number)])
  for (const [at, sum] of all.counts.entries())
    expect(rows.reduce((total, one) => total + one.counts[at]!, 0)).toBe(sum)
  const [entries, known, ...reasons] = all.counts as [number, number, ...number[]]
  expect(entries).toBe(known + reasons.reduce((total, one) => total + one, 0))
  // What the list has a price of and we do not: decided, and newer.
  expect((reasons[3]! + reasons[4]!) / entries).toBeLessThan(0.01)
})

test('every decision is about a model of the list, and says why', () => {
  for (const { provider, models, because, take, set } of decisions) {
    expect(because.length).toBeGreaterThan(40)
    expect((take === undefined) !== (set === undefined)).toBe(true)
    for (const model of models) expect([model, builtInModels(provider).has(model)]).toEqual([model, true])
  }
})
