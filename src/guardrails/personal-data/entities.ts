/** Kinds of personal data, by their names in Presidio where it has them; how each is found, and what makes it sure. */
import { isIP } from 'node:net'
import { getCountrySpecifications, isValidIBAN } from 'ibantools'
import { luhn } from './checksums.ts'
import { nationalNumbers } from './national-numbers.ts'
import type { Span } from '../../lib/linear-regex/index.ts'
import type { Entity } from './entity.ts'
import { digitsIn, isDigit, isSaid } from './entity.ts'
import { secrets } from './secrets.ts'

const emailAddress: Entity = {
  name: 'EMAIL_ADDRESS',
  pattern:
    "[\\p{L}\\p{N}._%+'-]{1,64}@(?:[\\p{L}\\p{N}](?:[\\p{L}\\p{N}-]{0,61}[\\p{L}\\p{N}])?\\.){1,6}\\p{L}{2,24}\\b",
  check(text, { start, end }) {
    let from = start
    // What a sentence puts before an address is no part of it.
    while (from < end && "'.-".includes(text[from]!)) from++
    return text[from] === '@' ? undefined : { start: from, end }
  },
}

/** Lengths of card numbers by their first digits (ISO/IEC 7812; the networks' public ranges). */
const cardLengths: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^3[47]/, [15]],
  [/^3(?:0[0-5]|[689])/, [14]],
  [/^35(?:2[89]|[3-8])/, [16]],
  [/^4/, [16, 13, 19]],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))/, [16]],
  [/^6(?:011|5|4[4-9])/, [16]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:5[06-9]|6)/, [16, 19, 18, 17, 15, 14, 13, 12]],
  // JCB's old cards.
  [/^(?:1800|2131)/, [15]],
]
/** Behind one of these, digits of no known network are a card too, where their check digit is right. */
const cardWords = /\b(?:card|credit|debit|cc|visa|mastercard|amex|karte|kreditkarte|carte|tarjeta|carta|cart[aã]o)\b/i

const creditCard: Entity = {
  name: 'CREDIT_CARD',
  pattern: '\\d(?:[ -]?\\d){11,18}',
  check(text, span) {
    if (isDigit(text[span.start - 1])) return undefined
    const { digits, ends } = digitsIn(text, span)
    const lengths = cardLengths.find(([first]) => first.test(digits))?.[1] ?? []
    const all = isSaid(text, span, cardWords) ? [...lengths, digits.length] : lengths
    for (const length of all) {
      const end = ends[length - 1]
      if (end === undefined || isDigit(text[end]) || !luhn(digits.slice(0, length))) continue
      return { start: span.start, end }
    }
    return undefined
  },
}

const ibanCountries = getCountrySpecifications()

const ibanCode: Entity = {
  name: 'IBAN_CODE',
  // ISO 13616: at most 30 letters and digits behind the check digits.
  pattern: '(?i)\\b[A-Z]{2}\\d{2}(?:[ -]?[A-Z0-9]){11,30}',
  check(text, { start, end }) {
    const { chars: length } = ibanCountries[text.slice(start, start + 2).toUpperCase()] ?? {}
    let letters = ''
    let at = start
    while (at < end && letters.length < (length ?? 0)) {
      if (/[a-z0-9]/i.test(text[at]!)) letters += text[at]
      at++
    }
    if (!length || letters.length < length || /[a-z0-9]/i.test(text[at] ?? '')) return undefined
    return isValidIBAN(letters.toUpperCase()) ? { start, end: at } : undefined
  },
}

const ipAddress: Entity = {
  name: 'IP_ADDRESS',
  pattern: '(?:\\d{1,3}\\.){3}\\d{1,3}|(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{0,4}|(?:\\d{1,3}\\.){3}\\d{1,3})',
  check(text, { start, end }) {
    if (/[\w.:]/.test(text[start - 1] ?? '') || /\w/.test(text[end] ?? '')) return undefined
    // A further part makes it a version or an object identifier.
    if (text[end] === '.' && isDigit(text[end + 1])) return undefined
    const found = text.slice(start, end)
    const isMeant = found.includes('.') || found.replace(/[^0-9a-f]/gi, '').length >= 4
    return isMeant && isIP(found) !== 0 ? { start, end } : undefined
  },
}

