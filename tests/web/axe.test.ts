/** What tests/web/axe.ts finds, although it looks at each combination of colours once. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { violations, violationsInBothThemes } from './axe.ts'
import { closePages, hasChromium, openBrowser, openPage, pageMs } from './browser.ts'

setDefaultTimeout(pageMs)

/** `before`: what stands before the text, `style`: of the text. */
const pageWith = (style: string, before = '') => `<!doctype html><html lang="en"><title>t</title>
  <style>body { background: #fff } @media (prefers-color-scheme: dark) { body { background: #222 } }</style>
  <main style="position: relative">${before}<h1 style="position: relative; font: 16px serif; ${style}">text</h1></main>`
const placed = '<div style="position: absolute; inset: 0; background: #222"></div>'

describe.skipIf(!hasChromium)('colours', () => {
  let browser: Browser
  afterAll(() => closePages(browser))

  test('that are hard to read are told each time, in the theme where they are', async () => {
    browser = await openBrowser()
    const { page } = await openPage(browser, 'null')
    const found = async (style: string, before?: string) => {
      await page.setContent(pageWith(style, before))
      return (await violationsInBothThemes(page)).map(one => one.split(' ').slice(0, 2).join(' ')).toSorted()
    }
    for (let time = 0; time < 2; time++) {
      expect(await found('color: #333')).toEqual(['dark: color-contrast'])
      expect(await found('color: #bbb')).toEqual(['light: color-contrast'])
    }
    // These were right on white: on something placed below them, half transparent, and on a ground of their own they
    // are not.
    const both = ['dark: color-contrast', 'light: color-contrast']
    expect(await found('color: #333', placed)).toEqual(both)
    expect(await found('color: #333; opacity: 0.3')).toEqual(both)
    expect(await found('color: #333; background: #444')).toEqual(both)
    expect(await found('color: #333; background: #fffc')).toEqual([])
  })

  test('of a link that only its colour tells from the text are found in the theme where they are too near', async () => {
    const { page } = await openPage(browser, 'null')
    const link = (style: string) =>
      page.setContent(pageWith('').replace('</main>', `<p>text <a href="/" style="${style}">link</a> text</p></main>`))
    const found = async () =>
      (await violations(page, { isOfColours: true })).filter(one => one.startsWith('link-in-text-block'))
    await link('color: #111')
    expect(await found()).toEqual([])
    await link('color: #111; text-decoration: none')
    expect(await found()).toHaveLength(1)
    expect(await found()).toHaveLength(1)
  })
})
