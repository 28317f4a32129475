/** Which of Cohere's models think (`thinking`). */
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

/** Every row, for tests. */
export const cohereRows = rows
