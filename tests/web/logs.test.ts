/** The page of calls: filtered by text, walked by arrows, and safe against texts of others. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Route } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'
import { violations } from './axe.ts'
import {
  goTo,
  hasChromium,
  closePages,
  openBrowser,
  openSignedIn,
  pageMs,
  startGatewayWithPages,
  typeAtFocus,
} from './browser.ts'

setDefaultTimeout(3 * pageMs)

const hostile = '<img src=x onerror=alert(1)>'

describe.skipIf(!hasChromium)('the page of calls', () => {
  let gateway: Gateway
  let browser: Browser
  beforeAll(async () => {
    const config = `${standardConfig}general_settings: { max_stored_body_kb: 4 }\n`
    gateway = await startGatewayWithPages({ config })
    const key = await gateway.key({ key_alias: hostile })
    for (const model of ['chat-model', 'claude-model', 'nobody', 'chat-model']) await call(key, model)
    // Rows are stored behind the answers.
    while ((await gateway.rows()).length < 4) await Bun.sleep(20)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closePages(browser)
    await gateway?.stop()
  })

  const call = async (key: string, model: string, fields: object = {}, more: Record<string, string> = {}) => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], ...fields }),
    })
    await answer.text()
    return answer.headers.get('x-proxy-call-id')!
  }

  const openLogs = async (search = '', options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/logs${search}`)
    await opened.page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor()
    return opened
  }

  test('a typed term becomes a chip, a part of the address, and a question to the ledger', async () => {
    const { page, close } = await openLogs()
    await page.getByText('Calls: 4').waitFor()
    await page.getByRole('combobox', { name: 'Filter calls' }).fill('outcome:error')
    await page.keyboard.press('Enter')
    await page.getByText('Calls: 1').waitFor()
    expect(new URL(page.url()).searchParams.get('q')).toBe('outcome:error')
    await page.getByRole('button', { name: 'Remove outcome:error' }).click()
    await page.getByText('Calls: 4').waitFor()
    await close()
  })

  test('long and dear calls are found by what they took and cost; a filter that the ledger does not know is named', async () => {
    const { page, close } = await openLogs('?q=latency:>0ms')
    await page.getByText('Calls: 4').waitFor()
    await page.getByRole('button', { name: 'Remove latency:>0ms' }).click()
    const bar = page.getByRole('combobox', { name: 'Filter calls' })
    await bar.fill('cost:>$1000')
    await page.keyboard.press('Enter')
    await page.getByText('No call matches').waitFor()
    await page.getByRole('button', { name: 'Remove cost:>$1000' }).click()
    await bar.fill('latency:>2 cost:0.1')
    await page.keyboard.press('Enter')
    await page.getByText('This filter cannot be read: latency:>2 cost:0.1').waitFor()
    await goTo(page, '/logs?q=latency:5')
    await page.getByText('This filter cannot be read: latency:5').waitFor()
    // What to write instead.
    await page.getByText('status, outcome, model, key, team, user, organization, tag, provider').waitFor()
    await close()
  })

  test('arrows walk the filtered calls while one is open, a link opens one that the list does not hold, and markup in the name of a key is text', async () => {
    const { page, close, faults } = await openLogs('?q=model:chat-model')
    await page.getByText('Calls: 2').waitFor()
    await page.getByRole('table').getByText(hostile).first().waitFor()
    await page.getByRole('row').nth(1).getByRole('link').click()
    await page.getByRole('dialog', { name: 'chat-model' }).waitFor()
    const openCall = () => new URL(page.url()).searchParams.get('call')
    const first = openCall()
    await page.keyboard.press('ArrowDown')
    await page.waitForURL(url => url.searchParams.get('call') !== first)
    await page.keyboard.press('ArrowUp')
    await page.waitForURL(url => url.searchParams.get('call') === first)
    // One that the list does not hold is asked for by its id.
    const [failed] = await gateway.rows('&outcome=error')
    await goTo(page, `/logs?q=model:claude-model&call=${failed!.request_id}`)
    await page.getByRole('dialog', { name: 'nobody' }).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('a call that failed says why, and each of its attempts has the names of its deployment, its kind of error and its words', async () => {
    const { page, close } = await openLogs('?q=outcome:error')
    await page.getByRole('row').nth(1).getByRole('link').click()
    const drawer = page.getByRole('dialog', { name: 'nobody' })
    const reason = drawer.getByRole('region', { name: 'Why it failed' })
    await reason.getByText('upstream-unreachable').waitFor()
    const [row] = await gateway.rows('&outcome=error')
    await reason.getByText(row!.error_message!).waitFor()
    const attempts = drawer.getByRole('region', { name: 'Attempts' }).getByRole('listitem')
    expect(await attempts.count()).toBe(1)
    await attempts.getByText('nobody → custom_openai/x').waitFor()
    await attempts.getByText('no answer').waitFor()
    await attempts.getByText('after ').waitFor()
    await drawer.getByText('Attempt 1', { exact: true }).waitFor()
    expect(await violations(page)).toEqual([])
    await close()
  })

  test('calls are found, opened and closed by keyboard alone', async () => {
    const { page, close } = await openLogs()
    await page.getByRole('row').nth(1).waitFor()
    await page.keyboard.press('/')
    await typeAtFocus(page, 'outcome:error')
    await page.keyboard.press('Enter')
    await page.waitForURL(url => url.searchParams.get('q') === 'outcome:error')
    // The list is there, and that of all calls is gone: on its rows the focus would be lost.
    await page.getByText('Calls: 1').waitFor()
    await page.getByRole('row').nth(2).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    // From the filter to the list: along what can have the focus, until it is a call.
    const isCall = () => page.evaluate(() => document.activeElement?.closest('[role=row]') !== null)
    for (let step = 0; step < 30 && !(await isCall()); step++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'nobody' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await close()
  })

  test('columns are chosen by keyboard, kept in this browser, and set back', async () => {
    const { page, close } = await openLogs()
    const head = page.getByRole('columnheader')
    const usual = ['Time', 'Outcome', 'Model', 'Upstream', 'Key', 'Tokens', 'Cost', 'Duration']
    await head.first().waitFor()
    expect(await head.allInnerTexts()).toEqual(usual)
    const openColumns = async () => {
      await page.getByRole('button', { name: 'Columns' }).press('Enter')
      await page.getByRole('menu').waitFor()
    }
    const choose = async (name: string, role: 'menuitem' | 'menuitemcheckbox') => {
      const item = page.getByRole(role, { name, exact: true })
      for (let at = 0; at < 30 && !(await item.evaluate(one => one === document.activeElement)); at++)
        await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
    }
    await openColumns()
    await choose('Upstream', 'menuitemcheckbox')
    await choose('Program', 'menuitemcheckbox')
    const chosen = [...usual.filter(name => name !== 'Upstream'), 'Program']
    await head.getByText('Program').waitFor()
    expect(await head.allInnerTexts()).toEqual(chosen)
    await page.reload()
    await head.first().waitFor()
    expect(await head.allInnerTexts()).toEqual(chosen)
    await openColumns()
    await choose('Usual columns', 'menuitem')
    await head.getByText('Upstream').waitFor()
    expect(await head.allInnerTexts()).toEqual(usual)
    expect(await page.evaluate(() => Object.keys(localStorage).filter(key => key.includes('columns')))).toEqual([])
    await close()
  })

  test('bars are brushed by keyboard and by dragging: the span is in the address, and goes back', async () => {
    const { page, close } = await openLogs()
    const rangeOf = () => new URL(page.url()).searchParams.get('range')
    const bars = page.getByRole('slider', { name: 'Calls over time' })
    await page.getByText(/^p50 \/ p95 of the 4 listed: /).waitFor()
    await bars.focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Shift+ArrowLeft')
    await page.keyboard.press('Shift+ArrowLeft')
    expect(await bars.getAttribute('aria-valuenow')).toBe('57')
    await page.keyboard.press('Escape')
    expect(await bars.getAttribute('aria-valuenow')).toBe('59')
    await page.keyboard.press('Enter')
    expect(rangeOf()).toBeNull()
    await page.keyboard.press('End')
    await page.keyboard.press('Shift+ArrowLeft')
    await page.keyboard.press('Enter')
    await page.waitForURL(url => url.searchParams.has('range'))
    const widthOf = (range: string | null) => {
      const [from, to] = range!.split('..').map(Number)
      return to! - from!
    }
    // Two of sixty bars of a day, or a little more: new calls may be later than the span.
    expect(widthOf(rangeOf()) / ((2 / 60) * 86_400_000)).toBeCloseTo(1, 1)
    await page.getByRole('slider', { name: 'Calls over time' }).waitFor()
    await page.goBack()
    await page.waitForURL(url => !url.searchParams.has('range'))
    await bars.waitFor()
    const box = (await bars.boundingBox())!
    await page.mouse.move(box.x + box.width * 0.51, box.y + 20)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.99, box.y + 20, { steps: 4 })
    await page.mouse.up()
    await page.waitForURL(url => url.searchParams.has('range'))
    expect(widthOf(rangeOf()) / (0.5 * 86_400_000)).toBeCloseTo(1, 1)
    await close()
  })

  test('the calls of a session lead to each other, in their order, wherever the list is', async () => {
    const key = await gateway.key()
    const session = { 'x-claude-code-session-id': 'session-of-three' }
    const ids: string[] = []
    for (let at = 0; at < 3; at++) ids.push(await call(key, 'claude-model', {}, session))
    while ((await gateway.rows('&session_id=session-of-three')).length < 3) await Bun.sleep(20)
    const { page, close } = await openLogs(`?q=model:nobody&call=${ids[1]}`)
    const part = page.getByRole('region', { name: 'Session' })
    await part.getByText('Call 2 of 3 in its session').waitFor()
    expect(await violations(page)).toEqual([])
    await part.getByRole('button', { name: 'Later in the session' }).click()
    await part.getByText('Call 3 of 3').waitFor()
    expect(new URL(page.url()).searchParams.get('call')).toBe(ids[2]!)
    expect(await part.getByRole('button', { name: 'Later in the session' }).isDisabled()).toBe(true)
    await part.getByRole('button', { name: 'Earlier in the session' }).click()
    await part.getByRole('button', { name: 'Earlier in the session' }).click()
    await part.getByText('Call 1 of 3').waitFor()
    expect(new URL(page.url()).searchParams.get('call')).toBe(ids[0]!)
    await part.getByRole('link', { name: 'All of the session' }).click()
    await page.getByText('Calls: 3').waitFor()
    expect(new URL(page.url()).searchParams.get('q')).toBe('session:session-of-three')
    await close()
  })

  test('a new call appears by itself while the list is live', async () => {
    const { page, close } = await openSignedIn(browser, gateway)
    const reads = { '/spend/logs/v2': 0, '/spend/logs/histogram': 0 }
    page.on('requestfinished', request => {
      const path = new URL(request.url()).pathname as keyof typeof reads
      if (path in reads) reads[path]++
    })
    await page.goto(`${gateway.url}/ui/logs?live=on&q=model:fault/unknown`)
    await page.getByText('No call matches').waitFor()
    // Once it is live it is read once more: what comes then comes by itself.
    await until(() => Math.min(...Object.values(reads)) >= 2, 'list and bars are read when they have become live')
    await call(await gateway.key(), 'fault/unknown')
    await page.getByText('Calls: 1').waitFor()
    await close()
  })

  test('a list that cannot be live says so, is read again by hand, and becomes live by itself', async () => {
    const { page, close } = await openLogs()
    // The calls are counted before there is one, and the answer is late.
    const released = Promise.withResolvers<void>()
    const holdCount = async (route: Route) => {
      const response = await route.fetch()
      await released.promise
      await route.fulfill({ response }).catch(() => {})
    }
    await page.route('**/spend/logs/histogram*', holdCount, { times: 1 })
    await goTo(page, '/logs?q=model:fault/status-400')
    await page.getByText('No call matches').waitFor()
    const stream = '**/spend/logs/events*'
    await page.route(stream, route => route.abort())
    await page.getByRole('switch', { name: 'Live' }).click()
    await page.getByText('The list is not live').waitFor()
    const id = await call(await gateway.key(), 'fault/status-400')
    while ((await gateway.rows(`&request_id=${id}`)).length === 0) await Bun.sleep(20)
    await page.getByRole('button', { name: 'Refresh' }).click()
    released.resolve()
    await page.getByText('Calls: 1').waitFor()
    await page.unroute(stream)
    await page.getByText('The list is not live').waitFor({ state: 'detached' })
    await close()
  })

  test('messages and tool calls of a stored call are shown, markup in them is text, and it is copied and replayed', async () => {
    const key = await gateway.key({ store_prompts_in_spend_logs: true })
    const messages = [
      { role: 'system', content: `Be brief. ${hostile}` },
      { role: 'user', content: [{ type: 'text', text: 'What is the weather?' }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'sunny, 21 degrees' },
      { role: 'user', content: 'say: It is sunny' },
    ]
    const id = await call(key, 'chat-model', { messages, stream: true, temperature: 0.3 })
    const { page, close, faults } = await openLogs(`?call=${id}`)
    const drawer = page.getByRole('dialog', { name: 'chat-model' })
    await drawer.getByRole('tab', { name: 'Messages' }).click()
    await drawer.getByRole('article', { name: 'System' }).getByText(hostile).waitFor()
    await drawer.getByText('weather({"city":"Bern"})').waitFor()
    await drawer.getByRole('article', { name: 'Result of a tool' }).getByText('sunny, 21 degrees').waitFor()
    await drawer.getByRole('article', { name: 'Assistant' }).getByText('It is sunny').waitFor()
    expect(await drawer.locator('img').count()).toBe(0)
    expect(await violations(page)).toEqual([])
    await drawer.getByRole('tab', { name: 'Raw' }).click()
    await drawer.getByRole('tab', { name: 'curl' }).click()
    const code = await drawer.getByRole('region', { name: 'Request and answer: curl' }).innerText()
    expect(code).toContain('/v1/chat/completions')
    expect(code).toContain('"temperature": 0.3')
    expect(code).not.toContain(key)
    await drawer.getByRole('link', { name: 'Replay in the playground' }).click()
    await page.getByText('with the request as it is stored').waitFor()
    expect(JSON.parse(await page.getByRole('textbox', { name: 'Body as JSON' }).inputValue())).toEqual({
      messages,
      temperature: 0.3,
    })
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('region', { name: 'Answer 1' }).getByText('It is sunny').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('a call and what was said in it appear in an open drawer when they are stored a moment later', async () => {
    const key = await gateway.key({ store_prompts_in_spend_logs: true })
    const id = await call(key, 'chat-model', { messages: [{ role: 'user', content: 'say: a moment later' }] })
    const { page, close } = await openLogs('?q=model:nobody')
    // As another replica answers that does not have them yet.
    const early = new Set<string>()
    await page.route(/\/spend\/logs(\/v2\?request_id=|\/[^/]+\/bodies)/, route => {
      const kind = route.request().url().includes('request_id=') ? 'row' : 'bodies'
      if (early.has(kind)) return route.continue()
      early.add(kind)
      if (kind === 'row') return route.fulfill({ json: { data: [], next_cursor: null } })
      return route.fulfill({ status: 404, json: { error: { message: 'nothing', type: 'not_found', code: '404' } } })
    })
    await page.goto(`${gateway.url}/ui/logs?q=model:nobody&call=${id}`)
    const drawer = page.getByRole('dialog', { name: 'chat-model' })
    await drawer.getByRole('tab', { name: 'Messages' }).click()
    await drawer.getByRole('article', { name: 'Assistant' }).getByText('a moment later').waitFor()
    expect([...early]).toEqual(['row', 'bodies'])
    await close()
  })

  test('where nothing is stored the drawer says how it is switched on; a cut request is shown as it is', async () => {
    const [row] = await gateway.rows('&model=claude-model')
    const key = await gateway.key({ store_prompts_in_spend_logs: true })
    const cut = await call(key, 'chat-model', {
      messages: [{ role: 'user', content: `say: x ${'long '.repeat(2000)}` }],
    })
    const { page, close } = await openLogs(`?call=${row!.request_id}`)
    await page.getByRole('tab', { name: 'Messages' }).click()
    await page.getByText('store_prompts_in_spend_logs').waitFor()
    await page.goto(`${gateway.url}/ui/logs?call=${cut}`)
    await page.getByRole('tab', { name: 'Messages' }).click()
    await page.getByText('Only the beginning is stored.').first().waitFor()
    await close()
  })

  test('the bars count every call of the filter, not only those that are loaded', async () => {
    const key = await gateway.key()
    const ids = await Promise.all(Array.from({ length: 205 }, () => call(key, 'nobody-knows-it')))
    while ((await gateway.rows('&model=nobody-knows-it')).length < ids.length) await Bun.sleep(20)
    const { page, close } = await openLogs('?q=model:nobody-knows-it')
    await page.getByText('Calls: 205', { exact: true }).waitFor()
    await page.getByText('failed: 205').waitFor()
    await page.getByRole('button', { name: 'Load more' }).waitFor()
    await close()
  })
})
