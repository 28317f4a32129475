/** What a page of another origin can do in the browser of a person who is signed in: nothing. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, BrowserContext } from 'playwright-core'
import { masterKey } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { hasChromium, closePages, openBrowser, pageMs, startGatewayWithPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

describe.skipIf(!hasChromium)('a signed-in browser on a page of another origin', () => {
  let gateway: Gateway
  let browser: Browser
  let context: BrowserContext
  let other: ReturnType<typeof Bun.serve>
  const sessionOf = async () =>
    (await context.cookies(gateway.url)).find(one => one.name.endsWith('modelgate_session'))!
  beforeAll(async () => {
    gateway = await startGatewayWithPages()
    browser = await openBrowser()
    context = await browser.newContext()
    context.setDefaultTimeout(pageMs)
    const answer = await context.request.post(`${gateway.url}/login`, {
      headers: { origin: gateway.url },
      data: { username: 'admin', password: masterKey },
    })
    expect(answer.status()).toBe(200)
    other = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () =>
        new Response('<!doctype html><title>other</title><body>', { headers: { 'content-type': 'text/html' } }),
    })
  })
  afterAll(async () => {
    await closePages(browser)
    await other?.stop(true)
    await gateway?.stop()
  })

  const keyCount = async () =>
    ((await (await gateway.admin('/key/list')).json()) as { total_count: number }).total_count

  // Another port of one host is the same site: the browser sends the cookie. Another name is another site.
  test.each(['127.0.0.1', 'localhost'])('forms and requests of %s change nothing', async host => {
    const before = await keyCount()
    const page = await context.newPage()
    await page.goto(`http://${host}:${other.port}/`)
    const refused = await page.evaluate(async url => {
      const asked = async (init: RequestInit) =>
        fetch(`${url}/key/generate`, { method: 'POST', credentials: 'include', body: '{}', ...init }).then(
          response => response.type,
          () => 'refused',
        )
      return [
        await asked({ headers: { 'content-type': 'application/json' } }),
        await asked({ mode: 'cors', headers: { 'content-type': 'text/plain' } }),
        await asked({ mode: 'no-cors' }),
      ]
    }, gateway.url)
    // The last one is sent by the browser, which shows its answer to no script.
    expect(refused).toEqual(['refused', 'refused', 'opaque'])
    const [answer] = await Promise.all([
      page.waitForResponse(response => response.url() === `${gateway.url}/key/generate`),
      // A page that is closed while its next document is on its way may stay open, and `close` wait for ever.
      page.waitForURL(`${gateway.url}/key/generate`),
      page.evaluate(url => {
        const form = document.createElement('form')
        form.method = 'post'
        form.action = `${url}/key/generate`
        form.enctype = 'text/plain'
        const field = document.createElement('input')
        field.name = '{"key_alias":"forged","metadata":{"a":"'
        field.value = '"}}'
        form.append(field)
        document.body.append(form)
        form.submit()
      }, gateway.url),
    ])
    expect([401, 403]).toContain(answer.status())
    expect(await keyCount()).toBe(before)
    await page.close()
  })

  test('the same request of the own origin is let through: it is the origin that decides', async () => {
    const before = await keyCount()
    const page = await context.newPage()
    await page.goto(`${gateway.url}/ui/keys`)
    const status = await page.evaluate(async () => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch('/key/generate', { method: 'POST', headers, body: '{}' })).status
    })
    expect([status, await keyCount()]).toEqual([200, before + 1])
    await page.close()
  })

  test.each(['/ui/', '/ui/keys', '/fallback/login', '/docs'])('%s cannot be framed', async path => {
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${other.port}/`)
    await page.evaluate(async url => {
      const frame = document.createElement('iframe')
      frame.src = url
      const loaded = new Promise(resolve => frame.addEventListener('load', resolve))
      document.body.append(frame)
      await loaded
    }, `${gateway.url}${path}`)
    // A frame that was refused holds a page of the browser itself.
    expect(page.frames().map(one => one.url())).toContain('chrome-error://chromewebdata/')
    await page.close()
  })

  test('no script of the pages can read what the person signed in with', async () => {
    const page = await context.newPage()
    await page.goto(`${gateway.url}/ui/keys`)
    await page.locator('[role=table]').waitFor()
    const session = await sessionOf()
    expect([session.httpOnly, session.value.length > 20]).toEqual([true, true])
    const readable = await page.evaluate(async () => {
      const databases = await indexedDB.databases()
      const caches = await window.caches.keys()
      return JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, databases, caches])
    })
    for (const secret of [session.value, decodeURIComponent(session.value), masterKey])
      expect(readable).not.toContain(secret)
    expect(readable).toEndWith(',[],[]]')
    await page.close()
  })
})
