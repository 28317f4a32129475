/** Every field of money and limits, in both languages: what is no number there is refused at the field, by Enter too. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Locator, Page } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { goTo, hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'
import { textsIn } from './declared-pages.ts'

setDefaultTimeout(4 * pageMs)

const english = textsIn('en')
const languages = {
  en: { locale: 'en-US', texts: english, decimal: '.' },
  de: { locale: 'de-DE', texts: textsIn('de'), decimal: ',' },
} as const
type Language = keyof typeof languages

/** Where fields of money and limits are: the address, and what is pressed there, one after the other. */
const places: readonly { readonly path: string; readonly press: readonly string[]; readonly fields: number }[] = [
  { path: '/keys?new=1', press: ['fields.limits'], fields: 6 },
  { path: '/keys?key={key}', press: ['edit.action'], fields: 6 },
  { path: '/teams?new=1', press: [], fields: 5 },
  { path: '/teams?team=numbers', press: ['edit.action'], fields: 5 },
  { path: '/teams?team=numbers', press: ['teams.share.edit'], fields: 3 },
  { path: '/users?user=numbers', press: ['edit.action'], fields: 5 },
  { path: '/organizations?new=1', press: [], fields: 5 },
  { path: '/organizations?organization=numbers', press: ['edit.action'], fields: 5 },
  { path: '/customers?new=1', press: [], fields: 5 },
  { path: '/customers?customer=numbers', press: ['edit.action'], fields: 5 },
  { path: '/budgets?new=1&view=named', press: [], fields: 5 },
  { path: '/budgets?view=named&named=numbers', press: ['edit.action'], fields: 5 },
  { path: '/budgets?of=team&id=numbers', press: ['budgets.raise'], fields: 1 },
]

/** ASCII's signs, letters that stand in numbers of programs, and signs that stand in numbers somewhere. */
const signs = [
  ...Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).filter(one => !/[0-9A-Za-z]/.test(one)),
  ...['e', 'E', 'x', 'k', 'O'],
  ...[
    '\u00a0',
    '\u2009',
    '\u202f',
    '\u2212',
    '\u2013',
    '\u066b',
    '\u066c',
    '\u2019',
    '\uff0c',
    '\uff0e',
    '€',
    '½',
    '²',
  ],
]
const texts = signs.flatMap(sign => [`${sign}5`, `1${sign}5`, `5${sign}`])

/** What one of these texts stands for; undefined = nothing. */
function meant(text: string, language: Language, isMoney: boolean): string | undefined {
  const { decimal } = languages[language]
  if (text.trim() === '5') return '5'
  if (!isMoney) return undefined
  return { [`${decimal}5`]: `0${decimal}5`, [`1${decimal}5`]: `1${decimal}5` }[text]
}

interface Shown {
  readonly text: string
  readonly value: string
  readonly isRefused: boolean
  readonly sentence: string
}

/** Types each text into the field, leaves it, and reads what it shows then. */
const typeAll = (field: Locator, all: readonly string[]): Promise<Shown[]> =>
  field.evaluate(async (input: HTMLInputElement, given) => {
    const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!
    const shown = []
    for (const text of given) {
      input.focus()
      write.call(input, text)
      input.dispatchEvent(new Event('input', { bubbles: true }))
      input.blur()
      // A turn of the event loop, without the wait of a timer.
      const { port1, port2 } = new MessageChannel()
      const turn = new Promise(resolve => (port1.onmessage = resolve))
      port2.postMessage(null)
      await turn
      port1.close()
      const described = (input.getAttribute('aria-describedby') ?? '').split(' ')
      shown.push({
        text,
        value: input.value,
        isRefused: input.getAttribute('aria-invalid') === 'true',
        sentence: described.map(id => document.getElementById(id)?.textContent ?? '').join(' '),
      })
    }
    return shown
  }, all)

