/** Finds tool calls in a text that arrives in pieces. Plain text is emitted at once, possible calls are buffered. */
import { openerStart, openingOf } from './tool-call-blocks.ts'
import type { Block } from './tool-call-blocks.ts'
import type { OfferedTools, ParsedCall } from './tool-call-notations.ts'

/** A larger block is treated as text: bounds the buffer. */
const blockCharactersMax = 256 * 1024
/** How much of a block is examined to decide early that it holds no calls. */
const startCharactersMax = 256

/** Long texts are scanned in slices: the remaining text is copied after each block, which must not become quadratic. */
const stretchCharactersMax = 4096

/** The position to cut at, moved behind a surrogate pair that it would split. */
function cutAfter(text: string, at: number): number {
  return at < text.length && text.charCodeAt(at - 1) >>> 10 === 0x36 ? at + 1 : at
}

/** A piece of text, or the calls of one block, in the order of the text. */
export type Found = { readonly text: string } | { readonly calls: readonly ParsedCall[] }

/** One instance per text. The result does not depend on how the text is split into pieces. */
export class CallScanner {
  readonly #offered: OfferedTools
  /** The end of the text so far, which may be the beginning of an opener. */
  #pending = ''
  #atLineStart = true
  #atStart = true
  #block: Block | undefined
  /** The pieces of the open block, buffered as long as it may hold calls. */
  #held: string[] = []
  #heldCharacters = 0
  /** The open block is known to be text: it is no longer buffered. */
  #isPlainText = false
  #found: Found[] = []

  constructor(offered: OfferedTools) {
    this.#offered = offered
  }

  push(piece: string): Found[] {
    for (let from = 0; from < piece.length; ) {
      const to = cutAfter(piece, from + stretchCharactersMax)
      this.#scan(piece.slice(from, to))
      from = to
    }
    return this.#result()
  }

  #scan(piece: string): void {
    let rest = this.#pending + piece
    this.#pending = ''
    while (rest !== '') rest = this.#block ? this.#inBlock(this.#block, rest) : this.#inText(rest)
  }

  /** The text has ended: an unfinished block is emitted as text, unless its notation needs no closer. */
  end(): Found[] {
    this.#emit(this.#pending)
    this.#pending = ''
    if (this.#block && !this.#isPlainText) {
      const block = this.#held.join('')
      const calls = this.#heldCharacters > blockCharactersMax ? undefined : this.#block.callsAtEnd(block)
      if (calls) this.#found.push({ calls })
      else this.#emit(block)
    }
    this.#block = undefined
    return this.#result()
  }

  #result(): Found[] {
    const found = this.#found
    this.#found = []
    return found
  }

  #inText(text: string): string {
    openerStart.lastIndex = 0
    const at = openerStart.exec(text)?.index ?? -1
    this.#emit(at < 0 ? text : text.slice(0, at))
    if (at < 0) return ''
    const rest = text.slice(at)
    const opening = openingOf(rest, { atLineStart: this.#atLineStart, atStart: this.#atStart }, this.#offered)
    if (opening.kind === 'partial') {
      this.#pending = rest
      return ''
    }
    if (opening.kind === 'none') {
      this.#emit(rest[0]!)
      return rest.slice(1)
    }
    this.#block = opening.block
    this.#held = [rest.slice(0, opening.length)]
    this.#heldCharacters = opening.length
    this.#isPlainText = false
    return this.#inBlock(opening.block, rest.slice(opening.length))
  }

  #inBlock(block: Block, text: string): string {
    const end = block.take(text)
    const piece = end < 0 ? text : text.slice(0, end)
    if (this.#isPlainText) this.#emit(piece)
    else this.#hold(piece)
    if (end >= 0) this.#close(block)
    else if (!this.#isPlainText && this.#isText(block)) this.#emitHeld()
    return end < 0 ? '' : text.slice(end)
  }

  #hold(piece: string): void {
    this.#held.push(piece)
    this.#heldCharacters += piece.length
  }

  #isText(block: Block): boolean {
    if (this.#heldCharacters > blockCharactersMax) return true
    // The examined start was complete before this piece: the result cannot have changed.
    if (this.#heldCharacters - this.#held.at(-1)!.length > startCharactersMax) return false
    return block.isText(this.#held.join('').slice(0, startCharactersMax))
  }

  #emitHeld(): void {
    this.#emit(this.#held.join(''))
    this.#held = []
    this.#isPlainText = true
  }

  #close(block: Block): void {
    this.#block = undefined
    if (this.#isPlainText) return
    const text = this.#held.join('')
    this.#held = []
    const calls = this.#heldCharacters > blockCharactersMax ? undefined : block.calls(text)
    if (!calls) return this.#emit(text)
    this.#found.push({ calls })
    this.#atLineStart = false
    this.#atStart = false
  }

  #emit(text: string): void {
    if (text === '') return
    const line = text.slice(text.lastIndexOf('\n') + 1)
    this.#atLineStart = (this.#atLineStart || line.length < text.length) && line.trim() === ''
    this.#atStart &&= text.trim() === ''
    this.#found.push({ text })
  }
}
