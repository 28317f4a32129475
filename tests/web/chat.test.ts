/** The model hub and the chat: conversations kept by the gateway, with real calls of the simulator. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { goTo, hasChromium, openSignedIn, pageMs, typeAtFocus, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

const config = standardConfig.replace(
  'router_settings',
  `  - model_name: slow
    proxy_params: { model: "custom_openai/sim-slow#token-ms;ms=50", api_base: "{simulator}/v1", api_key: k }
router_settings`,
)

describe.skipIf(!hasChromium)('the model hub and the chat', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({ config }, opened => ({ gateway, browser } = opened))

  /** The chat of a key of its own, whose conversations are its own too. */
  const openChat = async (search = '?model=chat-model', options: Parameters<typeof openSignedIn>[2] = {}) => {
    const key = options.key ?? (await gateway.key())
    const opened = await openSignedIn(browser, gateway, { ...options, key })
    await opened.page.goto(`${gateway.url}/ui/chat${search}`)
    await opened.page.getByLabel('Message', { exact: true }).waitFor()
    return { ...opened, key }
  }
  const say = async (page: Page, text: string) => {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.keyboard.press('Enter')
  }
  /** The answer of this text, complete. */
  const answered = (page: Page, text: string) =>
    page.locator('article[aria-busy=false]').getByText(text, { exact: true }).waitFor()

  test('the hub finds a model, shows its price and leads to the chat with it', async () => {
    const { page, close, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/model_hub`)
    await page.getByRole('link', { name: 'chat-model' }).first().waitFor()
    await page.getByRole('searchbox').fill('embedding')
    await page.getByRole('link', { name: 'chat-model' }).first().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'embedding-model' }).click()
    await page.getByRole('dialog').locator('[title$="USD / token"]').first().waitFor()
    await goTo(page, '/model_hub_table?model=chat-model')
    await page.getByRole('table', { name: 'Model hub' }).waitFor()
    await page.getByRole('link', { name: 'Try in chat' }).click()
    await page.waitForURL('**/ui/chat?model=chat-model')
    expect(faults).toEqual([])
    await close()
  })

  test('a question is asked by keyboard alone, kept, found again after a reload, and its call is in the ledger', async () => {
    const { page, close, faults } = await openChat()
    // The focus is there already.
    await typeAtFocus(page, 'say: the quick brown fox')
    await page.keyboard.press('Enter')
    await answered(page, 'the quick brown fox')
    await page.waitForURL(/\?c=conv_/)
    expect(await violations(page)).toEqual([])
    await page.reload()
    await answered(page, 'the quick brown fox')
    await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: 'say: the quick' }).waitFor()
    const shown = await page.getByRole('article', { name: 'chat-model' }).innerText()
    expect(shown).toMatch(/in \d+ tok · out \d+ tok/)
    expect(shown).toMatch(/\$0\.0/)
    const id = new URL(page.url()).searchParams.get('c')
    const { page: stranger, close: other } = await openChat(`?c=${id}`)
    await stranger.getByRole('alert').waitFor()
    await other()
    expect(faults).toEqual([])
    await close()
  })

  test('an answer goes on while the page is gone, and is followed from where it is after a reload', async () => {
    const { page, close, faults } = await openChat('?model=slow')
    await say(page, 'tokens: 60')
    const busy = page.locator('article[aria-busy=true]')
    await busy.locator('.markdown').waitFor()
    await page.waitForURL(/\?c=conv_/)
    await page.reload()
    await busy.locator('.markdown').waitFor()
    const seen = await busy.innerText()
    await page.locator('article[aria-busy=false]').waitFor()
    const whole = await page.locator('article[aria-busy=false] .markdown').innerText()
    expect(whole.length).toBeGreaterThan(seen.length)
    expect(gateway.simulator.truth.entries.filter(one => one.model?.startsWith('sim-slow')).length).toBe(1)
    expect(faults).toEqual([])
    await close()
  })
  test('a long answer that comes at once is seen to its end, and what is typed stays with its conversation', async () => {
    const { page, close } = await openChat('?model=chat-model', { viewport: { width: 1280, height: 600 } })
    await say(page, `say: ${Array.from({ length: 60 }, (_, at) => `- line ${at}`).join('\n')}`)
    await answered(page, 'line 59')
    await page.waitForURL(/\?c=conv_/)
    await page.waitForFunction(() => {
      const place = document.querySelector('ol[aria-label=Messages]')!.parentElement!
      return place.scrollHeight > place.clientHeight && place.scrollHeight - place.scrollTop - place.clientHeight < 2
    })
    await page.getByRole('button', { name: 'Edit question' }).press('Enter')
    await page.getByRole('textbox', { name: 'Edit question' }).press('Escape')
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Edit question')
    const message = page.getByLabel('Message', { exact: true })
    await message.fill('not sent yet')
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.goBack()
    await answered(page, 'line 59')
    expect(await message.inputValue()).toBe('not sent yet')
    await page.getByRole('button', { name: 'New chat' }).click()
    await page.waitForURL(url => url.search === '')
    expect(await message.inputValue()).toBe('')
    await close()
  })

  test('formulas of an answer are MathML; money is text, and what a formula asks for beside that is not done', async () => {
    const { page, close, faults } = await openChat('?model=chat-model', { viewport: { width: 360, height: 740 } })
    const bomb = '\\def\\a{\\a\\a}\\a'
    const formulas = [
      'the root $x_1^2$ costs $5 and not $6',
      '\\[\n\\begin{aligned} a &= \\boxed{b} \\\\\n- c &= d + e + f + g + h + i + j + k + l + m + n + o \\end{aligned}\n\\]',
      '\\(\\href{javascript:alert(1)}{x}\\) \\(\\text{<img src=//elsewhere.example/a>}\\) \\(\\color{red}{x}\\)',
      `\\(${bomb}\\)`,
      'all said',
    ]
    await say(page, `say: ${formulas.join('\n\n')}`)
    await answered(page, 'all said')
    const answer = page.locator('article .markdown')
    await answer.locator('math[display=block] mtable menclose').waitFor()
    expect(await answer.locator('math').count()).toBe(4)
    expect(await answer.locator('msubsup').textContent()).toBe('x12')
    await answer.getByText('costs $5 and not $6').waitFor()
    // What cannot be read, or defines commands, is its source.
    await answer.getByText(`\\(${bomb}\\)`, { exact: true }).waitFor()
    await answer.locator('code').getByText('\\href').waitFor()
    expect(await answer.locator('mtext img, [style], math [href]').count()).toBe(0)
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    expect(widths[0]).toBeLessThanOrEqual(widths[1]!)
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })

  test('a refusal stands where the answer would be', async () => {
    // The conversation takes the only request of the minute, its answer is refused.
    const { page, close } = await openChat('?model=chat-model', { key: await gateway.key({ rpm_limit: 1 }) })
    await say(page, 'Hello')
    const refused = page.getByRole('article', { name: 'chat-model' }).getByRole('alert')
    await refused.getByText('A limit is reached').waitFor()
    await refused.getByText(/requests per minute/).waitFor()
    await refused.getByText(/You can ask again/).waitFor()
    expect(await refused.getByRole('button', { name: 'Try again' }).isDisabled()).toBe(true)
    await page.getByRole('status').getByText('The answer failed').waitFor()
    await page.getByRole('button', { name: 'New chat' }).click()
    await say(page, 'And what about now?')
    // Nothing was begun: what was typed stays.
    await page.locator('form').getByRole('alert').waitFor()
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('And what about now?')
    await close()
  })
})
