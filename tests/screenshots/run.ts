/**
 * `npm run screenshots -- --directory PATH --only keys,logs`: every page of the demo, or those named, in light and
 * dark, 1440 and 390 pixels wide, as PNG files. Reports pages that are wider than the screen, and of errors of
 * scripts. Ends with status 1 where there are any. Needs Chromium: the package `chromium`, or CHROMIUM_PATH.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { startDemo } from '../../scripts/demo/start.ts'

const { values } = parseArgs({
  options: { directory: { type: 'string', default: 'dist/screenshots' }, only: { type: 'string' } },
})
const widths = [1440, 390] as const
const themes = ['light', 'dark'] as const
const waitMs = 60_000

/** Addresses below `/ui/`, by the name of their file. */
const pages: Readonly<Record<string, string>> = {
  overview: '',
  playground: 'playground',
  chat: 'chat',
  'chat-one': 'chat?c={chat}',
  hub: 'model_hub',
  'hub-table': 'model_hub_table',
  'hub-model': 'model_hub?model=claude-sonnet-4-5',
  connect: 'connect',
  usage: 'usage',
  'usage-by-team': 'usage?by=team',
  'usage-by-deployment': 'usage?by=deployment',
  logs: 'logs',
  health: 'health',
  audit: 'audit',
  models: 'models',
  'models-one': 'models?model=gpt-4.1',
  providers: 'providers',
  keys: 'keys',
  teams: 'teams',
  'teams-one': 'teams?team=support',
  users: 'users',
  'users-one': 'users?user=carla',
  budgets: 'budgets',
  'budgets-one': 'budgets?of=team&id=support',
  'budgets-named': 'budgets?view=named&named=partners',
  organizations: 'organizations',
  'organizations-one': 'organizations?organization=nordwind',
  customers: 'customers',
  'customers-one': 'customers?customer=hotel-astoria',
  guardrails: 'guardrails',
  'guardrails-one': 'guardrails?guardrail=personal-data',
  caching: 'caching',
  settings: 'settings',
  'settings-one': 'settings?which=set&setting=settings.cache_params.ttl',
  sessions: 'sessions',
}
/** The same of pages that are looked at without being signed in. */
const strangersPages: Readonly<Record<string, string>> = {
  'stranger-hub': 'model_hub',
  'stranger-hub-model': 'model_hub?model=gemini-2.5-flash',
}
const only = values.only?.split(',')
const chosen = (some: typeof pages) => Object.entries(some).filter(([name]) => only?.includes(name) ?? true)
let taken = 0

const demo = await startDemo()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
  timeout: waitMs,
})
const problems: string[] = []
const chat = await latestChat()
try {
  mkdirSync(values.directory, { recursive: true })
  for (const colorScheme of themes)
    for (const width of widths) {
      await takeAll(browser, pages, { colorScheme, width, key: demo.masterKey })
      await takeAll(browser, strangersPages, { colorScheme, width })
    }
} finally {
  await browser.close()
  await demo.stop()
}
for (const problem of problems) console.error(problem)
console.log(`${taken} pictures in ${values.directory}`)
process.exit(problems.length > 0 ? 1 : 0)

interface Look {
  readonly colorScheme: (typeof themes)[number]
  readonly width: (typeof widths)[number]
  /** Of the person who is signed in; absent = a stranger. */
  readonly key?: string
}

/** Those of the pages that are chosen, in one window. */
async function takeAll(on: Browser, some: typeof pages, { colorScheme, width, key }: Look): Promise<void> {
  const context = await on.newContext({
    viewport: { width, height: width > 720 ? 900 : 844 },
    colorScheme,
    locale: 'en-US',
    reducedMotion: 'reduce',
    ...(key && { extraHTTPHeaders: { authorization: `Bearer ${key}` } }),
  })
  context.setDefaultTimeout(waitMs)
  const page = await context.newPage()
  for (const [name, path] of chosen(some)) {
    const title = `${name}-${width}-${colorScheme}`
    const report = (error: Error) => problems.push(`${title}: ${error.message}`)
    page.on('pageerror', report)
    await page.goto(`${demo.url}/ui/${path.replace('{chat}', chat)}`)
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
    await page.waitForLoadState('networkidle')
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    if (excess > 0) problems.push(`${title}: ${excess} pixels wider than the screen`)
    taken++
    await page.screenshot({ path: join(values.directory, `${title}.png`) })
    page.off('pageerror', report)
  }
  await context.close()
}

/** The latest conversation of the demo. */
async function latestChat(): Promise<string> {
  const headers = { authorization: `Bearer ${demo.masterKey}` }
  const listed = await fetch(`${demo.url}/chat/conversations?limit=1`, { headers })
  return ((await listed.json()) as { data: readonly { id: string }[] }).data[0]!.id
}
