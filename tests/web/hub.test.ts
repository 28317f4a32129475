/** The model hub for those who are not signed in: what the operator shows them, and nothing else. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Gateway } from '../e2e/harness.ts'
import { violations, violationsInBothThemes } from './axe.ts'
import { goTo, hasChromium, openPage, openSignedIn, pageMs, withPages } from './browser.ts'

setDefaultTimeout(3 * pageMs)

const at = '{simulator}/v1'
const config = `model_list:
  - model_name: gpt-4.1
    proxy_params: { model: openai/gpt-4.1, api_base: "${at}", api_key: canary }
    model_info: { id: inner-id, description: Long documents and tools. }
  - { model_name: gemini-2.5-pro, proxy_params: { model: gemini/gemini-2.5-pro, api_base: "{simulator}", api_key: canary } }
  - { model_name: text-embedding-3-small, proxy_params: { model: openai/text-embedding-3-small, api_base: "${at}", api_key: canary } }
  - { model_name: secret-model, proxy_params: { model: openai/gpt-4.1-mini, api_base: "${at}", api_key: canary } }
  - model_name: rerank
    proxy_params: { model: custom_openai/rerank, api_base: "${at}", api_key: canary }
    model_info: { mode: rerank, input_cost_per_token: 0, output_cost_per_token: 0, input_cost_per_query: 0.002 }
${[
  'voice:audio_speech',
  'ears:audio_transcription',
  'painter:image_generation',
  'judge:moderation',
  'writer:completion',
]
  .map(one => one.split(':'))
  .map(
    ([name, mode = name]) =>
      `  - { model_name: ${name}, proxy_params: { model: custom_openai/${name}, api_base: "${at}", api_key: canary }, model_info: { mode: ${mode} } }`,
  )
  .join('\n')}
general_settings: { disable_local_models: true }
`

/** Parts of the command that is shown for a model of each mode. */
const firstCalls: Readonly<Record<string, readonly string[]>> = {
  'gpt-4.1': ['/v1/chat/completions', '"messages"'],
  'text-embedding-3-small': ['/v1/embeddings', '"input"'],
  rerank: ['/v1/rerank', '"query"', '"documents"'],
  voice: ['/v1/audio/speech', '"voice"', '-o speech'],
  ears: ['/v1/audio/transcriptions', 'file=@speech.mp3', 'model=ears'],
  painter: ['/v1/images/generations', '"prompt"'],
  judge: ['/v1/moderations', '"input"'],
  writer: ['/v1/completions', '"prompt"'],
}

