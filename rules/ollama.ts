/** Which words Ollama's models take for `think`, beside on and off. */
import { gptOssEfforts } from './efforts.ts'
import type { EffortWord } from './efforts.ts'
import { rowFor } from './source.ts'
import type { NamedRow } from './source.ts'

/** How a model of Ollama's thinks. */
export interface OllamaThinking {
  /** Empty = thinking is on or off. */
  readonly efforts: readonly EffortWord[]
  readonly canStop: boolean
}

interface OllamaRow extends NamedRow, OllamaThinking {}

const rows: readonly OllamaRow[] = [
  { pattern: /gpt-oss/, source: gptOssEfforts.source, efforts: gptOssEfforts.efforts, canStop: false },
  {
    pattern: /[:-]cloud$/,
    source: { url: 'https://github.com/ollama/ollama/pull/16877', readOn: '2026-11-29' },
    efforts: [...gptOssEfforts.efforts, 'max'],
    canStop: true,
  },
]

const onOff: OllamaThinking = { efforts: [], canStop: true }

/** By the model's name with its tag. */
export function ollamaThinking(model: string): OllamaThinking {
  return rowFor(rows, model) ?? onOff
}

/** Every row, for tests. */
export const ollamaRows = rows
