/** Filters and paths of SCIM: read as the RFC's grammar has it, refused with the place and the remedy. */
import { expect, test } from 'bun:test'
import { parseFilter, parseTarget } from './path.ts'
import type { Filter } from './path.ts'

/** Short, to be compared. */
function written(filter: Filter): string {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return `(${filter.parts.map(written).join(` ${filter.kind} `)})`
    case 'not':
      return `not ${written(filter.part)}`
    case 'present':
      return `${nameOf(filter)} pr`
    case 'values':
      return `${nameOf(filter)}[${written(filter.filter)}]`
    case 'compare':
      return `${nameOf(filter)} ${filter.operator} ${JSON.stringify(filter.value)}`
  }
}
const nameOf = ({ path }: Extract<Filter, { path: unknown }>) =>
  [path.schema && `${path.schema}:`, path.name, path.sub && `.${path.sub}`].filter(Boolean).join('')

test('filters bind as the grammar says: not before and, and before or', () => {
  const cases: [string, string][] = [
    ['userName eq "a"', 'userName eq "a"'],
    ['userName EQ "a" AND active Eq TRUE', '(userName eq "a" and active eq true)'],
    ['a eq 1 or b eq 2 and c pr', '(a eq 1 or (b eq 2 and c pr))'],
    ['(a eq 1 or b eq 2) and not (c pr)', '((a eq 1 or b eq 2) and not c pr)'],
    ['emails[type eq "work" and value co "@x"]', 'emails[(type eq "work" and value co "@x")]'],
    ['emails[type eq "work"].value eq "x"', 'emails[(type eq "work" and value eq "x")]'],
    ['name.familyName sw "O\\"x"', 'name.familyName sw "O\\"x"'],
    ['urn:a:b:2.0:User:userName eq "a"', 'urn:a:b:2.0:User:userName eq "a"'],
    ['externalId eq null', 'externalId eq null'],
    ['a eq "x) or (b pr"', 'a eq "x) or (b pr"'],
  ]
  for (const [text, expected] of cases) expect([text, written(parseFilter(text))]).toEqual([text, expected])
})

test('paths name an attribute, an element or a part of it', () => {
  expect(parseTarget('name.familyName')).toMatchObject({ path: { name: 'name', sub: 'familyName' }, filter: undefined })
  expect(parseTarget('emails[type eq "work"].value')).toMatchObject({ path: { name: 'emails', sub: 'value' } })
  expect(parseTarget('urn:x:enterprise:2.0:User:manager.value').path).toEqual({
    schema: 'urn:x:enterprise:2.0:User',
    name: 'manager',
    sub: 'value',
  })
})

test('what is no filter is refused with the place', () => {
  const cases: [string, RegExp][] = [
    ['', /ends where the name of an attribute is expected/],
    ['userName', /ends where an operator/],
    ['userName eq', /ends where a value/],
    ['userName eq a', /expects a value at character 13/],
    ['userName like "a"', /operator 'like'/],
    ['userName eq "a" "b"', /has '"b"' at character 17/],
    ['(userName eq "a"', /expects '\)' at its end/],
    ['userName eq "a', /quote without its end/],
    ['1x eq 1', /expects the name of an attribute at character 1/],
    ['a eq {}', /expects a value/],
    [`${'('.repeat(20)}a pr${')'.repeat(20)}`, /nested deeper than 10/],
    [Array.from({ length: 200 }, () => 'a pr').join(' or '), /more than 100 conditions/],
    ['a'.repeat(5000), /longer than 4000/],
  ]
  for (const [text, says] of cases) expect(() => parseFilter(text)).toThrow(says)
})

test('text without an end is refused in time that grows with its length alone', () => {
  for (const sign of ['"', '\\', '[', '(', ' ', '.'])
    expect(() => parseFilter(`a eq ${sign.repeat(3900)}`)).toThrow(/filter/)
})
