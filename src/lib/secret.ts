/** `inspect.custom` of `node:util`, whose loading takes a thread 3 ms of the processor. */
const inspectCustom: unique symbol = Symbol.for('nodejs.util.inspect.custom')

/** A credential that cannot be printed by accident: every way of showing it says `[redacted]`. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The plain text. Only for headers on their way to an upstream, for hashing, and for own processes. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[redacted]'
  }

  toJSON(): string {
    return '[redacted]'
  }

  [inspectCustom](): string {
    return '[redacted]'
  }
}
