/** How soon the pages can be used on a slow machine: Chromium with a quarter of this processor. */
import { expect, test } from 'bun:test'
import { startGateway } from '../e2e/harness.ts'
import { builtPages, hasChromium, openBrowser, openPage, pageMs } from './browser.ts'

const interactiveMsMax = 1000
const rounds = 4

/** From the start of the navigation until the page shows what it is for, and the main thread has time for a person. */
test.skipIf(!hasChromium)(
  'the sign-in can be typed into within a second at a quarter of the speed',
  async () => {
    const gateway = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: await builtPages() } })
    const browser = await openBrowser()
    try {
      const times: number[] = []
      for (let round = 0; round < rounds; round++) {
        // A context of its own has an empty cache.
        const { page, context } = await openPage(browser, gateway.url)
        const session = await context.newCDPSession(page)
        await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
        await page.addInitScript(() => {
          const isReady = () => document.querySelector('h1') && document.querySelector('input:not([type=hidden])')
          const look = () => {
            if (!isReady()) requestAnimationFrame(look)
            else requestIdleCallback(() => performance.mark('interactive'))
          }
          requestAnimationFrame(look)
        })
        await page.goto(`${gateway.url}/ui/login`)
        await page.waitForFunction(() => performance.getEntriesByName('interactive').length > 0)
        times.push(await page.evaluate(() => performance.getEntriesByName('interactive')[0]!.startTime))
        await context.close()
      }
      console.log(`interactive at a quarter of the speed: ${times.map(ms => ms.toFixed(0)).join(', ')} ms`)
      // The best of a few: other processes share the machine.
      expect(Math.min(...times)).toBeLessThan(interactiveMsMax)
    } finally {
      await browser.close()
      await gateway.stop()
    }
  },
  3 * pageMs,
)
