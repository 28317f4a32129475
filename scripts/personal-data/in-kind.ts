/**
 * Sentences of the kinds that Presidio's research repository measures with (its templates and kinds were studied at
 * https://github.com/microsoft/presidio-research, commit 7622dec; neither its texts nor its values are used): what
 * customers of a bank write, signatures and address blocks, forms, broken text, quotations of mails; values of many
 * countries as generators of fake data make them, also of kinds that this gateway does not look for.
 */
import type { Random } from './random.ts'
import { digitsOf, masked, pick, withLuhn } from './random.ts'

/** A template names its values: `{phone}`. */
export const templates: readonly string[] = [
  'Someone keeps ringing me from {phone}, can you block them?',
  'Call back on {phone} once the loan is through',
  'You can reach my husband at {phone} after six.',
  'no signal on {phone} since monday!!! is the mast down ???',
  '{person}\n{organization}\n{address}\nPhone: {phone}\nFax: {phone}\n{email}',
  '> {person} wrote:\n> my desk is {phone}, the other line {phone} mobile\n>',
  'Name: {person}\nDOB: {birthday}\nTel: {phone}',
  'Text {phone} if the courier is late, or write to {email}',
  'New number for {person}: call {phone} from now on',
  'They answer neither {phone} nor {phone} fax',
  'Please raise the limit of card {card} to 2,000',
  'i lost my wallet in {place}, block {card} asap',
  'The charge of 49.99 on {card} is not mine.',
  'cc: {card} exp 04/29',
  'Why was card no. {card} declined at the pump',
  'Two cards are on file, {card} and {card}; delete the first card',
  'Refund it to my credit card ({card}), thanks',
  'Wire it to {iban} before noon',
  'Is {iban} a valid account of {organization}?',
  'IBAN:{iban};owner={person}',
  'Her SSN is {ssn}, mine ends differently',
  'Form W-9, line 2: social security number {ssn}',
  'The patient ({age}, {nationality}) gave {ssn} as SSN',
  'GET /login?from={ip} 403 -- {ip} is on the list',
  'your firewall drops {ip} since the update',
  'ssh root@{ip} times out, mail {email}',
  'Send the statement to {email} and not to {email}.',
  'CONTACT={email}|{phone}|{place}',
  "My driver's license {license} expires in {year}",
  'driver license number: {license}',
  'Passport {passport} was issued in {place}',
  'Mr {person} of {organization} lives at {address}.',
  'Have you read the new book of {person}?',
  'It snows in {place} on {weekday}, says {organization}',
  'I am {age} and {nationality}, does {organization} insure me?',
  'See {site} for the {nationality} edition',
  'the party of {person} is on {birthday} in {place}',
  'How do I close my account?',
  'The film of {year} had {number} visitors on its first weekend.',
  'Order {number} has {number} items; build {number} failed at 10:45.',
  'Invoice 2026-{number}, page 3 of 17, total 1,249.00 EUR, due 2026-12-31',
]

