/**
 * Texts as readers see them: signs that show nothing are left out, other ways to write letters and digits become the
 * plain ones, and letters of other scripts that look like Latin ones inside of a Latin word become these. Rules look at
 * a text as it is and so, because a model reads it so, too.
 */
import type { JsonUnits } from './json-text.ts'

/** A text by units, with what stands for each of them in the text that was given. */
export interface PlainUnits {
  readonly text: string
  /** As long as `text`. */
  readonly raws: readonly string[]
}

/** Signs that show nothing: soft hyphens, joiners, marks of direction, selectors, tags. */
const invisible = new RegExp(
  '[\\u00ad\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f' +
    '\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\u{e0000}-\\u{e01ef}]|\\u034f',
  'u',
)
/** Other ways to write a sign of ASCII: wide and mathematical letters, digits in circles and above the line, spaces. */
const written = new RegExp(
  '[\\u00a0\\u00b2\\u00b3\\u00b9\\u2000-\\u200a\\u2010-\\u2015\\u202f\\u205f\\u2070-\\u208e\\u2212' +
    '\\u2460-\\u249b\\u24b6-\\u24ea\\u3000\\uff01-\\uff5e\\u{1d400}-\\u{1d7ff}]',
  'u',
)
const otherDigit = /(?![0-9])\p{Nd}/u
const odd = new RegExp(`${invisible.source}|${written.source}|${otherDigit.source}`, 'u')

/** Cyrillic and Greek letters by the Latin ones that look the same. */
const lookalikes: ReadonlyMap<string, string> = new Map(
  [
    ['аеорсхуіјѕһԁԛԝ', 'aeopcxyijshdqw'],
    ['АВЕКМНОРСТХУІЈЅ', 'ABEKMHOPCTXYIJS'],
    ['οανρικυχ', 'oavpikux'],
    ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ', 'ABEZHIKMNOPTYX'],
    ['ı', 'i'],
  ].flatMap(([from, to]) => [...from!].map((letter, at): [string, string] => [letter, to![at]!])),
)
const lookalike = new RegExp(`[${[...lookalikes.keys()].join('')}]`)
/** No longer word is waited for. */
const openWordMost = 64
const mixedWord = /[\p{L}\p{N}]+/gu

/** A text without a match is ASCII: there is nothing in it to be made plain. */
export const beyondAscii = /[^\0-\x7f]/

/** undefined = every sign is plain. */
export function plainUnits(text: string): PlainUnits | undefined {
  if (!odd.test(text)) return undefined
  let plain = ''
  const raws: string[] = []
  for (const sign of text) {
    if (sign < '\u0080') {
      plain += sign
      raws.push(sign)
      continue
    }
    if (invisible.test(sign) && raws.length > 0) {
      raws[raws.length - 1] += sign
      continue
    }
    const shown = invisible.test(sign) ? '' : shownAs(sign)
    for (const [at, unit] of [...(shown === '' ? sign : shown)].entries()) {
      // A sign outside of the basic plane that is not written anew has two units, as in the text.
      for (let half = 0; half < unit.length; half++) {
        plain += unit[half]
        raws.push(unit === sign ? unit[half]! : at === 0 && half === 0 ? sign : '')
      }
    }
  }
  return { text: plain, raws }
}

/** How many units at the beginning show nothing. */
export function invisibleLength(text: string): number {
  let length = 0
  for (const sign of beyondAscii.test(text.slice(0, 1)) ? text : '') {
    if (!invisible.test(sign)) break
    length += sign.length
  }
  return length
}

/** Units of JSON text (`json-text.ts`), as readers see them. */
export function plainJson({ text, raws, bare }: JsonUnits): JsonUnits {
  if (!beyondAscii.test(text) || !odd.test(text)) return { text, raws, bare }
  const out = { text: '', raws: [] as string[], bare: [] as boolean[] }
  let at = 0
  for (const sign of text) {
    const raw = sign.length === 1 ? raws[at]! : raws[at]! + raws[at + 1]!
    if (sign >= '\u0080' && invisible.test(sign) && out.raws.length > 0) out.raws[out.raws.length - 1] += raw
    else {
      const shown = sign < '\u0080' ? sign : shownAs(sign)
      const isOne = shown.length === 1
      out.text += isOne ? shown : sign
      out.raws.push(...(isOne ? [raw] : raws.slice(at, at + sign.length)))
      out.bare.push(...(isOne ? [bare[at]!] : bare.slice(at, at + sign.length)))
    }
    at += sign.length
  }
  return out
}

function shownAs(sign: string): string {
  if (otherDigit.test(sign)) return digitOf(sign)
  if (!written.test(sign)) return sign
  const dash = /[\u2010-\u2015\u2212]/.test(sign)
  const plain = dash ? '-' : sign.normalize('NFKC')
  return plain.trim() === '' ? ' ' : plain
}

/** The digits of a script stand together, from zero on. */
function digitOf(sign: string): string {
  const code = sign.codePointAt(0)!
  let zero = code
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  // Mathematical digits follow each other in several styles.
  return String((code - zero) % 10)
}

/**
 * Looks like Latin inside of words that have Latin letters or digits; of the same length. With `isOpen` more of the
 * text may follow: its last word is taken as one that has some.
 */
export function withoutLookalikes(text: string, { isOpen } = { isOpen: false }): string {
  if (!lookalike.test(text)) return text
  return text.replace(mixedWord, (word, at: number) => {
    if (!lookalike.test(word)) return word
    const isUndecided = isOpen && at + word.length === text.length && word.length <= openWordMost
    if (!isUndecided && !/[A-Za-z0-9]/.test(word)) return word
    return [...word].map(letter => lookalikes.get(letter) ?? letter).join('')
  })
}
