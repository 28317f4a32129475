/** docs/personal-data.md: how well personal data is found, as the program that writes it says. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { personalDataPage } from '../../scripts/personal-data.ts'

test('the page is what the guardrail finds, and it finds what it promises', () => {
  const page = personalDataPage()
  expect(
    readFileSync(join(import.meta.dir, '../../docs/personal-data.md'), 'utf8') === page || 'run npm run personal-data',
  ).toBe(true)
  const rows = [...page.matchAll(/^\| [A-Z_]+ .* \| ([\d.]+) % \| ([\d.]+) % \|$/gm)]
  expect(rows.length).toBeGreaterThan(10)
  for (const [row, precision, recall] of rows)
    expect([row, Number(precision) >= 95, Number(recall) >= 95]).toEqual([row, true, true])
})
