/** Mutants are made by the syntax of the source: of what runs, not of its types. */
import { expect, test } from 'bun:test'
import { mutated, mutationsOf } from './mutations.ts'

const changes = (source: string) => mutationsOf('x.ts', source).map(one => mutated(source, one))

test('each operator, flag, condition and return is changed by itself', () => {
  expect(changes('const a = b < 3 && c')).toEqual([
    'const a = b < 3 || c',
    'const a = b <= 3 && c',
    'const a = b < (3 + 1) && c',
  ])
  expect(changes('if (!a) f(true)')).toEqual([
    'if (true) f(true)',
    'if (false) f(true)',
    'if (a) f(true)',
    'if (!a) f(false)',
  ])
  expect(changes('const g = () => { return a ?? b }')).toEqual([
    'const g = () => { return undefined }',
    'const g = () => { return a && b }',
  ])
  expect(changes('const h = a ? b : c')).toEqual(['const h = !(a) ? b : c'])
})

test('types, imports and texts are left alone', () => {
  expect(
    changes("import { a } from './3.ts'\ntype T = true | 1\ninterface I { a: false }\nconst s: 'x' = 'a < b'"),
  ).toEqual([])
})

test('a mutant names its line and what is written for what', () => {
  const [found] = mutationsOf('x.ts', 'f()\n  const a = b < c\n')
  expect(found).toMatchObject({ line: 2, code: 'const a = b < c', change: '< -> <=' })
})
