/** `usageMetadata` both ways (ai.google.dev/api/generate-content, "UsageMetadata"). */
import type { Usage } from '../../core/usage.ts'
import { isObject } from '../common/field-checks.ts'
import type { Fields } from '../common/field-checks.ts'
import { objectsOf } from './json-names.ts'

const tokensMax = 1_000_000_000

/** A plausible count: an integer from 0 to 10^9. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= tokensMax ? value : undefined
}

/** Undefined when it is missing or not believable: such a report is worth no more than none. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = count(value.promptTokenCount)
  const candidates = count(value.candidatesTokenCount ?? 0)
  const thoughts = count(value.thoughtsTokenCount ?? 0)
  const tools = count(value.toolUsePromptTokenCount ?? 0)
  if (prompt === undefined || candidates === undefined || thoughts === undefined || tools === undefined)
    return undefined
  const usage: Usage = { inputTokens: prompt + tools, outputTokens: candidates + thoughts }
  const cached = count(value.cachedContentTokenCount)
  const inputAudio = modalityTokens(value.promptTokensDetails, 'AUDIO')
  const outputAudio = modalityTokens(value.candidatesTokensDetails, 'AUDIO')
  const inputImage = modalityTokens(value.promptTokensDetails, 'IMAGE')
  const outputImage = modalityTokens(value.candidatesTokensDetails, 'IMAGE')
  if (cached) usage.cachedInputTokens = Math.min(cached, usage.inputTokens)
  if (thoughts) usage.reasoningTokens = thoughts
  if (inputAudio) usage.inputAudioTokens = Math.min(inputAudio, usage.inputTokens)
  if (outputAudio) usage.outputAudioTokens = Math.min(outputAudio, usage.outputTokens)
  if (inputImage) usage.inputImageTokens = Math.min(inputImage, usage.inputTokens)
  if (outputImage) usage.outputImageTokens = Math.min(outputImage, usage.outputTokens)
  return usage
}

function modalityTokens(details: unknown, modality: 'AUDIO' | 'IMAGE'): number {
  return objectsOf(details).reduce(
    (sum, one) => (one.modality === modality ? sum + (count(one.tokenCount) ?? 0) : sum),
    0,
  )
}

/** Gemini counts thinking beside the candidates, not among them. */
export function usageMetadata(usage: Usage): Fields {
  const {
    inputTokens,
    outputTokens,
    reasoningTokens = 0,
    cachedInputTokens,
    inputAudioTokens,
    outputAudioTokens,
  } = usage
  const metadata: Fields = {
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
