/** Voices of Gemini's speech (ai.google.dev/gemini-api/docs/speech-generation, "Voice options"). */
import type { Json } from '../../lib/json/json-values.ts'

/** OpenAI's voices, which clients send by default, and a similar voice of Gemini. */
const similarVoices: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    alloy: 'Kore',
    ash: 'Iapetus',
    ballad: 'Algieba',
    cedar: 'Charon',
    coral: 'Aoede',
    echo: 'Puck',
    fable: 'Fenrir',
    marin: 'Leda',
    nova: 'Zephyr',
    onyx: 'Orus',
    sage: 'Sulafat',
    shimmer: 'Achernar',
    verse: 'Rasalgethi',
  }),
)

interface Speech {
  readonly config: Json
  /** The requested voice is OpenAI's and was replaced by a similar one. */
  readonly replaced: boolean
}

/** `speechConfig` for a voice. Names that are not OpenAI's are sent to Google with a capital first letter. */
export function speechConfig(voice: string): Speech {
  const similar = similarVoices.get(voice.toLowerCase())
  const name = similar ?? voice.charAt(0).toUpperCase() + voice.slice(1)
  return { config: { voiceConfig: { prebuiltVoiceConfig: { voiceName: name } } }, replaced: similar !== undefined }
}
