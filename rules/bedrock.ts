/** How much models on Bedrock think which are neither Claude nor OpenAI's. */
import { gptOssEfforts, threeEfforts } from './efforts.ts'
import type { EffortWord } from './efforts.ts'
import { rowFor } from './source.ts'
import type { NamedRow } from './source.ts'

/** How an effort is said in `additionalModelRequestFields`. */
export interface BedrockReasoning {
  /** `reasoningConfig.maxReasoningEffort` of Nova, or `reasoning_effort` of gpt-oss, which always thinks. */
  readonly by: 'reasoningConfig' | 'reasoning_effort'
  /** The words that it takes, the least first. */
  readonly efforts: readonly EffortWord[]
}

interface BedrockRow extends NamedRow {
  /** undefined = it takes no setting. */
  readonly reasoning: BedrockReasoning | undefined
}

const nova = {
  url: 'https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html',
  readOn: '2026-11-23',
}

const rows: readonly BedrockRow[] = [
  { pattern: /amazon\.nova-(?:pro|lite|micro|premier)/, source: nova, reasoning: undefined },
  { pattern: /amazon\.nova/, source: nova, reasoning: { by: 'reasoningConfig', efforts: threeEfforts } },
  {
    pattern: /openai\.gpt-oss/,
    source: gptOssEfforts.source,
    reasoning: { by: 'reasoning_effort', efforts: gptOssEfforts.efforts },
  },
]

/** By the id of a model or of an inference profile; undefined = it takes no setting. */
export function bedrockReasoning(id: string): BedrockReasoning | undefined {
  return rowFor(rows, id)?.reasoning
}

/** Every row, for tests. */
export const bedrockRows = rows
