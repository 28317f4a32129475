/** One hand: no page has a colour, size or radius of its own, no text outside of the catalogue's rules. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogues, textsIn } from './declared-pages.ts'

const root = join(import.meta.dir, '../../web')
const files = [...new Glob('**/*.{tsx,css}').scanSync(root)].filter(file => file !== 'styles/tokens.css').sort()

/** `file:line: text` of every match; comments are left out. */
function found(pattern: RegExp, of: readonly string[] = files): string[] {
  return of.flatMap(file =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, at) =>
        pattern.test(line.replace(/\/\*.*|\/\/.*/, '')) ? [`${file}:${at + 1}: ${line.trim()}`] : [],
      ),
  )
}

test('colours stand in tokens.css alone', () => {
  expect(found(/#[0-9a-f]{3,8}\b|\b(rgb|rgba|hsl|oklch|oklab)\(/i)).toEqual([])
})

test('sizes stand in tokens.css alone', () => {
  const scripts = files.filter(file => file.endsWith('.tsx'))
  // Widths of a table's columns, and what a canvas or a position is computed from, are no classes.
  expect(found(/className=.*\d(px|rem|em|vh|dvh)\b/, scripts)).toEqual([])
  expect(found(/(?<![\w-])(?!data-|aria-)[a-z-]+-\[[^\]]+\]/, scripts)).toEqual([])
})

test('space is one of six steps', () => {
  expect(
    found(/(?<![\w-])-?(?:[pm][xytrbl]?|gap(?:-[xy])?|space-[xy])-(?!(?:0|1|2|3|4|6|8|px|auto)(?![\d.]))\d/),
  ).toEqual([])
})

test('a dialog has five fields at most: a longer form belongs in a drawer', () => {
  const fields = /<(?:TextField|TextArea|NumberField|Select|Combobox|MultiCombobox|PeriodField|Switch)\b/g
  const counts = files
    .map(file => [file, readFileSync(join(root, file), 'utf8')] as const)
    .filter(
      ([file, text]) => file.startsWith('pages/') && /<(?:Create)?Dialog\b/.test(text) && file !== 'pages/_parts.tsx',
    )
    // Amount and period.
    .map(([file, text]) => [
      file,
      (text.match(fields) ?? []).length + 2 * (text.match(/<BudgetFields\b/g) ?? []).length,
    ])
  expect(counts.length).toBeGreaterThan(10)
  expect(counts.filter(([, count]) => Number(count) > 5)).toEqual([])
})

test('every language says everything, with the same values in it', () => {
  const values = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort()
  for (const { en, de } of catalogues) {
    expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort())
    for (const [key, text] of Object.entries(en)) expect([key, values(de[key]!)]).toEqual([key, values(text)])
  }
})

test('no key of a text has two texts', () => {
  const keys = catalogues.flatMap(({ en }) => Object.keys(en))
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
})

test('texts are sentences without shouting', () => {
  const loud = Object.entries(textsIn('en')).filter(([, text]) => /!|\bplease\b/i.test(text))
  expect(loud).toEqual([])
})

test('every text is used', () => {
  const code = [...new Glob('**/*.{ts,tsx}').scanSync(root)]
    .filter(file => !file.startsWith('api/schema') && !file.endsWith('.page.ts'))
    .map(file => readFileSync(join(root, file), 'utf8'))
    .join('\n')
  const made = [...code.matchAll(/`([a-z][\w.]*\.)\$\{/gi)].map(([, start]) => start!)
  const unused = Object.keys(textsIn('en')).filter(
    key => !code.includes(`'${key}'`) && !made.some(start => key.startsWith(start)),
  )
  expect(unused).toEqual([])
})
