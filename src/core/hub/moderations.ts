/** Hub types of moderation: whether a text or an image is harmful, and how. */
import type { Source } from './chat.ts'
import type { Usage } from '../usage/usage.ts'

/** A piece of what is judged. */
export type ModerationPart = { type: 'text'; text: string } | { type: 'image'; source: Source }

/** A call for moderation in the hub's words. */
export interface ModerationsRequest {
  model: string
  /** One entry per verdict; the parts of an entry are judged together. */
  inputs: ModerationPart[][]
  extra: { format: string; fields: Record<string, unknown> }
}

/** What the judge says of one entry. */
export interface ModerationVerdict {
  flagged: boolean
  /** By the vendor's or OpenAI's category names. A model that only says yes or no uses `unsafe`. */
  categories: Record<string, boolean>
  /** Between 0 and 1. */
  scores: Record<string, number>
}

/** Its answer. */
export interface ModerationsResult {
  /** In the order of the inputs. */
  verdicts: ModerationVerdict[]
  usage?: Usage
}
