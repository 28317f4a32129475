/** `usageMetadata` as clients get it (ai.google.dev/api/generate-content, "UsageMetadata"). */
import type { Usage } from '../../core/usage/usage.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** Gemini counts thinking beside the candidates, not among them. */
export function usageMetadata(usage: Usage): Json {
  const {
    inputTokens,
    outputTokens,
    reasoningTokens = 0,
    cachedInputTokens,
    inputAudioTokens,
    outputAudioTokens,
  } = usage
  const metadata: Json = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: Math.max(outputTokens - reasoningTokens, 0),
    totalTokenCount: inputTokens + outputTokens,
  }
  if (reasoningTokens > 0) metadata.thoughtsTokenCount = reasoningTokens
  if (cachedInputTokens !== undefined) metadata.cachedContentTokenCount = cachedInputTokens
  if (inputAudioTokens) metadata.promptTokensDetails = byModality(inputTokens, inputAudioTokens)
  if (outputAudioTokens)
    metadata.candidatesTokensDetails = byModality(outputTokens - reasoningTokens, outputAudioTokens)
  return metadata
}

function byModality(tokens: number, audio: number): object[] {
  return [
    { modality: 'TEXT', tokenCount: Math.max(tokens - audio, 0) },
    { modality: 'AUDIO', tokenCount: audio },
  ]
}
