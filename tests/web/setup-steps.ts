/** The setup list of an installation without models, as a person follows it. */
import type { Locator, Page } from 'playwright-core'

interface SetupSteps {
  /** Of an upstream in OpenAI's dialect that has the model `sim-chat`. */
  readonly upstreamUrl: string
  readonly upstreamKey: string
  click(what: Locator): Promise<void>
}

/** Adds a model and makes a key. Returns the key, and the body of the call that the page shows then. */
export async function followSetup(
  page: Page,
  { upstreamUrl, upstreamKey, click }: SetupSteps,
): Promise<{ readonly key: string; readonly body: string }> {
  const press = (name: string) => click(page.getByRole('button', { name, exact: true }).last())
  await press('Add model')
  const dialog = page.getByRole('dialog', { name: 'Add model' })
  await click(dialog.getByRole('combobox', { name: 'Provider' }))
  await click(page.getByRole('option', { name: /^Own server/ }))
  await dialog.getByLabel('Base URL').fill(`${upstreamUrl.replace(/\/$/, '')}/v1`)
  await dialog.getByLabel('API key').fill(upstreamKey)
  await dialog.getByLabel('Model', { exact: true }).fill('sim-chat')
  await press('Add model')
  await page.getByText('Add a model of a provider · done').waitFor()
  // Of a model of one's own server nobody knows a price.
  const warning = page.getByText('Done, with a warning').first()
  await warning.waitFor()
  await press('Close')
  await warning.waitFor({ state: 'detached' })

  await press('Create key')
  await page.getByRole('dialog').getByLabel('Name').fill('first')
  await press('Create key')
  const secret = page.getByRole('dialog').locator('output')
  await secret.waitFor()
  const key = await secret.innerText()
  await press('Copy key')
  await press('I have copied it')
  await page.getByText('Create a key · done').waitFor()
  // As a person pastes it into a shell.
  const shown = await page.getByRole('region', { name: 'First call: curl' }).innerText()
  return { key, body: /-d '(.*)'/.exec(shown)![1]! }
}

/** The call that the page shows, with the key in its place. */
export function firstCall(url: string, { key, body }: { readonly key: string; readonly body: string }) {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
}