/** Digits in groups that are dates, times or amounts. */
const notPhones = [
  /^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}$/,
  /^\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}$/,
  /^(?:\d{1,3}\.){3}\d{1,3}$/,
  /^0\d \d\d \d\d$/,
]

/** Forms that are telephone numbers wherever they stand. */
const sureForms =
  '(?:\\+|\\b00)\\d{1,3}(?:[ ./-]{0,2}\\(\\d{1,4}\\))?(?:[ ./-]{0,2}\\d){6,13}|' +
  '\\(\\d{3}\\)[ ./-]?\\d{3}[ ./-]\\d{4}|' +
  '\\b1?[ .-]?\\d{3}[ .-]\\d{3}[ .-]\\d{4}|' +
  '\\(0\\d{1,4}\\)[ ./-]?\\d(?:[ ./-]?\\d){4,9}|' +
  '\\b0\\d{1,4}[ ./-]\\d(?:[ ./-]?\\d){4,9}|' +
  '\\b0\\d{9,10}'
const extension = '(?: ?(?:x|ext\\.?|#) ?\\d{1,6})?'
/** Digits in groups, which are one only where a word says so. */
const looseForm = '(?:\\(\\d{1,4}\\) ?|\\b)\\d{1,5}(?:[ .-]?\\d){4,10}'
const sureNumber = new RegExp(`(?:${sureForms})${extension}`)

/** Words before a number, and behind it. */
const phoneWords = new RegExp(
  '\\b(?:call|phone|tel|telephone|mobile|cell|fax|desk|office|whatsapp|sms|text|dial|ring|reach|answering|hotline|' +
    'messages? to|(?:my|his|her|their|our|your|contact) number|registered|telefon|handy|rufnummer|durchwahl|' +
    't[ée]l[ée]phone|portable|tel[ée]fono|m[óo]vil|cellulare|telefone|telem[óo]vel)\\b',
  'i',
)
const phoneWordsBehind = /^[\s,(-]*(?:office|fax|mobile|cell|home|work|desk|direct)\b/i

const phoneNumber: Entity = {
  name: 'PHONE_NUMBER',
  pattern: `(?:${sureForms}|${looseForm})${extension}`,
  check(text, { start, end }) {
    const found = text.slice(start, end)
    const sure = sureNumber.exec(found)
    if (sure) {
      const span = { start: start + sure.index, end: start + sure.index + sure[0].length }
      if (isPhone(text, span)) return span
    }
    const isMeant = isSaid(text, { start, end }, phoneWords) || phoneWordsBehind.test(text.slice(end, end + 20))
    return isMeant && isPhone(text, { start, end }) ? { start, end } : undefined
  },
}

function isPhone(text: string, { start, end }: Span): boolean {
  if (/[\w.]/.test(text[start - 1] ?? '') || /\w/.test(text[end] ?? '')) return false
  const found = text.slice(start, end)
  const { length } = found.replace(/ ?(?:x|ext\.?|#) ?\d{1,6}$/, '').replace(/\D/g, '')
  return length >= 7 && length <= 15 && !notPhones.some(one => one.test(found))
}

/** All kinds of personal data and secrets, by name. */
export const entities: ReadonlyMap<string, Entity> = new Map(
  // Of finds in the same place the first one names it: many numbers could be a telephone's.
  [emailAddress, creditCard, ibanCode, ipAddress, ...nationalNumbers, ...secrets, phoneNumber].map(one => [
    one.name,
    one,
  ]),
)

/** The names of the kinds that are credentials of programs. */
export const secretNames: readonly string[] = secrets.map(({ name }) => name)
