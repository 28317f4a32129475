/** How three price lists become one (scripts/prices), on lists of a few models. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listedPrices } from '../../scripts/prices/flat.ts'
import type { FlatPrices, PriceList } from '../../scripts/prices/flat.ts'
import { readGenaiList } from '../../scripts/prices/genai-list.ts'
import type { GenaiProvider } from '../../scripts/prices/genai-list.ts'
import { readLiteLLMList } from '../../scripts/prices/litellm-list.ts'
import { mergeLists } from '../../scripts/prices/merge.ts'
import type { Decision } from '../../scripts/prices/merge.ts'
import { withoutImplausible } from '../../scripts/prices/plausibility.ts'

const listOf = (prices: FlatPrices | undefined): PriceList =>
  new Map([['openai', new Map(prices ? [['m', { prices }]] : [])]])

/** What comes of the prices that genai-prices, model-prices and litellm have for one model. */
function merged(given: readonly (FlatPrices | undefined)[], decisions: readonly Decision[] = []) {
  const [genai, modelPrices, litellm] = given
  const lists = { 'genai-prices': listOf(genai), 'model-prices': listOf(modelPrices), litellm: listOf(litellm) }
  const { models, differences } = mergeLists(lists, decisions)
  const { prices, unknown } = models.get('openai')!.get('m') ?? {}
  return { prices, ...(unknown && { unknown }), open: differences.filter(one => one.open).length }
}

const plain = { input: 1, output: 2 }

test('two lists that agree win, and one that is alone counts', () => {
  expect(merged([{ input: 9, output: 2 }, plain, plain])).toEqual({ prices: plain, open: 0 })
  expect(merged([undefined, undefined, plain])).toEqual({ prices: plain, open: 0 })
  expect(merged([{ ...plain, cacheRead: 0.5 }, plain, undefined]).prices).toEqual({ ...plain, cacheRead: 0.5 })
  // Lists round.
  expect(merged([{ input: 0.030_833_3, output: 2 }, undefined, { input: 0.030_83, output: 2 }]).open).toBe(0)
})

test('a dispute without a majority needs a decision; until then the model has no price', () => {
  const dispute = [plain, undefined, { input: 3, output: 2 }] as const
  expect(merged(dispute)).toEqual({ prices: {}, open: 1 })
  const decision = { provider: 'openai', models: ['m'], because: 'the page of the vendor' } as const
  expect(merged(dispute, [{ ...decision, take: 'litellm' }])).toEqual({ prices: { input: 3, output: 2 }, open: 0 })
  expect(merged(dispute, [{ ...decision, take: null }])).toEqual({ prices: {}, open: 0 })
  expect(merged([plain, undefined, plain], [{ ...decision, set: { inputAudio: 40 } }]).prices).toEqual({
    ...plain,
    inputAudio: 40,
  })
})

test('where lists differ by less than a half and nothing decides, the dearest price holds and is marked', () => {
  const mergedModel = (given: readonly (FlatPrices | undefined)[], decisions: readonly Decision[] = []) => {
    const [genai, modelPrices, litellm] = given
    const lists = { 'genai-prices': listOf(genai), 'model-prices': listOf(modelPrices), litellm: listOf(litellm) }
    return mergeLists(lists, decisions).models.get('openai')!.get('m')!
  }
  const dispute = [plain, undefined, { input: 1.49, output: 2 }] as const
  expect(merged(dispute)).toEqual({ prices: { input: 1.49, output: 2 }, open: 0 })
  expect(mergedModel(dispute).disputed).toEqual(['input'])
  const unknown = { provider: 'openai', models: ['m'], because: 'no page says which', take: null } as const
  expect(mergedModel(dispute, [unknown])).toMatchObject({ prices: { input: 1.49, output: 2 }, disputed: ['input'] })
  // By a half or more, or decided: not.
  expect(merged([plain, undefined, { input: 1.5, output: 2 }])).toEqual({ prices: {}, open: 1 })
  expect(mergedModel(dispute, [{ ...unknown, take: 'genai-prices' }])).toMatchObject({ prices: plain })
  expect(mergedModel(dispute, [{ ...unknown, take: 'genai-prices' }]).disputed).toBeUndefined()
  expect(mergedModel([plain, plain, { input: 1.4, output: 2 }]).disputed).toBeUndefined()
})

test('the most that a call costs stands for prices of a call that lists choose among', () => {
  const set = { provider: 'openai', models: ['m'], because: 'three sizes', set: { requestAtMost: 0.014 } }
  const prices = { ...plain, request: 0.005 }
  expect(merged([prices, undefined, { ...plain, request: 0.012 }], [set])).toEqual({
    prices: { ...plain, requestAtMost: 0.014 },
    open: 0,
  })
})

