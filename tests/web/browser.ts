/** Real Chromium on a real gateway with the built pages. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import AxeBuilder from '@axe-core/playwright'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { ensureWeb, makeWeb, webDirectory } from '../../bin/web.mjs'
import { masterKey } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

/** Debian's package `chromium` puts it there. */
const executable = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

export const hasChromium = existsSync(executable)
if (!hasChromium) console.log(`skipped: tests in a browser (install the package chromium, or set CHROMIUM_PATH)`)

/** For everything that a page does: machines that test are loaded. */
export const pageMs = 60_000

/** The folder of the pages as they are now, made if it is missing: for MODELGATE_WEB_DIRECTORY of a gateway. */
export const builtPages = (): Promise<string> => ensureWeb(webDirectory())

/** The development build, which has the page of all parts. */
export async function developmentPages(): Promise<string> {
  const folder = join(tmpdir(), `modelgate-pages-${process.pid}`)
  await makeWeb(folder, { development: true })
  return folder
}

/** One for each test file. */
export function openBrowser(): Promise<Browser> {
  // The sandbox needs rights that containers do not have; the pages are our own.
  return chromium.launch({ executablePath: executable, args: ['--no-sandbox'], timeout: pageMs })
}

/** A page of its own, and what went wrong on it: errors of scripts, refusals by the CSP, requests to other hosts. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; context: BrowserContext; faults: string[] }> {
  const context = await browser.newContext({ locale: 'en-US', reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(pageMs)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', error => faults.push(`error: ${error.message}`))
  page.on('console', message => {
    if (/content security policy/i.test(message.text())) faults.push(message.text())
  })
  page.on('request', request => {
    const { origin: asked, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && asked !== origin) faults.push(`request to ${asked}`)
  })
  return { page, context, faults }
}

/**
 * A page whose requests carry a key, the master key where none is given: who is signed in is then decided as by a session.
 * Signing in itself is tested in sign-in.test.ts.
 */
export function openSignedIn(
  browser: Browser,
  gateway: Pick<Gateway, 'url'>,
  { key = masterKey, ...options }: BrowserContextOptions & { key?: string } = {},
) {
  return openPage(browser, gateway.url, { ...options, extraHTTPHeaders: { authorization: `Bearer ${key}` } })
}

/**
 * What axe finds, one line each: rule, element, why. `popup` = a menu or list is open: it stands beside the landmarks.
 * The guards that keep the focus in a popup are meant to be reached by it, and lead it on. `rules` = these alone.
 */
export async function violations(
  page: Page,
  { popup = false, rules }: { popup?: boolean; rules?: string[] } = {},
): Promise<string[]> {
  // The pages have no frames: what axe does for those of other origins opens a window for each question.
  const axe = new AxeBuilder({ page }).setLegacyMode().exclude('[data-base-ui-focus-guard]')
  if (rules) axe.withRules(rules)
  const { violations: found } = await axe.disableRules(popup ? ['region'] : []).analyze()
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target} ${failureSummary}`),
  )
}
