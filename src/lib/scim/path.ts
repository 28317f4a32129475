/** Filters and paths as text (RFC 7644, sections 3.4.2.2 and 3.5.2), read into trees of a bounded size. */
import { ScimError } from './error.ts'

/** `name`, `name.sub`, or either behind the address of a schema. Names are as they were sent. */
export interface AttributePath {
  /** The address of its schema; undefined = none is named. */
  readonly schema: string | undefined
  readonly name: string
  readonly sub: string | undefined
}

/** What an attribute is compared by; `pr` (is there) is a kind of its own. */
export const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
/** One of them. */
export type Comparison = (typeof comparisons)[number]

/** A filter. `values` = one element of a list fits the inner filter. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  | { readonly kind: 'present'; readonly path: AttributePath }
  | { readonly kind: 'values'; readonly path: AttributePath; readonly filter: Filter }
  | {
      readonly kind: 'compare'
      readonly path: AttributePath
      readonly operator: Comparison
      readonly value: string | number | boolean | null
    }

/** The target of an operation: `emails[type eq "work"].value`. `path.sub` is what stands behind the filter. */
export interface Target {
  readonly path: AttributePath
  readonly filter: Filter | undefined
}

const textLengthMax = 4000
const termsMax = 100
const depthMax = 10

const tokenForm = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y

interface Token {
  readonly text: string
  /** Where it begins, from 0. */
  readonly at: number
}

/** Throws `invalidFilter` with the place and what was expected there. */
export function parseFilter(text: string): Filter {
  const parser = new Parser(text, 'invalidFilter')
  const filter = parser.or(0)
  parser.end()
  return filter
}

/** The path of an operation of PATCH. Throws `invalidPath`. */
export function parseTarget(text: string): Target {
  const parser = new Parser(text, 'invalidPath')
  const target = parser.target()
  parser.end()
  return target
}

/** Whether it can be read as the path of an operation. */
export function isPath(text: string): boolean {
  try {
    parseTarget(text)
    return true
  } catch {
    return false
  }
}

/** The path of an attribute, without a filter. Throws `invalidPath`. */
export function parseAttributePath(text: string): AttributePath {
  const path = pathOf(text)
  if (path) return path
  throw new ScimError(
    'invalidPath',
    `'${text.slice(0, 100)}' is no name of an attribute; write it as 'name.familyName'`,
  )
}

const nameForm = /^[A-Za-z$][\w$-]*$/

/** The address of a schema has dots and colons itself: what follows its last colon is the name. */
function pathOf(text: string): AttributePath | undefined {
  const colon = text.toLowerCase().startsWith('urn:') ? text.lastIndexOf(':') : -1
  const schema = colon < 0 ? undefined : text.slice(0, colon)
  const [name = '', sub, ...more] = text.slice(colon + 1).split('.')
  if (!nameForm.test(name) || (sub !== undefined && !nameForm.test(sub)) || more.length > 0) return undefined
  return { schema, name, sub }
}

class Parser {
  readonly #tokens: Token[] = []
  readonly #text: string
  readonly #scimType: 'invalidFilter' | 'invalidPath'
  #at = 0
  #terms = 0

  constructor(text: string, scimType: 'invalidFilter' | 'invalidPath') {
    this.#text = text
    this.#scimType = scimType
    if (text.length > textLengthMax) this.#fail(`is longer than ${textLengthMax} characters; make it shorter`)
    tokenForm.lastIndex = 0
    while (tokenForm.lastIndex < text.trimEnd().length) {
      const { lastIndex } = tokenForm
      const found = tokenForm.exec(text)
      if (!found) this.#fail(`has a quote without its end at character ${lastIndex + 1}`)
      const token = found[1] ?? found[2] ?? found[3]!
      this.#tokens.push({ text: token, at: tokenForm.lastIndex - token.length })
    }
  }

