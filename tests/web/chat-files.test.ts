/** Files in the chat: picked, pasted and dropped, shown before and after they are sent, refused with the reason. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violations } from './axe.ts'
import { hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'

type Json = Record<string, any>

setDefaultTimeout(3 * pageMs)

const config = standardConfig.replace(
  'router_settings',
  `  - model_name: reader
    proxy_params: { model: "custom_openai/sim-reader", api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: chat, supports_vision: false, supports_pdf_input: true }
router_settings`,
)
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe.skipIf(!hasChromium)('files in the chat', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({ config }, opened => ({ gateway, browser } = opened))

  const openChat = async (search: string) => {
    const opened = await openSignedIn(browser, gateway, { key: await gateway.key() })
    await opened.page.goto(`${gateway.url}/ui/chat${search}`)
    await box(opened.page).waitFor()
    return opened
  }
  const box = (page: Page) => page.getByLabel('Message', { exact: true })
  const pick = (page: Page, ...files: { name: string; mimeType: string; buffer: Buffer }[]) =>
    page.locator('input[type=file]').setInputFiles(files)
  const picture = { name: 'dot.png', mimeType: 'image/png', buffer: png }
  /** Gives files to the page as a paste or a drop does. */
  const give = (page: Page, event: 'paste' | 'drop', name: string) =>
    page.evaluate(
      ([kind, file, bytes]) => {
        const data = new DataTransfer()
        data.items.add(new File([Uint8Array.from(bytes)], file, { type: 'image/png' }))
        const target = document.querySelector('main textarea')!
        const options = { bubbles: true, cancelable: true }
        target.dispatchEvent(
          kind === 'paste'
            ? new ClipboardEvent('paste', { ...options, clipboardData: data })
            : new DragEvent('drop', { ...options, dataTransfer: data }),
        )
      },
      [event, name, [...png]] as const,
    )

  test('a file is picked, pasted and dropped, reaches the model, and is shown again after a reload', async () => {
    const { page, close, faults } = await openChat('?model=chat-model')
    await pick(page, picture, { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes') })
    await give(page, 'paste', 'pasted.png')
    await give(page, 'drop', 'dropped.png')
    const chosen = page.locator('form').getByRole('list', { name: 'Files' })
    await chosen.getByText('dropped.png').waitFor()
    expect(await violations(page)).toEqual([])
    await chosen.getByRole('button', { name: 'Remove pasted.png' }).click()
    await chosen.getByText('pasted.png').waitFor({ state: 'detached' })
    await box(page).fill('What is in them?')
    await page.keyboard.press('Enter')
    await page.locator('article[aria-busy=false]').waitFor()
    await chosen.waitFor({ state: 'detached' })
    const asked = gateway.simulator.truth.entries.at(-1)!.body as Json
    const content = asked.messages.at(-1).content as Json[]
    expect(content.map(one => one.type)).toEqual(['image_url', 'text', 'image_url', 'text'])
    await page.reload()
    const sent = page.getByRole('article', { name: 'You' }).getByRole('list', { name: 'Files' })
    const shown = sent.getByRole('img', { name: 'dot.png' })
    await shown.waitFor()
    await page.waitForFunction(() =>
      [...document.querySelectorAll('article img')].every(one => (one as HTMLImageElement).naturalWidth > 0),
    )
    await sent.getByRole('link', { name: 'notes.md' }).waitFor()
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })

  test('a file that no model, or not this one, takes is refused before it is sent, with the reason', async () => {
    const { page, close, faults } = await openChat('?model=reader')
    await pick(page, { name: 'film.mp4', mimeType: 'video/mp4', buffer: Buffer.from('x') })
    await page.getByText(/film\.mp4 is not a picture/).waitFor()
    await pick(page, { name: 'long.txt', mimeType: 'text/plain', buffer: Buffer.alloc(1_100_000, 'a') })
    await page.getByText(/long\.txt is larger than 1 MB/).waitFor()
    await pick(page, picture)
    await page.getByText('reader does not take dot.png', { exact: false }).waitFor()
    await box(page).fill('What is in it?')
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Remove dot.png' }).click()
    await pick(page, { name: 'paper.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n%%EOF') })
    await box(page).focus()
    await page.keyboard.press('Enter')
    await page.locator('article[aria-busy=false]').waitFor()
    expect(gateway.simulator.truth.entries.filter(one => one.model === 'sim-reader').length).toBe(1)
    expect(faults).toEqual([])
    await close()
  })
})
