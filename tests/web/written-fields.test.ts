/** Every field that a person sets of a key, a team or the like is in a form, set elsewhere, or named with a reason. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { expect, test } from 'bun:test'
import { writtenObjects } from '../../src/core/tenancy/field-tables.ts'
import type { FieldTable } from '../../src/core/tenancy/fields.ts'
import { writtenFields } from '../../web/api/written-fields.ts'
import { formFields, setElsewhere, setNowhere } from '../../web/components/forms/object-forms.ts'
import type { ObjectKind } from '../../web/components/forms/object-forms.ts'

const ofObjects: Readonly<Record<ObjectKind, FieldTable>> = writtenObjects
const web = join(import.meta.dir, '../../web')
const objects = Object.keys(ofObjects) as ObjectKind[]

const namesOf = (object: ObjectKind): string[] =>
  Object.values(ofObjects[object]).flatMap(field => (field.isWritten ? [field.name!] : []))

test('the pages have the written fields of every table, with their kinds', () => {
  const expected = objects.map(object => [
    object,
    Object.values(ofObjects[object])
      .filter(field => field.isWritten)
      .map(({ name, kind, isSelfService = false }) => [name!, kind, isSelfService]),
  ])
  const found = Object.entries(writtenFields).map(([object, fields]) => [
    object,
    Object.entries(fields as Readonly<Record<string, { kind: string; isSelfService?: true }>>).map(
      ([name, { kind, isSelfService = false }]) => [name, kind, isSelfService],
    ),
  ])
  // After a change of the tables: npm run api-types.
  expect(found).toEqual(expected)
})

test('every written field is in the form of its object, set by another part of a page, or named with the reason', () => {
  for (const object of objects) {
    const inForm: readonly string[] = formFields(object)
    const unsaid = namesOf(object).filter(
      name => !inForm.includes(name) && !(name in setElsewhere) && !(`${object}.${name}` in setNowhere),
    )
    expect({ object, unsaid }).toEqual({ object, unsaid: [] })
  }
})

test('a page shows the form of every object', async () => {
  const pages = await Promise.all(
    [...new Glob('pages/**/*.tsx').scanSync(web)].map(name => Bun.file(join(web, name)).text()),
  )
  const shown = objects.filter(object => pages.some(text => text.includes(`object="${object}"`)))
  expect(shown).toEqual(objects)
})

test('no reason is left of a field that is set or gone, and the parts that set fields are there', () => {
  const all = objects.flatMap(object => namesOf(object).map(name => `${object}.${name}`))
  expect(Object.keys(setNowhere).filter(name => !all.includes(name))).toEqual([])
  const inForms = objects.flatMap(object => formFields(object).map(name => `${object}.${name}`))
  expect(Object.keys(setNowhere).filter(name => inForms.includes(name))).toEqual([])
  expect(Object.keys(setElsewhere).filter(name => !all.some(one => one.endsWith(`.${name}`)))).toEqual([])
  for (const part of Object.values(setElsewhere)) {
    const [path] = /\S+\.tsx/.exec(part) ?? []
    if (path !== undefined) expect([path, existsSync(join(web, path))]).toEqual([path, true])
  }
})
