/** Real Chromium on a real gateway with the built pages. */
import { afterAll, beforeAll } from 'bun:test'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { ensureWeb, makeWeb, webDirectory } from '../../bin/web.mjs'
import { masterKey, startGateway } from '../e2e/harness.ts'
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

/** One gateway with the pages, and one browser, for the tests of a file; `onOpen` takes them before the first one. */
export function withPages(
  options: Parameters<typeof startGateway>[0],
  onOpen: (opened: { gateway: Gateway; browser: Browser }) => void,
): void {
  let gateway: Gateway | undefined
  let browser: Browser | undefined
  beforeAll(async () => {
    gateway = await startGateway({ ...options, environment: { MODELGATE_WEB_DIRECTORY: await builtPages() } })
    browser = await openBrowser()
    onOpen({ gateway, browser })
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
  })
}

/** A page of its own, and what went wrong on it: errors of scripts, refusals by the CSP, requests to other hosts. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; context: BrowserContext; faults: string[] }> {
  const context = await browser.newContext({ locale: 'en-US', reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(pageMs)
  return { context, ...(await openTab(context, origin)) }
}

/** One more page of the same person. */
export async function openTab(context: BrowserContext, origin: string): Promise<{ page: Page; faults: string[] }> {
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
  return { page, faults }
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
 * As a person does who sets a password by a link of an administrator: `context` has a session from then on. Returns who
 * is signed in, as the pages know it.
 */
export async function signInByInvitation(context: BrowserContext, gateway: Gateway, user_id: string): Promise<object> {
  const { url } = (await (await gateway.admin('/sign-in/invitations', { user_id })).json()) as { url: string }
  const answer = await context.request.post(`${gateway.url}/sign-in/claim`, {
    headers: { origin: gateway.url },
    data: { token: new URL(url).searchParams.get('token'), password: 'correct horse battery' },
  })
  if (!answer.ok()) throw new Error(`${user_id} was not signed in: ${await answer.text()}`)
  return (await (await context.request.get(`${gateway.url}/sign-in/session`)).json()) as object
}

/** The part of axe that is used in the page. */
interface Axe {
  run(context: object, options: object): Promise<{ violations: Violation[] }>
}
interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[]
}

/**
 * What axe finds, one line each: rule, element, why. `popup` = a menu or list is open: it stands beside the landmarks.
 * The guards that keep the focus in a popup are meant to be reached by it, and lead it on. `rules` = these alone.
 */
export async function violations(
  page: Page,
  { popup = false, rules }: { popup?: boolean; rules?: string[] } = {},
): Promise<string[]> {
  // Its half megabyte goes into each document once.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const options = {
    resultTypes: ['violations'],
    ...(popup && { rules: { region: { enabled: false } } }),
    ...(rules && { runOnly: { type: 'rule', values: rules } }),
  }
  const found = await page.evaluate(async given => {
    const { axe } = window as unknown as { axe: Axe }
    return (await axe.run({ exclude: ['[data-base-ui-focus-guard]'] }, given)).violations
  }, options)
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target} ${failureSummary}`),
  )
}
