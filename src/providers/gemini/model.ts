/** What a Gemini model takes, by its name (`rules/gemini.ts`). */
import { geminiFeatures, geminiThinking } from '../../../rules/gemini.ts'
import type { GeminiFeatures, GeminiThinking } from '../../../rules/gemini.ts'

/** What a Gemini model can do, derived from its name. */
export interface GeminiModel extends GeminiFeatures {
  readonly thinking: GeminiThinking
}

/** `name` with or without `models/` before it. Never throws. */
export function geminiModel(name: string): GeminiModel {
  return { ...geminiFeatures(name), thinking: geminiThinking(name) }
}
