/** Must show: from `npm start` on a fresh machine to the first answered call with an own key, made in the browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Locator } from 'playwright-core'
import { startSimulator } from '../../simulator/index.ts'
import { builtPages, hasChromium, closePages, openBrowser, openPage, pageMs } from './browser.ts'
import { firstCall, followSetup } from './setup-steps.ts'

setDefaultTimeout(3 * pageMs)

const root = join(import.meta.dir, '../..')
const clicksMax = 10

describe.skipIf(!hasChromium)('a fresh machine', () => {
  let home: string
  let simulator: Awaited<ReturnType<typeof startSimulator>>
  let browser: Browser
  let child: ChildProcess | undefined
  beforeAll(async () => {
    // Packages are made ahead in what people install; in a clone it takes a while, once.
    await builtPages()
    home = mkdtempSync(join(tmpdir(), 'modelgate-fresh-'))
    simulator = await startSimulator({ seed: 1 })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    if (child) process.kill(-child.pid!, 'SIGKILL')
    await simulator?.stop()
    if (home) rmSync(home, { recursive: true, force: true })
  })

  /** `npm start` with nothing set up: what it prints. */
  function npmStart(): Promise<{ readonly url: string; readonly masterKey: string }> {
    const environment = {
      PATH: process.env.PATH,
      HOME: home,
      MODELGATE_DISCOVER: '0',
      npm_config_update_notifier: 'false',
    }
    child = spawn('npm', ['start', '--', '--port', '0', '--data-dir', join(home, 'data')], {
      cwd: root,
      env: environment as NodeJS.ProcessEnv,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const printed = Promise.withResolvers<{ url: string; masterKey: string }>()
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (piece: Buffer) => {
        output += piece.toString()
        const url = /serves \d+ models on (http:\S+)/.exec(output)?.[1]
        const masterKey = /^ {2}(sk-\S+)$/m.exec(output)?.[1]
        if (url && masterKey) printed.resolve({ url, masterKey })
      })
    child.on('exit', () => printed.reject(new Error(`npm start has ended:\n${output}`)))
    return printed.promise
  }

  test('leads from npm start to the first answered call with an own key in ten clicks', async () => {
    const startMs = performance.now()
    const { url, masterKey } = await npmStart()
    const { page, context, faults } = await openPage(browser, url)
    let clicks = 0
    const click = async (what: Locator) => {
      clicks++
      await what.click()
    }
    await page.goto(`${url}/ui/`)
    await click(page.getByRole('tab', { name: 'Operator' }))
    await page.getByLabel('Master key').fill(masterKey)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Set up this gateway' }).waitFor()

    const setup = await followSetup(page, { upstreamUrl: simulator.url, upstreamKey: 'upstream-key', click })
    const call = await firstCall(url, setup)
    expect([call.status, await call.json()]).toEqual([200, expect.objectContaining({ object: 'chat.completion' })])
    const seconds = (performance.now() - startMs) / 1000
    console.log(`npm start to the first call: ${clicks} clicks, ${seconds.toFixed(1)} s by a person who needs no time`)
    expect(clicks).toBeLessThanOrEqual(clicksMax)
    expect(faults).toEqual([])
    await context.close()
  })
})
