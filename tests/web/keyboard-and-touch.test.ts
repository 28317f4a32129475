/** How pages are used by hand: every shortcut that the help lists, and what a finger can press. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { goTo, hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'
import { pages } from './declared-pages.ts'

setDefaultTimeout(5 * pageMs)

const paths = pages.filter(one => !one.isBare).map(one => one.path)

/** Pages whose rows open a drawer, with rows in this file. */
const withDrawers = [
  '/logs',
  '/keys',
  '/teams',
  '/users',
  '/customers',
  '/organizations',
  '/models',
  '/audit',
  '/providers',
  '/settings',
]

/** The smallest target for a finger, in CSS pixels. */
const targetPx = 44

describe.skipIf(!hasChromium)('pages under the hand', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({ config: standardConfig }, opened => {
    gateway = opened.gateway
    browser = opened.browser
  })
  let filled: Promise<void> | undefined
  /** Lists with rows: keys, a team, a user, a customer, calls. */
  const fill = () =>
    (filled ??= (async () => {
      const key = await gateway.key({ key_alias: 'first-key' })
      await gateway.key({ key_alias: 'second-key', max_budget: 3 })
      await gateway.admin('/team/new', { team_id: 'team', team_alias: 'Team' })
      await gateway.admin('/user/new', { user_id: 'user', user_alias: 'User' })
      await gateway.admin('/customer/new', { user_id: 'customer' })
      await gateway.admin('/organization/new', { organization_alias: 'Organization' })
      await (
        await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'Hello' }] }),
        })
      ).text()
      while ((await gateway.rows()).length < 1) await Bun.sleep(20)
    })())
  const open = async (path: string, options = {}) => {
    await fill()
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui${path}`)
    await opened.page.getByRole('heading', { level: 1 }).waitFor()
    return opened
  }

  /** What a key does, by its words in the help. `page` is at Keys, with nothing open and nothing in focus. */
  const proofs: Readonly<Record<string, (page: Page, press: () => Promise<void>) => Promise<void>>> = {
    'Open the command palette': async (page, press) => {
      await press()
      await page.getByRole('dialog', { name: 'Search and commands' }).getByRole('combobox').waitFor()
    },
    'Search on this page': async (page, press) => {
      await goTo(page, '/logs')
      await press()
      await page.locator('[data-search]:focus').waitFor()
    },
    'The main action of this page': async (page, press) => {
      await press()
      await page.getByRole('dialog', { name: 'Create key' }).waitFor()
    },
    'Next and previous row': async (page, press) => {
      await press()
      await page.locator('[data-row="0"] a:focus').waitFor()
      await page.keyboard.press('j')
      await page.locator('[data-row="1"] a:focus').waitFor()
      await page.keyboard.press('k')
      await page.locator('[data-row="0"] a:focus').waitFor()
    },
    'Open the row': async (page, press) => {
      await page.keyboard.press('j')
      await page.locator('[data-row="0"] a:focus').waitFor()
      await press()
      await page.getByRole('dialog').getByText('Requests per minute').waitFor()
    },
    'Close what is open': async (page, press) => {
      await page.keyboard.press('c')
      await page.getByRole('dialog').waitFor()
      await press()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    },
    'Show this list': async (page, press) => {
      await press()
      await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    },
  }

  test('every shortcut of the help does what it says', async () => {
    const { page, faults } = await open('/keys')
    await page.getByRole('link', { name: 'first-key' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').locator('dt').first().waitFor()
    const listed = await page.getByRole('dialog').evaluate(help =>
      [...help.querySelectorAll('dt')].map(keys => ({
        keys: [...keys.querySelectorAll('kbd')].map(key => key.textContent),
        what: keys.nextElementSibling!.textContent,
      })),
    )
    expect(listed.length).toBeGreaterThan(20)
    for (const { keys, what } of listed) {
      await page.keyboard.press('Escape')
      await page.locator('[role=dialog]').waitFor({ state: 'detached' })
      const place = /^Go to (.*)$/.exec(what)?.[1]
      if (place !== undefined) {
        // Each leads on from the one before.
        const link = page.locator('nav a[aria-current=page]').getByText(place, { exact: true })
        expect(await link.count()).toBe(0)
        for (const key of keys) await page.keyboard.press(key)
        await link.waitFor({ state: 'attached' })
        // One types there at once, and leaves the field by Escape.
        if (place === 'Chat') await page.locator('textarea:focus').waitFor()
        continue
      }
      await goTo(page, '/keys')
      await page.getByRole('link', { name: 'first-key' }).waitFor()
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
      if (!proofs[what]) throw new Error(`no proof of ${keys.join(' ')}: ${what}`)
      const isChord = keys[0] === 'Ctrl'
      await proofs[what](page, () =>
        page.keyboard.press(isChord ? 'Control+k' : keys[0] === 'Esc' ? 'Escape' : keys[0]!),
      )
    }
    expect(faults).toEqual([])
  })

  test('c, / and j reach what each page has for them', async () => {
    const { page } = await open('/keys')
    for (const path of paths) {
      await goTo(page, path)
      await page.waitForFunction(() => document.querySelector('main [role=status][aria-label="Loading"]') === null)
      for (const [key, selector, event] of [
        ['c', '[data-primary]', 'click'],
        ['/', '[data-search]', 'focus'],
        ['j', 'main [role=table] [data-row] a', 'focus'],
      ] as const) {
        const isThere = await page.evaluate(
          ([found, name]) => {
            if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
            const element = document.querySelector<HTMLElement & { disabled?: boolean }>(found)
            const seen = window as unknown as { reached: boolean }
            seen.reached = false
            if (!element || element.disabled) return false
            const reach = (happened: Event) => {
              seen.reached = true
              happened.preventDefault()
              happened.stopImmediatePropagation()
            }
            addEventListener(name, reach, { capture: true, once: true })
            return true
          },
          [selector, event] as const,
        )
        if (!isThere) continue
        await page.keyboard.press(key)
        await page
          .waitForFunction(() => (window as unknown as { reached: boolean }).reached, undefined, {
            timeout: 5000,
          })
          .catch(() => {
            throw new Error(`${key} does nothing on ${path}`)
          })
      }
    }
  })

  test('what a finger presses is at least 44 pixels wide and high, also in drawers, forms and menus', async () => {
    const { page, close } = await open('/keys', {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    })
    expect(await page.evaluate(() => matchMedia('(pointer: coarse)').matches)).toBe(true)
    const small: string[] = []
    const opened = new Set<string>()
    const drawer = page.getByRole('dialog')
    const popups = page.locator(':is([role=menu], [role=listbox], [role=dialog]):visible')
    const measure = async (where: string, scope = 'body') => {
      await page.waitForFunction(() => document.querySelector('[role=status][aria-label="Loading"]') === null)
      small.push(...(await page.evaluate(smallTargets, [targetPx, scope] as const)).map(one => `${where}: ${one}`))
    }
    for (const path of ['/login', '/keys?new=1', '/teams?new=1', '/models?new=1']) {
      await goTo(page, path)
      await measure(path)
    }
    for (const path of paths) {
      await goTo(page, path)
      await measure(path)
      const menus = page.locator('main button[aria-haspopup]:not([disabled]):visible')
      for (let at = 0; at < (await menus.count()); at++) {
        const name = (await menus.nth(at).getAttribute('aria-label')) ?? (await menus.nth(at).textContent())!
        // Pages share their filters.
        if (opened.has(name)) continue
        opened.add(name)
        await menus.nth(at).click()
        await popups.first().waitFor()
        await measure(`${path} menu ${name}`, '[role=menu], [role=listbox], [role=dialog]')
        await page.keyboard.press('Escape')
        while ((await popups.count()) > 0) await Bun.sleep(20)
      }
      if (!withDrawers.includes(path)) continue
      await page.locator('main [role=table] [data-row="0"] a').first().click()
      await drawer.waitFor()
      await measure(`${path} drawer`)
      const tabs = drawer.getByRole('tab')
      for (let at = 0; at < (await tabs.count()); at++) {
        await tabs.nth(at).click()
        await measure(`${path} drawer, ${await tabs.nth(at).textContent()}`)
      }
      const edits = drawer.locator('button', { hasText: /^Edit/ })
      for (let at = 0; at < (await edits.count()); at++) {
        await edits.nth(at).click()
        await measure(`${path} form ${at}`)
      }
      await page.keyboard.press('Escape')
      await drawer.waitFor({ state: 'detached' })
    }
    expect(small).toEqual([])
    await close()
  })
})

/**
 * Runs in the page: what can be pressed within `scope` and is smaller, one line each. Links in running text may be
 * (WCAG 2.5.8).
 */
function smallTargets([least, scope]: readonly [number, string]): string[] {
  const pressable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=switch]'
  const more = '[role=tab], [role=checkbox], [role=combobox], [role=slider], [role=option], [role=menuitem]'
  const isSeen = (element: Element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    element.getBoundingClientRect().width > 1 &&
    !element.closest('[inert], [aria-hidden=true], .sr-only')
  const isInText = (element: Element) =>
    element.matches('a') &&
    getComputedStyle(element).display === 'inline' &&
    element.closest('p, li, dd') !== null &&
    (element.parentElement!.textContent ?? '').trim().length > (element.textContent ?? '').trim().length
  /** Pixels through its middle, in a direction and against it, on which a press reaches it; no more than are needed. */
  const reach = (element: Element, labels: readonly Element[], [x, y]: readonly [number, number], along: 'x' | 'y') => {
    let pixels = 1
    for (const step of [1, -1])
      for (let away = step; pixels < least; away += step, pixels++) {
        const hit = document.elementFromPoint(x + (along === 'x' ? away : 0), y + (along === 'y' ? away : 0))
        if (!hit || !(element.contains(hit) || labels.some(one => one.contains(hit)))) break
      }
    return pixels
  }
  /** What rows of a list have alike is measured in one of them, for a press takes the page dozens of looks. */
  const outlineOf = (element: Element, { width, height }: DOMRect) => {
    const row = element.closest('[data-row], li')
    return `${element.tagName} ${element.className} ${width} ${height} in ${row?.className} ${row?.clientHeight}`
  }
  const good = new Set<string>()
  return [...document.querySelectorAll(`${pressable}, ${more}`)].flatMap(element => {
    if (!element.closest(scope) || !isSeen(element) || isInText(element) || (element as HTMLButtonElement).disabled)
      return []
    const { width, height } = element.getBoundingClientRect()
    if (width >= least - 1 && height >= least - 1) return []
    const outline = outlineOf(element, element.getBoundingClientRect())
    if (good.has(outline)) return []
    element.scrollIntoView({ block: 'center', inline: 'center' })
    const box = element.getBoundingClientRect()
    const middle = [box.x + box.width / 2, box.y + box.height / 2] as const
    const wrapper = element.closest('label')
    const labels = [...((element as HTMLInputElement).labels ?? []), ...(wrapper ? [wrapper] : [])]
    const above = document.elementFromPoint(...middle)
    // A dialog lies above it.
    if (above?.closest('[data-base-ui-inert], [role=dialog], .veil') && !element.closest('[role=dialog]')) return []
    const wide = width >= least - 1 ? width : Math.max(width, reach(element, labels, middle, 'x'))
    const high = height >= least - 1 ? height : Math.max(height, reach(element, labels, middle, 'y'))
    if (wide >= least - 1 && high >= least - 1) {
      if (element.closest('[data-row], li')) good.add(outline)
      return []
    }
    const name = element.getAttribute('aria-label') ?? element.textContent?.slice(0, 30) ?? ''
    const what = `${element.tagName.toLowerCase()} ${element.getAttribute('role') ?? ''}`
    return [`${what} "${name}" ${Math.round(wide)}x${Math.round(high)}`]
  })
}
