/** Words for how much a model should think, and which of them another model takes for the same. */
import type { Source } from './source.ts'

/** The words of all vendors, the least first. */
export const effortWords = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
/** One of `effortWords`. */
export type EffortWord = (typeof effortWords)[number]

/** The words of vendors and models that have just three. */
export const threeEfforts = ['low', 'medium', 'high'] as const

/** gpt-oss takes three, at every host. */
export const gptOssEfforts: { readonly efforts: readonly EffortWord[]; readonly source: Source } = {
  efforts: threeEfforts,
  source: { url: 'https://github.com/ollama/ollama/pull/16877', readOn: '2026-11-29' },
}

/** What is sent for a word that the client wrote. */
export interface FittedEffort {
  /** undefined = the field is left out. */
  readonly effort: string | undefined
  /** It is another word than was asked for, or none is sent. */
  readonly lost: boolean
}

/**
 * The word nearest to the requested one among those that a model takes; of two equally near ones the cheaper one.
 * `none` is never taken for thinking. Where thinking cannot be stopped, the least effort is sent; where there is none,
 * nothing is lost.
 */
export function fittedEffort(requested: string, taken: readonly string[]): FittedEffort {
  if (taken.includes(requested)) return { effort: requested, lost: false }
  const thinking = taken.filter(word => word !== 'none')
  if (requested === 'none')
    return { effort: thinking[0] === 'default' ? undefined : thinking[0], lost: thinking.length > 0 }
  const rank = rankOf(requested)
  if (rank < 0 || thinking.length === 0) return { effort: undefined, lost: true }
  if (thinking.includes('default')) return { effort: 'default', lost: true }
  let best = thinking[0]!
  const distance = (word: string): number => Math.abs(rankOf(word) - rank)
  for (const word of thinking) if (distance(word) < distance(best)) best = word
  return { effort: best, lost: true }
}

const rankOf = (word: string): number => effortWords.indexOf(word as EffortWord)

/** Tokens of thinking by the word, the least first: for models that are set by a budget. */
export type EffortBudgets = Readonly<Partial<Record<EffortWord, number>>>

/** A budget in tokens for a word that the client wrote. */
export interface FittedBudget {
  /** undefined = the word is none of a model's. */
  readonly tokens: number | undefined
  /** The model has no budget for this word: it is that of the nearest one. */
  readonly lost: boolean
}

/** The budget for a word, of those that do not exceed `max` tokens; of a word without one that of the nearest. */
export function budgetOfEffort(requested: string, budgets: EffortBudgets, max = Infinity): FittedBudget {
  const taken = Object.entries(budgets).flatMap(([word, tokens]) => (tokens <= max ? [word] : []))
  const { effort, lost } = fittedEffort(requested, taken)
  return { tokens: effort === undefined ? undefined : budgets[effort as EffortWord], lost }
}

/** The effort nearest to a budget of tokens; undefined = the model's default. */
export function effortOfBudget(budgetTokens: number | undefined): 'low' | 'medium' | 'high' | undefined {
  if (budgetTokens === undefined) return undefined
  if (budgetTokens <= 2048) return 'low'
  return budgetTokens <= 8192 ? 'medium' : 'high'
}
