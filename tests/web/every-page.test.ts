/**
 * Every page as admin of the gateway, admin of a team, member and stranger, in a house whose
 * names, answers and errors are full of markup: shown or refused as its rule says, nothing of the markup runs, no error
 * of a script, no request to another host, few requests, nothing for axe in light and dark, no wider than 360 pixels.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { backends, standardConfig } from '../e2e/harness.ts'
import type { Backend, Gateway } from '../e2e/harness.ts'
import { violationsInBothThemes } from './axe.ts'
import {
  goTo,
  hasChromium,
  closePages,
  openBrowser,
  openPage,
  openSignedIn,
  pageMs,
  startGatewayWithPages,
  signInByInvitation,
} from './browser.ts'
import { pages } from './declared-pages.ts'

setDefaultTimeout(4 * pageMs)

/** What a page may ask the API for before it shows what it is for, beside who is signed in. */
const maxRequests = 3

/** What is special of an address: `h1` in place of the declared title, and what follows the path. */
interface Special {
  readonly heading?: string
  /** Of its address, in place of none. */
  readonly search?: string
  /**
   * Of its address, with a drawer open that shows texts of others. A word in braces stands for what the house has of
   * it.
   */
  readonly drawer?: string
}

const special: Readonly<Record<string, Special>> = {
  '/chat': { heading: 'New chat' },
  '/model_hub': { drawer: '?model={model}' },
  '/usage': { search: '?by=team' },
  '/logs': { drawer: '?call={call}' },
  '/audit': { drawer: '?entry={entry}' },
  '/models': { drawer: '?model={model}' },
  '/providers': { drawer: '?credential={credential}' },
  '/keys': { drawer: '?key={key}' },
  '/teams': { drawer: '?team=team' },
  '/users': { drawer: '?user=member' },
  '/budgets': { drawer: '?of=team&id=team' },
  '/organizations': { drawer: '?organization=organization' },
  '/customers': { drawer: '?customer=customer' },
  '/guardrails': { drawer: '?guardrail=addresses' },
  '/settings': { drawer: '?setting=settings.cache_params.type' },
}

const headingOf = (path: string): string => special[path]?.heading ?? pages.find(one => one.path === path)!.title.en

/** A part of it that became an element would set `ran`, or be refused by the content security policy. */
const hostile = (place: string) =>
  `${place} <img src=x onerror="ran='${place}'"><script>ran='${place}'</script><svg onload="ran='${place}'">`
const hostileModel = hostile('model')

const config = `${standardConfig.replace(
  'model_list:',
  `model_list:
  - model_name: ${JSON.stringify(hostileModel)}
    proxy_params: { model: custom_openai/sim-hostile, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.001, output_cost_per_token: 0.001 }
    model_info: { description: ${JSON.stringify(hostile('description'))} }`,
)}
general_settings: { max_stored_body_kb: 4 }
credential_list:
  - { credential_name: ${JSON.stringify(hostile('credential'))}, credential_values: { api_key: k } }
guardrails:
  - guardrail_name: addresses
    proxy_params: { guardrail: personal_data, mode: [pre_call], default_on: true, pii_entities_config: { EMAIL_ADDRESS: MASK } }
litellm_settings: { cache: true, cache_params: { type: local } }
`

test('what is special is so of pages that exist', () => {
  const paths = pages.map(({ path }) => path)
  expect(paths.length).toBeGreaterThan(20)
  expect(Object.keys(special).filter(path => !paths.includes(path))).toEqual([])
})

test('every page of the navigation has a key of its own after g, and a place of its own in its group', () => {
  const shown = pages.flatMap(({ nav }) => nav ?? [])
  expect(new Set(shown.map(({ key }) => key)).size).toBe(shown.length)
  expect(new Set(shown.map(({ group, place }) => `${group} ${place}`)).size).toBe(shown.length)
})

type Role = 'admin' | 'teamAdmin' | 'member'

