/**
 * Values as models write them: JSON, Python literals, and mixtures of both (single quotes, `True`, trailing commas,
 * line breaks in strings). Read by hand and never evaluated.
 */
export interface Literal {
  /** The value as JSON text. Numbers keep all their digits. */
  readonly json: string
  /** Of an object: its values by key; of two equal keys the last one counts, as in JSON. */
  readonly entries?: ReadonlyMap<string, Literal>
  /** Of a list. */
  readonly items?: readonly Literal[]
  /** Of a string. */
  readonly text?: string
}

const depthMax = 64
const words: Readonly<Record<string, string>> = {
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

/** What stands at a place is no literal. Never leaves this folder. */
export class NotLiteral extends Error {
  override readonly name = 'NotLiteral'
}

/** Reads one thing after the other from a text; throws NotLiteral where the text is something else. */
export class LiteralReader {
  readonly text: string
  /** The next character to be read. */
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

  /** Takes `token` if it comes next. */
  takes(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false
    this.at += token.length
    return true
  }

  expect(token: string): void {
    if (!this.takes(token)) throw new NotLiteral(`expected ${token} at ${this.at}`)
  }

  /** What the sticky `pattern` finds here; undefined = nothing. */
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

  /** A list or a tuple; one value in parentheses is that value. */
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

  /** true = there was a comma; without one the closer has to follow. */
  #separator(closer: string): boolean {
    this.skip()
    if (this.takes(',')) return true
    if (this.text[this.at] !== closer) throw new NotLiteral(`expected , or ${closer} at ${this.at}`)
    return false
  }

  /** Strings side by side are one, as in Python. */
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

  /** Where the quote or the next backslash stands. */
  #nextOf(quote: string): number {
    // Both at once: a search for either alone may read the whole rest of the text, again for every string.
    const stop = quote[0] === "'" ? /['\\]/g : /["\\]/g
    stop.lastIndex = this.at
    for (let found = stop.exec(this.text); found; found = stop.exec(this.text))
      if (found[0] === '\\' || this.text.startsWith(quote, found.index)) return found.index
    throw new NotLiteral('a string without an end')
  }

  /** After the backslash. What is no escape keeps its backslash, as in Python. */
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
    // Written out, longer ones cost time by the square of their length.
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
    const json = word !== undefined && Object.hasOwn(words, word) ? words[word] : undefined
    if (json === undefined) throw new NotLiteral(`no value at ${this.at}`)
    return { json }
  }
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0xfeff
}

/** The value that is all of `text` but for white space; undefined = the text is something else. */
export function readLiteral(text: string): Literal | undefined {
  return attempt(() => {
    const reader = new LiteralReader(text)
    const value = reader.value()
    reader.skip()
    return reader.ended ? value : undefined
  })
}

/** The value at `from`; what follows it is ignored. Undefined = there is none. */
export function readLiteralAt(text: string, from: number): Literal | undefined {
  return attempt(() => new LiteralReader(text, from).value())
}

/** Runs a reader; what is no literal is undefined, any other failure stays one. */
export function attempt<T>(read: () => T | undefined): T | undefined {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof NotLiteral) return undefined
    throw thrown
  }
}
