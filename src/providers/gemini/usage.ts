/** `usageMetadata` as usage (ai.google.dev/api/generate-content, "UsageMetadata"). */
import type { Usage } from '../../core/usage.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { countOf } from '../json.ts'

/** Usage over a stream: reports are cumulative, so each count replaces the earlier one of the same name. */
export class UsageCounts {
  readonly #seen: Json = {}

  take(value: unknown): void {
    if (!isObject(value)) return
    for (const [name, count] of Object.entries(value))
      if (count !== null && count !== undefined) this.#seen[name] = count
  }

  /** Undefined = nothing was reported, or a count is invalid. */
  usage(): Usage | undefined {
    const seen = this.#seen
    const prompt = countOf(seen.promptTokenCount)
    const candidates = countOf(seen.candidatesTokenCount ?? 0)
    const thoughts = countOf(seen.thoughtsTokenCount ?? 0)
    const tools = countOf(seen.toolUsePromptTokenCount ?? 0)
    if (prompt === undefined || candidates === undefined || thoughts === undefined || tools === undefined)
      return undefined
    const inputTokens = prompt + tools
    const outputTokens = candidates + thoughts
    const cached = countOf(seen.cachedContentTokenCount)
    const inputAudio = modalityTokens(seen.promptTokensDetails, 'AUDIO')
    const outputAudio = modalityTokens(seen.candidatesTokensDetails, 'AUDIO')
    const inputImage = modalityTokens(seen.promptTokensDetails, 'IMAGE')
    const outputImage = modalityTokens(seen.candidatesTokensDetails, 'IMAGE')
    return {
      inputTokens,
      outputTokens,
      ...(cached && { cachedInputTokens: Math.min(cached, inputTokens) }),
      ...(thoughts > 0 && { reasoningTokens: thoughts }),
      ...(inputAudio > 0 && { inputAudioTokens: Math.min(inputAudio, inputTokens) }),
      ...(outputAudio > 0 && { outputAudioTokens: Math.min(outputAudio, outputTokens) }),
      ...(inputImage > 0 && { inputImageTokens: Math.min(inputImage, inputTokens) }),
      ...(outputImage > 0 && { outputImageTokens: Math.min(outputImage, outputTokens) }),
    }
  }
}

function modalityTokens(details: unknown, modality: 'AUDIO' | 'IMAGE'): number {
  return objectsOf(details).reduce(
    (sum, one) => (one.modality === modality ? sum + (countOf(one.tokenCount) ?? 0) : sum),
    0,
  )
}

/** The usage of a single report; undefined = none, or invalid. */
export function usageOf(value: unknown): Usage | undefined {
  const counts = new UsageCounts()
  counts.take(value)
  return counts.usage()
}