describe.skipIf(!hasChromium).each(backends())('every page on $name', backend => {
  let house: House
  let browser: Browser
  beforeAll(async () => {
    house = await openHouse(backend)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await house?.gateway.stop()
  })

  // The pages are the same on every store: one walk shows that they get what they ask for.
  const roles: readonly Role[] = backend.name === 'SQLite' ? ['admin', 'teamAdmin', 'member'] : ['admin']
  test.each(roles)('as %s', async role => {
    const { gateway, values } = house
    const { page, context, faults, close } = await openPage(browser, gateway.url)
    const session = await signInByInvitation(context, gateway, role)
    const seen = watched(page)
    const isWhole = backend.name === 'SQLite'
    await page.goto(`${gateway.url}/ui/sessions`)
    await settled(page, headingOf('/sessions'))
    const found: string[] = []
    for (const route of pages) {
      const isShown = route.for === null || route.for(session)
      const heading = headingOf(route.path)
      const { search = '', drawer } = special[route.path] ?? {}
      seen.clear()
      await goTo(page, route.path + search)
      await settled(page, isShown ? heading : null)
      found.push(...seen.problems(route.path, isShown))
      found.push(...(await problemsOf(page, route.path, { looked: isWhole ? house.looked : null, isShown })))
      if (!isShown || drawer === undefined) continue
      await goTo(page, route.path + drawer.replace(/\{(\w+)\}/, (_, name: string) => encodeURIComponent(values[name]!)))
      await page.getByRole('dialog').waitFor()
      await settled(page, heading)
      const opened = { looked: isWhole ? house.looked : null, isShown }
      found.push(...(await problemsOf(page, `${route.path} opened`, opened)))
    }
    expect([...found, ...faults]).toEqual([])
    await close()
  })

  test.skipIf(backend.name !== 'SQLite')(
    'an answer full of markup runs nothing and loads nothing, live and read again',
    async () => {
      const { gateway } = house
      const { page, close, faults } = await openSignedIn(browser, gateway, { key: await gateway.key() })
      await page.goto(`${gateway.url}/ui/chat?model=${encodeURIComponent(hostileModel)}`)
      const lines = [
        '**said** ![pixel](https://tracker.example/pixel.png) [link](javascript:ran=1)',
        hostile('answer'),
        '<a href="javascript:ran=2">a</a><iframe srcdoc="<script>parent.ran=3</script>"></iframe><style>*{display:none}</style>',
        // As Java the first takes its colours minutes of work.
        `\`\`\`java\n${'1_'.repeat(4000)}\n\`\`\`\n\n\`\`\`python\ndef x(): # ${hostile('code')}\n\`\`\``,
        '<form action="https://tracker.example"><button>send</button></form><base href="https://tracker.example/">',
      ]
      await page.getByLabel('Message', { exact: true }).fill(`say: ${lines.join('\n\n')}`)
      await page.keyboard.press('Enter')
      for (const when of ['live', 'read again']) {
        await page.locator('article[aria-busy=false]').locator('strong', { hasText: 'said' }).waitFor()
        await page.locator('article .hljs-comment', { hasText: 'code <img' }).waitFor()
        const left = await page.evaluate(() => ({
          ran: (window as { ran?: unknown }).ran,
          made: document.querySelectorAll('iframe, main style, main form[action], base + base, [href^="javascript:"]')
            .length,
        }))
        expect([when, left]).toEqual([when, { ran: undefined, made: 0 }])
        expect(await problemsOf(page, when, { looked: null, isShown: true })).toEqual([])
        await page.waitForURL(/\?c=conv_/)
        await page.reload()
      }
      expect(faults).toEqual([])
      await close()
    },
  )

  test.skipIf(backend.name !== 'SQLite')('as a stranger', async () => {
    const { gateway } = house
    const { page, faults, close } = await openPage(browser, gateway.url)
    const seen = watched(page)
    const found: string[] = []
    for (const route of pages) {
      seen.clear()
      const isShown = route.for === null || route.isOpen === true
      // That the document is the same for every address is shown in served.test.ts: from one refusal to the next it
      // stays.
      const isRefused = new URL(page.url()).pathname === '/ui/login'
      if (isRefused && !isShown) await page.evaluate(to => history.pushState(null, '', to), `/ui${route.path}`)
      else await page.goto(`${gateway.url}/ui${route.path}`)
      if (!isShown) await page.waitForURL(url => (url.searchParams.get('from') ?? '/') === route.path)
      await settled(page, isShown ? headingOf(route.path) : headingOf('/login'))
      expect([route.path, new URL(page.url()).pathname]).toEqual([route.path, `/ui${isShown ? route.path : '/login'}`])
      // That there is no session is an answer of 401, of which Chromium tells.
      found.push(...seen.problems(route.path, isShown).filter(text => !text.endsWith('/sign-in/session')))
      if (isShown)
        found.push(...(await problemsOf(page, `${route.path} of strangers`, { looked: house.looked, isShown })))
    }
    expect([...found, ...faults]).toEqual([])
    await close()
  })
})