describe.skipIf(!hasChromium)('fields of money and limits', () => {
  let gateway: Gateway
  let browser: Browser
  let keyId: string
  withPages({}, opened => ({ gateway, browser } = opened))

  const make = async () => {
    const id = 'numbers'
    await gateway.admin('/team/new', { team_id: id, max_budget: 10 })
    await gateway.admin('/user/new', { user_id: id, auto_create_key: false })
    await gateway.admin('/organization/new', { organization_id: id, organization_alias: id })
    await gateway.admin('/customer/new', { user_id: id })
    await gateway.admin('/budget/new', { budget_id: id, max_budget: 1 })
    const key = await gateway.key({ max_budget: 20 })
    const info = (await (await gateway.admin(`/key/info?key=${key}`)).json()) as { info: { token_id: string } }
    keyId = info.info.token_id
  }

  const open = async (language: Language, changes: string[]) => {
    if (!keyId) await make()
    const opened = await openSignedIn(browser, gateway, { locale: languages[language].locale })
    opened.page.on('request', request => {
      if (request.method() !== 'GET' && !request.url().endsWith('/info')) changes.push(request.url())
    })
    await opened.page.goto(`${gateway.url}/ui/sessions`)
    await opened.page.getByRole('heading', { level: 1 }).waitFor()
    return opened
  }

  const fieldsOf = async (page: Page, language: Language, { path, press, fields }: (typeof places)[number]) => {
    await goTo(page, '/sessions')
    await goTo(page, path.replace('{key}', keyId))
    const dialog = page.getByRole('dialog').last()
    await dialog.waitFor()
    for (const text of press) {
      const name = languages[language].texts[text]!
      await dialog
        .getByRole('button', { name, exact: true })
        .or(dialog.locator('summary').filter({ has: page.getByText(name, { exact: true }) }))
        .click()
    }
    const found = dialog.locator('input[inputmode=decimal]:visible')
    await found.nth(fields - 1).waitFor()
    expect([path, await found.count()]).toEqual([path, fields])
    return found
  }

  for (const language of ['en', 'de'] as const)
    test(`every sign in every field: what is no number is refused (${language})`, async () => {
      const changes: string[] = []
      const { page, faults } = await open(language, changes)
      for (const place of places) {
        const fields = await fieldsOf(page, language, place)
        for (let at = 0; at < place.fields; at++) {
          const field = fields.nth(at)
          const unit = await field.evaluate(input => input.nextElementSibling!.textContent)
          const wrong = (await typeAll(field, texts)).filter(({ text, value, isRefused, sentence }) => {
            const right = meant(text, language, unit === languages[language].texts['unit.usd'])
            return right === undefined
              ? !isRefused || value !== text || sentence.length < 20
              : isRefused || value !== right
          })
          expect([place.path, at, wrong]).toEqual([place.path, at, []])
          // Enter says so too, and sends nothing.
          await field.fill('1e3')
          await field.press('Enter')
          expect(await field.getAttribute('aria-invalid')).toBe('true')
          await field.fill('')
        }
      }
      expect(changes).toEqual([])
      expect(faults).toEqual([])
    })

  test('what was typed is what is stored, and a refused text stores nothing', async () => {
    for (const [language, typed, stored] of [
      ['en', '0.50', 0.5],
      ['de', '12,50', 12.5],
      ['de', '1.234', 1234],
    ] as const) {
      const changes: string[] = []
      const { page } = await open(language, changes)
      const fields = await fieldsOf(page, language, { path: '/keys?key={key}', press: ['edit.action'], fields: 6 })
      // One good field does not carry a bad one along.
      await fields.nth(0).fill(typed)
      await fields.nth(2).fill('1e3')
      await fields.nth(0).press('Enter')
      await page.waitForFunction(() => document.activeElement?.hasAttribute('data-unreadable'))
      expect(changes).toEqual([])
      await fields.nth(2).fill('')
      await fields.nth(0).press('Enter')
      await fields.first().waitFor({ state: 'detached' })
      const info = (await (await gateway.admin(`/key/info?key=${keyId}`)).json()) as { info: { max_budget: number } }
      expect([typed, info.info.max_budget]).toEqual([typed, stored])
    }
  })

  test('the playground does not run with a parameter that cannot be read', async () => {
    const changes: string[] = []
    const { page } = await open('en', changes)
    await goTo(page, '/playground')
    await page.getByRole('textbox', { name: english['playground.message']! }).first().fill('Hello')
    await page.locator('summary', { hasText: english['playground.parameters']! }).click()
    const temperature = page.getByRole('textbox', { name: english['playground.temperature']! })
    await temperature.fill('0,5')
    await page.getByRole('button', { name: english['playground.run']!, exact: true }).click()
    await page.waitForFunction(() => document.activeElement?.hasAttribute('data-unreadable'))
    expect(changes).toEqual([])
    await temperature.press('Enter')
    await page.getByText('This cannot be read as one number').waitFor()
    await temperature.fill('0.5')
    await temperature.press('ArrowUp')
    expect(await temperature.inputValue()).toBe('0.6')
    const sent = page.waitForRequest(request => request.method() === 'POST')
    await page.getByRole('button', { name: english['playground.run']!, exact: true }).click()
    expect((await sent).postDataJSON()).toMatchObject({ temperature: 0.6 })
  })
})
