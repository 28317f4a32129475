/** What stands for masked values in a request, so that the values come back in its answer. */
import { literalPattern } from '../lib/linear-regex/index.ts'
import { Scanner } from './scanner.ts'

/** Of one call: equal values have equal placeholders, in the order in which they were found. */
export class Placeholders {
  readonly #byValue = new Map<string, string>()
  readonly #values = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #isReserved: (placeholder: string) => boolean = () => false

  /** Placeholders that stand in the texts already, so that they mean something else. */
  reserve(isReserved: (placeholder: string) => boolean): void {
    this.#isReserved = isReserved
  }

  /** `[EMAIL_ADDRESS_1]`. */
  of(name: string, value: string): string {
    const key = `${name}\n${value}`
    const known = this.#byValue.get(key)
    if (known !== undefined) return known
    let placeholder: string
    do {
      const count = (this.#counts.get(name) ?? 0) + 1
      this.#counts.set(name, count)
      placeholder = `[${name}_${count}]`
    } while (this.#isReserved(placeholder))
    this.#byValue.set(key, placeholder)
    this.#values.set(placeholder, value)
    return placeholder
  }

  get isEmpty(): boolean {
    return this.#values.size === 0
  }

  /** The value of a placeholder. */
  valueOf(placeholder: string): string | undefined {
    return this.#values.get(placeholder)
  }

  /** Finds them in answers. At least one must be there. */
  scanner(): Scanner {
    const pattern = literalPattern([...this.#values.keys()], { ignoreCase: false, wholeWords: false })
    return new Scanner([{ name: 'PLACEHOLDER', guardrail: '', pattern, action: 'mask' }], { readsDisguises: false })
  }
}

/** Stands in the place of a text that is not put back into the answer. */
export const fixedPlaceholder = (name: string): string => `[${name}]`

/** The form of all placeholders, to see which are in a text. */
export const placeholderForm = /\[[A-Z][A-Za-z0-9_]*_\d+\]/g
