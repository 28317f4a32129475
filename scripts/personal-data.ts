/**
 * `npm run personal-data`: writes docs/personal-data.md, precision and recall of the guardrail `personal_data` on
 * sentences that are made here: templates in several languages as in Presidio's research repository
 * (https://github.com/microsoft/presidio-research), filled with values from a generator with a seed. Check digits are
 * computed here, not by the guardrail. A test compares the page.
 *
 * `npm run personal-data -- FILE` measures the sentences of a file of that repository instead, and writes nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Scanner } from '../src/guardrails/scanner.ts'
import { measured, scannerOfAll, sentencesInKind, sentencesOfPresidio } from './personal-data/measure.ts'
import { digitsOf, generator, pick, withLuhn } from './personal-data/random.ts'
import type { Random } from './personal-data/random.ts'

const templates: readonly string[] = [
  'Please send the papers to {} before Friday.',
  'My number is {}, thanks!',
  'Can you check {} for me?',
  '{} was used for the order.',
  'Bitte prüfen Sie {} und melden Sie sich.',
  'Die Angabe lautet {}; stimmt das?',
  'Mes coordonnées : {}.',
  'Le dossier mentionne {}, merci de vérifier.',
  'Mi dato es {}, por favor.',
  'Il riferimento è {} (confermato).',
  'O registo indica {} desde ontem.',
  'Podaję {} do umowy.',
  '{"customer": "{}", "status": "open"}',
  '| name | {} | active |',
]

/** Texts that look like personal data and are none. */
const harmless: readonly string[] = [
  'Order 2024-10-31 with 12 items, total 1,299.00 EUR.',
  'Version 10.4.2 replaces 10.4.1 since 2026-01-15 12:30:45.',
  'The commit is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b.',
  'Ticket INC-0048213, build 20261123.4, page 17 of 320.',
  'id 3f2504e0-4f89-11d3-9a0c-0305e82c3301 was not found.',
  'Das Aktenzeichen 4 K 123/25 wurde am 01.02.2025 vergeben.',
  'Le prix est de 1 234 567 euros pour 2 500 pièces.',
  'Pi is 3.14159265358979, e is 2.718281828459045.',
  'ISBN 978-3-16-148410-0, article 4006381333931.',
  'Room 101, floor 3, gate B22, row 14, seat 7.',
  'El 15 de marzo de 2024 a las 10:45 en la sala 12.',
  'def total(a, b): return a * 1000000 + b  # user@ is no address',
]

const sumOf = (digits: string, weights: readonly number[]): number =>
  weights.reduce((sum, weight, at) => sum + weight * Number(digits[at]), 0)
