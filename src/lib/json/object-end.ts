/** Finds where a JSON object ends that comes in pieces. */
const marks = /["\\\\{}[\]]/g

/** For one text; it is not checked beyond its brackets and strings. */
export class ObjectEnd {
  #depth = 0
  #isWhole = false
  #inString = false
  /** The last piece ended with the backslash of an escape. */
  #isEscaped = false

  /** true = the first object of the text is whole with this piece. */
  push(piece: string): boolean {
    let from = this.#isEscaped && piece !== '' ? 1 : 0
    if (from === 1) this.#isEscaped = false
    while (!this.#isWhole) {
      marks.lastIndex = from
      const found = marks.exec(piece)
      if (!found) break
      from = found.index + 1
      if (found[0] === '\\') {
        // An escape is two characters, of which the second says nothing here.
        if (this.#inString && from++ === piece.length) this.#isEscaped = true
      } else this.#take(found[0])
    }
    return this.#isWhole
  }

  #take(mark: string): void {
    if (mark === '"') this.#inString = !this.#inString
    else if (this.#inString) return
    else if (mark === '{' || mark === '[') this.#depth++
    else if (--this.#depth <= 0) this.#isWhole = true
  }
}
