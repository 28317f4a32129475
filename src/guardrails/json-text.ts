/**
 * JSON text as it comes, as units that can be searched: what strings say, without their escapes. What stands between
 * strings becomes U+0000, over which nothing is found; numbers and words are whole or not there yet.
 */

/** Searchable units, and for each of them what stands in the JSON. */
export interface JsonUnits {
  readonly text: string
  /** As long as `text`. */
  readonly raws: readonly string[]
  /** By unit: it belongs to a number or a word outside of strings, whose place a string would have to take. */
  readonly bare: readonly boolean[]
}

/** The first half of a sign of two units at the end of a text, whose second one may follow; empty = there is none. */
export const openHalf = (text: string): string => /[\ud800-\udbff]$/.exec(text)?.[0] ?? ''

/** What may become an escape. */
const halfEscape = /^(?:\\(?:u[\da-f]{0,3})?)?$/i

type JsonState = 'between' | 'string' | 'bare'

/** Reads fragments one after the other. Text that is no JSON is taken as it is, character by character. */
export class JsonReader {
  #state: JsonState = 'between'
  /** The beginning of an escape, or a bare word whose end is not there yet. */
  #unread = ''

  /** The units that the fragment completes; `end` = there is no other fragment. */
  read(fragment: string, place: 'inside' | 'end'): JsonUnits {
    const json = this.#unread + fragment
    const isLast = place === 'end'
    this.#unread = ''
    const units = { text: '', raws: [] as string[], bare: [] as boolean[] }
    const add = (unit: string, raw: string, isBare = false): void => {
      units.text += unit
      units.raws.push(raw)
      units.bare.push(isBare)
    }
    if (this.#state === 'bare') this.#state = 'between'
    for (let at = 0; at < json.length; ) {
      const letter = json[at]!
      if (this.#state === 'string') {
        const length = letter === '\\' ? (json[at + 1] === 'u' ? 6 : 2) : 1
        if (at + length > json.length && !isLast) {
          this.#unread = json.slice(at)
          return units
        }
        const raw = json.slice(at, at + length)
        if (raw === '"') {
          this.#state = 'between'
          add('\0', raw)
        } else {
          const unit = length === 1 ? raw : unescaped(raw)
          // The two halves of a sign outside of the basic plane are given together.
          if (!isLast && length > 1 && openHalf(unit) !== '' && halfEscape.test(json.slice(at + length))) {
            this.#unread = json.slice(at)
            return units
          }
          add(unit, raw)
        }
        at += raw.length
      } else if (/[-+.\w]/.test(letter)) {
        const word = /^[-+.\w]+/.exec(json.slice(at))![0]
        if (at + word.length === json.length && !isLast) {
          this.#state = 'bare'
          this.#unread = word
          return units
        }
        for (const one of word) add(one, one, true)
        at += word.length
      } else {
        if (letter === '"') this.#state = 'string'
        add('\0', letter)
        at++
      }
    }
    return units
  }
}

const named: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

function unescaped(raw: string): string {
  const letter = raw[1] ?? ''
  if (letter !== 'u') return named[letter] ?? letter
  const code = parseInt(raw.slice(2), 16)
  return Number.isNaN(code) || code === 0 ? '\ufffd' : String.fromCharCode(code)
}

/** `text` as it stands inside of a JSON string. */
export const escapedJson = (text: string): string => JSON.stringify(text).slice(1, -1)
