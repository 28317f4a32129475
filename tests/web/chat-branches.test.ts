/** Branches, search, export, keeping and temporary chats; two models side by side; verdicts; by keyboard, at 360 px. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import {
  hasChromium,
  closePages,
  openBrowser,
  openSignedIn,
  pageMs,
  startGatewayWithPages,
  typeAtFocus,
} from './browser.ts'

type Json = Record<string, any>

setDefaultTimeout(3 * pageMs)

const config = `${standardConfig.replace(
  'router_settings',
  `  - model_name: thinker
    proxy_params: { model: "custom_openai/thinker-v3.5-70b-R", api_base: "{simulator}/v1", api_key: k }
  - model_name: slow
    proxy_params: { model: "custom_openai/sim-slow#token-ms;ms=50", api_base: "{simulator}/v1", api_key: k }
router_settings`,
)}
guardrails:
  - guardrail_name: mail
    proxy_params: { guardrail: personal_data, mode: [pre_call, post_call], default_on: true, pii_entities_config: { EMAIL_ADDRESS: MASK, CREDIT_CARD: BLOCK } }
`

describe.skipIf(!hasChromium)('the chat', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    gateway = await startGatewayWithPages({ config })
    gateway.simulator.script(
      { text: 'markup' },
      {
        text: '<script>globalThis.ran=1</script><img src=x onerror="globalThis.ran=1"> [a](javascript:globalThis.ran=1) ![p](https://example.org/p.png)\n\n```html\n<b onclick="globalThis.ran=1">code</b>\n```',
      },
    )
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
  })

  const box = (page: Page) => page.getByLabel('Message', { exact: true })
  const openChat = async (search = '?model=chat-model', options: Parameters<typeof openSignedIn>[2] = {}) => {
    const key = options.key ?? (await gateway.key())
    const opened = await openSignedIn(browser, gateway, { ...options, key })
    await opened.page.goto(`${gateway.url}/ui/chat${search}`)
    await box(opened.page).waitFor()
    return { ...opened, key }
  }
  const say = async (page: Page, text: string) => {
    await box(page).fill(text)
    await page.keyboard.press('Enter')
  }
  const answered = (page: Page, text: string) =>
    page.locator('article[aria-busy=false]').getByText(text, { exact: true }).waitFor()
  const lastAsked = () => gateway.simulator.truth.entries.at(-1)!.body as Json

  test('an edited question and a repeated answer are branches that arrows lead to, kept over a reload', async () => {
    const { page, close, faults } = await openChat()
    await say(page, 'say: first')
    await answered(page, 'first')
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByLabel('Edit question').fill('say: second')
    await page.getByRole('button', { name: 'Ask again' }).click()
    await answered(page, 'second')
    await page.getByRole('article', { name: 'You' }).getByText('2 / 2').waitFor()
    await page.getByRole('button', { name: 'The one before' }).click()
    await answered(page, 'first')
    await page.getByRole('combobox', { name: 'With another model' }).click()
    await page.getByPlaceholder('Search models').fill('claude-model')
    await page.keyboard.press('Enter')
    const other = page.getByRole('article', { name: 'claude-model' })
    await other.getByText('2 / 2').waitFor()
    // `networkidle` was reached by the first answer, and says nothing about this one.
    await page.locator('article[aria-busy=false]').and(other).waitFor()
    await page.waitForLoadState('networkidle')
    await page.reload()
    await other.getByText('2 / 2').waitFor()
    expect(await violations(page)).toEqual([])
    await other.getByRole('button', { name: 'The one before' }).click()
    await page.getByRole('article', { name: 'chat-model' }).getByText('1 / 2').waitFor()
    // Goes on from the answer that is shown.
    await say(page, 'say: third')
    await answered(page, 'third')
    expect(lastAsked().messages.map((one: Json) => one.content)).toEqual(['say: first', 'first', 'say: third'])
    expect(faults).toEqual([])
    await close()
  })

  test('what a model writes in markup and script is text, and its code is copied', async () => {
    const { page, close, faults } = await openChat('?model=chat-model', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    // Its colours come after it was copied, and leave the button alone.
    const colours = Promise.withResolvers<void>()
    await page.route('**/highlight-worker*.js', route => colours.promise.then(() => route.continue()))
    await say(page, 'markup')
    const answer = page.locator('article[aria-busy=false]')
    await answer.getByText('<script>globalThis.ran=1</script>').waitFor()
    expect(await answer.locator('img, script, [onclick], [onerror], a[href^="javascript"]').count()).toBe(0)
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false)
    await answer.getByRole('button', { name: 'Copy', exact: true }).evaluate(button => {
      const seen: (string | null)[] = []
      new MutationObserver(() => seen.push(button.textContent)).observe(button, { childList: true })
      Object.assign(window, { button, seen })
    })
    await answer.getByRole('button', { name: 'Copy', exact: true }).click()
    await page.waitForFunction(() => Reflect.get(globalThis, 'seen').includes('Copied'))
    colours.resolve()
    await answer.locator('.hljs-tag').first().waitFor()
    expect(await page.evaluate(() => document.activeElement === Reflect.get(globalThis, 'button'))).toBe(true)
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('<b onclick="globalThis.ran=1">code</b>')
    expect(faults).toEqual([])
    await close()
  })

  test('settings, the switch of thinking and thoughts: by keyboard alone, in the dark, 360 pixels wide', async () => {
    const { page, close, faults } = await openChat('?model=thinker', {
      colorScheme: 'dark',
      viewport: { width: 360, height: 740 },
    })
    gateway.simulator.script({ text: 'deep' }, { text: '<think>a long thought</think>the answer', times: 2 })
    await page.getByRole('button', { name: 'Chat settings' }).focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('System prompt').waitFor()
    expect(await violations(page)).toEqual([])
    await typeAtFocus(page, 'Be short')
    await page.keyboard.press('Tab')
    await page.keyboard.type('0.3')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const think = page.getByRole('button', { name: 'Think' })
    expect(await think.getAttribute('aria-pressed')).toBe('true')
    await box(page).focus()
    await page.keyboard.type('deep')
    await page.keyboard.press('Enter')
    await answered(page, 'the answer')
    await page.getByText('Thoughts', { exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('a long thought').waitFor()
    expect(lastAsked()).toMatchObject({ temperature: 0.3, messages: [{ role: 'system', content: 'Be short' }, {}] })
    expect(lastAsked().chat_template_kwargs).toBeUndefined()
    await think.focus()
    await page.keyboard.press('Space')
    await page.locator('button[aria-pressed=false]', { hasText: 'Think' }).waitFor()
    await box(page).focus()
    await page.keyboard.type('deep again')
    await page.keyboard.press('Enter')
    await page.getByRole('article', { name: 'You' }).nth(1).waitFor()
    await page.locator('article[aria-busy=false]').nth(1).waitFor()
    expect(lastAsked().chat_template_kwargs).toEqual({ thinking_mode: 'off' })
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Chats' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'deep' }).waitFor()
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })

  test('chats are searched by what was said, renamed, exported and deleted, and how long they are kept is said', async () => {
    const { page, close, faults } = await openChat()
    for (const word of ['walnut', 'hazel']) {
      await say(page, `say: ${word}`)
      await answered(page, word)
      await page.getByRole('button', { name: 'New chat' }).click()
      await page.getByRole('heading', { name: 'New chat' }).waitFor()
    }
    const chats = page.getByRole('navigation', { name: 'Chats' })
    await page.locator('textarea:focus').press('Escape')
    await page.keyboard.press('/')
    await typeAtFocus(page, 'WALNUT')
    await chats.getByRole('link', { name: 'hazel' }).waitFor({ state: 'detached' })
    await chats.getByRole('link', { name: 'walnut' }).click()
    await answered(page, 'walnut')
    const actions = () =>
      page
        .getByRole('banner')
        .or(page.locator('main header'))
        .getByRole('button', { name: /^Actions for/ })
    await actions().click()
    await page.getByRole('menuitem', { name: 'Rename chat' }).click()
    await page.getByLabel('Title').fill('Nuts')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Nuts', level: 1 }).waitFor()
    await actions().click()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Export as JSON' }).click(),
    ])
    expect(file.suggestedFilename()).toBe('Nuts.json')
    const exported = JSON.parse(readFileSync(await file.path(), 'utf8'))
    expect(exported.messages.map((one: Json) => one.content.text)).toEqual(['say: walnut', 'walnut'])
    await chats.getByRole('searchbox').fill('')
    await chats.getByText('Chats are kept until you delete them').click()
    await page.getByLabel('Keep chats').click()
    await page.getByRole('option', { name: '30 days' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await chats.getByText('Chats are deleted 30 days after their last message').waitFor()
    await actions().click()
    await page.getByRole('menuitem', { name: 'Delete chat' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete chat' }).click()
    await chats.getByRole('link', { name: 'Nuts' }).waitFor({ state: 'detached' })
    await chats.getByRole('link', { name: 'hazel' }).waitFor()
    await page.getByRole('heading', { name: 'New chat', level: 1 }).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('a temporary chat is stored nowhere, is stopped, and has the cost of its calls', async () => {
    const { page, close, faults, key } = await openChat('?model=slow')
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await say(page, 'tokens: 400')
    await page.locator('article[aria-busy=true] .markdown').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Stopped', { exact: true }).waitFor()
    await page.getByRole('status').getByText('The answer was stopped').waitFor()
    await page.getByRole('combobox', { name: 'Model: slow' }).click()
    await page.getByPlaceholder('Search models').fill('chat-model')
    await page.keyboard.press('Enter')
    await say(page, 'say: done')
    await answered(page, 'done')
    await page
      .getByRole('article', { name: 'chat-model' })
      .getByText(/\$0\.0/)
      .waitFor()
    const kept = await fetch(`${gateway.url}/chat/conversations`, { headers: { authorization: `Bearer ${key}` } })
    expect((await kept.json()).data).toEqual([])
    expect(await violations(page)).toEqual([])
    await page.reload()
    await box(page).waitFor()
    expect(await page.getByRole('article', { name: 'You' }).count()).toBe(0)
    expect(faults).toEqual([])
    await close()
  })

  test('two models answer side by side, and the conversation goes on with the chosen one', async () => {
    const { page, close, faults } = await openChat()
    await page.getByRole('button', { name: 'Ask two models side by side' }).click()
    await page.getByRole('combobox', { name: /^Second model/ }).click()
    await page.getByPlaceholder('Search models').fill('claude-model')
    await page.keyboard.press('Enter')
    await say(page, 'say: twice')
    const [left, right] = [
      page.getByRole('article', { name: 'chat-model' }),
      page.getByRole('article', { name: 'claude-model' }),
    ]
    await left.getByText('twice', { exact: true }).waitFor()
    await right.getByText('twice', { exact: true }).waitFor()
    const [a, b] = [await left.boundingBox(), await right.boundingBox()]
    expect([a!.y, a!.x < b!.x]).toEqual([b!.y, true])
    await right.getByRole('button', { name: 'Continue with this answer' }).click()
    await left.getByRole('button', { name: 'Continue with this answer' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Ask one model only' }).click()
    await say(page, 'say: on')
    await answered(page, 'on')
    await page.waitForLoadState('networkidle')
    await page.reload()
    await answered(page, 'on')
    await right.getByText('twice', { exact: true }).waitFor()
    expect(await left.getByRole('button', { name: 'Continue with this answer' }).count()).toBe(1)
    expect(faults).toEqual([])
    await close()
  })

  test('what a guardrail masked and refused is said with the answer', async () => {
    const { page, close, faults } = await openChat()
    await say(page, 'say: write to ada@example.org')
    await page.getByText('Masked by mail: 1 × email address', { exact: false }).waitFor()
    await say(page, 'My card is 4111 1111 1111 1111')
    const refused = page.getByRole('alert')
    await refused.getByText('A guardrail refused it').waitFor()
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })
})
