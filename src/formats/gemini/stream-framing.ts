/** What stands around the answers of a stream: server-sent events (`alt=sse`), or one JSON array. */
export interface StreamDress {
  /** One answer of the stream as the client gets it; `json` is one document. */
  element(json: string): string
  /** After the last answer of a complete stream. */
  end(): string
  /** An answer that is an error, and whatever makes the whole well-formed. */
  error(json: string): string
}

/** There is no `[DONE]`: the stream ends with its bytes. */
class SseDress implements StreamDress {
  element(json: string): string {
    // The text of an upstream may have line ends between its fields.
    return `data: ${/[\r\n]/.test(json) ? json.replace(/\r\n|\r|\n/g, '\ndata: ') : json}\n\n`
  }

  end(): string {
    return ''
  }

  error(json: string): string {
    return this.element(json)
  }
}

/** Element by element; also a stream that breaks off is an array. */
class ArrayDress implements StreamDress {
  #opened = false

  element(json: string): string {
    const before = this.#opened ? ',\n' : '['
    this.#opened = true
    return before + json
  }

  end(): string {
    return this.#opened ? '\n]' : '[]'
  }

  error(json: string): string {
    return this.element(json) + this.end()
  }
}

/** A fresh dress for each stream: an array knows whether it has begun. */
export type MakeDress = () => StreamDress
/** For `alt=sse`. */
export const sseDress: MakeDress = () => new SseDress()
/** What Google streams when `alt` is not given. */
export const arrayDress: MakeDress = () => new ArrayDress()
