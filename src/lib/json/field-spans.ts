/** Where the fields of a JSON object stand in its bytes. */

/** Of a field, as offsets. */
export interface FieldSpan {
  readonly keyStart: number
  readonly valueStart: number
  /** Behind the value. */
  readonly valueEnd: number
}

/** Up to so many names are compared one by one, as nearly all objects have fewer: an index costs more than it saves. */
const comparedMax = 16
const numbersPerField = 3

/** Fields in the order of the object. Two lists for all of them: a map of objects costs a request 0.2 us more. */
export class FieldSpans {
  readonly names: string[] = []
  /** `numbersPerField` for each name. */
  readonly #offsets: number[] = []
  /** Name -> where it stands in `names`; undefined = there are at most `comparedMax`. */
  #index: Map<string, number> | undefined
  /** The marks of all names: most that are looked for are not there, which their mark shows. */
  #marks = 0

  /** false = there is such a field already, and nothing was added. */
  add(name: string, { keyStart, valueStart, valueEnd }: FieldSpan): boolean {
    if (this.#at(name) >= 0) return false
    this.names.push(name)
    this.#marks |= markOf(name)
    this.#offsets.push(keyStart, valueStart, valueEnd)
    if (this.names.length > comparedMax) this.#addToIndex(name)
    return true
  }

  has(name: string): boolean {
    return this.#at(name) >= 0
  }

  /** undefined = there is no such field. */
  get(name: string): FieldSpan | undefined {
    const at = this.#at(name)
    return at < 0 ? undefined : this.#spanAt(at)
  }

  /** All fields, in the order of the object. */
  entries(): (readonly [name: string, span: FieldSpan])[] {
    return this.names.map((name, at) => [name, this.#spanAt(at)])
  }

  #at(name: string): number {
    if ((this.#marks & markOf(name)) === 0) return -1
    if (this.#index) return this.#index.get(name) ?? -1
    const { names } = this
    for (let at = 0; at < names.length; at++) if (names[at] === name) return at
    return -1
  }

  #spanAt(at: number): FieldSpan {
    const from = at * numbersPerField
    const [keyStart, valueStart, valueEnd] = [this.#offsets[from]!, this.#offsets[from + 1]!, this.#offsets[from + 2]!]
    return { keyStart, valueStart, valueEnd }
  }

  #addToIndex(name: string): void {
    if (this.#index) this.#index.set(name, this.names.length - 1)
    else this.#index = new Map(this.names.map((one, at) => [one, at]))
  }
}

/** One bit of 32, by the length and the first character. */
function markOf(name: string): number {
  return 1 << (name.length * 5 + (name === '' ? 0 : name.charCodeAt(0)))
}
