/** Which of Cohere's models think (`thinking`). */
import type { EffortBudgets } from './efforts.ts'
import { rowFor } from './source.ts'
import type { NamedRow, Source } from './source.ts'

interface CohereRow extends NamedRow {
  readonly thinks: boolean
}

const page: Source = { url: 'https://docs.cohere.com/docs/reasoning', readOn: '2026-11-23' }
const modelsPage: Source = { url: 'https://docs.cohere.com/docs/models', readOn: '2026-11-23' }

const rows: readonly CohereRow[] = [
  { pattern: /command-a-(?:reasoning|plus)/, source: page, thinks: true },
  { pattern: /command-(?:a-(?:\d|vision|translate)|r|light|nightly)|aya/, source: modelsPage, thinks: false },
]

/** true = it takes `thinking`. A model of no row is newer than the table, and thinks as the newest do. */
export function cohereThinks(model: string): boolean {
  return rowFor(rows, model)?.thinks ?? true
}

/** Tokens of `thinking.token_budget` by the effort; from `high` on there is no limit but the model's. */
export const cohereBudgets = { minimal: 512, low: 1024, medium: 4096 } as const satisfies EffortBudgets

/** Every row, for tests. */
export const cohereRows = rows
