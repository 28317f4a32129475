/** Hub types of image generation. */
import type { Source } from './chat.ts'
import type { Usage } from '../usage/usage.ts'

/** A call for pictures in the hub's words. */
export interface ImagesRequest {
  model: string
  prompt: string
  /** How many; absent = 1. */
  count?: number
  /** `1024x1024` or `auto`. */
  size?: string
  quality?: string
  style?: string
  background?: string
  /** `png`, `jpeg`, `webp`. */
  outputFormat?: string
  /** How the client wants the pictures; the hub carries either. */
  response: 'url' | 'b64_json'
  user?: string
  extra: { format: string; fields: Record<string, unknown> }
}

/** Its answer. `createdS` = seconds since 1970. */
export interface ImagesResult {
  createdS: number
  images: { source: Source; revisedPrompt?: string }[]
  usage?: Usage
}
