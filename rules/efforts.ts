/** Words for how much a model should think, and which of them another model takes for the same. */

const words = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** What is sent for a word that the client wrote. */
export interface FittedEffort {
  /** undefined = the field is left out. */
  readonly effort: string | undefined
  /** It is not what was asked for: thinking cannot be stopped, or not be asked for. */
  readonly lost: boolean
}

/**
 * The word nearest to `asked` among those that a model takes; of two equally near ones the greater. `none` is never
 * taken for thinking. Where thinking cannot be stopped, the least effort is sent and the loss is reported.
 */
export function fittedEffort(requested: string, taken: readonly string[]): FittedEffort {
  if (taken.includes(requested)) return { effort: requested, lost: false }
  const thinking = taken.filter(word => word !== 'none')
  if (requested === 'none') return { effort: thinking[0] === 'default' ? undefined : thinking[0], lost: true }
  if (thinking.includes('default')) return { effort: 'default', lost: false }
  const rank = words.indexOf(requested as (typeof words)[number])
  if (rank < 0 || thinking.length === 0) return { effort: undefined, lost: true }
  let best = thinking[0]!
  const distance = (word: string): number => Math.abs(words.indexOf(word as (typeof words)[number]) - rank)
  for (const word of thinking) if (distance(word) <= distance(best)) best = word
  return { effort: best, lost: false }
}

/** The effort nearest to a budget of tokens; undefined = the model's default. */
export function effortOfBudget(budgetTokens: number | undefined): 'low' | 'medium' | 'high' | undefined {
  if (budgetTokens === undefined) return undefined
  if (budgetTokens <= 2048) return 'low'
  return budgetTokens <= 8192 ? 'medium' : 'high'
}