const formats = [
  ...['###-###-####', '(###)###-####', '(###) ###-####', '###.###.####', '+1-###-###-####', '001-###-###-####'],
  ...['###-###-####x###', '(###)###-####x####', '+1-###-###-####x###', '###.###.####x###', '1-###-###-####'],
  ...['0### ## ## ##', '0### ### ## ##', '0#.##.##.##.##', '+33 # ## ## ## ##', '+41 (0)## ### ## ##', '0## ### ## ##'],
  ...[
    '+46 (0)# ### ### ##',
    '+46 (0)### ### ##',
    '+447### ### ###',
    '07### ### ###',
    '020 #### ####',
    '(0#) #### ####',
  ],
  ...[
    '### ####',
    '## ######',
    '#### ####',
    '## ### ###',
    '(##) ###-###',
    '(##) ####-####',
    '##-##-##-##',
    '### ## ###',
  ],
  ...[
    '### ### ###',
    '## ### ## ##',
    '##########',
    '## ### ### ####',
    '+49 ### #######',
    '0### #######',
    '+90 ### ### ## ##',
  ],
]
const cards = [
  ...['4###############', '4############', '4##################', '51##############', '2720############'],
  ...['34#############', '37#############', '300###########', '36############', '38############', '6011############'],
  ...['65##############', '3530############', '3596############', '1800###########', '2131###########'],
  ...['5018########', '6304########', '6759##########', '62##############'],
]
const names = ['Ines Halloran', 'Tomasz Wierzba', 'Dr. Aiko Mori', 'Lars-Erik Nyström', 'O. Danjuma', 'Priya Raman']
const firms = ['Brightwell & Sons', 'Nordhafen GmbH', 'Kestrel Labs', 'Banco do Vale', 'Ostrava Steel Works']
const places = ['Gdansk', 'Porto', 'New Haven', 'Tartu', 'Queenstown', 'Lyon', 'Nairobi']
const mailNames = ['ines.h', 'TomaszW', 'aiko_mori', 'l-e.nystrom']
const mailHosts = ['mail.example', 'kestrel.example.org', 'brightwell.co.uk']
const months = ['March', 'July', 'October']
const streets = ['14 Mill Lane', 'Lindenstraße 7', '9120 Old County Rd Apt. 5', 'Rua das Flores 33', 'Kanalgatan 2 B']

/** Makes one value of each kind of the templates. */
export const makers: Readonly<Record<string, (random: Random) => string>> = {
  phone: random => masked(random, pick(random, formats), 1),
  card: random => withLuhn(masked(random, pick(random, cards), 0).slice(0, -1)),
  iban: random => britishIban(random),
  ssn: random => `${100 + Math.floor(random() * 560)}-${masked(random, '##', 1)}-${masked(random, '####', 1)}`,
  ip: random => Array.from({ length: 4 }, () => 1 + Math.floor(random() * 254)).join('.'),
  email: random => `${pick(random, mailNames)}@${pick(random, mailHosts)}`,
  license: random => pick(random, [`F${digitsOf(random, 12)}`, digitsOf(random, 7), masked(random, '####-##-####', 1)]),
  passport: random => digitsOf(random, 9),
  person: random => pick(random, names),
  organization: random => pick(random, firms),
  place: random => pick(random, places),
  address: random => `${pick(random, streets)}, ${masked(random, '#####', 1)} ${pick(random, places)}`,
  birthday: random => `${1 + Math.floor(random() * 28)} ${pick(random, months)} ${1940 + Math.floor(random() * 70)}`,
  weekday: random => pick(random, ['Monday', 'Thursday', 'Sunday']),
  age: random => String(18 + Math.floor(random() * 70)),
  nationality: random => pick(random, ['Finnish', 'Peruvian', 'Kenyan', 'Croatian']),
  site: random => `https://www.${pick(random, ['kestrel-labs', 'portofilms', 'nordhafen'])}.example/`,
  year: random => String(1950 + Math.floor(random() * 80)),
  number: random => digitsOf(random, 3 + Math.floor(random() * 5)),
}

/** What the guardrail calls a kind; null = it does not look for it. Those without an entry are no personal data. */
export const kindNames: Readonly<Record<string, string | null>> = {
  phone: 'PHONE_NUMBER',
  card: 'CREDIT_CARD',
  iban: 'IBAN_CODE',
  ssn: 'US_SSN',
  ip: 'IP_ADDRESS',
  email: 'EMAIL_ADDRESS',
  license: 'US_DRIVER_LICENSE',
  passport: 'US_PASSPORT',
  person: null,
  organization: null,
  place: null,
  address: null,
  birthday: null,
  age: null,
  nationality: null,
  site: null,
}

function britishIban(random: Random): string {
  const bank = Array.from({ length: 4 }, () => pick(random, [...'ABCDEFGHKLMNPRSTW'])).join('')
  const account = `${bank}${digitsOf(random, 14)}`
  const letters = [...`${account}GB00`].map(one => parseInt(one, 36)).join('')
  const text = `GB${String(98n - (BigInt(letters) % 97n)).padStart(2, '0')}${account}`
  return random() < 0.2 ? text.toLowerCase() : text
}
