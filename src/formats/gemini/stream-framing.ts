/** What stands around the answers of a stream: server-sent events (`alt=sse`), or one JSON array. */
export interface StreamFraming {
  /** One answer of the stream as the client gets it; `json` is one document. */
  element(json: string): string
  /** After the last answer of a complete stream. */
  end(): string
  /** An answer that is an error, and the end of the document after it. */
  error(json: string): string
}

/** There is no `[DONE]`: the stream ends with its bytes. */
class SseFraming implements StreamFraming {
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
class ArrayFraming implements StreamFraming {
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

/** A fresh one for each stream: an array knows whether it has begun. */
export type MakeFraming = () => StreamFraming
/** For `alt=sse`. */
export const sseFraming: MakeFraming = () => new SseFraming()
/** What Google streams when `alt` is not given. */
export const arrayFraming: MakeFraming = () => new ArrayFraming()