const grouped = (text: string, size: number, sign: string): string =>
  (text.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(sign)

function ibanOf(random: Random): string {
  const [country, length] = pick(random, [
    ['DE', 18],
    ['AT', 16],
    ['CH', 17],
    ['NL', 0],
    ['LT', 16],
  ] as const)
  const account = country === 'NL' ? `ABNA${digitsOf(random, 10)}` : digitsOf(random, length)
  const letters = [...`${account}${country}00`].map(one => parseInt(one, 36)).join('')
  const check = 98n - (BigInt(letters) % 97n)
  const text = `${country}${check.toString().padStart(2, '0')}${account}`
  return random() < 0.5 ? text : grouped(text, 4, ' ')
}

function cardOf(random: Random): string {
  const [prefix, length] = pick(random, [
    ['4', 16],
    ['51', 16],
    ['37', 15],
    ['6011', 16],
  ] as const)
  const number = withLuhn(prefix + digitsOf(random, length - prefix.length - 1))
  return length === 15 || random() < 0.4 ? number : grouped(number, 4, pick(random, [' ', '-']))
}

function phoneOf(random: Random): string {
  const some = (count: number) => digitsOf(random, count)
  return pick(random, [
    () => `+49 30 ${some(7)}`,
    () => `+1 (212) 555-${some(4)}`,
    () => `(415) 555-${some(4)}`,
    () => `+33 6 ${grouped(some(8), 2, ' ')}`,
    () => `+44 20 ${some(4)} ${some(4)}`,
    () => `0049 171 ${some(7)}`,
    () => `030/${some(7)}`,
    () => `+48${some(9)}`,
  ])()
}

const persons = ['ana.maria', 'j_smith', 'kontakt', 'o-neil', 'müller']
const hosts = ['example.com', 'mail.example.org', 'firma.de', 'post.example.co.uk']
const mail = (random: Random): string => `${pick(random, persons)}${digitsOf(random, 2)}@${pick(random, hosts)}`

function pesel(random: Random): string {
  const day = String(1 + Math.floor(random() * 28)).padStart(2, '0')
  const body = `${digitsOf(random, 2)}0${1 + Math.floor(random() * 9)}${day}${digitsOf(random, 4)}`
  return body + ((10 - (sumOf(body, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10)
}

function cpf(random: Random): string {
  let digits = digitsOf(random, 9)
  for (const length of [9, 10]) {
    const weights = Array.from({ length }, (_, at) => length + 1 - at)
    digits += ((sumOf(digits, weights) * 10) % 11) % 10
  }
  return `${digits.slice(0, 3)}.${digits.slice(3, 6)}.${digits.slice(6, 9)}-${digits.slice(9)}`
}

function nir(random: Random): string {
  const month = String(1 + Math.floor(random() * 12)).padStart(2, '0')
  const body = `${pick(random, ['1', '2'])}${digitsOf(random, 2)}${month}${digitsOf(random, 8)}`
  return body + String(97n - (BigInt(body) % 97n)).padStart(2, '0')
}

function nif(random: Random): string {
  const body = digitsOf(random, 8)
  return body + 'TRWAGMYFPDXBNJZSQVHLCKE'[Number(body) % 23]
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const secretText = (random: Random, count: number): string =>
  Array.from({ length: count }, () => pick(random, [...letters])).join('')

const kinds: Readonly<Record<string, (random: Random) => string>> = {
  EMAIL_ADDRESS: mail,
  PHONE_NUMBER: phoneOf,
  CREDIT_CARD: cardOf,
  IBAN_CODE: ibanOf,
  IP_ADDRESS: random =>
    random() < 0.7
      ? Array.from({ length: 4 }, () => Math.floor(random() * 256)).join('.')
      : `2001:db8:${Array.from({ length: 6 }, () => (4096 + Math.floor(random() * 61439)).toString(16)).join(':')}`,
  US_SSN: random =>
    `${100 + Math.floor(random() * 500)}-${11 + Math.floor(random() * 88)}-${1000 + Math.floor(random() * 8999)}`,
  ES_NIF: nif,
  FR_NIR: nir,
  PL_PESEL: pesel,
  BR_CPF: cpf,
  CA_SIN: random => grouped(withLuhn(`1${digitsOf(random, 7)}`), 3, ' '),
  API_KEY: random =>
    pick(random, [
      `sk-proj-${secretText(random, 32)}`,
      `ghp_${secretText(random, 36)}`,
      `AKIA${secretText(random, 16).toUpperCase()}`,
    ]),
}

const sentencesOfKind = 200

interface Counts {
  sentences: number
  found: number
  /** Found under another name; masked all the same. */
  asOther: number
  missed: number
  wrong: number
}

/** The whole page. */
export function personalDataPage(): string {
  const scanner = scannerOfAll()
  const random = generator(20261123)
  const rows = Object.entries(kinds).map(([name, make]) => {
    const counts: Counts = { sentences: sentencesOfKind, found: 0, asOther: 0, missed: 0, wrong: 0 }
    for (let at = 0; at < sentencesOfKind; at++)
      count(scanner, { name, value: make(random), template: pick(random, templates) }, counts)
    return rowOf(name, counts)
  })
  const wrong = harmless.flatMap(text =>
    scanner.findAll(text).map(one => `\`${text.slice(one.start, one.end)}\` (${one.rule.name})`),
  )
  return [
    head,
    '| kind | sentences | found | under another name | missed | found beside | precision | recall |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
    `Of ${harmless.length} texts without personal data, with dates, versions, hashes, prices and article numbers, ` +
      `${wrong.length} finds: ${wrong.length === 0 ? 'none' : wrong.join(', ')}.`,
    '',
    inKind,
    measured(sentencesInKind(timesOfTemplate)),
    '',
  ].join('\n')
}

const timesOfTemplate = 20

const inKind = `## Sentences in the kind of Presidio's

${timesOfTemplate} sentences of each template of \`scripts/personal-data/in-kind.ts\`: what customers write to a bank,
signatures, forms, logs, broken text, with several values of several kinds, and formats of telephones and cards of many
countries. The kinds are those of Presidio's research repository; sentences and values are our own. A value counts as
found where a find covers all of it.

The same measure on that repository's own 1,500 sentences, which are not part of this one
(\`npm run personal-data -- synth_dataset_v2.json\`, commit 7622dec), as seen on 2026-11-25 with the rules before that
day: cards 83.8 %, telephones 55.4 %, driver licences 0 %, all other kinds that are looked for 100 %, nothing found
beside. What was missed (JCB's old cards, extensions, local numbers, licences) is looked for since, behind a word that
says what it is: all of these are found, with one find beside. They were seen while the rules were made, so they do not
say how the rules do on others.
`

const head = `# How well personal data is found

Written by \`npm run personal-data\`: ${sentencesOfKind} sentences of each kind, from templates in English, German,
French, Spanish, Italian, Portuguese and Polish, tables and JSON; the values are made by a generator, check digits
included.
Precision counts what was found beside the value, recall what was masked of the values, also where another kind has the
same form. Names of persons and places have no form: they need a guardrail of the kind \`presidio\`
([guardrails](guardrails.md)). Sentences and rules have the same authors: the table shows that nothing gets worse, not
how the rules do on texts of strangers. Numbers of strangers are in the tests: valid and invalid national numbers of 29
kinds by python-stdnum, the examples of 89 countries in SWIFT's registry of IBANs, and those of 245 countries in
libphonenumber (\`src/guardrails/personal-data/*.test.ts\`). All valid ones are found, but for 14 local telephone
numbers that are short or have other signs.
`

function count(
  scanner: Scanner,
  { name, value, template }: { name: string; value: string; template: string },
  counts: Counts,
): void {
  const text = template.replace(/\{\}(?!.*\{\})/, () => value)
  const start = text.indexOf(value)
  const end = start + value.length
  let isMasked = false
  for (const one of scanner.findAll(text)) {
    if (one.start <= start && one.end >= end) {
      isMasked = true
      if (one.rule.name === name) counts.found++
      else counts.asOther++
    } else counts.wrong++
  }
  if (!isMasked) counts.missed++
}

function rowOf(name: string, { sentences, found, asOther, missed, wrong }: Counts): string {
  const masked = found + asOther
  const percent = (part: number, of: number) => `${((100 * part) / Math.max(of, 1)).toFixed(1)} %`
  const cells = [name, sentences, found, asOther, missed, wrong]
  return `| ${[...cells, percent(masked, masked + wrong), percent(masked, sentences)].join(' | ')} |`
}

if (import.meta.main) {
  const [given] = process.argv.slice(2)
  if (given !== undefined) console.log(measured(sentencesOfPresidio(readFileSync(given, 'utf8'))))
  else {
    const page = personalDataPage()
    writeFileSync(resolve(import.meta.dir, '../docs/personal-data.md'), page)
    console.log(page)
  }
}
