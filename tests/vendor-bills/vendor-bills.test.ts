/** Documented usage costs what the vendor's page makes of it, to the nano-dollar, or is unknown. */
import { describe, expect, test } from 'bun:test'
import { billNanoUsd } from './bill.ts'
import { anthropicBills } from './bills-anthropic.ts'
import { googleBills } from './bills-google.ts'
import { openaiBills } from './bills-openai.ts'
import { otherBills } from './bills-others.ts'
import { placeBills } from './bills-places.ts'
import { serviceBills } from './bills-services.ts'
import { costOfBill, usageOnLanes } from './read-answer.ts'

const bills = [...openaiBills, ...anthropicBills, ...googleBills, ...otherBills, ...serviceBills, ...placeBills]

test('there are bills of eight vendors, and unknown ones among them', () => {
  expect(bills.length).toBeGreaterThanOrEqual(135)
  expect(new Set(bills.map(bill => bill.provider)).size).toBeGreaterThanOrEqual(8)
  expect(bills.filter(bill => bill.lines === null).length).toBeGreaterThanOrEqual(10)
})

for (const provider of new Set(bills.map(bill => bill.provider)))
  describe(provider, () => {
    for (const bill of bills.filter(one => one.provider === provider))
      test(`${bill.model}: ${bill.name}`, () => {
        const usages = usageOnLanes(bill)
        expect(usages.length).toBeGreaterThan(0)
        for (const usage of usages) {
          expect(usage).toEqual(usages[0]!)
          expect(costOfBill(bill, usage).nanoUsd).toBe(billNanoUsd(bill))
        }
      })
  })
