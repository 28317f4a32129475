/** Refusals of the gateway, whose sentences are English, in the other languages of the pages. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { faults } from '../../src/core/errors.ts'
import german from '../../web/strings/refusals-de.json'

const root = join(import.meta.dir, '../../src')

/** Codes beside those of the table: a word in the options of a `GatewayError`. SCIM's, in camel case, reach no page. */
function codesOfTheirOwn(): string[] {
  const found = [...new Glob('**/*.ts').scanSync(root)]
    .filter(file => !file.endsWith('.test.ts'))
    .flatMap(file => [...readFileSync(join(root, file), 'utf8').matchAll(/new GatewayError\((?=([\s\S]{0,400}))/g)])
    .flatMap(([, after]) => /\bcode: '([a-z_]+)'/.exec(after!.split('\n\n', 1)[0]!)?.[1] ?? [])
  return [...new Set(found)].filter(code => code !== 'custom')
}

test('every way a request can be refused has a German sentence', () => {
  const codes = [...Object.values(faults).map(({ code, type }) => code ?? type), ...codesOfTheirOwn()]
  expect(codesOfTheirOwn()).toContain('bodies_not_found')
  expect(codes.filter(code => !Object.hasOwn(german, code))).toEqual([])
})

test('no sentence is for a code that the gateway does not have, and each ends as one', () => {
  const codes = new Set<string>([
    ...Object.values(faults).map(({ code, type }) => code ?? type),
    ...codesOfTheirOwn(),
    ...['missing', 'wrong_type', 'out_of_range', 'unknown_value'].map(kind => `${faults.unprocessable.code}.${kind}`),
  ])
  expect(Object.keys(german).filter(code => !codes.has(code))).toEqual([])
  expect(Object.values(german).filter(text => !text.endsWith('.'))).toEqual([])
  expect(Object.values(german).flatMap(text => text.match(/\{(?!field\})\w*\}/g) ?? [])).toEqual([])
})
