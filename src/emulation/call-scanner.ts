/** Finds the calls in a text that arrives in pieces. Plain text passes at once; only a possible call waits. */
import { openerStart, openingOf } from './call-blocks.ts'
import type { Block } from './call-blocks.ts'
import type { OfferedTools, WrittenCall } from './written-calls.ts'

/** A larger block is text: no model writes such a call, and nobody waits for one. */
const blockCharactersMax = 256 * 1024
/** By then a block shows whether it can hold calls. */
const startCharactersMax = 256

/** A whole answer is read in stretches: what is left of a text is looked at anew after each block. */
const stretchCharactersMax = 4096

/** Never between the halves of a character. */
function cutAfter(text: string, at: number): number {
  return at < text.length && text.charCodeAt(at - 1) >>> 10 === 0x36 ? at + 1 : at
}

/** A stretch of text, or the calls of one block, in the order of the text. */
export type Found = { readonly text: string } | { readonly calls: readonly WrittenCall[] }

/** One instance a text. The result does not depend on where the text is cut. */
export class CallScanner {
  readonly #offered: OfferedTools
  /** May still become an opener. */
  #pending = ''
  #atLineStart = true
  #block: Block | undefined
  /** Of the open block: its text, as long as it may hold calls. */
  #held: string[] = []
  #heldCharacters = 0
  /** The open block is known to be text: it is no longer held. */
  #passing = false
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

  /** The text has ended: an unfinished block is given back as text. */
  end(): Found[] {
    this.#emit(this.#pending)
    this.#pending = ''
    if (this.#block && !this.#passing) {
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
    const opening = openingOf(rest, this.#atLineStart, this.#offered)
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
    this.#passing = false
    return this.#inBlock(opening.block, rest.slice(opening.length))
  }

  #inBlock(block: Block, text: string): string {
    const end = block.take(text)
    const piece = end < 0 ? text : text.slice(0, end)
    if (this.#passing) this.#emit(piece)
    else this.#hold(piece)
    if (end >= 0) this.#close(block)
    else if (!this.#passing && this.#isText(block)) this.#release()
    return end < 0 ? '' : text.slice(end)
  }

  #hold(piece: string): void {
    this.#held.push(piece)
    this.#heldCharacters += piece.length
  }

  #isText(block: Block): boolean {
    if (this.#heldCharacters > blockCharactersMax) return true
    // Later pieces cannot change what the start shows.
    if (this.#heldCharacters - this.#held.at(-1)!.length > startCharactersMax) return false
    return block.isText(this.#held.join('').slice(0, startCharactersMax))
  }

  #release(): void {
    this.#emit(this.#held.join(''))
    this.#held = []
    this.#passing = true
  }

  #close(block: Block): void {
    this.#block = undefined
    if (this.#passing) return
    const text = this.#held.join('')
    this.#held = []
    const calls = this.#heldCharacters > blockCharactersMax ? undefined : block.calls(text)
    if (!calls) return this.#emit(text)
    this.#found.push({ calls })
    this.#atLineStart = false
  }

  #emit(text: string): void {
    if (text === '') return
    const line = text.slice(text.lastIndexOf('\n') + 1)
    this.#atLineStart = (this.#atLineStart || line.length < text.length) && line.trim() === ''
    this.#found.push({ text })
  }
}
