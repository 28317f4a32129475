/** docs/personal-data.md: how well personal data is found, as the program that writes it says. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { personalDataPage } from '../../scripts/personal-data.ts'

const page = personalDataPage()

test('the page is what the guardrail finds, and it finds what it promises', () => {
  expect(
    readFileSync(join(import.meta.dir, '../../docs/personal-data.md'), 'utf8') === page || 'run npm run personal-data',
  ).toBe(true)
  const rows = [...page.matchAll(/^\| [A-Z_]+ .* \| ([\d.]+) % \| ([\d.]+) % \|$/gm)]
  expect(rows.length).toBeGreaterThan(10)
  for (const [row, precision, recall] of rows)
    expect([row, Number(precision) >= 95, Number(recall) >= 95]).toEqual([row, true, true])
})

test('sentences in the kind of Presidio: at least nine in ten values of each kind that is looked for, and hardly anything beside', () => {
  const [, table = ''] = page.split("in the kind of Presidio's")
  const rows = [...table.matchAll(/^\| ([A-Z_]+) \| (\d+) .* \| ([\d.]+) % \|$/gm)]
  expect(rows.map(([, kind]) => kind)).toContain('PHONE_NUMBER')
  for (const [row, , , recall] of rows) expect([row, Number(recall) >= 90]).toEqual([row, true])
  expect(Number(/precision ([\d.]+) %/.exec(table)?.[1])).toBeGreaterThan(99)
})
