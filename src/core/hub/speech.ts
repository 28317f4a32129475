/** Hub types of speech from text. */
import type { Usage } from '../usage/usage.ts'

/** A call for spoken text in the hub's words. */
export interface SpeechRequest {
  model: string
  input: string
  voice: string
  instructions?: string
  /** `mp3`, `opus`, `aac`, `flac`, `wav`, `pcm`. */
  format: string
  /** 1 = as the voice speaks. */
  speed?: number
  extra: { format: string; fields: Record<string, unknown> }
}

/** Audio that came inside a JSON answer. */
export interface SpeechResult {
  audio: Uint8Array
  mediaType: string
  usage?: Usage
}