  or(depth: number): Filter {
    const parts = [this.#and(depth)]
    while (this.#takeWord('or')) parts.push(this.#and(depth))
    return parts.length === 1 ? parts[0]! : { kind: 'or', parts }
  }

  target(): Target {
    const path = this.#path()
    if (!this.#take('[')) return { path, filter: undefined }
    if (path.sub !== undefined) this.#fail('has a filter behind a sub-attribute; filters stand behind the attribute')
    const filter = this.or(1)
    this.#expect(']')
    const behind = this.#tokens[this.#at]
    if (!behind) return { path, filter }
    this.#at++
    const sub = behind.text.startsWith('.') ? behind.text.slice(1) : ''
    if (!nameForm.test(sub)) this.#fail(`expects '.' and a sub-attribute at character ${behind.at + 1}`)
    return { path: { ...path, sub }, filter }
  }

  end(): void {
    const next = this.#tokens[this.#at]
    if (next) this.#fail(`has '${next.text.slice(0, 50)}' at character ${next.at + 1}, where it should end`)
  }

  #and(depth: number): Filter {
    const parts = [this.#term(depth)]
    while (this.#takeWord('and')) parts.push(this.#term(depth))
    return parts.length === 1 ? parts[0]! : { kind: 'and', parts }
  }

  #term(depth: number): Filter {
    if (++this.#terms > termsMax) this.#fail(`has more than ${termsMax} conditions; ask in several requests`)
    if (depth > depthMax) this.#fail(`is nested deeper than ${depthMax}; ask in several requests`)
    const isNot = this.#takeWord('not')
    if (isNot || this.#tokens[this.#at]?.text === '(') {
      this.#expect('(')
      const part = this.or(depth + 1)
      this.#expect(')')
      return isNot ? { kind: 'not', part } : part
    }
    const path = this.#path()
    if (this.#take('[')) {
      const filter = this.or(depth + 1)
      this.#expect(']')
      // Entra ID: `emails[type eq "work"].value eq "..."`, which is no filter by the letter.
      const behind = this.#tokens[this.#at]?.text
      if (!behind?.startsWith('.') || !nameForm.test(behind.slice(1))) return { kind: 'values', path, filter }
      this.#at++
      const compared = this.#compare({ schema: undefined, name: behind.slice(1), sub: undefined })
      return { kind: 'values', path, filter: { kind: 'and', parts: [filter, compared] } }
    }
    return this.#compare(path)
  }

  #compare(path: AttributePath): Filter {
    const word = this.#next('an operator such as `eq`').text.toLowerCase()
    if (word === 'pr') return { kind: 'present', path }
    const operator = comparisons.find(one => one === word)
    if (!operator) this.#fail(`does not know the operator '${word.slice(0, 50)}'; use ${comparisons.join(', ')} or pr`)
    return { kind: 'compare', path, operator, value: this.#value() }
  }

  #path(): AttributePath {
    const { text, at } = this.#next('the name of an attribute')
    return pathOf(text) ?? this.#fail(`expects the name of an attribute at character ${at + 1}`)
  }

  #value(): string | number | boolean | null {
    const { text, at } = this.#next('a value')
    try {
      const value: unknown = JSON.parse(/^(true|false|null)$/i.test(text) ? text.toLowerCase() : text)
      if (value === null || ['string', 'number', 'boolean'].includes(typeof value))
        return value as string | number | boolean | null
    } catch {
      // Reported below.
    }
    return this.#fail(`expects a value at character ${at + 1}: a text in double quotes, a number, true, false or null`)
  }

  #next(what: string): Token {
    return this.#tokens[this.#at++] ?? this.#fail(`ends where ${what} is expected`)
  }

  #take(text: string): boolean {
    if (this.#tokens[this.#at]?.text !== text) return false
    this.#at++
    return true
  }

  #takeWord(word: string): boolean {
    if (this.#tokens[this.#at]?.text.toLowerCase() !== word) return false
    this.#at++
    return true
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) this.#fail(`expects '${sign}' ${this.#place()}`)
  }

  #place(): string {
    const next = this.#tokens[this.#at]
    return next ? `at character ${next.at + 1}` : 'at its end'
  }

  #fail(why: string): never {
    const what = this.#scimType === 'invalidFilter' ? 'filter' : 'path'
    throw new ScimError(this.#scimType, `the ${what} '${this.#text.slice(0, 200)}' ${why}`)
  }
}
