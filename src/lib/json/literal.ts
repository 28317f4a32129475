/**
 * A value read by the lenient parser below, which accepts JSON, Python literals and mixtures of both (single quotes,
 * `True`, trailing commas, comments, line breaks in strings). Nothing is evaluated.
 */
export interface Literal {
  /** The value as JSON text. Numbers keep all their digits. */
  readonly json: string
  /** Of an object: its values by key; of equal keys the last one counts, as in `JSON.parse`. */
  readonly entries?: ReadonlyMap<string, Literal>
  /** Of a list. */
  readonly items?: readonly Literal[]
  /** Of a string. */
  readonly text?: string
}

const depthMax = 64
/** Spelling -> JSON. */
const constants: Readonly<Record<string, string>> = {
  true: 'true',
  True: 'true',
  false: 'false',
  False: 'false',
  null: 'null',
  None: 'null',
}
const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    n: '\n',
    t: '\t',
    r: '\r',
    b: '\b',
    f: '\f',
    v: '\v',
    a: '\x07',
    '0': '\0',
    '\\': '\\',
    '/': '/',
    "'": "'",
    '"': '"',
    '\n': '',
  }),
)

/** Thrown by `LiteralReader` where the text is not what was expected; `readOrUndefined` turns it into undefined. */
export class NotLiteral extends Error {
  override readonly name = 'NotLiteral'
}

/** A cursor over a text. `value` and `expect` throw NotLiteral; the other members return false or undefined. */
export class LiteralReader {
  readonly text: string
  /** Index of the next character to be read. */
  at: number
  #depth = 0

  constructor(text: string, at = 0) {
    this.text = text
    this.at = at
  }

  get ended(): boolean {
    return this.at >= this.text.length
  }

  /** Skips white space and Python's comments. */
  skip(): void {
    for (;;) {
      while (!this.ended && isSpace(this.text.charCodeAt(this.at))) this.at++
      if (this.text[this.at] !== '#') return
      const end = this.text.indexOf('\n', this.at)
      this.at = end < 0 ? this.text.length : end
    }
  }

  /** Consumes `token` if it comes next; false = it does not. */
  takes(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false
    this.at += token.length
    return true
  }

  expect(token: string): void {
    if (!this.takes(token)) throw new NotLiteral(`expected ${token} at ${this.at}`)
  }

  /** Consumes what the sticky `pattern` matches here; undefined = no match, or an empty one. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found === undefined || found === '') return undefined
    this.at += found.length
    return found
  }

  value(): Literal {
    if (++this.#depth > depthMax) throw new NotLiteral('nested too deeply')
    this.skip()
    const first = this.text[this.at]
    let value: Literal
    if (first === '{') value = this.#object()
    else if (first === '[' || first === '(') value = this.#list(first)
    else value = this.#string() ?? this.#number() ?? this.#word()
    this.#depth--
    return value
  }

  #object(): Literal {
    this.at++
    const entries = new Map<string, Literal>()
    for (this.skip(); !this.takes('}'); this.skip()) {
      const key = this.#string() ?? this.#number()
      if (!key) throw new NotLiteral(`expected a key at ${this.at}`)
      this.skip()
      this.expect(':')
      entries.set(key.text ?? key.json, this.value())
      this.#separator('}')
    }
    const json = [...entries].map(([key, value]) => `${JSON.stringify(key)}:${value.json}`).join(',')
    return { json: `{${json}}`, entries }
  }

  /** A list or a tuple; a single value in parentheses without a comma is that value, as in Python. */
  #list(opener: string): Literal {
    this.at++
    const closer = opener === '[' ? ']' : ')'
    const items: Literal[] = []
    let commas = 0
    for (this.skip(); !this.takes(closer); this.skip()) {
      items.push(this.value())
      if (this.#separator(closer)) commas++
    }
    if (opener === '(' && items.length === 1 && commas === 0) return items[0]!
    return { json: `[${items.map(item => item.json).join(',')}]`, items }
  }