describe.skipIf(!hasChromium)('the model hub of strangers', () => {
  let gateway: Gateway
  let browser: Browser
  withPages({ config }, opened => ({ gateway, browser } = opened))

  const makePublic = async (...model_groups: string[]) => {
    const answer = await gateway.admin('/model_group/make_public', { model_groups })
    expect(answer.status).toBe(200)
  }

  test('while nothing is public a stranger is led to the sign-in, and comes back', async () => {
    await makePublic()
    const { page, close } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/model_hub_table`)
    await page.waitForURL(/\/ui\/login\?from=%2Fmodel_hub_table/)
    await close()
  })

  test('a stranger finds the listed models, their prices with tiers, and the way to the sign-in', async () => {
    await makePublic('gpt-4.1', 'gemini-2.5-pro', 'text-embedding-3-small')
    const { page, close, faults } = await openPage(browser, gateway.url)
    const asked: string[] = []
    page.on('request', request => !request.url().includes('/ui/') && asked.push(new URL(request.url()).pathname))
    await page.goto(`${gateway.url}/ui/model_hub`)
    await page.getByRole('link', { name: /^gpt-4\.1/ }).waitFor()
    expect(asked).toEqual(['/sign-in/session', '/public/model_hub'])
    expect(await page.getByRole('navigation').count()).toBe(0)
    expect(await page.content()).not.toMatch(/secret-model|inner-id|canary/)
    await page.getByRole('link', { name: /^gemini/ }).click()
    const drawer = page.getByRole('dialog', { name: 'gemini-2.5-pro' })
    await drawer.getByText('from 200,000 input tokens').first().waitFor()
    expect(await drawer.getByRole('switch').count()).toBe(0)
    expect(await violationsInBothThemes(page)).toEqual([])
    await drawer.getByRole('link', { name: 'Sign in to try it' }).click()
    await page.waitForURL(/\/ui\/login\?from=/)
    expect(new URL(page.url()).searchParams.get('from')).toBe('/model_hub?model=gemini-2.5-pro')
    expect(faults).toEqual([])
    await close()
  })

  test('a model is called by what it is for', async () => {
    await makePublic('gpt-4.1', 'text-embedding-3-small', 'rerank', 'voice', 'ears', 'painter', 'judge', 'writer')
    const { page, close, faults } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/model_hub`)
    await page.getByRole('link', { name: /^gpt-4\.1/ }).waitFor()
    for (const [model, said] of Object.entries(firstCalls)) {
      await goTo(page, `/model_hub?${new URLSearchParams({ model })}`)
      const code = await page
        .getByRole('dialog', { name: model })
        .getByRole('region', { name: 'Use it: curl' })
        .innerText()
      for (const part of said) expect([model, code]).toEqual([model, expect.stringContaining(part)])
    }
    expect(faults).toEqual([])
    await close()
  })

  test('what is paid by searches has its price in both lists, and is not free', async () => {
    await makePublic('gpt-4.1', 'rerank')
    const { page, close } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/model_hub`)
    await page.getByRole('link', { name: /^rerank.*Search \$0\.002 each/ }).waitFor()
    await goTo(page, '/model_hub_table')
    await page
      .getByRole('row', { name: /^rerank/ })
      .getByText('Search $0.002 each')
      .waitFor()
    await goTo(page, '/model_hub_table?price=0')
    await page.getByText('Nothing matches').waitFor()
    await close()
    const operator = await openSignedIn(browser, gateway)
    await operator.page.goto(`${gateway.url}/ui/models`)
    await operator.page
      .getByRole('row', { name: /^rerank/ })
      .getByText('Search $0.002 each')
      .waitFor()
    await operator.close()
  })

  test('one that is gone says so; a chat model has a first call in each API, which those who are signed in try in the playground', async () => {
    const { page, close, faults } = await openSignedIn(browser, gateway)
    await page.goto(`${gateway.url}/ui/model_hub?model=gone`)
    await page.getByRole('dialog', { name: 'gone' }).getByText('This does not exist').waitFor()
    await goTo(page, '/model_hub?model=gpt-4.1')
    const drawer = page.getByRole('dialog', { name: 'gpt-4.1' })
    const code = drawer.getByRole('region', { name: 'Use it: curl' })
    for (const [api, path, field] of [
      ['Messages', '/v1/messages', '"max_tokens"'],
      ['Responses', '/v1/responses', '"input"'],
    ] as const) {
      await drawer.getByRole('tab', { name: api }).click()
      // The tab of before may still be there.
      const shown = code.filter({ hasText: path })
      await shown.waitFor()
      expect(await shown.innerText()).toContain(field)
    }
    expect(await violations(page)).toEqual([])
    await drawer.getByRole('link', { name: 'Try it in the playground' }).click()
    await page.waitForURL(/\/ui\/playground\?.*op=responses/)
    await page.getByRole('combobox', { name: 'Operation' }).filter({ hasText: 'Responses' }).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('facets narrow the models down, and stand in the address', async () => {
    await makePublic('gpt-4.1', 'gemini-2.5-pro', 'text-embedding-3-small')
    const { page, close } = await openPage(browser, gateway.url)
    await page.goto(`${gateway.url}/ui/model_hub_table`)
    const rows = page.getByRole('table').getByRole('link')
    const choose = async (facet: string, choice: string) => {
      await page.getByRole('combobox', { name: facet }).click()
      await page.getByRole('option', { name: choice, exact: true }).click()
    }
    await rows.first().waitFor()
    expect(await rows.count()).toBe(3)
    await choose('Kind', 'embedding')
    await page.waitForURL(/mode=embedding/)
    expect(await rows.allInnerTexts()).toEqual(['text-embedding-3-small'])
    await goTo(page, '/model_hub_table?provider=openai&context=128000&price=3')
    await rows.getByText('gpt-4.1', { exact: true }).waitFor()
    expect(await rows.allInnerTexts()).toEqual(['gpt-4.1'])
    await choose('Price', 'input up to $0.50')
    await page.getByText('Nothing matches').waitFor()
    await goTo(page, '/model_hub_table?ability=supports_audio_input')
    await rows.first().waitFor()
    expect(await rows.allInnerTexts()).toEqual(['gemini-2.5-pro'])
    await close()
  })

  test('an administrator shows a model to strangers and hides it again', async () => {
    await makePublic('gpt-4.1')
    const { page, close } = await openSignedIn(browser, gateway)
    const seen = async () => {
      const answer = await fetch(`${gateway.url}/public/model_hub`)
      return ((await answer.json()) as { model_group: string }[]).map(one => one.model_group)
    }
    await page.goto(`${gateway.url}/ui/model_hub?model=secret-model`)
    await page.getByRole('switch', { name: /Public/ }).click()
    await page.getByText('secret-model is public').first().waitFor()
    expect(await seen()).toEqual(['gpt-4.1', 'secret-model'])
    await page.getByRole('switch', { name: /Public/, checked: true }).click()
    await page.getByText('secret-model is no longer public').first().waitFor()
    expect(await seen()).toEqual(['gpt-4.1'])
    const { page: other, close: second } = await openSignedIn(browser, gateway, { key: await gateway.key() })
    await other.goto(`${gateway.url}/ui/model_hub?model=secret-model`)
    await other.getByRole('dialog').getByRole('link', { name: 'Try it', exact: true }).waitFor()
    expect(await other.getByRole('switch').count()).toBe(0)
    await Promise.all([close(), second()])
  })
})