test('what a dearer variant lacks is unknown, and what a cheaper one lacks has the standard price', () => {
  const standard = { input: 2, output: 8, cacheRead: 0.2, cacheWrite: 2.5, cacheWriteOneHour: 4 }
  const variant = (name: string, prices: FlatPrices) =>
    Object.fromEntries(Object.entries(prices).map(([unit, price]) => [`variants.${name}.${unit}`, price]))
  const given = {
    ...standard,
    ...variant('batch', { input: 1, output: 4, cacheWrite: 1.25 }),
    ...variant('priority', { input: 4, output: 16 }),
  }
  expect(listedPrices(merged([given, undefined, undefined]).prices!).variants).toEqual({
    // What a batch does not discount keeps its price; the longer write keeps its proportion.
    batch: { input: 1, output: 4, cacheRead: 0.2, cacheWrite: 1.25, cacheWriteOneHour: 2 },
    priority: { input: 4, output: 16 },
  })
  expect(merged([given, undefined, undefined]).unknown).toEqual({
    priority: ['cacheRead', 'cacheWrite', 'cacheWriteOneHour'],
  })
  const withoutOutput = { ...standard, ...variant('priority', { input: 4 }) }
  expect(listedPrices(merged([withoutOutput, undefined, undefined]).prices!).variants).toBeUndefined()
})

test('a price that no other model comes near is a mistake, unless lists agree or a person decided', () => {
  const models = (given: Record<string, FlatPrices>) =>
    new Map([['openai', new Map(Object.entries(given).map(([name, prices]) => [name, { prices }]))]])
  const usual = Object.fromEntries(['a', 'b', 'c', 'd'].map(name => [name, plain]))
  const both = models({ ...usual, dear: { input: 500, output: 500 } })
  const lists = {
    'genai-prices': both,
    'model-prices': both,
    litellm: models({
      wrong: { input: 5001, output: 2 },
      judged: { input: 9000, output: 2 },
      right: { input: 90, output: 2 },
    }),
  }
  const { merged: checked, implausible } = withoutImplausible(mergeLists(lists, []), (_, model) => model === 'judged')
  expect(implausible).toEqual([{ provider: 'openai', model: 'wrong', unit: 'input', dollars: 5001, dearest: 500 }])
  const pricesOf = (name: string) => checked.models.get('openai')!.get(name)!.prices
  expect(['wrong', 'dear', 'judged', 'right'].map(name => pricesOf(name).input)).toEqual([undefined, 500, 9000, 90])
})

test('the majority of lists says whether long inputs cost more', () => {
  const tiered = { ...plain, 'tiers.200001.input': 2 }
  expect(merged([tiered, plain, plain]).prices).toEqual(plain)
  expect(merged([plain, tiered, tiered]).prices).toEqual(tiered)
})

test("a list's rules by name give names, never patterns", () => {
  const price = { input_mtok: '1', output_mtok: '2' }
  const all: GenaiProvider[] = [
    {
      id: 'openai',
      models: [
        { id: 'a', match: { or_: [{ starts_with: 'a-' }, { equals: 'a-mini' }, { regex: '^a-\\d$' }] }, prices: price },
        {
          id: 'b',
          match: { equals: 'b' },
          prices: [
            { prices: { ...price, input_mtok: '5' } },
            { constraint: { _: 'StartDateConstraint', start_date: '2026-11-01' }, prices: price },
            {
              constraint: { _: 'StartDateConstraint', start_date: '2027-01-01' },
              prices: { ...price, input_mtok: '7' },
            },
          ],
        },
      ],
    },
  ]
  const models = readGenaiList(all, '2026-11-23', []).get('openai')!
  expect([...models.keys()]).toEqual(['a', 'a-mini', 'b'])
  expect(models.get('b')).toMatchObject({
    prices: { input: 1, output: 2 },
    whole: { later: [['2027-01-01', { input: 7, output: 2 }]] },
  })
})

test("LiteLLM's zeros and rows for a part of a model are no prices", () => {
  const models = readLiteLLMList({
    'free-looking': { litellm_provider: 'openai', input_cost_per_token: 0, output_cost_per_token: 0 },
    'hd/1024-x-1024/dall-e-3': { litellm_provider: 'openai', output_cost_per_image: 0.08 },
    'text-embedding-3-small': {
      litellm_provider: 'openai',
      mode: 'embedding',
      input_cost_per_token: 2e-8,
      output_cost_per_token: 0,
    },
  }).get('openai')!
  expect(models.get('free-looking')!.prices).toEqual({})
  expect(models.get('text-embedding-3-small')!.prices).toEqual({ input: 0.02, output: 0 })
  expect(models.has('hd/1024-x-1024/dall-e-3')).toBe(false)
})

const python = Bun.which('python3')
test.skipIf(!python)("genai-prices' module is parsed, never run", () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-prices-'))
  try {
    const module = join(folder, 'data.py')
    const parse = () => {
      const script = join(import.meta.dir, '../../scripts/prices/python-list.py')
      const { exitCode, stdout, stderr } = Bun.spawnSync([python!, script, module])
      return { exitCode, out: stdout.toString(), error: stderr.toString() }
    }
    writeFileSync(
      module,
      "import datetime\nraise SystemExit('run')\nproviders: list[P] = [P(id='x', at=datetime.date(2026, 1, 2), " +
        "price=Decimal('0.1'), hours=datetime.time(1, 30, tzinfo=datetime.UTC))]\n",
    )
    expect(JSON.parse(parse().out)).toEqual([{ _: 'P', id: 'x', at: '2026-01-02', price: '0.1', hours: '01:30' }])
    writeFileSync(module, 'providers: list[P] = [P(id=open("/etc/hostname").read())]\n')
    expect(parse()).toMatchObject({ exitCode: 1, out: '' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
