/** Properties of a Gemini model, derived from its name. Unknown names get version 0, whose format all models take. */

/** Derived from the name. */
export interface GeminiModel {
  /** `2.5` of `gemini-2.5-pro`; 0 = not known or not a Gemini model. */
  readonly version: number
  readonly tier: 'pro' | 'flash' | 'flash-lite' | ''
  /** Generates images or speech; before Gemini 3 such models have no thinking options. */
  readonly media: boolean
  /** false = Gemma up to 3, which has no system instruction (Gemma model card, "System instructions"). */
  readonly systemInstruction: boolean
}

/** The version assumed for `-latest` names. */
const latestVersion = 3

/** `name` with or without `models/` before it. Never throws. */
export function geminiModel(name: string): GeminiModel {
  const found = /gemini-(\d+(?:\.\d+)?)/.exec(name)
  const latest = /gemini-(pro|flash|flash-lite)-latest/.test(name)
  return {
    version: found ? Number(found[1]) : latest ? latestVersion : 0,
    tier: name.includes('flash-lite')
      ? 'flash-lite'
      : name.includes('flash')
        ? 'flash'
        : name.includes('pro')
          ? 'pro'
          : '',
    media: /-(image|tts)\b/.test(name),
    systemInstruction: !/gemma-[123]/.test(name),
  }
}
