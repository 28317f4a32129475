/** Real Chromium on a real gateway with the built pages. */
import { afterAll, beforeAll } from 'bun:test'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { ensureWeb, makeWeb, webDirectory } from '../../bin/web.mjs'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway, GatewayOptions } from '../e2e/harness.ts'

/** Debian's packages `chromium-headless-shell`, which takes a quarter less of the processors, and `chromium`. */
const installed = ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium']
const executable = process.env.CHROMIUM_PATH ?? installed.find(path => existsSync(path)) ?? installed[1]!

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

/** Below those that systems give out by themselves: it is free again when a gateway has ended. */
const portOfPages = 20_000 + (process.pid % 12_000)

/**
 * A gateway with the pages as they are now. Those of a process have one port, one after the other: pages that are given
 * back have the scripts of their origin compiled. Where it is taken, any other serves.
 */
export async function startGatewayWithPages(options: GatewayOptions = {}): Promise<Gateway> {
  const environment = { MODELGATE_WEB_DIRECTORY: await builtPages(), ...options.environment }
  return startGateway({ ...options, environment, port: isFree(portOfPages) ? portOfPages : 0 })
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
    return true
  } catch {
    return false
  }
}

let launched: Promise<Browser> | undefined

/** One for the test files of a process; it ends with the process. A file closes what it has opened: `closePages`. */
export function openBrowser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: executable,
    args: [
      // It needs rights that containers do not have; the pages are our own.
      '--no-sandbox',
      // Scripts of pages run too briefly for the better compilers of V8, for threads beside theirs, and for collections
      // of a young generation that is small; what is compiled of a script is kept at its first load, not at its third.
      // Chromium takes a sixth less of the processors so.
      '--js-flags=--single-threaded,--no-opt,--no-maglev,--min-semi-space-size=64',
      '--v8-cache-options=code',
      '--in-process-gpu',
    ],
    timeout: pageMs,
  })
  return launched
}

/** For `afterAll`: closes what a file has opened, but for pages that were given back. */
export async function closePages(browser: Browser | undefined): Promise<void> {
  if (!browser) return
  const kept = new Set([...(pagesGivenBack.get(browser)?.values() ?? [])].flat().map(page => page.context()))
  await Promise.all(browser.contexts().map(context => !kept.has(context) && context.close()))
}

/** One gateway with the pages, and one browser, for the tests of a file; `onOpen` takes them before the first one. */
export function withPages(
  options: GatewayOptions,
  onOpen: (opened: { gateway: Gateway; browser: Browser }) => void,
): void {
  let gateway: Gateway | undefined
  let browser: Browser | undefined
  beforeAll(async () => {
    gateway = await startGatewayWithPages(options)
    browser = await openBrowser()
    onOpen({ gateway, browser })
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
  })
}

/** Pages that were given back, by their browser and by what cannot be changed of a context that is open. */
const pagesGivenBack = new WeakMap<Browser, Map<string, Page[]>>()

/**
 * A page for one person, and what went wrong on it: errors of scripts, refusals by the CSP, requests to other hosts.
 * `close` forgets the person and gives the page back, so that the next one costs a quarter of the processor time: its
 * process runs, and has the scripts compiled. A test that does not call it leaves its page to the end of the browser.
 */
export async function openPage(
  browser: Browser,
  origin: string,
  {
    colorScheme = 'light',
    viewport = null,
    extraHTTPHeaders = {},
    permissions = [],
    ...lasting
  }: BrowserContextOptions = {},
): Promise<{ page: Page; context: BrowserContext; faults: string[]; close: () => Promise<void> }> {
  const kinds = pagesGivenBack.get(browser) ?? new Map<string, Page[]>()
  pagesGivenBack.set(browser, kinds)
  const kind = JSON.stringify(lasting)
  const free = kinds.get(kind) ?? []
  kinds.set(kind, free)
  const page = free.pop() ?? (await newPage(browser, lasting))
  const context = page.context()
  await context.setExtraHTTPHeaders(extraHTTPHeaders)
  if (permissions.length > 0) await context.grantPermissions([...permissions])
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  const size = viewport ?? { width: 1280, height: 720 }
  if (!Bun.deepEquals(page.viewportSize(), size)) await page.setViewportSize(size)
  const faults = watchFaults(page, origin)
  const close = async () => {
    await forgetPerson(page)
    free.push(page)
  }
  return { page, context, faults, close }
}

async function newPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US', ...options })
  context.setDefaultTimeout(pageMs)
  return context.newPage()
}

/**
 * Leaves the page as a new one: without tabs, storage, cookies and permissions of the person, and without listeners.
 */
async function forgetPerson(page: Page): Promise<void> {
  const context = page.context()
  await Promise.all(context.pages().map(one => one !== page && one.close()))
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  page.removeAllListeners()
  if (page.url() !== 'about:blank') {
    await page.evaluate(() => {
      localStorage.clear()
      sessionStorage.clear()
    })
    await page.goto('about:blank')
  }
  await context.clearCookies()
  await context.clearPermissions()
  await page.mouse.move(0, 0)
}

function watchFaults(page: Page, origin: string): string[] {
  const faults: string[] = []
  page.on('pageerror', error => faults.push(`error: ${error.message}`))
  page.on('console', message => {
    if (/content security policy/i.test(message.text())) faults.push(message.text())
  })
  page.on('request', request => {
    const { origin: asked, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && asked !== origin) faults.push(`request to ${asked}`)
  })
  return faults
}

/**
 * A page whose requests carry a key, the master key where none is given: who is signed in is then decided as by a
 * session. Signing in itself is tested in sign-in.test.ts.
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

/**
 * To another address below `/ui`, as the browser's own history does: the document stays, which costs a fifth of the
 * processor time of loading one. Ends when the page before is gone; what is open on a page that stays may not be there
 * yet.
 */
export async function goTo(page: Page, path: string): Promise<void> {
  const stays = await page.evaluate(to => {
    const isSame = new URL(to, location.href).pathname === location.pathname
    if (!isSame) for (const heading of document.querySelectorAll('h1')) heading.dataset.before = ''
    history.pushState(null, '', to)
    return isSame
  }, `/ui${path}`)
  if (stays) return
  await page.locator('h1:not([data-before])').first().waitFor({ state: 'attached' })
  await page.locator('h1[data-before]').first().waitFor({ state: 'detached' })
}

/** Types where the focus is, once it is in a field: a dialog gives it to its first one a moment after it is there. */
export async function typeAtFocus(page: Page, text: string): Promise<void> {
  await page.waitForFunction(() => document.activeElement?.matches('input, textarea'))
  await page.keyboard.type(text)
}
