/** The code that a person reads from one device and types on another (RFC 8628, 6.1). */
import { randomInt } from 'node:crypto'

/** Consonants alone: the codes are no words, and no two of them look alike. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const lettersOfHalf = 4

/** A code such as `WDJB-MJHT`: 34 bits. */
export function newUserCode(): string {
  const half = () => Array.from({ length: lettersOfHalf }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${half()}-${half()}`
}

/** A typed code in its canonical form: in any case, with or without dash and blanks. undefined = it is none. */
export function readUserCode(typed: string): string | undefined {
  const letters = typed.toUpperCase().replaceAll(/[\s-]/g, '')
  if (letters.length !== 2 * lettersOfHalf) return undefined
  if (![...letters].every(letter => alphabet.includes(letter))) return undefined
  return `${letters.slice(0, lettersOfHalf)}-${letters.slice(lettersOfHalf)}`
}
