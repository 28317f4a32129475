/** Accounts and telephones against others' lists: the registry of IBANs, and libphonenumber. */
import { expect, test } from 'bun:test'
import { getExampleNumber } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import ibans from '../../../tests/data/national-numbers/iban-examples.json' with { type: 'json' }
import { linearPattern } from '../../lib/linear-regex/index.ts'
import { entities } from './entities.ts'

const patterns = new Map(['IBAN_CODE', 'PHONE_NUMBER'].map(kind => [kind, linearPattern(entities.get(kind)!.pattern)]))

function foundIn(kind: string, text: string): string[] {
  const { check } = entities.get(kind)!
  const search = { from: 0, isComplete: true, ...(check && { check }) }
  return patterns
    .get(kind)!
    .find(text, search)
    .spans.map(({ start, end }) => text.slice(start, end))
}

const grouped = (iban: string): string => iban.match(/.{1,4}/g)!.join(' ')

test(`the examples of ${ibans.length} countries in SWIFT's registry are found, together and in groups`, () => {
  const countries = new Set(ibans.map(one => one.slice(0, 2)))
  for (const country of ['BI', 'DJ', 'FK', 'HN', 'MN', 'NI', 'OM', 'RU', 'SD', 'SO', 'YE'])
    expect(countries).toContain(country)
  for (const iban of ibans)
    for (const form of [iban, grouped(iban), iban.toLowerCase()])
      expect(foundIn('IBAN_CODE', `Pay to ${form}, please.`)).toEqual([form])
})

test('right check digits with a structure that the country does not have are no IBAN', () => {
  // Letters where Germany and Mongolia have digits alone.
  const withChecks = (country: string, account: string): string => {
    const rest = [...`${account}${country}00`].reduce((sum, one) => {
      const value = parseInt(one, 36)
      return (sum * (value > 9 ? 100 : 10) + value) % 97
    }, 0)
    return `${country}${String(98 - rest).padStart(2, '0')}${account}`
  }
  for (const iban of [
    withChecks('DE', '3704004405320130AB'),
    withChecks('MN', '12341234567891AB'),
    withChecks('XX', '12341234567891'),
  ])
    expect(foundIn('IBAN_CODE', `Pay to ${iban}, please.`)).toEqual([])
})

test('the example numbers of libphonenumber are found, in their international form and behind a word', () => {
  const missed: string[] = []
  const all = Object.keys(examples) as (keyof typeof examples)[]
  for (const country of all) {
    const number = getExampleNumber(country, examples)!
    for (const [text, form] of [
      [`Write to ${number.formatInternational()} or so`, number.formatInternational()],
      [`Write to ${number.number} or so`, number.number],
      [`My phone is ${number.formatNational()} or so`, number.formatNational()],
    ] as const)
      if (!foundIn('PHONE_NUMBER', text).some(one => one.includes(form) || form.includes(one)))
        missed.push(`${country} ${form}`)
  }
  console.log(`${all.length} countries, missed: ${missed.join(', ')}`)
  // Numbers of six digits or fewer, and with letters, could be anything.
  expect(missed.filter(one => / \+/.test(one))).toEqual([])
  expect(missed.length).toBeLessThan(30)
})
