/**
 * `npm run screenshots -- --directory PATH`: every page of the demo in light and dark, 1440 and 390 pixels wide, as
 * PNG files. Tells of pages that are wider than the screen, and of errors of scripts. Ends with status 1 where there
 * are any. Needs Chromium: the package `chromium`, or CHROMIUM_PATH.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { startDemo } from './demo/start.ts'

const { values } = parseArgs({ options: { directory: { type: 'string', default: 'dist/screenshots' } } })
const widths = [1440, 390] as const
const themes = ['light', 'dark'] as const
const waitMs = 60_000

/** Addresses below `/ui/`, by the name of their file. */
const pages: Readonly<Record<string, string>> = {
  overview: '',
  playground: 'playground',
  chat: 'chat',
  hub: 'model_hub',
  'hub-table': 'model_hub_table',
  'hub-model': 'model_hub?model=claude-sonnet-4-5',
  connect: 'connect',
  usage: 'usage',
  'usage-by-team': 'usage?by=team',
  logs: 'logs',
  health: 'health',
  audit: 'audit',
  models: 'models',
  'models-one': 'models?model=gpt-4.1',
  keys: 'keys',
  teams: 'teams',
  'teams-one': 'teams?team=support',
  users: 'users',
  'users-one': 'users?user=carla',
  organizations: 'organizations',
  'organizations-one': 'organizations?organization=nordwind',
  customers: 'customers',
  'customers-one': 'customers?customer=hotel-astoria',
  sessions: 'sessions',
}

const demo = await startDemo()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
  timeout: waitMs,
})
const problems: string[] = []
try {
  mkdirSync(values.directory, { recursive: true })
  for (const colorScheme of themes) for (const width of widths) await takeAll(browser, colorScheme, width)
} finally {
  await browser.close()
  await demo.stop()
}
for (const problem of problems) console.error(problem)
console.log(`${Object.keys(pages).length * themes.length * widths.length} pictures in ${values.directory}`)
process.exit(problems.length > 0 ? 1 : 0)

/** All pages in one window, signed in as the administrator of the demo. */
async function takeAll(on: Browser, colorScheme: 'light' | 'dark', width: number): Promise<void> {
  const context = await on.newContext({
    viewport: { width, height: width > 720 ? 900 : 844 },
    colorScheme,
    locale: 'en-US',
    reducedMotion: 'reduce',
    extraHTTPHeaders: { authorization: `Bearer ${demo.masterKey}` },
  })
  context.setDefaultTimeout(waitMs)
  const page = await context.newPage()
  for (const [name, path] of Object.entries(pages)) {
    const title = `${name}-${width}-${colorScheme}`
    const tell = (error: Error) => problems.push(`${title}: ${error.message}`)
    page.on('pageerror', tell)
    await page.goto(`${demo.url}/ui/${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
    await page.waitForLoadState('networkidle')
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    if (excess > 0) problems.push(`${title}: ${excess} pixels wider than the screen`)
    await page.screenshot({ path: join(values.directory, `${title}.png`) })
    page.off('pageerror', tell)
  }
  await context.close()
}