/** What the console and the API see of a page since it was cleared. */
function watched(page: Page) {
  const errors: string[] = []
  const asked: string[] = []
  page.on('console', message => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`)
  })
  page.on('request', request => {
    const { pathname } = new URL(request.url())
    if (request.resourceType() === 'fetch' && pathname !== '/sign-in/session')
      asked.push(`${request.method()} ${pathname}`)
  })
  return {
    clear() {
      errors.length = 0
      asked.length = 0
    },
    // The router tells the console which page it did not show.
    problems: (path: string, isShown: boolean) => [
      ...errors.filter(text => isShown || !text.startsWith('ApiError')).map(text => `${path}: ${text}`),
      ...(asked.length > maxRequests ? [`${path} asks too often: ${asked.join(', ')}`] : []),
    ],
  }
}

/** Everything of its first view is there. `heading` null = it says that the role does not allow it. */
async function settled(page: Page, heading: string | null): Promise<void> {
  const sign =
    heading === null
      ? page.getByText('Your role does not allow this')
      : page.getByRole('heading', { level: 1, name: heading, exact: true })
  await sign.first().waitFor({ state: 'attached' })
  await page.waitForFunction(() => !document.querySelector('.animate-pulse, main [aria-busy=true]'))
}

/**
 * Markup that ran, and alerts; where `looked` is given, what axe finds in light and dark in those parts of the view
 * that are not in it, and what is too wide for a small screen.
 */
async function problemsOf(
  page: Page,
  what: string,
  { looked, isShown }: { readonly looked: Set<string> | null; readonly isShown: boolean },
) {
  const found = await page.evaluate(() => {
    const { ran } = window as { ran?: string }
    const elements = document.querySelectorAll('[onerror], [onload], main script, img[src=x]')
    return [...(ran ? [`ran: ${ran}`] : []), ...[...elements].map(one => `an element of markup: ${one.outerHTML}`)]
  })
  if (isShown) found.push(...(await page.getByRole('alert').allInnerTexts()))
  if (looked) {
    // Begins with the size that the view before was left in: each change lays out and draws everything anew.
    const isNarrow = page.viewportSize()!.width === narrow.width
    if (isNarrow) {
      found.push(...(await tooWide(page)))
      await page.setViewportSize(wide)
    }
    found.push(...(await violationsOnce(page, looked)))
    if (!isNarrow) {
      await page.setViewportSize(narrow)
      found.push(...(await tooWide(page)))
    }
  }
  return found.map(one => `${what}: ${one}`)
}

const wide = { width: 1280, height: 720 }
/** A small screen. */
const narrow = { width: 360, height: 740 }

async function tooWide(page: Page): Promise<string[]> {
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  return width > narrow.width ? [`${width} pixels wide on a screen of ${narrow.width}`] : []
}

/** Of a view: the navigation, the page, and what is open beside it. */
const partsOfViews = ['[aria-label="Modelgate"]', 'main', '[role=dialog]']

/**
 * What axe finds in the parts of a view whose outlines are not in `looked`, which gets them: what several pages or
 * roles show alike is looked at once.
 */
async function violationsOnce(page: Page, looked: Set<string>): Promise<string[]> {
  const outlines = await page.evaluate(outlinesOf, partsOfViews)
  const known = partsOfViews.filter((_, at) => outlines[at] === null || looked.has(outlines[at]!))
  if (known.length === partsOfViews.length) return []
  for (const outline of outlines) if (outline !== null) looked.add(outline)
  return violationsInBothThemes(page, { except: known })
}

/** Runs in the page: its elements and their attributes, without texts, addresses and ids. null = there is none. */
function outlinesOf(selectors: readonly string[]): (string | null)[] {
  const texts =
    /^(id|for|href|src|alt|title|name|value|style|placeholder|aria-(label|labelledby|describedby|controls))$/
  return selectors.map(selector => {
    const html = document.querySelector(selector)?.outerHTML
    if (html === undefined) return null
    const withoutValues = html.replace(/ ([\w-]+)="[^"]+"/g, (all, name: string) =>
      texts.test(name) ? ` ${name}` : all,
    )
    return withoutValues.replace(/>[^<>]+</g, '>text<')
  })
}

interface House {
  readonly gateway: Gateway
  /** What the addresses of drawers name: ids and names of what it has. */
  readonly values: Readonly<Record<string, string>>
  /** Outlines of what axe has looked at. */
  readonly looked: Set<string>
}

/** One of everything that pages show, and markup wherever a person or an upstream may write. */
async function openHouse(backend: Backend): Promise<House> {
  const gateway = await startGatewayWithPages({
    backend,
    config,
    environment: {
      // Without it nothing of a chat is kept on Postgres.
      MODELGATE_ENCRYPTION_KEY: 'an encryption key of more than 32 characters',
    },
  })
  const made = async (path: string, body: object) => {
    const answer = await gateway.admin(path, body)
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  }
  const budget = { max_budget: 5, budget_duration: '30d' }
  const people: Readonly<Record<Role, string>> = {
    admin: 'proxy_admin',
    teamAdmin: 'internal_user',
    member: 'internal_user',
  }
  for (const [user_id, user_role] of Object.entries(people))
    await made('/user/new', { user_id, user_role, user_alias: hostile('user'), ...budget })
  const members_with_roles = [
    { user_id: 'teamAdmin', role: 'admin' },
    { user_id: 'member', role: 'user' },
  ]
  await made('/organization/new', { organization_id: 'organization', organization_alias: hostile('organization') })
  await made('/team/new', { team_id: 'team', team_alias: hostile('team'), members_with_roles, ...budget })
  await made('/customer/new', { user_id: 'customer', alias: hostile('customer') })
  await made('/budget/new', { budget_id: hostile('budget'), max_budget: 3 })
  await made('/model_group/make_public', { model_groups: [hostileModel] })
  const fields = { team_id: 'team', user_id: 'member', store_prompts_in_spend_logs: true }
  const key = await gateway.key({ ...fields, key_alias: hostile('key') })
  const error = { message: hostile('error'), type: hostile('type'), code: hostile('code') }
  gateway.simulator.script(
    { model: 'sim-hostile' },
    { times: 1, raw: { status: 400, body: JSON.stringify({ error }) } },
  )
  const call = async (content: string) => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'user-agent': hostile('client') },
      body: JSON.stringify({ model: hostileModel, user: 'customer', messages: [{ role: 'user', content }] }),
    })
    const text = await answer.text()
    return { id: answer.headers.get('x-proxy-call-id')!, status: answer.status, text }
  }
  const failed = await call(hostile('prompt'))
  const answered = await call(`say: ${hostile('answer')}`)
  expect([failed.status, answered.status, answered.text]).toEqual([400, 200, expect.stringContaining('<img')])
  // Rows are stored behind the answers.
  while ((await gateway.rows()).length < 2) await Bun.sleep(20)
  const asked = async <Answer>(path: string) => (await (await gateway.admin(path)).json()) as Answer
  const { info } = await asked<{ info: { token_id: string } }>(`/key/info?key=${key}`)
  const { audit_logs } = await asked<{ audit_logs: { id: string }[] }>('/audit?page_size=1')
  const values = {
    call: failed.id,
    model: hostileModel,
    key: info.token_id,
    entry: audit_logs[0]!.id,
    credential: hostile('credential'),
  }
  return { gateway, values, looked: new Set() }
}
