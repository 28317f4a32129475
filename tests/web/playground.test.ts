/** The playground: real calls of the simulator, side by side, and what a hostile answer cannot do. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { standardConfig } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { violations, violationsInBothThemes } from './axe.ts'
import { hasChromium, openSignedIn, pageMs, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

const media = ['rerank', 'image_generation', 'audio_speech', 'moderation', 'audio_transcription']
  .map(
    mode => `
  - model_name: sim-${mode}
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", api_key: upstream-key-canary-1 }
    model_info: { mode: ${mode} }`,
  )
  .join('')
const config = standardConfig.replace('\nrouter_settings:', `${media}\nrouter_settings:`)

const hostile = `<script>document.title = 'run'</script> <img src=x onerror="document.title='run'">
<iframe src="http://127.0.0.1:1/frame"></iframe> ![p](http://127.0.0.1:1/p.png) [l](javascript:alert(1))
<style>*{background:url(http://127.0.0.1:1/s)}</style> end of the answer`

describe.skipIf(!hasChromium)('the playground', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({ config }, opened => ({ gateway, browser } = opened))

  const open = async (search = '', options = {}) => {
    const opened = await openSignedIn(browser, gateway, options)
    await opened.page.goto(`${gateway.url}/ui/playground${search}`)
    await opened.page.getByRole('region', { name: 'Column 1' }).waitFor()
    return opened
  }

  test('two models answer the same by keyboard alone, each with its figures from the ledger', async () => {
    const { page, close, faults } = await open('?columns=2&model=chat-model&model2=claude-model')
    await page.getByLabel('Message').focus()
    await page.keyboard.type('say: Hello from the model')
    await page.keyboard.press('Control+Enter')
    for (const number of [1, 2]) {
      const column = page.getByRole('region', { name: `Column ${number}` })
      await column.getByText('Hello from the model').waitFor()
      await column.getByRole('link', { name: 'Open in the logs' }).waitFor()
      // Both have a price: three decimals of a cent at the least.
      expect(await column.locator('[title$=" USD"]').getAttribute('title')).toMatch(/^0\.0|^[1-9.]+e-/)
    }
    const rows = await gateway.rows()
    expect(rows.map(row => row.model).toSorted()).toEqual(['chat-model', 'claude-model'])
    expect(rows.every(row => row.stream && row.outcome === 'success')).toBe(true)
    expect(await violations(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
  })

  test.each(['chat', 'responses', 'messages'])('%s: markup and scripts of an answer are text', async op => {
    for (const stream of ['', '&stream=off']) {
      const { page, close, faults } = await open(`?op=${op}&model=chat-model${stream}`)
      await page.getByLabel('Message').fill(`say: ${hostile}`)
      await page.getByRole('button', { name: 'Run' }).click()
      const answer = page.getByRole('region', { name: 'Answer 1' })
      await answer.getByText('end of the answer').waitFor()
      await page.getByRole('link', { name: 'Open in the logs' }).waitFor()
      expect(await answer.locator('script, img, iframe, style, a[href^="javascript"]').count()).toBe(0)
      expect(await page.title()).not.toBe('run')
      expect(faults).toEqual([])
      await close()
    }
  })

  test('a stopped call ends at the upstream, and its column says so', async () => {
    const { page, close } = await open(`?model=${encodeURIComponent('fault/sim-chat#token-ms;ms=200')}`)
    await page.getByLabel('Message').fill('tokens: 500')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('button', { name: 'Stop column 1' }).click()
    await page.getByText('Stopped. The output up to then is charged.').waitFor()
    while (!(await gateway.rows()).some(row => row.outcome === 'client_closed')) await Bun.sleep(20)
    await close()
  })

  test('a body of one’s own is sent with the model and the parameters of the column', async () => {
    const { page, close } = await open('?model=chat-model&params={"max_tokens":7}')
    await page.getByRole('tab', { name: 'Body as JSON' }).click()
    const body = page.getByLabel('Body as JSON').last()
    await body.fill('{')
    await page.getByText('This is not a JSON object').waitFor()
    expect(await page.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true)
    await body.fill('{"messages": [{"role": "user", "content": "say: one"}], "seed": 3}')
    const sent = page.waitForRequest(request => request.url().endsWith('/v1/chat/completions'))
    await page.getByRole('button', { name: 'Run' }).click()
    expect((await sent).postDataJSON()).toMatchObject({ model: 'chat-model', max_tokens: 7, seed: 3, stream: true })
    await page.getByRole('tab', { name: 'Code' }).click()
    await page.getByRole('tab', { name: 'Python' }).click()
    expect(await page.getByRole('tabpanel').last().innerText()).toContain('seed=3,')
    await close()
  })

  test('every other operation shows what its model answers', async () => {
    const ask = async (
      op: string,
      model: string,
      fill: (page: Awaited<ReturnType<typeof open>>['page']) => unknown,
    ) => {
      const opened = await open(`?op=${op}&model=${model}`)
      await fill(opened.page)
      await opened.page.getByRole('button', { name: 'Run' }).click()
      await opened.page.getByRole('link', { name: 'Open in the logs' }).waitFor()
      return { ...opened, answer: opened.page.getByRole('region', { name: 'Answer 1' }) }
    }
    const close = async ({ close, faults }: Awaited<ReturnType<typeof ask>>) => {
      expect(faults).toEqual([])
      await close()
    }
    const embedded = await ask('embeddings', 'embedding-model', page => page.getByLabel('Texts').fill('one\ntwo'))
    expect(await embedded.answer.getByText('1.0000').count()).toBe(1)
    await close(embedded)
    const ranked = await ask('rerank', 'sim-rerank', async page => {
      await page.getByLabel('Query').fill('red apple')
      await page.getByLabel('Documents').fill('a blue car\na red apple')
    })
    expect(await ranked.answer.locator('dt').first().innerText()).toBe('a red apple')
    await close(ranked)
    const painted = await ask('image', 'sim-image_generation', page => page.getByLabel('Prompt').fill('a house'))
    expect(await painted.answer.locator('img[src^="data:image/"]').count()).toBe(1)
    await close(painted)
    const spoken = await ask('speech', 'sim-audio_speech', page => page.getByLabel('Text to be spoken').fill('Hello'))
    expect(await spoken.answer.locator('audio[src^="blob:"]').count()).toBe(1)
    await close(spoken)
    const moderated = await ask('moderation', 'sim-moderation', page => page.getByLabel('Text').fill('kill'))
    await moderated.answer.getByText('Flagged', { exact: true }).waitFor()
    await close(moderated)
    const heard = await ask('transcription', 'sim-audio_transcription', page =>
      page
        .getByLabel('Audio file')
        .setInputFiles({ name: 'a.wav', mimeType: 'audio/wav', buffer: Buffer.from('RIFF') }),
    )
    expect((await heard.answer.innerText()).length).toBeGreaterThan(0)
    await close(heard)
  })

  test('a call of the log leads here with its model, and a refusal stands where the answer would be', async () => {
    const key = await gateway.key({ models: ['claude-model'] })
    const send = (model: string) =>
      fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] }),
      })
    const answer = await send('claude-model')
    await answer.text()
    const { page, close } = await openSignedIn(browser, gateway, { key })
    await page.goto(`${gateway.url}/ui/logs?call=${answer.headers.get('x-proxy-call-id')}`)
    await page.getByRole('link', { name: 'Replay in the playground' }).click()
    await page.getByText('A call of claude-model on /v1/messages').waitFor()
    expect(await page.getByRole('combobox', { name: 'Operation' }).innerText()).toContain('Messages')
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('claude-model')
    await page.goto(`${gateway.url}/ui/playground?model=chat-model`)
    await page.getByLabel('Message').fill('Hello')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('alert').waitFor()
    await close()
  })

  test('axe has no objection from 360 px on, in light and dark, and the page asks three times at most', async () => {
    const asked: string[] = []
    const options = { viewport: { width: 360, height: 800 } }
    const { page, close, faults } = await openSignedIn(browser, gateway, options)
    page.on('request', request => {
      const { pathname } = new URL(request.url())
      if (!pathname.startsWith('/ui/') && !pathname.startsWith('/sign-in/')) asked.push(pathname)
    })
    await page.goto(`${gateway.url}/ui/playground?columns=4`)
    await page.getByRole('region', { name: 'Column 4' }).waitFor()
    await page.getByText('Parameters').first().click()
    expect(await violationsInBothThemes(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(asked).toEqual(['/model_group/info'])
    expect(faults).toEqual([])
    await close()
  })
})
