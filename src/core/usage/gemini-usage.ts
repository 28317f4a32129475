/**
 * `usageMetadata` and grounding of Gemini's answers (ai.google.dev/api/generate-content, "UsageMetadata",
 * "GroundingMetadata", 2026-11). Used by the format and the provider.
 */
import { isObject, listOf, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Usage } from './usage.ts'
import { countOf, firstCount, setCount, setServed } from './usage-fields.ts'

/** `trafficType` in the words of `service_tier` (Vertex AI, "TrafficType"). */
const tiersByTraffic: ReadonlyMap<string, string> = new Map([
  ['ON_DEMAND', 'standard'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
  ['ON_DEMAND_OFFPEAK', 'offpeak'],
  ['PROVISIONED_THROUGHPUT', 'provisioned'],
])

/** Usage over a stream, or of a whole answer: reports are cumulative, so each count replaces the one of its name. */
export class GeminiUsage {
  #seen: Json = {}
  readonly #queries = new Set<string>()
  readonly #mapsQueries = new Set<string>()
  #usesMaps = false

  /** One answer, whole or a frame of a stream. */
  take(answer: Json): void {
    for (const candidate of objectsOf(answer.candidates))
      if (isObject(candidate.groundingMetadata)) this.#ground(candidate.groundingMetadata)
    if (!isObject(answer.usageMetadata)) return
    const { usageMetadata } = answer
    for (const name in usageMetadata)
      if (usageMetadata[name] !== null && usageMetadata[name] !== undefined) this.#seen[name] = usageMetadata[name]
  }

  /**
   * Empty queries are not charged, and a repeated one once ("Grounding with Google Search", "Pricing"). Those of an
   * answer that is grounded by maps alone are queries of maps ("Grounding with Google Maps").
   */
  #ground({ webSearchQueries, imageSearchQueries, groundingChunks, googleMapsWidgetContextToken: widget }: Json): void {
    const chunks = objectsOf(groundingChunks)
    const usesMaps = Boolean(widget) || chunks.some(({ maps }) => isObject(maps))
    if (usesMaps) this.#usesMaps = true
    const queries = usesMaps && !chunks.some(({ web }) => isObject(web)) ? this.#mapsQueries : this.#queries
    for (const query of [...listOf(webSearchQueries), ...listOf(imageSearchQueries)])
      if (typeof query === 'string' && query !== '') queries.add(query)
  }

  /**
   * Gemini counts thinking beside the candidates and the results of tools beside the prompt; the hub's totals include
   * them. Undefined = nothing was reported, or one of these totals is not plausible.
   */
  usage(): Usage | undefined {
    const seen = this.#seen
    const prompt = countOf(seen.promptTokenCount)
    const candidates = countOf(seen.candidatesTokenCount ?? 0)
    if (prompt === undefined || candidates === undefined) return undefined
    const thoughts = firstCount(seen.thoughtsTokenCount)
    const inputTokens = prompt + firstCount(seen.toolUsePromptTokenCount)
    const outputTokens = candidates + thoughts
    const usage: Usage = { inputTokens, outputTokens }
    const cached = Math.min(firstCount(seen.cachedContentTokenCount), inputTokens)
    setCount(usage, 'cachedInputTokens', cached)
    setCount(usage, 'reasoningTokens', thoughts)
    const input = [...objectsOf(seen.promptTokensDetails), ...objectsOf(seen.toolUsePromptTokensDetails)]
    const output = objectsOf(seen.candidatesTokensDetails)
    setCount(usage, 'inputAudioTokens', tokensOf(input, 'AUDIO'), inputTokens)
    setCount(usage, 'outputAudioTokens', tokensOf(output, 'AUDIO'), candidates)
    setCount(usage, 'inputImageTokens', tokensOf(input, 'IMAGE'), inputTokens)
    setCount(usage, 'outputImageTokens', tokensOf(output, 'IMAGE'), candidates)
    setCount(usage, 'inputVideoTokens', tokensOf(input, 'VIDEO'), inputTokens)
    setCount(usage, 'outputVideoTokens', tokensOf(output, 'VIDEO'), candidates)
    if (cached > 0) setCachedKinds(usage, seen.cacheTokensDetails)
    this.#setGrounding(usage)
    const tier = tiersByTraffic.get(String(seen.trafficType)) ?? seen.serviceTier
    setServed(usage, { serviceTier: tier })
    return usage
  }

  #setGrounding(usage: Usage): void {
    if (this.#queries.size > 0) usage.groundedPrompts = 1
    setCount(usage, 'groundingQueries', this.#queries.size)
    if (!this.#usesMaps) return
    usage.mapsPrompts = 1
    usage.mapsQueries = Math.max(this.#mapsQueries.size, 1)
  }
}

/** Only where the cached tokens are distinguished: else it is not known how much of them is audio. */
function setCachedKinds(usage: Usage, details: unknown): void {
  const cached = objectsOf(details)
  if (cached.length === 0) return
  if (usage.inputAudioTokens) usage.cachedAudioTokens = Math.min(tokensOf(cached, 'AUDIO'), usage.inputAudioTokens)
  if (usage.inputImageTokens) usage.cachedImageTokens = Math.min(tokensOf(cached, 'IMAGE'), usage.inputImageTokens)
}

function tokensOf(details: readonly Json[], modality: string): number {
  return details.reduce((sum, one) => (one.modality === modality ? sum + firstCount(one.tokenCount) : sum), 0)
}

/** The usage of a single answer; undefined = none, or invalid. */
export function readGeminiUsage(answer: Json): Usage | undefined {
  const reports = new GeminiUsage()
  reports.take(answer)
  return reports.usage()
}