  /** Consumes a comma: true. Without one the closer must follow (it is not consumed): false. */
  #separator(closer: string): boolean {
    this.skip()
    if (this.takes(',')) return true
    if (this.text[this.at] !== closer) throw new NotLiteral(`expected , or ${closer} at ${this.at}`)
    return false
  }

  /** Adjacent strings are concatenated, as in Python. */
  #string(): Literal | undefined {
    let text: string | undefined
    for (;;) {
      const from = this.at
      if (text !== undefined) this.skip()
      const one = this.#oneString()
      if (one === undefined) {
        this.at = from
        return text === undefined ? undefined : { json: JSON.stringify(text), text }
      }
      text = (text ?? '') + one
    }
  }

  #oneString(): string | undefined {
    const opening = this.match(/[rRuU]?(?:"""|'''|"|')/y)
    if (opening === undefined) return undefined
    const isRaw = opening[0] === 'r' || opening[0] === 'R'
    const quote = opening.replace(/^[rRuU]/, '')
    let text = ''
    for (;;) {
      const end = this.#nextOf(quote)
      text += this.text.slice(this.at, end)
      this.at = end
      if (this.takes(quote)) return text
      this.at++
      text += isRaw ? `\\${this.text[this.at++] ?? ''}` : this.#escape()
    }
  }

  /** Index of the closing quote or of the next backslash. */
  #nextOf(quote: string): number {
    // One search for both: a search for one alone may scan the whole remaining text, again for every string.
    const stop = quote[0] === "'" ? /['\\]/g : /["\\]/g
    stop.lastIndex = this.at
    for (let found = stop.exec(this.text); found; found = stop.exec(this.text))
      if (found[0] === '\\' || this.text.startsWith(quote, found.index)) return found.index
    throw new NotLiteral('a string without an end')
  }

  /** The character for the escape after a backslash. An unknown escape keeps its backslash, as in Python. */
  #escape(): string {
    const code = this.match(/x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}/y)
    if (code !== undefined) {
      const point = Number.parseInt(code.slice(1), 16)
      if (point > 0x10ffff) throw new NotLiteral('a character beyond Unicode')
      return String.fromCodePoint(point)
    }
    const next = this.text[this.at++] ?? ''
    return escapes.get(next) ?? `\\${next}`
  }

  #number(): Literal | undefined {
    const sign = this.match(/[+-]/y) === '-' ? '-' : ''
    // At most 256 digits: conversion to decimal takes time quadratic in the length.
    const hex = this.match(/0[xX][0-9a-fA-F]{1,256}(?![0-9a-fA-F])/y)
    if (hex !== undefined) return { json: sign + BigInt(hex).toString() }
    const written = this.match(/(?:\d[\d_]*)?\.?\d*(?:[eE][+-]?\d+)?/y)
    if (written === undefined) {
      if (sign) throw new NotLiteral('a sign without a number')
      return undefined
    }
    const json =
      sign +
      written
        .replaceAll('_', '')
        .replace(/^\./, '0.')
        .replace(/\.(?=$|[eE])/, '.0')
    if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(json)) throw new NotLiteral(`no number: ${json}`)
    return { json }
  }

  #word(): Literal {
    const word = this.match(/[A-Za-z_]\w*/y)
    const json = word !== undefined && Object.hasOwn(constants, word) ? constants[word] : undefined
    if (json === undefined) throw new NotLiteral(`no value at ${this.at}`)
    return { json }
  }
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0xfeff
}

/** The value that makes up all of `text` but white space and comments; undefined = the text is something else. */
export function readLiteral(text: string): Literal | undefined {
  return readOrUndefined(() => {
    const reader = new LiteralReader(text)
    const value = reader.value()
    reader.skip()
    return reader.ended ? value : undefined
  })
}

/** The value at index `from`, with anything after it; undefined = there is none. */
export function readLiteralAt(text: string, from: number): Literal | undefined {
  return readOrUndefined(() => new LiteralReader(text, from).value())
}

/** Runs `read` and returns undefined if it throws NotLiteral; other errors are rethrown. */
export function readOrUndefined<T>(read: () => T | undefined): T | undefined {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof NotLiteral) return undefined
    throw thrown
  }
}
