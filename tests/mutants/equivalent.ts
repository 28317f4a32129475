/** Mutants that change nothing which a caller could see, each with the reason; `npm run mutants` leaves them out. */
export const equivalents: readonly {
  readonly file: string
  /** The source line, without its indentation. */
  readonly code: string
  readonly change: string
  readonly reason: string
}[] = [
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'costNanoUsdMax = cost === null || costNanoUsdMax === null ? null : cost > costNanoUsdMax ? cost : costNanoUsdMax',
    change: '> -> >=',
    reason: 'of two equal costs either is the higher one',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (highest === null || cost > highest) highest = cost',
    change: '> -> >=',
    reason: 'of two equal costs either is the higher one',
  },
  {
    file: 'src/pipeline/settlement/usage.ts',
    code: 'if (others.length === 0) return first',
    change: 'if (others.length === 0) never',
    reason: 'the sum of one is that one; the line saves a copy',
  },
  {
    file: 'src/pipeline/settlement/served-tier.ts',
    code: 'if (!variant) return false',
    change: 'return false emptied',
    reason: 'undefined is no discount either',
  },
  {
    file: 'src/pipeline/settlement/served-tier.ts',
    code: 'if (serviceTier === served?.serviceTier && speed === served?.speed && region === served?.region) return usage',
    change: 'if (serviceTier === served?.serviceTier && speed === served?.speed && region === served?.region) never',
    reason: 'the copy has the same values',
  },
  {
    file: 'src/core/dialects/call-signature.ts',
    code: 'if (!bytes.includes(needle)) return body',
    change: 'if (!bytes.includes(needle)) never',
    reason: 'without the needle nothing is changed; the line saves the reading',
  },
  {
    file: 'src/pricing/input-cost.ts',
    code: 'if (least === null || cost < least) least = cost',
    change: '< -> <=',
    reason: 'of two equal costs either is the lower one',
  },
  {
    file: 'src/pricing/cost.ts',
    code: 'return BigInt((total - rest) / 1e6 + (rest >= 500_000 ? 1 : 0))',
    change: 'return BigInt((total - rest) / 1e6 + (rest >= 500_000 ? 1 : 0)) emptied',
    reason: 'the long way makes the same sum',
  },
  {
    file: 'src/pricing/cost.ts',
    code: 'if (usage.reasoningTokens && prices.reasoning !== undefined) return undefined',
    change: '&& -> ||',
    reason: 'the long way makes the same sum',
  },
  {
    file: 'src/pricing/token-classes.ts',
    code: 'if (price === undefined || cachedPrice === undefined || input === undefined || cachedText === undefined) return false',
    change: 'return false emptied',
    reason: 'undefined counts as false there',
  },
  {
    file: 'src/pricing/price-variants.ts',
    code: 'hours !== undefined || (later?.some(({ prices }) => prices.hours !== undefined) ?? false)',
    change: 'false -> true',
    reason: 'without hours and later prices both moments have the same prices',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (known === undefined) {',
    change: 'if (known === undefined) always',
    reason: 'what is kept is worked out again, and is the same',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (rates === undefined) {',
    change: '=== -> !==',
    reason: 'without rates all rules together give the same bound',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (rates === undefined) {',
    change: 'if (rates === undefined) always',
    reason: 'what is kept is worked out again, and is the same',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (!rates) return undefined',
    change: 'if (!rates) always',
    reason: 'all rules together give the same bound',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (rates === undefined) {',
    change: 'if (rates === undefined) never',
    reason: 'without rates all rules together give the same bound',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (regionPercentMax(prices, undefined, 0) !== 100) return null',
    change: 'return null emptied',
    reason: 'either says that there are no rates',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'return Number.isSafeInteger(rounded) ? BigInt((rounded - (rounded % scale)) / scale) : undefined',
    change: 'return Number.isSafeInteger(rounded) ? BigInt((rounded - (rounded % scale)) / scale) : undefined emptied',
    reason: 'all rules together give the same bound',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (one.input === undefined || one.output === undefined || one.searchUnit !== undefined) return null',
    change: 'if (one.input === undefined || one.output === undefined || one.searchUnit !== undefined) always',
    reason: 'without rates all rules together give the same bound',
  },
  {
    file: 'src/access/limits/limit-scopes.ts',
    code: 'if (some.length !== others.length) return false',
    change: 'return false emptied',
    reason: 'undefined counts as false there',
  },
  {
    file: 'src/access/limits/limit-scopes.ts',
    code: 'if (last?.model === model && areSame(last.others, others)) return last.limits',
    change: 'if (last?.model === model && areSame(last.others, others)) never',
    reason: 'it is found again among all that is kept',
  },
  {
    file: 'src/access/limits/budget-window.ts',
    code: 'let steps = Math.floor(((now.year - anchor.year) * 12 + now.month - anchor.month) / count)',
    change: '12 -> (12 + 1)',
    reason: 'a first guess: the loops after it find the step',
  },
  {
    file: 'src/access/limits/limit-scopes.ts',
    code: "if (all && this.#owners.length > 0) owners.push({ id: 'gateway', fields: { ...unlimited, ...all } })",
    change: '0 -> (0 + 1)',
    reason: 'there are none, or the key and its user',
  },
  {
    file: 'src/pipeline/routing/deployment-choice.ts',
    code: 'if (tried.has(deployment) || isDrained(deployment, call) || this.#isBlocked(deployment.id)) return false',
    change: 'return false emptied',
    reason: 'undefined says no as well',
  },
  {
    file: 'src/pipeline/routing/deployment-choice.ts',
    code: 'if (open.length <= 1) return open[0]',
    change: 'if (open.length <= 1) never',
    reason: 'the best of one is that one; the line saves the comparison',
  },
  {
    file: 'src/pipeline/routing/cooldown.ts',
    code: 'readonly #health = new LRUCache<string, Health>(entryLimit(10_000))',
    change: '10_000 -> (10000 + 1)',
    reason: 'a bound of memory, of which one more or less means nothing',
  },
  {
    file: 'src/pipeline/routing/deployment-limits.ts',
    code: 'readonly #full = new LRUCache<string, Full>(entryLimit(10_000))',
    change: '10_000 -> (10000 + 1)',
    reason: 'a bound of memory, of which one more or less means nothing',
  },
  {
    file: 'src/pipeline/routing/deployment-stats.ts',
    code: 'readonly #loads = new LRUCache<string, Load>(entryLimit(10_000))',
    change: '10_000 -> (10000 + 1)',
    reason: 'a bound of memory, of which one more or less means nothing',
  },
  {
    file: 'src/policies/limits/check-budgets.ts',
    code: 'verdict.release(0)',
    change: '0 -> (0 + 1)',
    reason: 'budgets alone are given back there, which count no tokens',
  },
  {
    file: 'src/policies/limits/reserve-batch.ts',
    code: 'const release = () => held.forEach(one => one.taken.release(0))',
    change: '0 -> (0 + 1)',
    reason: 'budgets alone are given back there, which count no tokens',
  },
  {
    file: 'src/policies/limits/reserve-model.ts',
    code: 'else one.release(0)',
    change: '0 -> (0 + 1)',
    reason: 'budgets alone are given back there, which count no tokens',
  },
  {
    file: 'src/policies/limits/reserve-budgets.ts',
    code: 'more.release(0)',
    change: '0 -> (0 + 1)',
    reason: 'budgets alone are given back there, which count no tokens',
  },
  {
    file: 'src/policies/limits/closer-bound.ts',
    code: 'if (least === null || least === 0) return undefined',
    change: 'if (least === null || least === 0) never',
    reason: 'the comparisons below say no to null and to 0 as well',
  },
  {
    file: 'src/policies/limits/reserve-budgets.ts',
    code: 'const window = countOf(info.context_window) ?? countOf(info.max_input_tokens) ?? 0',
    change: '0 -> (0 + 1)',
    reason: 'either is less than what every model is able to',
  },
  {
    file: 'src/policies/limits/reserve-budgets.ts',
    code: 'if (bound === 0 || fitsWell(bound, left)) return bound',
    change: 'if (bound === 0 || fitsWell(bound, left)) never',
    reason: 'what fits is not lowered: the long way gives the bound, too',
  },
  {
    file: 'src/policies/limits/reserve-budgets.ts',
    code: 'if (bound === 0 || fitsWell(bound, left)) return bound',
    change: '|| -> &&',
    reason: 'what fits is not lowered: the long way gives the bound, too',
  },
]
