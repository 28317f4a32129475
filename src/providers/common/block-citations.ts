/** Citations that belong to a block of text, as Claude's and Bedrock's do. */
import type { ChatEvent } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'

interface CitedBlock {
  readonly start: number
  readonly citations: Json[]
}

/**
 * Tells each citation at the end of its block, when it is known which text of the answer it is about. A stream may have
 * it before that text or behind it.
 */
export class BlockCitations {
  /** UTF-16 units of the answer's text so far. */
  #length = 0
  /** By the block's index. */
  readonly #open = new Map<unknown, CitedBlock>()

  /** To be called for all of the answer's text. */
  text(text: string, at: unknown): void {
    this.#block(at)
    this.#length += text.length
  }

  add(citation: Json, at: unknown): void {
    this.#block(at).citations.push(citation)
  }

  /** The citations of a block that has ended. */
  end(at: unknown): ChatEvent[] {
    const block = this.#open.get(at)
    if (!block) return []
    this.#open.delete(at)
    const span = { start: block.start, end: this.#length }
    return block.citations.map(citation => ({ type: 'citation', choice: 0, citation, span }))
  }

  /** Those of all blocks that were never stopped. */
  endAll(): ChatEvent[] {
    return [...this.#open.keys()].flatMap(at => this.end(at))
  }

  #block(at: unknown): CitedBlock {
    let block = this.#open.get(at)
    if (!block) this.#open.set(at, (block = { start: this.#length, citations: [] }))
    return block
  }
}
