/** Hub types of embeddings. */
import type { Usage } from '../usage/usage.ts'

/** A call for embeddings in the hub's words. */
export interface EmbeddingsRequest {
  model: string
  /** Texts, or texts already split into token ids. */
  inputs: (string | number[])[]
  dimensions?: number
  /** How the client wants its vectors; the hub always carries numbers. */
  encoding: 'float' | 'base64'
  user?: string
  extra: { format: string; fields: Record<string, unknown> }
}

/** Its answer. */
export interface EmbeddingsResult {
  /** In the order of the inputs. */
  vectors: Float32Array[]
  usage: Usage
}
