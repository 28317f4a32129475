/** Voices of Gemini's speech (ai.google.dev/gemini-api/docs/speech-generation, "Voice options"). */
import type { Json } from '../../lib/json/json-values.ts'

/** OpenAI's voices, by which clients ask without thinking, and a voice of a similar kind. */
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
  /** The voice asked for is OpenAI's; another stands in for it. */
  readonly replaced: boolean
}

/** Any other name goes to Google, which knows its newest voices, with a capital letter as Google writes them. */
export function speechConfig(voice: string): Speech {
  const similar = similarVoices.get(voice.toLowerCase())
  const name = similar ?? voice.charAt(0).toUpperCase() + voice.slice(1)
  return { config: { voiceConfig: { prebuiltVoiceConfig: { voiceName: name } } }, replaced: similar !== undefined }
}
