/** Days of reports, which count in UTC, are named alike wherever the viewer is; moments are the viewer's own. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { goTo, hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

/** Behind UTC, half an hour off, and so far before it that it is tomorrow there. */
const zones = ['America/Los_Angeles', 'Asia/Kolkata', 'Pacific/Kiritimati'] as const

const dayMs = 86_400_000
const firstMs = Date.UTC(2026, 9, 29)

/** `Oct 29`, written by hand: the formatter of the pages is what is tested. */
const named = (day: string): string => {
  const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
  const [, month, date] = day.split('-').map(Number)
  return `${months[month! - 1]} ${date}`
}
const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const lastDays = (count: number) =>
  Array.from({ length: count }, (_, at) => named(isoDay(Date.now() - (count - 1 - at) * dayMs)))

describe.skipIf(!hasChromium)('days of reports', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({}, opened => ({ gateway, browser } = opened))

  const call = async () => {
    const key = await gateway.key()
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await answer.text()
    while ((await gateway.rows()).length === 0) await Bun.sleep(20)
  }

  /** The first cells of the table that a chart is, too. */
  const daysOfTable = async (page: Page, label: string) => {
    const figure = page.getByRole('figure').filter({ hasText: label })
    await figure.getByRole('button', { name: 'As a table' }).click()
    const days = figure.locator('tbody td:first-child')
    await days.first().waitFor()
    return days.allInnerTexts()
  }

  for (const timezoneId of zones)
    test(`a day has the same name in ${timezoneId}`, async () => {
      await call()
      const { page, faults } = await openSignedIn(browser, gateway, { timezoneId })
      // A month that is full of calls, counted by days.
      await page.route('**/spend/logs/histogram*', route =>
        route.fulfill({
          json: {
            ...{ start_date: new Date(firstMs).toISOString(), end_date: new Date(firstMs + 3 * dayMs).toISOString() },
            ...{ counted_from: new Date(firstMs).toISOString(), unit: 'day', calls: 6, failed_calls: 0 },
            bars: [0, 1, 2].map(at => ({
              start_date: new Date(firstMs + at * dayMs).toISOString(),
              end_date: new Date(firstMs + (at + 1) * dayMs).toISOString(),
              ...{ calls: 2, failed_calls: 0 },
            })),
          },
        }),
      )
      await page.goto(`${gateway.url}/ui/usage?days=7`)
      expect(await daysOfTable(page, 'by day (UTC)')).toEqual(lastDays(7))
      // The legend of the picture, and the marks of its axis, which stand on whole days.
      await page.getByRole('button', { name: 'As a chart' }).click()
      const picture = page.locator('.u-over')
      await picture.waitFor()
      const box = (await picture.boundingBox())!
      await picture.hover({ position: { x: box.width - 2, y: box.height / 2 } })
      expect(await page.locator('.u-legend .u-value').first().innerText()).toBe(lastDays(1)[0]!)
      await goTo(page, '/')
      expect(await daysOfTable(page, 'Spend by model, last 30 days (UTC)')).toEqual(lastDays(30))
      await goTo(page, '/logs')
      const counts = page.getByRole('figure').filter({ hasText: 'counted by day (UTC)' })
      await counts.waitFor()
      expect(await counts.locator('figcaption > span').first().innerText()).toBe('Oct 29')
      expect(await counts.locator('figcaption > span').last().innerText()).toBe('Oct 31')
      const slider = counts.getByRole('slider')
      expect(await slider.getAttribute('aria-valuetext')).toBe('Oct 29 – Oct 31: 6')
      await slider.press('ArrowLeft')
      expect(await slider.getAttribute('aria-valuetext')).toBe('Oct 31: 2')
      expect(faults).toEqual([])
    })
})
