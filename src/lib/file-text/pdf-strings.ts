/** Strings of PDF, literal and hexadecimal (ISO 32000-1, 7.3.4). */

/** A string that was read: one character for each of its bytes. */
export interface PdfString {
  readonly value: string
  /** Behind it. */
  readonly end: number
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/** `text[at]` is the bracket that opens it. */
export function readString(text: string, at: number): PdfString {
  return text[at] === '(' ? readLiteral(text, at + 1) : readHexadecimal(text, at + 1)
}

function readLiteral(text: string, from: number): PdfString {
  let value = ''
  let depth = 1
  let at = from
  for (; at < text.length; at++) {
    const letter = text[at]!
    if (letter === '\\') {
      const octal = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))?.[0]
      if (octal !== undefined) {
        value += String.fromCharCode(parseInt(octal, 8) & 255)
        at += octal.length
        continue
      }
      const next = text[++at] ?? ''
      // A line that ends in a backslash goes on.
      if (next === '\r' && text[at + 1] === '\n') at++
      else if (next !== '\n' && next !== '\r') value += escapes[next] ?? next
      continue
    }
    if (letter === '(') depth++
    if (letter === ')' && --depth === 0) break
    value += letter
  }
  return { value, end: at + 1 }
}

function readHexadecimal(text: string, from: number): PdfString {
  const close = text.indexOf('>', from)
  const end = close < 0 ? text.length : close
  const digits = text.slice(from, end).replace(/[^0-9A-Fa-f]/g, '')
  return { value: Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex').toString('latin1'), end: end + 1 }
}

/** The text strings of an object, decoded: values of forms, notes, properties. */
export function stringsOf(object: string): string[] {
  const found: string[] = []
  for (let at = 0; at < object.length; at++) {
    const isHexadecimal = object[at] === '<' && object[at + 1] !== '<' && object[at - 1] !== '<'
    if (object[at] !== '(' && !isHexadecimal) continue
    const { value, end } = readString(object, at)
    found.push(textOf(value))
    at = end - 1
  }
  return found.filter(one => one !== '')
}

/** Text strings are UTF-16 or UTF-8 with a mark, else about Latin-1. */
function textOf(value: string): string {
  const bytes = Buffer.from(value, 'latin1')
  if (value.startsWith('\xfe\xff')) return new TextDecoder('utf-16be').decode(bytes)
  if (value.startsWith('\xff\xfe')) return new TextDecoder('utf-16le').decode(bytes)
  return value.startsWith('\xef\xbb\xbf') ? bytes.subarray(3).toString('utf8') : value
}
