/** scim2-parse-filter as a referee of SCIM filters: what both read is the same tree, and what one refuses is named. */
import { expect, test } from 'bun:test'
import { parse } from 'scim2-parse-filter'
import type { Filter as Theirs } from 'scim2-parse-filter'
import { parseFilter } from '../../src/lib/scim/path.ts'
import type { AttributePath, Filter } from '../../src/lib/scim/path.ts'
import { randomOf } from './random.ts'

const random = randomOf(23)
const schema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const attributes = ['userName', 'name.familyName', 'emails', 'active', 'meta.lastModified', `${schema}:department`]
const values = ['"bjensen"', '"a\\"b"', '"ä ( and ) or"', 'true', 'false', 'null', '7', '""']
const spaces = () => ' '.repeat(1 + random.below(2))
const word = (name: string) => random.of([name, name.toUpperCase(), `${name[0]!.toUpperCase()}${name.slice(1)}`])

function filter(depth: number, isInner = false): string {
  const attribute = isInner ? random.of(['type', 'value', 'primary']) : random.of(attributes)
  switch (depth === 0 ? random.below(2) : random.below(6)) {
    case 0:
      return `${attribute}${spaces()}pr`
    case 1:
      return `${attribute}${spaces()}${random.of(['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'])}${spaces()}${random.of(values)}`
    case 2:
      return `not${random.of(['', ' '])}(${filter(depth - 1, isInner)})`
    case 3:
      return `(${filter(depth - 1, isInner)})`
    case 4:
      return isInner ? filter(depth - 1, true) : `emails[${filter(depth - 1, true)}]`
    default: {
      const parts = Array.from({ length: 2 + random.below(2) }, () => filter(depth - 1, isInner))
      return parts.reduce((all, part) => `${all}${spaces()}${word(random.of(['and', 'or']))}${spaces()}${part}`)
    }
  }
}

const nameOf = ({ schema: address, name, sub }: AttributePath): string =>
  `${address === undefined ? '' : `${address}:`}${name}${sub === undefined ? '' : `.${sub}`}`

/** Both trees in one form; nested lists of the same word are one list. */
function ofOurs(one: Filter): unknown {
  switch (one.kind) {
    case 'and':
    case 'or':
      return joined(one.kind, one.parts.map(ofOurs))
    case 'not':
      return ['not', ofOurs(one.part)]
    case 'present':
      return ['pr', nameOf(one.path)]
    case 'values':
      return ['[]', nameOf(one.path), ofOurs(one.filter)]
    case 'compare':
      return [one.operator, nameOf(one.path), one.value]
  }
}

function ofTheirs(one: Theirs): unknown {
  switch (one.op) {
    case 'and':
    case 'or':
      return joined(one.op, one.filters.map(ofTheirs))
    case 'not':
      return ['not', ofTheirs(one.filter)]
    case 'pr':
      return ['pr', one.attrPath]
    case '[]':
      return ['[]', one.attrPath, ofTheirs(one.valFilter)]
    default:
      return [one.op, one.attrPath, one.compValue]
  }
}

function joined(kind: string, parts: readonly unknown[]): unknown {
  return [kind, ...parts.flatMap(part => (Array.isArray(part) && part[0] === kind ? part.slice(1) : [part]))]
}

const readBy = <T>(read: () => T): T | 'refused' => {
  try {
    return read()
  } catch {
    return 'refused'
  }
}

test('800 filters are read into the same trees', () => {
  for (let round = 0; round < 800; round++) {
    const text = filter(3)
    expect([text, readBy(() => ofOurs(parseFilter(text)))]).toEqual([text, readBy(() => ofTheirs(parse(text)))])
  }
})

type Reading = ReturnType<typeof ofOurs>

const attributePath = /^(?:urn:[\w.:-]+:)?[A-Za-z][\w$-]*(?:\.[A-Za-z][\w$-]*)?$/
const namesIn = (reading: Reading): string[] => {
  if (!Array.isArray(reading)) return []
  const [kind, name, ...parts] = reading as [string, unknown, ...unknown[]]
  if (['and', 'or', 'not'].includes(kind)) return [name, ...parts].flatMap(namesIn)
  return [String(name), ...(kind === '[]' ? parts.flatMap(namesIn) : [])]
}

/** Where the two differ, and why ours is kept. */
const differences: Readonly<Record<string, (text: string, ours: Reading, theirs: Reading) => boolean>> = {
  'a number is one of JSON (RFC 7644, figure 1), negative and with a fraction too; the referee refuses these': (
    text,
    ours,
    theirs,
  ) => /-?\d+\.\d|-\d/.test(text) && ours !== 'refused' && theirs === 'refused',
  'a text is one of JSON: the referee keeps a backslash that means nothing there, and that of \\b': text =>
    /\\[^"\\]/.test(text),
  'an attribute has a name, and one sub-attribute at most (attrPath); the referee takes any dots': (_, ours, theirs) =>
    ours === 'refused' && namesIn(theirs).some(name => !attributePath.test(name)),
}

test('800 damaged filters: what the referee refuses is refused, but for what is named', () => {
  const unnamed: unknown[] = []
  const seen = new Set<string>()
  for (let round = 0; round < 800; round++) {
    const whole = filter(2).replace(' 7', () => random.of([' 7', ' -1.5', ' 0.5']))
    const at = random.below(whole.length)
    const text = whole.slice(0, at) + random.of(['', '(', ')', ']', '"', ' ', '.']) + whole.slice(at + 1)
    const [ours, theirs] = [readBy(() => ofOurs(parseFilter(text))), readBy(() => ofTheirs(parse(text)))]
    if (Bun.deepEquals(ours, theirs)) continue
    const [name] = Object.entries(differences).find(([, applies]) => applies(text, ours, theirs)) ?? []
    if (name === undefined) unnamed.push([text, ours, theirs])
    else seen.add(name)
  }
  expect([unnamed, [...seen].toSorted()]).toEqual([[], Object.keys(differences).toSorted()])
})
