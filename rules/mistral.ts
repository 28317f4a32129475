/** Which of Mistral's models reason, and how they are asked to. */
import { peersList, rowFor } from './source.ts'
import type { NamedRow, Source } from './source.ts'

/** How a model of Mistral's reasons. */
export type MistralReasoning =
  /** Always, by `prompt_mode: reasoning`. */
  | { readonly by: 'prompt-mode' }
  /** By `reasoning_effort`, which is one of these. */
  | { readonly by: 'effort'; readonly efforts: readonly string[] }
  /** Refuses both. */
  | { readonly by: 'nothing' }

interface MistralRow extends NamedRow {
  readonly reasoning: MistralReasoning
}

const page: Source = { url: 'https://docs.mistral.ai/inference/conversations/reasoning', readOn: '2026-11-23' }
const adjustable: Source = { url: 'https://docs.mistral.ai/capabilities/reasoning/adjustable', readOn: '2026-11-23' }
const onOff: MistralReasoning = { by: 'effort', efforts: ['none', 'high'] }

const rows: readonly MistralRow[] = [
  { pattern: /magistral/, source: page, reasoning: { by: 'prompt-mode' } },
  {
    pattern: /mistral-large-4/,
    source: page,
    reasoning: { by: 'effort', efforts: ['none', 'low', 'medium', 'high'] },
  },
  { pattern: /mistral-small-(?:2603|latest|4)/, source: adjustable, reasoning: onOff },
  { pattern: /mistral-medium-(?:3[.-]5|latest)/, source: adjustable, reasoning: onOff },
  {
    pattern: /glm-5[.-]2/,
    source: peersList,
    reasoning: { by: 'effort', efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] },
  },
  { pattern: /glm/, source: peersList, reasoning: { by: 'effort', efforts: ['low', 'high', 'max'] } },
  {
    pattern: new RegExp(
      'ministral|codestral|devstral|pixtral|voxtral|open-|nemo|' +
        'mistral-(?:small-2[45]|medium-2[45]|medium-3(?![.-]5)|large-2[45]|tiny|saba|7b)',
    ),
    source: page,
    reasoning: { by: 'nothing' },
  },
]

/** A model of no row is asked as the adjustable ones: on or off. */
export function mistralReasoning(model: string): MistralReasoning {
  return rowFor(rows, model)?.reasoning ?? onOff
}

/** Every row, for tests. */
export const mistralRows = rows
